"""What protects one provider, and its clients from it: a limit of concurrent calls, a breaker, and other providers to
fall back to. All of it is off unless it is written."""

from __future__ import annotations

from ..base import MaybeText, Seconds, Section, field


class ConcurrencySettings(Section):
    """How many calls to this provider run at once. Further ones wait in line; sessions take turns."""

    limit: int = field(0, "Calls at once; 0 = no limit. With several workers each has its share.", ge=0, le=100_000)
    queue: int = field(
        100,
        "How many requests may wait; the next one gets 503 `streamfuse_queue_full` with Retry-After.",
        ge=0,
        le=100_000,
    )
    wait: Seconds = field(
        30.0,
        "Longest wait in line, then the same 503. Streaming clients without retries of their own hear heartbeats.",
        gt=0,
        le=600,
    )
    adaptive: bool = field(
        False,
        "Treat `limit` as the most: halved when the provider answers 429, grown again with its answers, and no new "
        "call while `x-ratelimit-remaining-requests` is 0.",
    )


class BreakerSettings(Section):
    """Answers from memory while a provider fails. Its calls are paced without this, too (docs/retries.md)."""

    failures: int = field(
        0,
        "Failures in a row, of so many different requests and with no answer between them, that open it; 0 = no "
        "breaker.",
        danger="While it is open new requests fail at once, also those that the provider would have answered.",
        ge=0,
        le=1000,
    )
    pause: Seconds = field(10.0, "Between two probes while it is open; also what Retry-After says.", gt=0, le=600)


class Fallback(Section):
    """Another provider, another model, or both."""

    provider: MaybeText = field(None, "Its name; not written: the same provider.")
    model: MaybeText = field(None, "The model to ask for; not written: the one that the client asked for.")
