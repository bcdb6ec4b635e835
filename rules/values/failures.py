"""One value for every way in which an attempt can fail.

A Failure is a value, not an exception: nothing in the engine raises because an upstream misbehaved. Its message comes
from the upstream. It may be shown to the client but is never logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Phase(StrEnum):
    """How far the attempt had got."""

    CONNECT = "connect"
    HEADERS = "headers"
    STREAM = "stream"


class Kind(StrEnum):
    """What went wrong, in the classes that have retry budgets."""

    TERMINAL = "terminal"
    NETWORK = "network"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    STREAM = "stream"
    STALL = "stall"
    RULE = "rule"
    LOOP = "loop"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt.

    `status` is the HTTP status the upstream gave, None where there was none. `code` is a stable word
    (the upstream's own, or ours with the prefix `streamfuse_`). `retry_after` is seconds. `body` is the
    upstream's own error body as received (capped), kept so that the client can be given the original.
    """

    phase: Phase
    kind: Kind
    message: str
    status: int | None = None
    code: str | None = None
    retry_after: float | None = None
    should_retry: bool | None = None
    """The upstream's x-should-retry header, where it sent one."""
    rule: str | None = None
    """The error rule that matched, where one did."""
    rule_limit: int | None = None
    """That rule's own max_retries, where it has one."""
    likeness: str = ""
    """Digest of a 200 that was no answer, where it does not say that it may pass (`errors/likeness`): equal for the
    same answer with other ids and times. "" where there is nothing to compare."""
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """Upstream response headers to pass on (content-type, retry-after, request ids, rate limits)."""
