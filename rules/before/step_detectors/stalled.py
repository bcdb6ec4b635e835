"""Thinking that repeats itself (dsh-loop-guard's rule).

A step is stalled where it has reasoning and nothing else, or where its reasoning is contained to 0.8 or more in that of
the last judged step. Three stalled steps in a row are a hit, at most four times in a run. Steps with less than 2,048
characters of reasoning, and steps that we cut, are not judged: they neither count nor clear the count, and the next
step is not compared with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import Facts
from ..evidence.outline import Outline
from ..evidence.similarity import restates
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words


class StalledParams(DetectorParams):
    """dsh-loop-guard's options. `similarity` 0 switches the comparison off; steps of reasoning alone still count."""

    steps: int = Field(default=3, ge=2)
    min_chars: int = Field(default=2048, ge=256)
    similarity: float = Field(default=0.8, ge=0, le=1)
    max_fires: int = Field(default=4, ge=1)


class Stalled(StepDetector):
    """`reason` says what the newest judged step was: reasoning-only, repeated-material or progress."""

    def __init__(self, params: StalledParams) -> None:
        self.params = params
        self.seen = 0
        self.row = 0
        self.fires = 0
        self.previous: str | None = None
        self.reason = ""

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        reasoning = step.step.reasoning
        if self.fires >= self.params.max_fires or not judged(self.params, step):
            return None
        self.reason = judge(self.params, step, self.previous)
        self.previous = reasoning
        self.row = 0 if self.reason == "progress" else self.row + 1
        if self.row < self.params.steps:
            return None
        row, self.row = self.row, 0
        self.fires += 1
        return Hit(self.seen, self.seen - row, row, 1, row, {"steps": row}, {"steps": self.params.steps})


def judged(params: StalledParams, step: Facts) -> bool:
    """Has this step enough reasoning to be judged, and did we leave it whole?"""
    return len(step.step.reasoning) >= params.min_chars and not step.step.cut


def judge(params: StalledParams, step: Facts, previous: str | None) -> str:
    """Classify a step. `previous`: the reasoning of the judged step before it."""
    if not step.step.text.strip() and not step.calls:
        return "reasoning-only"
    bar = params.similarity
    if bar and previous is not None and restates(step.step.reasoning, previous, bar):
        return "repeated-material"
    return "progress"


def may_hit(params: StalledParams, steps: Sequence[Facts]) -> bool:
    """Are the newest steps stalled? Compares the newest first, so a run with progress costs one comparison, not 64."""
    if not steps or not judged(params, steps[-1]):
        return False
    newest = [step for step in steps if judged(params, step)][-params.steps - 1 :]
    if len(newest) < params.steps:
        return False
    for i in range(len(newest) - 1, len(newest) - 1 - params.steps, -1):
        if judge(params, newest[i], newest[i - 1].step.reasoning if i else None) == "progress":
            return False
    return True


def plausible(params: StalledParams, steps: Sequence[Outline]) -> bool:
    """Do the newest step and enough steps before it hold that much thinking?"""
    if not steps or not _thinks(params, steps[-1]):
        return False
    return sum(_thinks(params, step) for step in steps) >= params.steps


def _thinks(params: StalledParams, step: Outline) -> bool:
    return step.reasoning >= params.min_chars and not step.cut


DETECTOR = DetectorKind(
    "stalled",
    "thinking that says the previous step again",
    StalledParams,
    Stalled,
    Words(
        en="Your last {n} steps only thought the same things over again.",
        zh="你最近 {n} 步只是在重复同样的思考。",
    ),
    may_hit=may_hit,
    plausible=plausible,
    late=0,
)
