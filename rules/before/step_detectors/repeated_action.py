"""The same calls with the same arguments, step after step (seeds §1.6): 3 equal signatures in a row.

Beyond the seed: a call whose result changed is progress; polls (result "pending" or the like) may go on far longer; and
calls that differ only in a title or a request id count as equal at twice the bar.
"""

from __future__ import annotations

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import Facts
from ..step_detector import DetectorKind, DetectorParams, StepDetector


class RepeatedActionParams(DetectorParams):
    """`equal`: the seed's 3. `polls`: equal polls in a row; public reports: 14 are usual work, 60 a runaway."""

    equal: int = Field(default=3, ge=2)
    polls: int = Field(default=40, ge=2)


class RepeatedAction(StepDetector):
    """A step without a call ends the row."""

    def __init__(self, params: RepeatedActionParams) -> None:
        self.params = params
        self.seen = 0
        self.row = 0
        self.loose_row = 0
        self.key: tuple[str, tuple[str | None, ...]] | None = None
        self.loose: tuple[tuple[str, str | None], ...] | None = None

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        if not step.calls:
            self.row = self.loose_row = 0
            self.key = self.loose = None
            return None
        key = (step.signature, tuple(call.result for call in step.calls))
        loose = tuple(call.outcome for call in step.calls)
        self.row = self.row + 1 if key == self.key else 1
        self.loose_row = self.loose_row + 1 if loose == self.loose else 1
        self.key, self.loose = key, loose
        bar = self.params.equal
        if self.row < bar and self.loose_row < 2 * bar:
            return None
        if any(call.pending for call in step.calls):
            bar = self.params.polls
        if self.row >= bar:
            row = self.row
        elif self.loose_row >= 2 * bar:
            row, bar = self.loose_row, 2 * bar
        else:
            return None
        return Hit(self.seen, self.seen - row, row, 1, row, {"equal": row}, {"equal": bar})


HABIT = DetectorKind(
    "repeated_action",
    "the same calls with the same arguments and results",
    RepeatedActionParams,
    RepeatedAction,
)
