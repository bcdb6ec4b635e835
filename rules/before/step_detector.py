"""The contract of a step detector: it takes steps, oldest first, and returns a Hit at a step where the agent goes in
circles.

The walk is repeated over the whole (bounded) run at every request, so a step detector keeps no state between requests.
The number of hits so far is the number of times the agent was reminded. In a Hit of a step detector all lengths are
steps or calls, never characters. Each file in `step_detectors/` exports exactly one `DETECTOR`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from ..values.verdict import Hit
from .evidence.facts import Facts
from .evidence.outline import Outline


class DetectorParams(BaseModel):
    """Base of every step detector's parameters. Instances are frozen; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StepDetector(ABC):
    """One walk over one run."""

    warn_only = False
    """Set when the newest hit may only be reported, never acted on."""

    doubtful = False
    """Set when the newest hit may lead to a reminder, but never to a refusal."""

    @abstractmethod
    def look(self, step: Facts) -> Hit | None:
        """Take the next step of the run. A detector may hit again at every further step that repeats."""


class Words(NamedTuple):
    """One sentence for the agent: what it repeats. `{n}` becomes the number of steps or calls. No words that make a
    model give up its task, such as "conclude" or "final answer"."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class DetectorKind:
    """One kind of step detector: what a file of `step_detectors/` exports as DETECTOR."""

    name: str
    title: str
    params: type[DetectorParams]
    start: Callable[[Any], StepDetector]
    """Makes a fresh walk from an instance of `params`."""
    words: Words
    """The beginning of the reminder (`reminders.py`)."""
    may_hit: Callable[[Any, Sequence[Facts]], bool] | None = None
    """A cheap question before an expensive walk: could the newest of these steps hit at all? None = always walk."""
    plausible: Callable[[Any, Sequence[Outline]], bool] | None = None
    """A cheaper question still, before the facts of the steps are worked out: by their outlines, could the newest step
    hit? None = it may always. It must never say no where the walk would hit."""
    session: bool = False
    """Walk over the whole session, earlier user messages included, not only over the newest run."""
    late: int = 1
    """How many times longer than a row of exactly equal steps a repetition must last before it is refused. 0 = it is
    never refused, because only part of each step repeats."""
