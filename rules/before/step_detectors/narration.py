"""The same sentence with other numbers before the same call, step after step: an agent that watches for ever.

The same sentence before *different* calls is normal work and does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import Facts
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector


class NarrationParams(DetectorParams):
    """`equal` turns in a row; a sentence of fewer than `chars` characters says nothing."""

    equal: int = Field(default=12, ge=3)
    chars: int = Field(default=16, ge=1)


class Narration(StepDetector):
    """Compares the texts, with numbers folded, and the calls. Results may change."""

    def __init__(self, params: NarrationParams) -> None:
        self.params = params
        self.seen = 0
        self.row = 0
        self.key: tuple[str, tuple[str, ...]] | None = None

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        if len(step.template) < self.params.chars or not step.calls:
            self.row, self.key = 0, None
            return None
        key = (step.template, tuple(call.loose for call in step.calls))
        self.row = self.row + 1 if key == self.key else 1
        self.key = key
        if self.row < self.params.equal:
            return None
        row = self.row
        return Hit(self.seen, self.seen - row, row, 1, row, {"equal": row}, {"equal": self.params.equal})


def plausible(params: NarrationParams, steps: Sequence[Outline]) -> bool:
    """Do the newest two steps say the same, numbers aside?"""
    if len(steps) < 2 or steps[-1].template_chars < params.chars or not steps[-1].calls:
        return False
    return steps[-1].template == steps[-2].template


DETECTOR = DetectorKind(
    "narration",
    "the same sentence and the same call, only the numbers change",
    NarrationParams,
    Narration,
    plausible=plausible,
    late=0,
)
