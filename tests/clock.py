"""A clock that stands still until a test moves it: what would wait a minute waits for `advance(60)`."""

from __future__ import annotations

import asyncio
import heapq
import itertools


class FakeClock:
    """Time in seconds from 0; `slept` holds every wait that was asked for, in order."""

    def __init__(self) -> None:
        self.time = 0.0
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = itertools.count()

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._number), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move time, waking sleepers in their order; everything woken gets some turns of the loop."""
        goal = self.time + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= goal:
            due, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                self.time = max(self.time, due)
                future.set_result(None)
                await settle()
        self.time = goal
        await settle()


async def settle(turns: int = 20) -> None:
    """Let everything that can run, run (loopback sockets included, as far as the kernel has delivered)."""
    for _ in range(turns):
        await asyncio.sleep(0)
