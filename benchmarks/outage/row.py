"""One line of the bench: what the same agents met directly and through streamfuse, and the verdict on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from .scenario import SCENARIOS

MORE = 1.2
"""Calls through streamfuse per direct call, at most."""

ONE = 1
"""One call more a row, since no fifth of a single call can be made. What is no answer is asked for once more
(`replay.equal_answers`), by one of all agents."""

SAVED = 11
"""Calls that may be spent besides on an agent that dies without streamfuse: one, and ten retries, as a patient client
makes. The table shows them apart: they are no part of the rule that streamfuse makes no more calls."""

SETTLED = 3.0
"""Seconds in which a crowd may arrive before the rate at which it calls a dead provider is looked at."""

RATE = 2.0
"""Calls a second to a dead provider after that, of fifty agents in half a minute of outage, at most."""

LONG = 30.0


class Verdict(StrEnum):
    """What a row says."""

    EVEN = "even"
    SAVED = "saved"
    """More agents survive."""
    DIED = "FAIL died"
    """Agents that survive directly do not survive."""
    CALLS = "FAIL calls"
    RATE = "FAIL rate"

    @property
    def failed(self) -> bool:
        return self.value.startswith("FAIL")


@dataclass(frozen=True)
class Met:
    """What became of the agents in one run."""

    survived: int
    calls: int | None
    """Calls that reached the provider, refused connections included; None where they cannot be counted."""
    seconds: float
    """Until the last agent had ended."""
    rate: float | None = None
    """Calls a second from SETTLED until the end of the outage; None where the outage is shorter."""


def met(survived: int, calls: Sequence[float] | None, seconds: float, down: float) -> Met:
    """`calls`: seconds since the outage began of each."""
    rate = None
    if calls is not None and down > SETTLED:
        rate = sum(SETTLED <= at < down for at in calls) / (down - SETTLED)
    return Met(survived, None if calls is None else len(calls), seconds, rate)


@dataclass(frozen=True)
class Row:
    """`agents` agents of one client in one scenario of so many seconds."""

    scenario: str
    down: float
    client: str
    agents: int
    direct: Met
    through: Met

    @property
    def saved(self) -> int:
        """Agents that live through streamfuse and die directly."""
        return max(0, self.through.survived - self.direct.survived)

    @property
    def extra(self) -> int | None:
        """Calls through streamfuse over the rule of 1.2 times the direct ones: allowed only for those that it saves.
        None where calls cannot be counted."""
        if self.direct.calls is None or self.through.calls is None:
            return None
        return max(0, math.ceil(self.through.calls - MORE * self.direct.calls - ONE - 1e-9))

    @property
    def verdict(self) -> Verdict:
        """Deaths weigh most, then calls, then the rate."""
        direct, through = self.direct, self.through
        if through.survived < direct.survived:
            return Verdict.DIED
        if self.extra is not None and self.extra > SAVED * self.saved:
            return Verdict.CALLS
        crowd = self.agents >= 50 and self.down >= LONG and SCENARIOS[self.scenario].dead
        if crowd and through.rate is not None and through.rate > RATE:
            return Verdict.RATE
        return Verdict.SAVED if self.saved else Verdict.EVEN

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "saved": self.saved, "extra_calls": self.extra, "verdict": self.verdict.value}
