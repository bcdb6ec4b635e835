"""How many calls to one provider may run at once: a fixed number, or one that follows what the provider takes.

The adaptive limit grows by one for each limit's worth of answers and is halved by a rate limit, as TCP does with its
window (additive increase, multiplicative decrease, RFC 5681). One burst of refusals counts once: only calls that began
after the last cut can cut again. A pure value; `now` is any clock that is always the same, in seconds.
"""

from __future__ import annotations


class ConcurrencyLimit:
    """The limit of one provider, or of one key and model there."""

    __slots__ = ("_cut", "_room", "_until", "adaptive", "most")

    def __init__(self, most: int, *, adaptive: bool = False) -> None:
        """`most`: calls at once, never more. `adaptive`: fewer where the provider refuses."""
        self.most = most
        self.adaptive = adaptive
        self._room = float(most)
        self._cut = float("-inf")
        self._until = float("-inf")
        """Until then the provider has said that nothing more is left."""

    @property
    def now_allowed(self) -> int:
        """Calls that may run at once; at least one, since nothing is learned without a call."""
        return max(1, min(int(self._room), self.most)) if self.adaptive else self.most

    def renew(self, most: int, adaptive: bool) -> None:
        """Another config is in force. What refusals have taught stays."""
        if self._room >= self.most:
            self._room = float(most)
        self.most, self.adaptive = most, adaptive

    def answered(self) -> None:
        """A call gave an answer."""
        if self.adaptive and self._room < self.most:
            self._room = min(float(self.most), self._room + 1.0 / max(1.0, self._room))

    def refused(self, began: float, now: float) -> None:
        """A call that began at that time met a rate limit."""
        if self.adaptive and began >= self._cut:
            self._cut = now
            self._room = max(1.0, self._room / 2)

    def exhausted(self, now: float, seconds: float) -> None:
        """The provider says that no request is left for so many seconds."""
        if self.adaptive:
            self._until = max(self._until, now + seconds)

    def wait(self, now: float) -> float:
        """Seconds until the provider takes another call at all; 0 = now."""
        return max(0.0, self._until - now)
