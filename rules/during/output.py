"""What a Stream says: bytes for the client, a finding to tell, or that nothing more may pass."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ..values.failures import Failure
from ..values.verdict import Finding


class Forward(NamedTuple):
    """Bytes for the client. `counts`: with them it learns something it cannot un-see."""

    raw: bytes
    counts: bool


class Noted(NamedTuple):
    """A finding to report; the answer, or what is left of it, goes on."""

    finding: Finding


class Halt(NamedTuple):
    """Nothing more may be forwarded. What to do now is for `decide` to say."""

    cause: Finding | Failure


Output: TypeAlias = Forward | Noted | Halt
