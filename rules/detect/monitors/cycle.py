"""An exact cycle of characters at the end of the text: dsh-loop-guard's rule, at the exact character.

The tail has period p when it equals itself p characters earlier; it fires when such a tail is max(span, 2p) long and
one copy holds enough distinct characters. The comparison is exact, because a share of equal characters does not
separate loops from tables and logs (dsh-loop-guard measured 0.72 to 0.84 in healthy text and 0.92 to 0.99 in loops).

Instead of a rescan: every few characters (`_step`, counted from the start of the text, so cuts do not matter) the end
of the text is searched for in the text before it, at C speed. A match says when the run will be long enough, and at
that character one comparison verifies it. Text that does not repeat costs one failed search a step.
"""

from __future__ import annotations

from pydantic import Field

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from .base import MonitorKind, MonitorScope, Params, StreamMonitor

BLOCK = 32
"""Characters between two searches at most: the seed's own stride."""
SLACK = 512
"""Characters kept beyond what is needed, so that the text is not moved at every block."""


class CycleParams(Params):
    """Defaults: dsh-loop-guard's max- and minRepeatedCycleChars for visible text."""

    period: int = Field(default=512, ge=1, le=8192)
    """Longest period, characters. A cap below a real period fails silently: 89-409 were seen in real reasoning."""
    span: int = Field(default=256, ge=2, le=65_536)
    """Shortest periodic tail, characters; at least two copies are needed whatever it says."""
    distinct: int = Field(default=2, ge=1)
    """Distinct characters one copy must hold: dividers and rules have one."""


class Cycle(StreamMonitor):
    """Keeps the tail that the longest possible cycle needs."""

    __slots__ = (
        "_base", "_distinct", "_due", "_fed", "_keep", "_match", "_parts", "_period", "_ripeness", "_seen", "_span",
        "_step", "_text", "_wake",
    )  # fmt: skip

    def __init__(self, params: CycleParams) -> None:
        self._period = params.period
        self._span = params.span
        self._distinct = params.distinct
        shortest = (params.span + 1) // 2  # max(span - p, p) is least where p is half of the span
        self._step = max(1, min(BLOCK, (shortest + 1) // 2))
        self._match = shortest - self._step + 1
        self._keep = max(params.span, 2 * params.period) + self._step
        self._text = ""
        self._base = 0  # position of _text[0]
        self._parts: list[str] = []
        self._fed = 0
        self._seen = 0  # up to here the text was judged
        self._wake = self._step
        self._due: list[tuple[int, int]] = []
        self._ripeness = 0.0

    def feed(self, text: str, channel: Channel) -> Hit | None:
        self._parts.append(text)
        self._fed += len(text)
        return self._judge() if self._fed >= self._wake else None

    def _judge(self) -> Hit | None:
        """Go from one place of interest to the next: the ends of blocks, and the characters at which a run would be
        long enough."""
        self._text += "".join(self._parts)
        self._parts.clear()
        while self._fed >= self._wake:
            now = self._wake
            for due, period in self._due:
                if due == now and self._holds(period, now):
                    return self._hit(period, now)
            if now % self._step == 0:
                hit = self._search(now)
                if hit is not None:
                    return hit
                self._seen = now
            else:
                self._due = [d for d in self._due if d[0] > now]
            block = now - now % self._step + self._step
            self._wake = min(block, self._due[0][0]) if self._due else block
        if len(self._text) > self._keep + SLACK:
            gone = len(self._text) - self._keep
            self._text = self._text[gone:]
            self._base += gone
        return None

    def _need(self, period: int) -> int:
        return max(self._span, 2 * period)

    def _holds(self, period: int, now: int) -> bool:
        """Does the run that was found at the last block still hold?"""
        start, stop = self._seen - self._base, now - self._base
        return self._text[start:stop] == self._text[start - period : stop - period]

    def _search(self, now: int) -> Hit | None:
        """Which periods has the text repeated long enough to fire before the next search, and when exactly?

        Such a run equals what is one period before it over at least `_match` characters, so those are searched for.
        """
        text, longest = self._text, self._period
        self._due = []
        self._ripeness = 0.0
        end = now - self._base
        begin = end - self._match
        if begin < 0:
            return None
        needle = text[begin:end]
        found = text.rfind(needle, max(0, begin - longest), end - 1)
        if found < 0:
            return None
        tail = self._tail(end, begin - found)
        self._ripeness = tail / self._need(begin - found)
        periods = [begin - found]
        # Inside the tail of the shortest period only its multiples are found, and none of them is due before it.
        start = end - tail
        low = max(0, begin - min(longest, tail + self._step - 1))
        found = text.rfind(needle, low, max(0, start - 1 + self._match))
        while found >= 0:
            periods.append(begin - found)
            found = text.rfind(needle, low, found + self._match - 1)
        if start > 0 and tail < self._need(longest):
            # A longer period has to equal all of that tail, and what stands before it: this keeps floods cheap.
            begin, needle = start - 1, text[start - 1 : end]
            low = max(0, begin - longest)
            found = text.rfind(needle, low, max(0, begin - tail - self._step + len(needle)))
            while found >= 0:
                periods.append(begin - found)
                found = text.rfind(needle, low, found + len(needle) - 1)
        for period in periods:
            need = self._need(period)
            if self._late(end, period, need) and len(set(text[end - period : end])) >= self._distinct:
                due = now + need - self._tail(end, period)
                if due <= now:
                    return self._hit(period, now)
                self._due.append((due, period))
        self._due.sort()
        return None

    def _late(self, end: int, period: int, need: int) -> bool:
        """Is the tail of this period so long that it may be long enough before the next search?"""
        size = need - period - self._step + 1
        if end - period - size < 0:
            return False
        return self._text[end - size : end] == self._text[end - period - size : end - period]

    def _tail(self, end: int, period: int) -> int:
        """Length of the tail with this period within what is kept; `_match` characters of it are known to repeat."""
        text, good = self._text, self._match
        bad = min(self._keep, end - period) + 1
        while True:  # double, then halve: comparisons of slices, not of characters
            size = min(bad - 1, 2 * good)
            if text[end - size : end] != text[end - period - size : end - period]:
                bad = size
                break
            good = size
            if size == bad - 1:
                return good + period
        while bad - good > 1:
            size = (good + bad) // 2
            if text[end - size : end] == text[end - period - size : end - period]:
                good = size
            else:
                bad = size
        return good + period

    def _hit(self, period: int, at: int) -> Hit:
        span = self._need(period)
        text = self._text[: at - self._base]
        return Hit(
            at=at,
            since=at - span,
            span=span,
            period=period,
            copies=span / period,
            evidence={"span": float(span), "distinct": float(len(set(text[-period:])))},
            bars={"span": float(self._span), "distinct": float(self._distinct)},
        )

    def suspicion(self) -> float:
        return min(1.0, self._ripeness)


def start(params: Params, brief: Brief) -> Cycle:
    """The request's wishes are not read, because the original does not read them."""
    assert isinstance(params, CycleParams)
    return Cycle(params)


MONITOR = MonitorKind("cycle", "An exact cycle of characters", CycleParams, start, MonitorScope.CHANNEL)
