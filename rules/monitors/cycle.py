"""An exact cycle of characters at the end of the text: dsh-loop-guard's rule (seeds §2.2), at the exact character.

The tail has period p when it equals itself p characters earlier; it fires when such a tail is max(span, 2p) long and
one copy holds enough distinct characters. Exactness is the point: a share of equal characters does not part loops
from tables and logs (seeds §2.2: healthy .72-.84, loops .92-.99).

Instead of a rescan: every few characters (`_step`, counted from the start of the text, so cuts do not matter) the last
block is searched for in the text before it, at C speed. Any run that will fire covers at least one such block whole,
so none is missed; what is found there says when each run would be long enough, and that moment is verified by one
comparison. Text that does not repeat costs one failed search a block.
"""

from __future__ import annotations

from pydantic import Field

from ..brief import Brief
from ..delta import Channel
from ..verdict import Hit
from .base import MonitorKind, Params, Scope, StreamMonitor

BLOCK = 32
"""Characters between two searches at most: the seed's own stride."""
SLACK = 512
"""Characters kept beyond what is needed, so that the text is not moved at every block."""


class CycleParams(Params):
    """Defaults: dsh-loop-guard's max- and minRepeatedCycleChars for visible text (seeds §2.1)."""

    period: int = Field(default=512, ge=1, le=8192)
    """Longest period, characters. A cap below a real period fails silently: 89-409 were seen in real reasoning."""
    span: int = Field(default=256, ge=2, le=65_536)
    """Shortest periodic tail, characters; at least two copies are needed whatever it says."""
    distinct: int = Field(default=2, ge=1)
    """Distinct characters one copy must hold: dividers and rules have one."""


class Cycle(StreamMonitor):
    """Keeps the tail that the longest possible cycle needs."""

    __slots__ = (
        "_base", "_distinct", "_due", "_fed", "_keep", "_parts", "_period", "_ripeness", "_seen", "_span", "_step",
        "_text", "_wake",
    )  # fmt: skip

    def __init__(self, params: CycleParams) -> None:
        self._period = params.period
        self._span = params.span
        self._distinct = params.distinct
        shortest = (params.span + 1) // 2  # max(span - p, p) is least where p is half of the span
        self._step = max(1, min(BLOCK, (shortest + 1) // 2))
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
        """Walk from moment to moment: the ends of blocks, and where a run would be long enough."""
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
        """Did the run found at the last block go on until now?"""
        start, stop = self._seen - self._base, now - self._base
        return self._text[start:stop] == self._text[start - period : stop - period]

    def _search(self, now: int) -> Hit | None:
        """Which periods does the last block have, and when would each be long enough?"""
        text, step, longest = self._text, self._step, self._period
        end = now - self._base
        self._due = []
        self._ripeness = 0.0
        needle, begin = text[end - step : end], end - step
        found = text.rfind(needle, max(0, begin - longest), end - 1)
        last, grown = begin, False
        while found >= 0:
            period = begin - found
            need = self._need(period)
            if last == begin:
                tail = self._tail(end, period, step)
                self._ripeness = tail / need
            else:
                tail = self._tail(end, period, step) if self._late(end, period, need) else 0
            due = now + need - tail
            if due < now + step and len(set(text[end - period : end])) >= self._distinct:
                if due <= now:
                    return self._hit(period, now)
                self._due.append((due, period))
            gap = last - found
            last = found
            if not grown and gap <= step:
                # The block repeats inside itself, so it is found everywhere in a run of its like (aaaa). Only where the
                # whole run is found, with what stood before it, can another period be longer than the run.
                grown = True
                run = self._tail(end, gap, step - gap)
                begin = end - run - 1
                if begin < 0 or run >= self._need(longest):
                    break
                needle, last = text[begin:end], begin - period
            found = text.rfind(needle, max(0, begin - longest), end - period - 1)
        self._due.sort()
        return None

    def _late(self, end: int, period: int, need: int) -> bool:
        """Is the tail of this period so long that it may be long enough before the next block ends?"""
        size = max(self._step, need - period - self._step + 1)
        if end - period - size < 0:
            return False
        return self._text[end - size : end] == self._text[end - period - size : end - period]

    def _tail(self, end: int, period: int, good: int) -> int:
        """Length of the tail with this period within what is kept; its last `good` characters are known to repeat."""
        text = self._text
        bad = min(self._keep, end - period) + 1
        while True:  # double, then halve: comparisons of slices, not of characters
            size = min(bad - 1, 2 * good + 1)
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
    """Wanted repetition is not looked at: the seed does not."""
    assert isinstance(params, CycleParams)
    return Cycle(params)


MONITOR = MonitorKind("cycle", "An exact cycle of characters", CycleParams, start, Scope.CHANNEL)
