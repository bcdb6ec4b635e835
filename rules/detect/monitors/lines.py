"""A small pool of lines fills most of the text, in any order: dsh-loop-guard's rule in a sliding window.

The original keeps totals of the whole answer, so a loop has to outweigh all healthy text before it. Here the oldest
lines leave the window. It judges at each newline, so cuts do not matter. The window also sheds its oldest line while it
holds more distinct lines than could ever be concentrated enough, which bounds its memory.
"""

from __future__ import annotations

from array import array
from typing import Self

from pydantic import Field, model_validator

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from ..text import SPACE
from .base import MonitorKind, MonitorScope, Params, StreamMonitor

LONG = 512
"""Characters of one line that are kept; what goes on beyond is folded into a digest, trailing white space too."""


class LinesParams(Params):
    """Defaults: dsh-loop-guard's maxRepeatedTextLineChars, -Coverage and -Concentration."""

    chars: int = Field(default=2048, ge=1)
    """Characters in repeated lines, every sighting counted."""
    coverage: float = Field(default=0.6, ge=0, le=1)
    """Their share of all characters counted."""
    concentration: float = Field(default=4.0, ge=0)
    """Sightings per distinct line. Real pools measured 6.4-84, code quoted before and after an edit 1.4-2.5."""
    window: int = Field(default=512, ge=2, le=8192)
    """Lines looked back over. Ours: the seed has no window; four copies of a pool of 128 lines fit."""

    @model_validator(mode="after")
    def _can_fire(self) -> Self:
        if self.concentration > self.window:
            raise ValueError(f"concentration {self.concentration:g} cannot be reached in a window of {self.window}")
        return self


class Lines(StreamMonitor):
    """A ring of line digests with running totals."""

    __slots__ = (
        "_at", "_begin", "_counts", "_digest", "_distinct", "_first", "_keys", "_line", "_params", "_repeated",
        "_sizes", "_starts", "_total",
    )  # fmt: skip

    def __init__(self, params: LinesParams) -> None:
        self._params = params
        # More distinct lines than this can never be concentrated enough, so they need not be remembered.
        self._distinct = params.window if params.concentration <= 1 else int(params.window / params.concentration)
        self._keys = array("q")
        self._sizes = array("i")
        self._starts = array("q")
        self._first = 0  # the oldest line still in the window
        self._counts: dict[int, int] = {}
        self._total = 0
        self._repeated = 0
        self._line = ""
        self._digest = 0
        self._begin = 0
        self._at = 0

    def feed(self, text: str, channel: Channel) -> Hit | None:
        base = self._at
        self._at = base + len(text)
        if "\n" not in text:
            self._grow(text)
            return None
        start = 0
        while (stop := text.find("\n", start)) >= 0:
            self._grow(text[start:stop])
            hit = self._end(base + stop + 1)
            if hit is not None:
                return hit
            start = stop + 1
        self._grow(text[start:])
        return None

    def _grow(self, text: str) -> None:
        line = self._line + text if self._line else text.lstrip(SPACE) if not self._digest else text
        if len(line) > LONG:
            last = (len(line) - 1) // LONG * LONG
            for at in range(0, last, LONG):
                self._digest = hash((self._digest, line[at : at + LONG]))
            line = line[last:]
        self._line = line

    def _end(self, at: int) -> Hit | None:
        """A line is complete: count it, forget what left the window, judge."""
        line, begin = self._line.rstrip(SPACE), self._begin
        long = self._digest
        self._line, self._digest, self._begin = "", 0, at
        size = at - begin - 1 if long else len(line)
        if size < 2:
            return None
        key = hash((long, line)) if long else hash(line)
        seen = self._counts.get(key, 0) + 1
        self._counts[key] = seen
        self._keys.append(key)
        self._sizes.append(min(size, 2**31 - 1))
        self._starts.append(begin)
        self._total += size
        if seen > 1:
            self._repeated += 2 * size if seen == 2 else size
        while len(self._keys) - self._first > self._params.window or len(self._counts) > self._distinct:
            self._shed()
        p = self._params
        if (
            seen > 1
            and self._repeated >= p.chars
            and self._repeated >= p.coverage * self._total
            and len(self._keys) - self._first >= p.concentration * len(self._counts)
        ):
            return self._hit(at)
        return None

    def _shed(self) -> None:
        """The oldest line leaves the window."""
        key, size = self._keys[self._first], self._sizes[self._first]
        seen = self._counts[key] - 1
        if seen:
            self._counts[key] = seen
            self._repeated -= 2 * size if seen == 1 else size
        else:
            del self._counts[key]
        self._total -= size
        self._first += 1
        if self._first >= 64:
            for ring in (self._keys, self._sizes, self._starts):
                del ring[: self._first]
            self._first = 0

    def _hit(self, at: int) -> Hit:
        sightings = len(self._keys) - self._first
        evidence = {
            "chars": float(self._repeated),
            "coverage": self._repeated / self._total,
            "concentration": sightings / len(self._counts),
        }
        bars = {name: float(getattr(self._params, name)) for name in evidence}
        since = self._onset()
        return Hit(at, since, at - since, None, evidence["concentration"], evidence, bars)

    def _onset(self) -> int:
        """Where the repetition began: the start of the longest part at the end of the window that begins with a
        repeated line and is still mostly repeated."""
        total = repeated = 0
        since = self._starts[-1]
        for i in range(len(self._keys) - 1, self._first - 1, -1):
            total += self._sizes[i]
            if self._counts[self._keys[i]] > 1:
                repeated += self._sizes[i]
                if repeated >= self._params.coverage * total:
                    since = self._starts[i]
        return since

    def suspicion(self) -> float:
        p = self._params
        if not self._repeated or self._repeated < p.coverage * self._total:
            return 0.0
        sightings = len(self._keys) - self._first
        concentrated = sightings / (p.concentration * len(self._counts)) if p.concentration else 1.0
        return min(1.0, self._repeated / p.chars, concentrated)


def start(params: Params, brief: Brief) -> Lines:
    """The request's wishes are not read, because the original does not read them."""
    assert isinstance(params, LinesParams)
    return Lines(params)


MONITOR = MonitorKind("lines", "A small pool of lines", LinesParams, start, MonitorScope.CHANNEL)
