"""What a monitor found, and what to do about it.

Findings hold numbers and names only: never a character of the model's output or of a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from .delta import Channel


class Action(IntEnum):
    """What a rule asks for. The strongest finding wins; among equals the earliest, then the first rule of the pack."""

    PASS = 0
    NOTE = 1
    """Report it (metric, journal), change nothing."""
    ADVISE = 2
    """Add a reminder to the next request."""
    CUT = 3
    """End this choice legally, now."""
    RETRY = 4
    """Ask again if the client has seen nothing that a new answer could contradict; else as CUT."""
    REFUSE = 5
    """Answer the request ourselves, without asking the upstream."""


class Mode(StrEnum):
    """How far a rule may go: `off` not run, `watch` report only, `on` act."""

    OFF = "off"
    WATCH = "watch"
    ON = "on"

    def at_most(self, other: Mode) -> Mode:
        """The weaker of two modes; global, provider, rule and request modes combine this way."""
        order = (Mode.OFF, Mode.WATCH, Mode.ON)
        return min(self, other, key=order.index)


@dataclass(frozen=True, slots=True)
class Hit:
    """What one monitor saw. Offsets and lengths are characters (code points) of the text the monitor was fed."""

    at: int
    """Characters fed when it fired."""
    since: int
    """Start of the first copy, or the best estimate of it."""
    span: int
    """Length of the repetition, all copies together."""
    period: int | None = None
    """Characters of one copy, where there is one."""
    copies: float | None = None
    evidence: Mapping[str, float] = field(default_factory=dict)
    """Measured values, by name."""
    bars: Mapping[str, float] = field(default_factory=dict)
    """The thresholds for these values, by the same names. Raising one above its value keeps the rule quiet."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A hit with its context. `action` is what the rule asks for; in mode `watch` it is reported only."""

    rule: str
    action: Action
    mode: Mode
    channel: Channel
    choice: int
    hit: Hit

    @property
    def acts(self) -> bool:
        """True when this finding changes what the client gets."""
        return self.mode is Mode.ON and self.action >= Action.CUT


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A repetition that came near a bar and ended by itself: a number to watch, never a cut."""

    rule: str
    channel: Channel
    choice: int
    suspicion: float
    """0.5 … 1; 1 = a rule that only watches had seen enough."""
