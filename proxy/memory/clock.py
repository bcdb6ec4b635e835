"""Time as a value that is handed in, so that tests move it instead of sleeping."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the shell needs of time."""

    def now(self) -> float:
        """Seconds, monotonic; only differences mean something."""

    def wall(self) -> float:
        """Seconds since 1970: for accounts that several machines share, and for Retry-After."""

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellation ends it."""


class LoopClock:
    """The running loop's own time."""

    __slots__ = ("now", "wall")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # The functions themselves: a request asks some twenty times, and each method around one is a call more.
        self.now = time.monotonic if isinstance(loop, asyncio.BaseEventLoop) else loop.time
        self.wall = time.time

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
