"""The outputs of a Stream: bytes for the client, a finding to report, or a stop."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ..values.failures import Failure
from ..values.verdict import Finding


class Forward(NamedTuple):
    """Bytes for the client. `counts`: they show content, so a later attempt can no longer replace the answer unseen."""

    raw: bytes
    counts: bool


class Noted(NamedTuple):
    """A finding to report. The answer, or its other choices, go on."""

    finding: Finding


class Halt(NamedTuple):
    """Nothing more may be forwarded. The caller asks `decide` what to do."""

    cause: Finding | Failure


Output: TypeAlias = Forward | Noted | Halt
