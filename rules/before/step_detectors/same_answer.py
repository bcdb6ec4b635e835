"""The same answer to the same prompt, again and again: an agent in automatic mode without a person.

Measured: one agent made 656 requests in 200 seconds that way, its own nudge as the user message each time. Where a
person or a timer asks, the same answer may be right for ever (HEARTBEAT_OK, "Correct! Next question."): that is
reported, never acted on. The user text must be equal, too, so a new message is never refused.
"""

from __future__ import annotations

from pydantic import Field

from ...histories.automatic import is_nudge, only_thanks, spoken
from ...values.verdict import Hit
from ..evidence.facts import Facts
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words


class SameAnswerParams(DetectorParams):
    """`equal` answers in a row, each to the same user text."""

    equal: int = Field(default=4, ge=2)


class SameAnswer(StepDetector):
    """A step that calls a tool is work, not an answer, and ends the row."""

    def __init__(self, params: SameAnswerParams) -> None:
        self.params = params
        self.seen = 0
        self.row = 0
        self.answer = ""
        self.nudge: str | None = None

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        if step.calls or not step.text:
            self.row = 0
            return None
        said = step.step.nudge
        nudge = None if said is None else spoken(said)
        same = step.text == self.answer and (self.row == 1 or nudge == self.nudge)
        self.row = self.row + 1 if self.row and same else 1
        self.answer, self.nudge = step.text, nudge
        if self.row < self.params.equal:
            return None
        by_itself = said is not None and is_nudge(said)
        thanks = said is not None and only_thanks(said) and only_thanks(step.step.text)
        self.warn_only, self.doubtful = not (by_itself or thanks), not by_itself
        row = self.row
        return Hit(self.seen, self.seen - row, row, 1, row, {"equal": row}, {"equal": self.params.equal})


DETECTOR = DetectorKind(
    "same_answer",
    "the same answer to the same prompt",
    SameAnswerParams,
    SameAnswer,
    Words(
        en="You gave the same answer {n} times to the same message.",
        zh="你对同一条消息给出了 {n} 次相同的回答。",
    ),
    session=True,
)
