"""One tool fails again and again in the same words (numbers folded), whatever its arguments are. An edit that changed
nothing has failed, too. Different look-ups with empty results look the same but are normal work: they are reported,
never acted on.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ...values.signature import fold_digits
from ...values.verdict import Hit
from ..evidence.facts import Facts, no_effect
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words

_HEAD = 300
"""Characters of an error that are compared: what follows is a stack trace or the arguments."""


class SameErrorParams(DetectorParams):
    """`equal` failures, or `empties` empty results, of one tool in a row."""

    equal: int = Field(default=8, ge=3)
    empties: int = Field(default=8, ge=3)


class SameError(StepDetector):
    """Any call that is not such a failure ends the row; a call with no result yet is passed over."""

    def __init__(self, params: SameErrorParams) -> None:
        self.params = params
        self.seen = 0
        self.row = 0
        self.key: tuple[str, str] | None = None

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        self.warn_only = False
        for call in step.calls:
            if call.result is None:
                continue
            if call.failed and not call.pending:
                key = (call.name, fold_digits(call.result[:_HEAD]))
            elif call.empty:
                key = (call.name, "")
            elif no_effect(call):
                key = (call.name, fold_digits(call.result[:_HEAD]))
            else:
                key, self.row = None, 0
            self.row = self.row + 1 if key is not None and key == self.key else int(key is not None)
            self.key = key
        if not step.calls or self.key is None:
            return None
        self.warn_only = self.key[1] == ""
        bar = self.params.empties if self.warn_only else self.params.equal
        if self.row < bar:
            return None
        return Hit(self.seen, self.seen - self.row, self.row, None, self.row, {"equal": self.row}, {"equal": bar})


def plausible(params: SameErrorParams, steps: Sequence[Outline]) -> bool:
    """Have the newest calls failed, all of one tool?"""
    name = 0
    left = min(params.equal, params.empties)
    for step in reversed(steps):
        for call in reversed(step.calls):
            if not call.answered:
                continue
            if not call.failing or (name and call.failing != name):
                return False
            name, left = call.failing, left - 1
            if not left:
                return True
    return False


DETECTOR = DetectorKind(
    "same_error",
    "the same error whatever the arguments",
    SameErrorParams,
    SameError,
    Words(
        en="The last {n} calls of the same tool failed in the same words, whatever the arguments.",
        zh="同一个工具最近 {n} 次调用都以相同的方式失败，与参数无关。",
    ),
    plausible=plausible,
    late=3,
)
