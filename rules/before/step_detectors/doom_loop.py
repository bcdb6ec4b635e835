"""The same call several times inside one answer (OpenCode's doom loop): 3 equal calls in a row among its calls."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import Facts
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words


class DoomLoopParams(DetectorParams):
    """`equal`: OpenCode's 3."""

    equal: int = Field(default=3, ge=2)


class DoomLoop(StepDetector):
    """Looks at one step alone."""

    def __init__(self, params: DoomLoopParams) -> None:
        self.equal = params.equal
        self.seen = 0

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        row = best = 0
        last: tuple[str, str | None] | None = None
        for call in step.calls:
            key = (call.signature, call.result)
            row = row + 1 if key == last and not call.pending else 1
            best, last = max(best, row), key
        if best < self.equal:
            return None
        return Hit(self.seen, self.seen - 1, best, 1, best, {"equal": best}, {"equal": self.equal})


def plausible(params: DoomLoopParams, steps: Sequence[Outline]) -> bool:
    """Has the newest step enough calls?"""
    return bool(steps) and len(steps[-1].calls) >= params.equal


DETECTOR = DetectorKind(
    "doom_loop",
    "the same call again and again inside one answer",
    DoomLoopParams,
    DoomLoop,
    Words(
        en="Your last answer held the same tool call {n} times.",
        zh="你在上一次回答中把同一个工具调用了 {n} 次。",
    ),
    plausible=plausible,
)
