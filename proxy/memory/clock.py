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

    __slots__ = ("now",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.now = loop.time

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
