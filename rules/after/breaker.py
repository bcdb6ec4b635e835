"""Decides whether a failing provider is asked at all. The pace of `health` delays calls; a breaker answers them with
the last failure.

Failures of different requests in a row, with no answer between them, open it. While it is open, new requests are told
the provider's last failure at once; every `pause` seconds one of them goes through as a probe. The retries of requests
that were under way go on at the pace of `health` and are probes, too. The first answer closes the breaker. It is a
value: the caller tells it what happened and asks it when the next call may go. `now` is any clock that is always the
same, in seconds.
"""

from __future__ import annotations

FORGET = 60.0
"""Seconds without a failure after which earlier failures are forgotten."""


class Breaker:
    """The breaker before one provider, for one model or one key."""

    __slots__ = ("_failed", "_next", "_requests", "failures", "open", "pause")

    def __init__(self, failures: int, pause: float) -> None:
        """`failures`: of so many different requests open it. `pause`: seconds between two probes."""
        self.failures = failures
        self.pause = pause
        self.open = False
        self._requests: set[str] = set()
        """The requests whose failures were counted since the last answer; at most `failures` of them."""
        self._failed = 0.0
        self._next = 0.0
        """When the next probe may go."""

    def failed(self, request: str, now: float) -> bool:
        """A call for this request failed. True where that has opened the breaker."""
        if now - self._failed > FORGET and not self.open:
            self._requests.clear()
        self._failed = now
        if self.open:
            self._next = max(self._next, now + self.pause)
            return False
        self._requests.add(request)
        if len(self._requests) < self.failures:
            return False
        self.trip(now, self.pause)
        return True

    @property
    def calm(self) -> bool:
        """Is nothing counted against the provider?"""
        return not self.open and not self._requests

    def forgets(self, now: float) -> bool:
        """Is the last failure so old that it says nothing any more? The breaker is closed then."""
        if now - self._failed <= FORGET + self.pause or self.calm:
            return False
        self.open = False
        self._requests.clear()
        return True

    def trip(self, now: float, wait: float) -> None:
        """Open it; the first probe goes after `wait` seconds. (Another process has seen the failures.)"""
        self.open = True
        self._failed = now
        self._requests.clear()
        self._next = now + wait

    def give_back(self, now: float) -> None:
        """A probe has ended without telling anything (its client left): another may go at once."""
        if self.open:
            self._next = min(self._next, now)

    def answered(self) -> bool:
        """A call gave output. True where that has closed the breaker."""
        was, self.open = self.open, False
        self._requests.clear()
        return was

    def wait(self, now: float) -> float:
        """Seconds until the next probe may go; 0 = a request may go now, and where the breaker is open it must `take`
        the probe."""
        return max(0.0, self._next - now) if self.open else 0.0

    def take(self, now: float) -> None:
        """A request goes out as the probe, if the breaker is open."""
        self._next = now + self.pause
