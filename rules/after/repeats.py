"""Counts how often a provider gave the same answer that is none, to whichever of its clients.

Where several requests get the same web page or the same empty body, one after the other, the next one need not ask
twice to know that it lasts. Calls that ran side by side, or right one after the other, are one observation: they say
nothing about a second later. `now` is any clock that is always the same, in seconds.
"""

from __future__ import annotations

from .health import FORGET

APART = 0.25
"""Seconds between the end of one call and the beginning of the next that is counted. A crowd that arrives at once makes
its calls within milliseconds, and a server that has just broken under all of them is often back after half a second,
when the first of them asks again."""


class Repeats:
    """What one provider gave last instead of an answer."""

    __slots__ = ("_count", "_counted", "_last", "_likeness", "_others", "_request")

    def __init__(self) -> None:
        self._likeness = ""
        self._request = ""
        self._others = False
        """More than one request has got it: it is not what one request alone is answered with."""
        self._count = 0
        self._counted = 0.0
        """When the newest of those that are counted came."""
        self._last = 0.0

    def came(self, likeness: str, request: str, began: float, now: float) -> None:
        """A call of this request, begun at that time, failed; `likeness` "": in a way that may pass."""
        if not likeness or likeness != self._likeness or now - self._last > FORGET:
            self._likeness, self._request, self._others, self._count = likeness, request, False, 0
        self._last = now
        self._others = self._others or request != self._request
        if self._count == 0 or began >= self._counted + APART:
            self._count += 1
            self._counted = now

    def count(self, likeness: str, now: float) -> int:
        """How often this came, one call after the other, the newest included; 0 where only one request got it."""
        known = bool(likeness) and likeness == self._likeness and now - self._last <= FORGET
        return self._count if known and self._others else 0
