"""The same calls with the same arguments, step after step (MiMo-Code's rule): 3 equal signatures in a row.

Beyond MiMo-Code's rule: a call whose result changed is progress; polls (result "pending" or the like) may go on far
longer; and calls that differ only in a title or a request id, or whose results differ only in ids, count as equal at
twice the bar.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ...values.signature import fold_ids
from ...values.verdict import Hit
from ..evidence.facts import Facts
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words

Results = tuple[str | None, ...]


class RepeatedActionParams(DetectorParams):
    """`equal`: MiMo-Code's 3. `polls`: equal polls in a row; public reports: 14 are usual work, 60 a runaway."""

    equal: int = Field(default=3, ge=2)
    polls: int = Field(default=40, ge=2)


class RepeatedAction(StepDetector):
    """A step without a call ends the row."""

    def __init__(self, params: RepeatedActionParams) -> None:
        self.params = params
        self.seen = 0
        self.row = 0
        self.loose_row = 0
        self.ids_row = 0
        self.key: tuple[str, Results] | None = None
        self.loose: tuple[tuple[str, str | None], ...] | None = None

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        if not step.calls:
            self.row = self.loose_row = self.ids_row = 0
            self.key = self.loose = None
            return None
        key = (step.signature, tuple(call.result for call in step.calls))
        loose = tuple(call.outcome for call in step.calls)
        same = key == self.key
        self.row = self.row + 1 if same else 1
        self.loose_row = self.loose_row + 1 if loose == self.loose else 1
        alike = same or (self.key is not None and key[0] == self.key[0] and _same_but_ids(key[1], self.key[1]))
        self.ids_row = self.ids_row + 1 if alike else 1
        self.key, self.loose = key, loose
        bar = self.params.equal
        longest = max(self.loose_row, self.ids_row)
        if self.row < bar and longest < 2 * bar:
            return None
        if any(call.pending for call in step.calls):
            bar = self.params.polls
        self.doubtful = False
        if self.row >= bar:
            row = self.row
        elif longest >= 2 * bar:
            row, bar = longest, 2 * bar
            self.doubtful = self.loose_row < bar  # ids that change may mean that the agent works through a queue
        else:
            return None
        return Hit(self.seen, self.seen - row, row, 1, row, {"equal": row}, {"equal": bar})


def _same_but_ids(mine: Results, other: Results) -> bool:
    """Do these results of equal calls differ in ids alone, and hold something besides ids?"""
    if len(mine) != len(other):
        return False
    for one, two in zip(mine, other, strict=True):
        if one == two:
            continue
        # Ids that are made the same way are as long, give or take a digit.
        if one is None or two is None or abs(len(one) - len(two)) > 8:
            return False
        folded = fold_ids(one)
        if folded != fold_ids(two) or not any(sign.isalpha() for sign in folded):
            return False
    return True


def plausible(params: RepeatedActionParams, steps: Sequence[Outline]) -> bool:
    """Does the newest step make the calls of the one before?"""
    if len(steps) < 2 or not steps[-1].calls:
        return False
    newest, before = steps[-1], steps[-2]
    return newest.signature == before.signature or newest.outcomes == before.outcomes


DETECTOR = DetectorKind(
    "repeated_action",
    "the same calls with the same arguments and results",
    RepeatedActionParams,
    RepeatedAction,
    Words(
        en="You made the same tool call with the same arguments {n} times; the result did not change.",
        zh="你已连续 {n} 次用相同参数调用同一个工具，结果没有变化。",
    ),
    plausible=plausible,
)
