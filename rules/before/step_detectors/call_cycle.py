"""A cycle of 2 to 6 calls with unchanged results, three times over; one foreign call in between does not hide it.

Two forms: the newest calls are periodic, exactly or after leaving out any one call; or one call with the same result
comes back again and again with at most one other call between, none of which changes anything.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pydantic import Field

from ...values.verdict import Hit
from ..evidence.facts import CallFacts, Facts
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words

Outcome = tuple[str, str | None]


class CallCycleParams(DetectorParams):
    """`copies` of a cycle of `shortest`..`longest` calls; cycles that hold a poll need `polls` copies."""

    shortest: int = Field(default=2, ge=2)
    longest: int = Field(default=6, ge=2, le=12)
    copies: int = Field(default=3, ge=2)
    polls: int = Field(default=20, ge=2)
    returns: int = Field(default=6, ge=3)
    """How often one call must come back with at most one other call between."""


def periodic(keys: list[Outcome], period: int) -> bool:
    """Does every key equal the one `period` before it?"""
    return all(keys[i] == keys[i - period] for i in range(period, len(keys)))


class CallCycle(StepDetector):
    """Works on the calls of the run, whatever steps they were in."""

    def __init__(self, params: CallCycleParams) -> None:
        self.params = params
        self.seen = 0
        self.calls: deque[CallFacts] = deque(maxlen=params.longest * params.polls + 1)

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        if not step.calls:
            self.calls.clear()
            return None
        self.calls.extend(step.calls)
        return self._cycle() or self._returning()

    def _cycle(self) -> Hit | None:
        calls = list(self.calls)
        keys = [call.outcome for call in calls]
        for period in range(self.params.shortest, self.params.longest + 1):
            copies = self.params.copies
            need = period * copies
            if len(keys) < need:
                continue
            if keys[-1] != keys[-1 - period] and keys[-1] != keys[-2 - period]:
                continue  # neither periodic, nor periodic without one call: nearly every look ends here
            newest = keys[-need:]
            if len(set(newest[-period:])) < 2:
                continue
            found = periodic(newest, period)
            if not found and len(keys) > need:
                longer = keys[-need - 1 :]
                found = any(periodic(longer[:i] + longer[i + 1 :], period) for i in range(len(longer) - 1))
            if found and any(call.pending for call in calls[-period:]):
                copies = self.params.polls
                need = period * copies
                found = len(keys) >= need and periodic(keys[-need:], period)
            if found:
                return Hit(
                    self.seen, max(0, self.seen - need), need, period, copies, {"copies": copies}, {"copies": copies}
                )
        return None

    def _returning(self) -> Hit | None:
        calls = list(self.calls)
        for newest in (calls[-1], calls[-2] if len(calls) > 1 else calls[-1]):
            # Only a check that always fails the same way: what succeeds may rightly be looked at again.
            if not newest.failed or newest.empty:
                continue
            seen, gap = 0, 0
            others: set[Outcome] = set()
            for call in reversed(calls):
                if call.outcome == newest.outcome:
                    seen, gap = seen + 1, 0
                    continue
                gap += 1
                if gap > 1 or call.changes or call.pending:
                    break
                others.add(call.outcome)
            if seen >= self.params.returns and others and not newest.pending and not calls[-1].pending:
                return Hit(
                    self.seen, 0, seen, 2, seen, {"returns": seen}, {"returns": self.params.returns}
                )  # fmt: skip
        return None


def plausible(params: CallCycleParams, steps: Sequence[Outline]) -> bool:
    """Did the newest call, or the one before it, come a short while ago, with the same result?"""
    reach = max(params.longest + 2, 4)
    calls: list[int] = []
    for step in reversed(steps):
        if not step.calls or len(calls) >= reach:
            break
        calls += [call.outcome for call in reversed(step.calls)]
    if not calls:
        return False
    return calls[0] in calls[1:reach] or (len(calls) > 2 and calls[1] in calls[2:4])


DETECTOR = DetectorKind(
    "call_cycle",
    "a cycle of calls with unchanged results",
    CallCycleParams,
    CallCycle,
    Words(
        en="You are going round in a cycle of tool calls ({n} calls); their results did not change.",
        zh="你在反复执行同一组工具调用（{n} 次），结果没有变化。",
    ),
    plausible=plausible,
)
