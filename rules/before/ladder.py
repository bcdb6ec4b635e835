"""The reaction to a repetition: reminders cost nothing and come early, a refusal ends a run and comes late.

A refusal needs more than equal steps: nothing in them may look like a wait, they must not lie minutes apart, and the
agent must have had its reminders. In doubt the run goes on with a reminder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from .evidence.waiting import Sign
from .reminders import Language

Reaction = Literal["warn", "steer", "cancel"]


class Ladder(BaseModel):
    """What the first, second and third finding of one rule do: warn (tell only), steer (remind), cancel (refuse).

    A third finding that would refuse still reminds until the repetition has lasted `refuse_after` steps. 0 takes all
    of these conditions away.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: Reaction = "steer"
    second: Reaction = "steer"
    third: Reaction = "cancel"
    refuse_after: int = Field(default=12, ge=0)
    apart: float = Field(default=60.0, gt=0)
    """Seconds between two steps. From there on nothing is refused."""
    language: Language = "en"

    def reaction(self, level: int, standing: int, bar: int | None) -> Reaction:
        """The reaction to the `level`-th finding (1, 2, 3 and more) of a repetition that has lasted `standing` steps.
        `bar`: as `refusal_bar` gives it."""
        if level <= 2:
            return self.first if level <= 1 else self.second
        if self.third == "cancel" and (bar is None or standing < bar):
            return "steer"
        return self.third


@dataclass(frozen=True, slots=True)
class Pace:
    """When the requests of a repetition came: seconds between the newest ones, oldest first."""

    gaps: tuple[float, ...] = ()

    ENOUGH = 3
    """Gaps that are needed to know how fast an agent goes."""
    AT_ONCE = 20.0
    """Seconds within which only a machine asks again, not a person and not a timer."""

    @property
    def known(self) -> bool:
        """Is there enough to judge by?"""
        return len(self.gaps) >= self.ENOUGH

    @property
    def fast(self) -> bool:
        """Did every step come so soon that nobody can have waited or typed?"""
        return self.known and max(self.gaps) < self.AT_ONCE

    def slow(self, apart: float) -> bool:
        """Did one step take so long, or all of them half of it? Something outside is being waited for then."""
        return bool(self.gaps) and (max(self.gaps) >= apart or sum(self.gaps) / len(self.gaps) >= apart / 2)


def refusal_bar(ladder: Ladder, late: int, sign: Sign, pace: Pace | None) -> int | None:
    """Steps that a repetition must have lasted before it is refused; None = it is never refused.

    `late`: the detector's own factor; 0 = it never refuses. `sign`: the strongest sign of a wait among the steps.
    `pace`: None where times play no part. Where a wait cannot be ruled out, half as many steps more are needed: the
    result may be a state in words that we do not know, or the times are not known.
    """
    if not ladder.refuse_after:
        return 0
    if not late or sign >= Sign.LIKELY or (pace is not None and pace.slow(ladder.apart)):
        return None
    doubtful = sign is Sign.MAYBE or (pace is not None and not pace.known)
    return late * ladder.refuse_after * (3 if doubtful else 2) // 2
