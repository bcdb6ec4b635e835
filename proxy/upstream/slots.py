"""The queue before a provider with a limit of concurrent calls. Sessions take turns, the queue is bounded, and a call
that leaves it gives up only its own place. A provider without a limit has no slots.

A rate limit belongs to a key and a model, so an adaptive limit is kept for each of them (`whose`) below the one of the
provider: a key that has spent its limit waits, and the calls of other keys pass it. The queue is kept in this process's
memory; each of several workers has a share of the limit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from rules import ConcurrencyLimit

from ..memory.clock import Clock

MOST = 1024
"""Keys and models whose adaptive limits are remembered; a client chooses model names."""


class QueueFull(Exception):
    """The queue is full."""


class _Share:
    """The calls of one key and model."""

    __slots__ = ("limit", "running", "waiting")

    def __init__(self, limit: ConcurrencyLimit) -> None:
        self.limit = limit
        self.running = 0
        self.waiting = 0

    def free(self, now: float) -> bool:
        """May one of its calls go now?"""
        return self.running < self.limit.now_allowed and self.limit.wait(now) <= 0


class _Waiting(NamedTuple):
    """One request in line."""

    turn: asyncio.Future[None]
    whose: str


class Slots:
    """The places of one provider."""

    def __init__(self, clock: Clock, most: int, queue: int, *, adaptive: bool = False) -> None:
        """`most`: calls at once. `queue`: how many requests may wait. `adaptive`: fewer calls after a rate limit."""
        self.most = most
        self.queue = queue
        self.adaptive = adaptive
        self.running = 0
        self.waiting = 0
        self._clock = clock
        self._lines: dict[str, deque[_Waiting]] = {}
        """Who waits, by session; the session whose turn is next comes first."""
        self._shares: dict[str, _Share] = {}
        """By key and model."""
        self._later: asyncio.Task[None] | None = None
        self._due = 0.0
        """When `_later` serves."""

    @property
    def allowed(self) -> int:
        """Calls that may run at once now, for whoever is allowed least."""
        return min([self.most, *(share.limit.now_allowed for share in self._shares.values())])

    def renew(self, most: int, queue: int, adaptive: bool) -> None:
        """Another config is in force: whoever has a place by it is let in."""
        self.most, self.queue, self.adaptive = most, queue, adaptive
        for share in self._shares.values():
            share.limit.renew(most, adaptive)
        self._serve()

    def limit(self, whose: str) -> ConcurrencyLimit:
        """The limit of this key and model, to be told what its calls met."""
        return self._share(whose).limit

    def _share(self, whose: str) -> _Share:
        share = self._shares.get(whose)
        if share is None:
            if len(self._shares) >= MOST:
                self._forget()
            share = self._shares[whose] = _Share(ConcurrencyLimit(self.most, adaptive=self.adaptive))
        return share

    def _forget(self) -> None:
        now = self._clock.now()
        calm = [
            whose
            for whose, share in self._shares.items()
            if not (share.running or share.waiting or share.limit.wait(now) > 0)
        ]
        for whose in calm[: max(1, MOST // 2)]:
            del self._shares[whose]

    def try_take(self, whose: str = "") -> bool:
        """Take a place now, where one is free and nobody waits for it."""
        share = self._share(whose)
        if self.running >= self.most or share.waiting or not share.free(self._clock.now()):
            return False  # whoever waits while a place is free waits for his own limit
        self.running += 1
        share.running += 1
        return True

    async def take(self, session: str, whose: str = "") -> None:
        """Wait for a place. Cancelling it leaves the line. Raises QueueFull."""
        if self.try_take(whose):
            return
        if self.waiting >= self.queue:
            raise QueueFull
        mine = _Waiting(asyncio.get_running_loop().create_future(), whose)
        self._lines.setdefault(session, deque()).append(mine)
        self.waiting += 1
        self._share(whose).waiting += 1
        self._serve()
        try:
            await mine.turn
        except asyncio.CancelledError:
            if mine.turn.done() and not mine.turn.cancelled():
                self.give(whose)
            else:
                self._leave(session, mine)
            raise

    def give(self, whose: str = "") -> None:
        """A place is free again."""
        self.running -= 1
        share = self._share(whose)
        share.running = max(0, share.running - 1)
        self._serve()

    def _leave(self, session: str, mine: _Waiting) -> None:
        line = self._lines.get(session)
        if line is None or mine not in line:
            return
        self._out(session, line, mine)
        self._serve()

    def _out(self, session: str, line: deque[_Waiting], one: _Waiting) -> None:
        line.remove(one)
        self.waiting -= 1
        self._share(one.whose).waiting -= 1
        if not line:
            del self._lines[session]

    def _serve(self) -> None:
        """Hand out what is free, one session after the other."""
        if not self.waiting:
            return
        now = self._clock.now()
        while self.running < self.most and (found := self._next(now)) is not None:
            session, one = found
            line = self._lines[session]
            self._out(session, line, one)
            if line:
                self._lines[session] = self._lines.pop(session)  # at the end: the others come first
            if not one.turn.done():
                self.running += 1
                self._share(one.whose).running += 1
                one.turn.set_result(None)
        waits = [wait for share in self._shares.values() if share.waiting and (wait := share.limit.wait(now)) > 0]
        if waits and (self._later is None or now + min(waits) < self._due):
            if self._later is not None:
                self._later.cancel()
            self._due = now + min(waits)
            self._later = asyncio.ensure_future(self._serve_later(min(waits)))

    def _next(self, now: float) -> tuple[str, _Waiting] | None:
        """Whose turn it is; None where nobody may go now."""
        for session, line in self._lines.items():
            for one in line:
                if one.turn.done() or self._share(one.whose).free(now):
                    return session, one
        return None

    async def _serve_later(self, wait: float) -> None:
        await self._clock.sleep(wait)
        self._later = None
        self._serve()

    def close(self) -> None:
        """The process ends: let nobody wait any longer."""
        if self._later is not None:
            self._later.cancel()
        for line in self._lines.values():
            for one in line:
                if not one.turn.done():
                    self.running += 1
                    self._share(one.whose).running += 1
                    one.turn.set_result(None)
        for share in self._shares.values():
            share.waiting = 0
        self._lines.clear()
        self.waiting = 0
