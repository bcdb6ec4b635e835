"""What all exchanges of one process share: settings, the upstream session, the clock, the sinks, and who is open."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from .clock import Clock
from .config import Settings
from .reports import Reports
from .upstream import Upstream

if TYPE_CHECKING:
    from .exchange import Exchange

TICK = 1.0
"""Seconds between two looks at all open exchanges: the grain of every time-out and heartbeat."""


class Ticking(Protocol):
    """What the one ticker looks at."""

    def tick(self, now: float) -> None:
        """Time has passed. Must not wait."""


class Fuse:
    """One process's worth of streamfuse."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        *,
        reports: Reports | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`chance`: 0..1, for the jitter of waits."""
        self.settings = settings
        self.clock = clock
        self.reports = reports or Reports()
        self.chance = chance
        self.upstream = Upstream()
        self.open: set[Exchange] = set()
        self.draining = False
        self.keys = tuple(key.get_secret_value() for key in settings.auth.keys)

    async def start(self) -> None:
        """Open what needs a running loop."""
        await self.upstream.start()

    async def stop(self) -> None:
        """Close it."""
        await self.upstream.stop()

    async def tick_forever(self) -> None:
        """The one timer of the process: it looks at every open exchange, so that no read arms a timer of its own."""
        while True:
            await self.clock.sleep(TICK)
            now = self.clock.now()
            for exchange in tuple(self.open):
                exchange.tick(now)
