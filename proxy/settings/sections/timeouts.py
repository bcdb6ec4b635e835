"""How long each stage of an upstream call may last. Each one that fires is a failure of its own name."""

from __future__ import annotations

from ..base import MaybeSeconds, Section, field


class TimeoutSettings(Section):
    """The timers of one upstream call; null switches one off."""

    connect: MaybeSeconds = field(10.0, "Name lookup, TCP and TLS.", gt=0)
    headers: MaybeSeconds = field(
        600.0,
        "From the request sent to the response headers.",
        danger="Local servers with a long prompt may need minutes here.",
        gt=0,
    )
    first_event: MaybeSeconds = field(600.0, "From the headers to the first event that carries output.", gt=0)
    first_event_alive: MaybeSeconds = field(
        1800.0,
        "How far comments and pings may stretch first_event: a queue or a long prefill that says it is alive.",
        gt=0,
    )
    idle: MaybeSeconds = field(
        280.0,
        "Between two events that carry output, thinking and text alike; comments, pings and empty deltas are none. "
        "Shorter than the silence that clients bear (Claude Code: 299s), since heartbeats keep them waiting.",
        danger="Below 120s, models that think in silence are cut.",
        gt=0,
    )
    idle_alive: MaybeSeconds = field(
        900.0,
        "How far comments and pings may stretch idle: a provider that says it is alive while its model thinks. Where "
        "idle is written and this is not, they do not.",
        gt=0,
    )
    total: MaybeSeconds = field(None, "The whole answer, from request to last byte.", gt=0)
    slow: MaybeSeconds = field(
        None,
        "From the first output of a stream to its first slow_characters, which are held back until then. A slower "
        "answer is asked for once more, or from a fallback, and that one is taken as slowly as it comes.",
        danger="A slow answer then costs two calls.",
        gt=0,
    )
    slow_characters: int = field(
        100, "What a stream must bring within slow; each event counts as 4 characters at least.", ge=1, le=100_000
    )


class TimeoutsOver(Section):
    """One provider's timers, field by field over the top level."""

    connect: MaybeSeconds = field(None, "As timeouts.connect.", gt=0)
    headers: MaybeSeconds = field(None, "As timeouts.headers.", gt=0)
    first_event: MaybeSeconds = field(None, "As timeouts.first_event.", gt=0)
    first_event_alive: MaybeSeconds = field(None, "As timeouts.first_event_alive.", gt=0)
    idle: MaybeSeconds = field(None, "As timeouts.idle.", gt=0)
    idle_alive: MaybeSeconds = field(None, "As timeouts.idle_alive.", gt=0)
    total: MaybeSeconds = field(None, "As timeouts.total.", gt=0)
    slow: MaybeSeconds = field(None, "As timeouts.slow.", gt=0)
    slow_characters: int = field(100, "As timeouts.slow_characters.", ge=1, le=100_000)

    @property
    def written(self) -> dict[str, float | None]:
        """What was written, null included."""
        return {name: getattr(self, name) for name in self.model_fields_set}
