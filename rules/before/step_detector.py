"""The contract of a habit: steps go in oldest to newest, a Hit comes out at a step where the agent is going in circles.

The walk is repeated over the whole (bounded) run at every request, so a habit keeps no state between requests, and
the number of hits so far *is* the number of times the agent was told. In a Hit of a habit all lengths are steps or
calls, never characters. Each file of this folder but this one exports exactly one `HABIT`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from ..values.verdict import Hit
from .evidence.facts import Facts


class DetectorParams(BaseModel):
    """Base of every habit's parameters: frozen, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StepDetector(ABC):
    """One walk over one run."""

    warn_only = False
    """Set when the newest hit is only worth telling, never worth acting on."""

    doubtful = False
    """Set when the newest hit is worth a reminder, but never a refusal."""

    @abstractmethod
    def look(self, step: Facts) -> Hit | None:
        """The next step of the run. A habit may hit again at every further step that repeats."""


@dataclass(frozen=True, slots=True)
class DetectorKind:
    """What a habit file exports as HABIT."""

    name: str
    title: str
    params: type[DetectorParams]
    start: Callable[[Any], StepDetector]
    """Makes a fresh walk from an instance of `params`."""
    may_hit: Callable[[Any, Sequence[Facts]], bool] | None = None
    """Asked before a walk that is dear: could the newest of these steps hit at all?"""
    session: bool = False
    """Walks over the steps of the whole session, earlier user messages included, not only the newest run."""
    late: int = 1
    """How many times as long as an exactly equal row a repetition must last before it is refused; 0 = it never is,
    because what repeats is not the whole step."""
