"""What a client is told that does not get another attempt: when to come back, and what the provider said last."""

from __future__ import annotations

from ...values.failures import Failure
from ..budgets import Account
from .outcome import Reason, Surrender

COME_BACK = (1.0, 5.0)
"""Seconds after which a client is asked to try again, where the provider names no time. The value is random between the
two, so that many agents do not come back at once, and within the SDKs' own pauses (0.5 to 8 s)."""


def resting(account: Account, now: float) -> float:
    """Seconds that this request must still wait before it may ask the provider; 0 = it may ask now."""
    return max(0.0, account.closed_until - now)


def from_memory(last: Failure, jitter: float) -> Surrender:
    """The answer to a request that waited for a failing provider and was not sent: the provider's last failure, as it
    came."""
    return Surrender(last, Reason.CLOSED, retry_after=come_back(last, jitter))


def same_again(last: Failure) -> Surrender:
    """The answer to a request that got what comes again and again."""
    return Surrender(last, Reason.SAME)


def as_others(last: Failure, jitter: float) -> Surrender:
    """The answer to a request that waited to ask again, while others got what it has got itself. An answer that only
    ended too early is no reason to keep the client from trying again."""
    return same_again(last) if last.likeness else Surrender(last, Reason.RETRIES, retry_after=come_back(last, jitter))


def come_back(failure: Failure, jitter: float) -> float:
    """Seconds after which a client may try again: the provider's own wait, else a short one of ours."""
    if failure.retry_after is not None:
        return failure.retry_after
    return COME_BACK[0] + (COME_BACK[1] - COME_BACK[0]) * jitter
