"""Where the calls to a provider with a limit of concurrent calls wait for a place: sessions take turns, the line has an
end, and whoever leaves it gives up nothing but his own place. A provider without a limit has no slots.

Kept in this process's memory; of several workers each has its share of the limit.
"""

from __future__ import annotations

import asyncio
from collections import deque

from rules import ConcurrencyLimit

from ..memory.clock import Clock


class QueueFull(Exception):
    """As many requests wait already as may."""


class Slots:
    """The places of one provider."""

    def __init__(self, clock: Clock, limit: ConcurrencyLimit, queue: int) -> None:
        """`queue`: how many requests may wait."""
        self.limit = limit
        self.queue = queue
        self.running = 0
        self.waiting = 0
        self._clock = clock
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}
        """Who waits, by session; the session whose turn is next comes first."""
        self._later: asyncio.Task[None] | None = None

    def try_take(self) -> bool:
        """Take a place now, where one is free and nobody waits for it."""
        if self.waiting or self.running >= self.limit.now_allowed or self.limit.wait(self._clock.now()) > 0:
            return False
        self.running += 1
        return True

    async def take(self, session: str) -> None:
        """Wait for a place. Cancelling it leaves the line. Raises QueueFull."""
        if self.try_take():
            return
        if self.waiting >= self.queue:
            raise QueueFull
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(session, deque()).append(mine)
        self.waiting += 1
        self._serve()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self.give()
            else:
                self._leave(session, mine)
            raise

    def give(self) -> None:
        """A place is free again."""
        self.running -= 1
        self._serve()

    def _leave(self, session: str, mine: asyncio.Future[None]) -> None:
        line = self._lines.get(session)
        if line is None or mine not in line:
            return
        line.remove(mine)
        self.waiting -= 1
        if not line:
            del self._lines[session]

    def _serve(self) -> None:
        """Hand out what is free, one session after the other."""
        while self._lines and self.running < self.limit.now_allowed:
            if (wait := self.limit.wait(self._clock.now())) > 0:
                if self._later is None or self._later.done():
                    self._later = asyncio.ensure_future(self._serve_later(wait))
                return
            session, line = next(iter(self._lines.items()))
            del self._lines[session]
            mine = line.popleft()
            self.waiting -= 1
            if line:
                self._lines[session] = line  # at the end: the others come first
            if not mine.done():
                self.running += 1
                mine.set_result(None)

    async def _serve_later(self, wait: float) -> None:
        await self._clock.sleep(wait)
        self._later = None
        self._serve()

    def close(self) -> None:
        """The process ends: let nobody wait any longer."""
        if self._later is not None:
            self._later.cancel()
        for line in self._lines.values():
            for mine in line:
                if not mine.done():
                    self.running += 1
                    mine.set_result(None)
        self._lines.clear()
        self.waiting = 0
