"""What all exchanges of one process share: settings, the upstream session, the clock, the sinks, and who is open."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from multidict import CIMultiDict

from rules import Failure, Reserve, RuleSet

from ..intake.heap import Heap
from ..intake.keys import Keys
from ..intake.ring import ANSWERED, Ring
from ..intake.room import Room
from ..intake.routing import origin, prefixes
from ..memory.accounts import Accounts, MemoryAccounts
from ..memory.clock import Clock
from ..memory.redis import SharedAccounts
from ..memory.run_memory import RunMemory
from ..observers.reports import Reports, StateChanged
from ..settings.engine import engine, ruleset
from ..settings.load import Settings
from ..settings.service.doors import Doors
from ..upstream.client import Upstream, UpstreamRequest
from ..upstream.gates import Gates
from ..upstream.transport import environment, transport_to

PATIENCE = 2.0
"""Seconds for an upstream to say whether it is a streamfuse."""

TICK = 1.0
"""Seconds between two looks at all open exchanges: the grain of every time-out and heartbeat."""


class OpenExchange(Protocol):
    """A request that is being answered."""

    def tick(self, now: float) -> None:
        """A second has passed."""

    def end_now(self) -> None:
        """The process is about to stop."""


class Context:
    """One process's worth of streamfuse."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        *,
        reports: Reports | None = None,
        rules: RuleSet | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`rules`: instead of those that the settings name. `chance`: 0..1, for the jitter of waits."""
        self.settings = settings
        self.clock = clock
        self.reports = reports or Reports()
        self.chance = chance
        self.upstream = Upstream()
        self.open: set[OpenExchange] = set()
        self.room = Room(settings.limits.memory)
        self.heap = Heap()
        self.draining = False
        self._tasks: set[asyncio.Task[None]] = set()
        shared = rules if rules is not None else ruleset(settings)
        self.engines = {name: engine(settings, name, shared) for name in settings.providers}
        self.reserves = {
            name: Reserve(settings.reserve.ratio, settings.reserve.window, settings.reserve.floor)
            for name in settings.providers
        }
        self.gates = Gates(clock)
        self.accounts = _accounts(settings, clock, self.reports)
        policies = {name: made.history_policy for name, made in self.engines.items()}
        self.run_memory = RunMemory(clock, policies, self.accounts, self.later)
        environ = environment(settings.network.proxy_env)
        self.transports = {name: transport_to(provider, environ) for name, provider in settings.providers.items()}
        self.bases = prefixes(provider.base_url for provider in settings.providers.values())
        listen = settings.listen
        self.doors = Doors(listen.host, listen.hosts, listen.origins)
        self.keys = Keys(settings.auth)
        self.ring = Ring(clock.now, self._is_fuse)

    async def start(self) -> None:
        """Open what needs a running loop."""
        await self.upstream.start()
        await self.accounts.start()

    async def stop(self) -> None:
        """Close it."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
        self.gates.close()
        await self.upstream.stop()
        await self.accounts.stop()

    async def _is_fuse(self, name: str) -> bool | None:
        """Does a streamfuse answer where this provider should be? None = nobody answers."""
        root = origin(self.settings.providers[name].base_url)
        call = UpstreamRequest("GET", f"{root}/-/self", CIMultiDict(), raw=True, transport=self.transports[name])
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self.upstream.open(call)
        except TimeoutError:
            return None
        if isinstance(answer, Failure):
            return None
        answer.close()
        return ANSWERED in answer.headers

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that must not be lost, though whoever asks for it is about to end."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def tick_forever(self) -> None:
        """The one timer of the process: it looks at every open exchange, so that no read arms a timer of its own."""
        while True:
            await self.clock.sleep(TICK)
            now = self.clock.now()
            self._tick(now)
            if self.heap.due(now, self.room.held):
                await asyncio.to_thread(self.heap.trim)

    def _tick(self, now: float) -> None:
        """A method of its own: a name in the endless loop would keep the last exchange until the next tick."""
        for exchange in tuple(self.open):
            exchange.tick(now)


def _accounts(settings: Settings, clock: Clock, reports: Reports) -> Accounts:
    state, ttl = settings.state, settings.correlation.ttl
    if state.url is None:
        return MemoryAccounts(ttl)
    return SharedAccounts(
        state.url.get_secret_value(),
        clock.now,
        prefix=state.prefix,
        timeout=state.timeout,
        ttl=ttl,
        changed=lambda healthy, detail: reports.tell(StateChanged(healthy, detail)),
    )
