"""What may be held back so that a failure stays invisible to the client."""

from __future__ import annotations

from ..base import Bytes, Seconds, Section, field


class ReplaySettings(Section):
    """The window before the first real output, in which a stream that fails is simply asked again."""

    hold_bytes: Bytes = field(64 << 10, "How many bytes of start-up events are kept back.", ge=0)
    hold_time: Seconds = field(
        30.0,
        "How long a client is kept waiting without headers once the provider answers; then headers go out, and "
        "heartbeats. Where nothing shows that it makes tries of its own: also while the provider is silent or fails. "
        "A whole answer (stream: false) that failed is told within it.",
    )
    patience: Seconds = field(
        240.0,
        "How long a client that makes tries of its own (the SDKs, known agents) waits for a provider that is silent or "
        "fails before it is told with a status; at most 4/5 of the time-out it names.",
        danger="Node and Bun give up after 300s without headers, balancers in between often after 60s.",
    )
    reasoning: bool = field(
        False,
        "Also replay where only reasoning was shown.",
        danger="The client sees two beginnings of thinking in one answer.",
    )
    equal_answers: int = field(
        2,
        "How often something that is no answer (a web page or `{}` with status 200, an empty stream, an event that "
        "cannot be read) comes in the same bytes, but for ids and times, until the client gets it as it came; 0 = "
        "the budgets alone decide.",
        ge=0,
        le=100,
    )
    final_limits: bool = field(
        False,
        "Tell a stream that broke as often as its budget allows with a 400 that no client retries, even where it has "
        "tries left.",
    )
    rounds: int = field(
        1, "How many heals a logical request may have, one for each answer at most; 0 = never heal.", ge=0, le=10
    )


class ReserveSettings(Section):
    """Retries of one provider as a share of its ordinary requests, all clients together (no retry storms)."""

    ratio: float = field(0.2, "Retries earned by one ordinary request; 0 = only the floor.", ge=0, le=10)
    floor: float = field(1.0, "Retries a second that are always allowed.", ge=0)
    window: Seconds = field(10.0, "How long an earned retry is kept.", gt=0)
