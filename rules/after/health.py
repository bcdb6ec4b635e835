"""How fast all clients together may call a failing provider: first single probes, then more.

SICK failures in a row, with no answer between them, make a provider sick. From then on all calls, first attempts and
retries alike, go one after the other, PACE seconds apart. Each answer halves that pause, until none is left. One
request that always fails does no harm: the calls of others go on, and their answers end the sickness. The caller keeps
a second one for 200s that are no answer (a web page, an empty body): they are no outage and delay retries alone.

It is a value: the caller tells it what happened, asks it when the next call may go, and keeps the queue of waiting
calls. `now` is any clock that is always the same, in seconds.
"""

from __future__ import annotations

SICK = 3
"""Failures in a row. Fewer are normal: a reset, one overloaded node."""
PACE = 0.8
"""Seconds between two calls to a sick provider. Without a pause, fifty agents with ten retries each send 13 calls a
second."""
WELL = PACE / 32
"""Below this pause, in seconds, calls are not delayed any more: about five answers after the first."""
FORGET = 60.0
"""Seconds without a failure after which earlier failures are forgotten."""


class Health:
    """The health of one provider, for one model or one key."""

    __slots__ = ("_answered", "_failed", "_last", "_pause", "_streak", "_streaming")

    def __init__(self) -> None:
        self._streak = 0
        self._pause = 0.0
        """Seconds between two calls; 0 = well."""
        self._last = 0.0
        """When the last call was let through while the provider was sick."""
        self._failed = 0.0
        self._answered = float("-inf")
        self._streaming = False
        """A failure of this streak came inside an answer that began as a 200, so a 200 alone proves nothing."""

    @property
    def calm(self) -> bool:
        """Is nothing recorded against it? Then this object may be dropped."""
        return self._pause == 0 and self._streak == 0

    @property
    def sick(self) -> bool:
        """Do its calls go one after the other?"""
        return self._pause > 0

    @property
    def failing(self) -> bool:
        """Has something failed since the last answer?"""
        return self._streak > 0

    def old(self, now: float) -> bool:
        """Is the last failure so old that it says nothing any more?"""
        return now - self._failed > FORGET

    def failed(self, began: float, now: float, *, streaming: bool = False) -> bool:
        """A call that began at that time failed before it gave any output. `streaming`: after a 200. False: the failure
        does not count, because an answer came after this call had begun."""
        if began < self._answered:
            return False
        if now - self._failed > FORGET:
            self._streak = 0
        self._streak += 1
        self._failed = now
        self._streaming = streaming or (self._streaming and self._streak > 1)
        if self._pause > 0 or self._streak >= SICK:
            if self._pause == 0:
                self._last = now
            self._pause = PACE
        return True

    def opened(self, now: float) -> None:
        """A call got a 200."""
        if not self._streaming:
            self.answered(now)

    def answered(self, now: float) -> None:
        """A call gave output, or an error that is not the provider's fault."""
        if self.calm:
            return
        self._streak = 0
        self._streaming = False
        self._answered = now
        self._pause /= 2
        if self._pause < WELL:
            self._pause = 0.0

    def wait(self, now: float) -> float:
        """Seconds until the next call may go; 0 = now."""
        if self._pause == 0:
            return 0.0
        if now - self._failed > FORGET:
            self._pause, self._streak = 0.0, 0
            return 0.0
        return min(self._pause, max(0.0, self._last + self._pause - now))

    def take(self, now: float) -> None:
        """A call is sent now."""
        self._last = now
