"""No news for a long while: the newest calls all repeat earlier calls of the run, with unchanged results.

This catches an agent that reads the same few files again in any order. A new call, a changed result, or a call that
changes something starts the count again.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import CallFacts, Facts
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words


class NoNewsParams(DetectorParams):
    """`calls`: calls without news in a row. An agent that reads files again after a compaction needs up to about ten
    (measured). `polls`: the same where one of the calls is a poll."""

    calls: int = Field(default=18, ge=4)
    polls: int = Field(default=60, ge=4)


class NoNews(StepDetector):
    """Remembers the outcomes of the run, which has at most 64 steps."""

    def __init__(self, params: NoNewsParams) -> None:
        self.params = params
        self.seen = 0
        self.stale: list[CallFacts] = []
        self.since = 0
        self.known: set[tuple[str, str | None]] = set()

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        for call in step.calls:
            if call.outcome in self.known and not call.changes:
                self.stale.append(call)
            else:
                self.stale, self.since = [], self.seen
                self.known.add(call.outcome)
        bar, stale = self.params.calls, len(self.stale)
        if not step.calls or stale < bar:
            return None
        if any(call.pending for call in self.stale):
            bar = self.params.polls
        if stale < bar:
            return None
        return Hit(self.seen, self.since, stale, None, None, {"calls": stale}, {"calls": bar})


def plausible(params: NoNewsParams, steps: Sequence[Outline]) -> bool:
    """Have the newest calls changed nothing, and did the newest come before?"""
    if not steps or not steps[-1].calls:
        return False
    calls = [call for step in steps for call in step.calls]
    if len(calls) <= params.calls or any(call.changes for call in calls[-params.calls :]):
        return False
    newest = calls.pop().outcome
    return any(call.outcome == newest for call in calls)


DETECTOR = DetectorKind(
    "no_news",
    "only calls that were made before, with the same results",
    NoNewsParams,
    NoNews,
    Words(
        en="Your last {n} tool calls all repeat earlier ones with unchanged results.",
        zh="你最近的 {n} 次工具调用都与之前的相同，结果也没有变化。",
    ),
    plausible=plausible,
    late=2,
)
