"""The same answer text comes back with other steps in between: in 3 of the last 5 steps.

It counts only where the text is more than a phrase, and where those steps called nothing, or the same thing with the
same result: repeating a sentence before new work is no loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import Facts
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words


class TextReturnParams(DetectorParams):
    """`equal` of the newest `window` steps; texts under `chars` characters do not count."""

    equal: int = Field(default=3, ge=2)
    window: int = Field(default=5, ge=3)
    chars: int = Field(default=12, ge=1)


class TextReturn(StepDetector):
    """Hits only at a step that is itself one of the equal ones, and leaves equal steps in a row to text_loop."""

    def __init__(self, params: TextReturnParams) -> None:
        self.params = params
        self.seen = 0
        self.recent: deque[tuple[str, tuple[tuple[str, str | None], ...]]] = deque(maxlen=params.window)

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        key = (step.text, tuple(call.outcome for call in step.calls))
        self.recent.append(key)
        if len(step.text) < self.params.chars:
            return None
        count = self.recent.count(key)
        tail = list(self.recent)[-self.params.equal :]
        if count < self.params.equal or all(entry == key for entry in tail):
            return None
        if any(call.pending for call in step.calls):
            return None
        return Hit(
            self.seen,
            self.seen - self.params.window,
            count,
            None,
            count,
            {"equal": count},
            {"equal": self.params.equal},
        )


def plausible(params: TextReturnParams, steps: Sequence[Outline]) -> bool:
    """Was the newest text said before, a few steps ago?"""
    if not steps or steps[-1].chars < params.chars:
        return False
    newest = steps[-1].text
    return any(step.text == newest for step in steps[-params.window : -1])


DETECTOR = DetectorKind(
    "text_return",
    "the same answer comes back with other steps between",
    TextReturnParams,
    TextReturn,
    Words(
        en="You wrote the same text {n} times within the last few steps.",
        zh="你在最近几步中 {n} 次写出相同的内容。",
    ),
    plausible=plausible,
    late=2,
)
