"""An event loop whose time stands still while anything can be done, and skips ahead where nothing can.

Client, proxy and provider run in one such loop, over real sockets on loopback, with their real timers:
`asyncio.sleep`, `asyncio.timeout`, anyio and aiohttp all read the loop's time. An outage of two minutes then takes as
long as the work in it, and what comes out does not depend on how busy the machine is.
"""

from __future__ import annotations

import asyncio
import selectors
import socket
import time
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

GRACE = 0.0002
"""Real seconds in which bytes that are under way on loopback may arrive before time is skipped."""

STRIDE = 1.0
"""Seconds that are skipped at once at most, so that bytes that came later than GRACE cost little time."""

IDLE = 0.02
"""Real seconds between two looks where no timer is set at all: only a thread or a signal can go on."""


class _Selector(selectors.BaseSelector):
    """Asks the machine's selector, and skips time instead of waiting."""

    def __init__(self, loop: SkippingLoop) -> None:
        self._real = selectors.DefaultSelector()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None or self._loop.threads:
            return self._real.select(IDLE)
        time.sleep(GRACE)  # noqa: TID251  (not `select(GRACE)`: epoll counts in whole milliseconds)
        ready = self._real.select(0)
        if not ready:
            self._loop.skip(min(timeout, STRIDE))
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class SkippingLoop(asyncio.SelectorEventLoop):
    """Begins at 0 seconds."""

    def __init__(self) -> None:
        self._skipped = 0.0
        self.threads = 0
        """Calls in threads that have not returned; time does not skip meanwhile."""
        self.dialled: list[float] = []
        """When a connection to the watched port was tried: one that is refused reaches no server to be counted."""
        self._watched = 0
        super().__init__(_Selector(self))

    def watch(self, port: int) -> None:
        """Keep from now on when connections to this port are tried."""
        self._watched = port

    def time(self) -> float:
        return self._skipped

    def skip(self, seconds: float) -> None:
        """Let this much time pass."""
        self._skipped += seconds

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        if address[1] == self._watched:
            self.dialled.append(self.time())
        await super().sock_connect(sock, address)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        future = super().run_in_executor(executor, func, *args)
        self.threads += 1
        future.add_done_callback(self._returned)
        return future

    def _returned(self, _future: Any) -> None:
        self.threads -= 1


EPOCH = 1_700_000_000.0
"""What the wall clock says when the loop begins."""


class SkippedClock:
    """The proxy's clock in such a loop: the wall clock skips too."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.now = loop.time

    def wall(self) -> float:
        return EPOCH + self.now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in a loop of this kind."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main)
