"""The two retries that cost nothing and wait for nothing, each allowed once a request."""

from __future__ import annotations

import re

from ...values.failures import Failure
from ..budgets import Account
from .outcome import Replay

STALE = "streamfuse_stale_connection"
"""Code of a reset on a reused connection before any response byte: the request was never read, so a retry is free."""

_PREFILL_REFUSED = re.compile(
    r"(?:does not|doesn't|not) support (?:assistant )?(?:message )?prefill"
    r"|prefill(?:ing)?(?: assistant)?(?: messages?)? (?:is|are) not (?:supported|allowed)"
    r"|must end with a user message"
    r"|(?:last|final) message must (?:be|have role|come)[^.]{0,20}\buser\b"
    r"|(?:cannot|can't) (?:have|set|use|send)[^.]{0,40}(?:assistant|prefill)[^.]{0,40}(?:end|last|thinking)",
    re.IGNORECASE,
)


def refuses_prefill(failure: Failure) -> bool:
    """Does this failure say that the backend refuses a trailing assistant message?"""
    return failure.status in (400, 422) and _PREFILL_REFUSED.search(failure.message) is not None


def free_retry(failure: Failure, account: Account, prefilled: bool) -> Replay | None:
    """The two retries that cost nothing, each allowed once: a stale connection, and a refused prefill."""
    if failure.code == STALE and not account.spent.get("free"):
        return Replay(0.0, "free")
    if prefilled and refuses_prefill(failure) and not account.spent.get("prefill"):
        return Replay(0.0, "prefill", without_prefill=True)
    return None
