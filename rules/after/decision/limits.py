"""Failures with a limit of their own beside their budget's: asking again helps once, or never."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors.likeness import INVALID, OF_SERVERS, SHORT
from ...values.failures import Failure, Kind, Phase

STATUS_LIMITS: Mapping[int, int] = {424: 1, 525: 0, 526: 0}
"""Retries by status. A TLS handshake that Cloudflare's edge cannot make with its origin (525, 526) does not succeed by
asking again."""
SLOW_LIMITS: Mapping[int, int] = {504: 1, 524: 1}
"""Retries after a long wait. A gateway that gives up late may have left the request running, so asking again doubles
the work. A gateway that answers so at once is an ordinary server error."""
SLOW = 10.0
"""Seconds from which an attempt counts as a long wait. Gateways give up after 30 to 100 s."""
CODE_LIMITS: Mapping[str, int] = {"streamfuse_empty_stream": 2, "tool_use_failed": 1}
INVALID_LIMIT = 1
"""Retries of an answer whose head is no HTTP: a server that writes such a head does so each time."""
SHORT_LIMIT = 1
"""Retries of an answer that is shorter than its Content-Length although the connection was closed in order: its server
counts wrongly, and does so each time."""
BROKEN = "broken"
BROKEN_LIMIT = 8
"""Retries after connections that broke once they were made, where `retry.network` is not configured. The provider may
have read each of these requests, and billed it, and a fault of its own may look so without end. A connection that
cannot be made costs the provider nothing, so it is tried for as long as `retry.network` says."""
OF_CLIENTS = OF_SERVERS
"""Limits that a client with tries of its own does not need: alone it makes one call a try."""
UNKNOWN_LIMIT = 1
"""Retries of an error inside a 200 that no table knows."""


def own_limit(failure: Failure, slow: bool) -> tuple[str, int] | None:
    """(key in Account.hits, retries allowed) where a failure has a limit of its own, else None. `slow`: it came after a
    long wait."""
    if failure.rule is not None and failure.rule_limit is not None:
        return f"rule:{failure.rule}", failure.rule_limit
    if failure.code is not None and failure.code in CODE_LIMITS:
        return failure.code, CODE_LIMITS[failure.code]
    if failure.code == INVALID and failure.phase is not Phase.STREAM:
        return INVALID, INVALID_LIMIT
    if failure.code == SHORT:
        return SHORT, SHORT_LIMIT
    if failure.status is not None and failure.status in STATUS_LIMITS:
        return f"status:{failure.status}", STATUS_LIMITS[failure.status]
    if slow and failure.status is not None and failure.status in SLOW_LIMITS:
        return f"status:{failure.status}", SLOW_LIMITS[failure.status]
    if failure.kind is Kind.UNKNOWN and failure.phase is Phase.STREAM:
        return "unknown", UNKNOWN_LIMIT
    if failure.kind is Kind.NETWORK and failure.phase is not Phase.CONNECT:
        return BROKEN, BROKEN_LIMIT
    return None


def likeness_key(failure: Failure) -> str:
    """The key in Account.hits of what came instead of an answer."""
    return f"same:{failure.likeness}"
