"""Nothing new for a long while: the newest calls all repeat earlier ones of the run with unchanged results.

Catches re-reading the same few files in any order. One new call, one changed result or one call that changes something
starts the count again.
"""

from __future__ import annotations

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import CallFacts, Facts
from ..step_detector import DetectorKind, DetectorParams, StepDetector


class NoNewsParams(DetectorParams):
    """`calls` without news in a row. Re-reading after a compaction was seen to need up to about ten."""

    calls: int = Field(default=18, ge=4)
    polls: int = Field(default=60, ge=4)


class NoNews(StepDetector):
    """Remembers the outcomes of the run (at most the newest 64 steps of it are ever given)."""

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


HABIT = DetectorKind("no_news", "only calls that were made before, with the same results", NoNewsParams, NoNews, late=2)
