"""The same text step after step (MiMo-Code): the last 3 of a buffer of 5 are equal, then the buffer is emptied.

Beyond MiMo-Code's rule: where the steps' calls got different results, that is progress and no loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import Facts
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words


class TextLoopParams(DetectorParams):
    """MiMo-Code's defaults: `equal` of the newest `buffer` texts."""

    equal: int = Field(default=3, ge=2)
    buffer: int = Field(default=5, ge=2)


class TextLoop(StepDetector):
    """Steps without text are skipped altogether: they neither count nor break a run."""

    def __init__(self, params: TextLoopParams) -> None:
        self.equal = params.equal
        self.recent: deque[tuple[str, tuple[str | None, ...]]] = deque(maxlen=params.buffer)
        self.seen = 0
        self.row = 0
        self.since = 0
        self.key: tuple[str, tuple[str | None, ...]] | None = None

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        if not step.text_key:
            return None
        key = (step.text_key, tuple(call.result for call in step.calls))
        if key == self.key:
            self.row += 1
        else:
            self.row, self.since, self.key = 1, self.seen - 1, key
        self.recent.append(key)
        newest = list(self.recent)[-self.equal :]
        if len(newest) < self.equal or any(entry != newest[0] for entry in newest):
            return None
        if any(call.pending for call in step.calls):
            return None
        self.recent.clear()
        return Hit(
            at=self.seen,
            since=self.since,
            span=self.row,
            period=1,
            copies=self.row,
            evidence={"equal": self.row},
            bars={"equal": self.equal},
        )


def plausible(params: TextLoopParams, steps: Sequence[Outline]) -> bool:
    """Does the newest step say what the one with a text before it said?"""
    if not steps or not steps[-1].text_key:
        return False
    before = next((step for step in reversed(steps[:-1]) if step.text_key), None)
    return before is not None and before.text_key == steps[-1].text_key


DETECTOR = DetectorKind(
    "text_loop",
    "the same text step after step",
    TextLoopParams,
    TextLoop,
    Words(
        en="You wrote the same text {n} times in a row.",
        zh="你已连续 {n} 次写出相同的内容。",
    ),
    plausible=plausible,
)
