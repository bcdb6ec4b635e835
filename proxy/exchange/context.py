"""What all exchanges of one process share: settings, the upstream session, the clock, the sinks, and who is open."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from multidict import CIMultiDict

from rules import Failure, Kind, Phase, Reserve, RuleSet, digest

from ..intake.heap import Heap
from ..intake.keys import Keys
from ..intake.ring import ANSWERED, Ring
from ..intake.room import Room
from ..intake.routing import Place, origin, place, prefixes
from ..intake.unwatched import Unwatched
from ..memory.accounts import Accounts, MemoryAccounts
from ..memory.clock import Clock
from ..memory.redis import SharedAccounts
from ..memory.refusals import Refusals
from ..memory.run_memory import RunMemory
from ..observers.reports import BreakerChanged, Reports, StateChanged
from ..settings.engine import engine, ruleset
from ..settings.load import Settings
from ..settings.sections.overload import ConcurrencySettings
from ..settings.service.doors import Doors
from ..upstream.client import Upstream, UpstreamRequest
from ..upstream.gates import Gate, Gates, Key
from ..upstream.slots import Slots
from ..upstream.transport import environment, transport_to

PATIENCE = 2.0
"""Seconds for an upstream to say whether it is a streamfuse."""

ELSEWHERE = "The provider is failing; another worker has been told so."
"""What is known of a failure that another process has seen."""

CLOSED = "closed"
"""What a process leaves for the others when an answer has closed its breaker."""

_KINDS = {kind.value: kind for kind in Kind}

WAY = (
    "base_url",
    "api_key",
    "key_header",
    "headers",
    "proxy_url",
    "verify_tls",
    "ca_file",
    "client_cert",
    "client_key",
)
"""Fields of a provider that say where its calls go and as whom: with another value, earlier failures say nothing."""

PLACES, LONGEST = 256, 128
"""Paths that are remembered, and the characters of the longest."""

TICK = 1.0
"""Seconds between two looks at all open exchanges: the grain of every time-out and heartbeat."""


class OpenExchange(Protocol):
    """A request that is being answered."""

    def tick(self, now: float) -> None:
        """A second has passed."""

    def end_now(self) -> None:
        """The process is about to stop."""


class Process:
    """What belongs to the process and outlives a config that is read anew: connections, the clock, the sinks, accounts,
    and the requests that are open."""

    def __init__(self, settings: Settings, clock: Clock, reports: Reports, chance: Callable[[], float]) -> None:
        self.clock = clock
        self.reports = reports
        self.chance = chance
        self.upstream = Upstream()
        self.open: set[OpenExchange] = set()
        self.room = Room(settings.limits.memory)
        self.heap = Heap()
        self.draining = False
        self.refusals = Refusals()
        self.gates = Gates(clock, self._breaker_changed)
        self.accounts = _accounts(settings, clock, reports)
        self.ring = Ring(clock.now, self._is_fuse)
        self.unwatched = Unwatched()
        self.now: Context
        """The newest context; requests that came before hold older ones."""
        self._tasks: set[asyncio.Task[None]] = set()

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that must not be lost, though whoever asks for it is about to end."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _breaker_changed(self, key: Key, gate: Gate, forgotten: bool) -> None:
        """Tell it, also to the other processes where they share a state."""
        assert gate.breaker is not None and gate.last is not None
        opened = gate.breaker.open
        self.reports.tell(BreakerChanged(key[0], key[1], opened, gate.last, forgotten))
        if self.accounts.shared and not forgotten:
            note = f"{gate.last.kind.value} {gate.last.status or 0}" if opened else CLOSED
            self.later(self.accounts.note(f"breaker:{digest('|'.join(key))}", note.encode(), gate.breaker.pause))

    async def breaker_elsewhere(self, key: Key, breaker: tuple[int, float]) -> None:
        """Open the breakers that another process has opened and close those that it has closed, where the state is
        shared."""
        if not self.accounts.shared:
            return
        names = {f"breaker:{digest('|'.join(one))}": one for one in (key[:2], key)}
        for name, said in (await self.accounts.notes(list(names))).items():
            kind, _, status = said.decode("ascii", "replace").partition(" ")
            if kind == CLOSED:
                self.gates.closed_elsewhere(names[name])
            elif kind and status.isdigit():
                failure = Failure(Phase.HEADERS, _KINDS.get(kind, Kind.SERVER), ELSEWHERE, status=int(status) or None)
                self.gates.tripped(names[name], failure, breaker)

    async def start(self) -> None:
        """Open what needs a running loop."""
        await self.upstream.start()
        await self.accounts.start()

    async def stop(self) -> None:
        """Close it."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
        self.gates.close()
        for slots in self.now.slots.values():
            slots.close()
        await self.upstream.stop()
        await self.accounts.stop()

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
        self.gates.sweep()

    async def _is_fuse(self, name: str) -> bool | None:
        """Does a streamfuse answer where this provider should be? None = nobody answers."""
        provider, transport = self.now.settings.providers.get(name), self.now.transports.get(name)
        if provider is None or transport is None:
            return None
        root = origin(provider.base_url)
        call = UpstreamRequest("GET", f"{root}/-/self", CIMultiDict(), raw=True, transport=transport)
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self.upstream.open(call)
        except TimeoutError:
            return None
        if isinstance(answer, Failure):
            return None
        answer.close()
        return ANSWERED in answer.headers


class Context:
    """One config, made ready for requests, and the process that serves by it. A request keeps the context that it began
    with; `renewed` makes the next one."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        *,
        reports: Reports | None = None,
        rules: RuleSet | None = None,
        chance: Callable[[], float] = random.random,
        before: Context | None = None,
    ) -> None:
        """`rules`: instead of those that the settings name. `chance`: 0..1, for the jitter of waits. `before`: the
        context that this one follows in the same process."""
        self.settings = settings
        process: Process = (
            before.process if before is not None else Process(settings, clock, reports or Reports(), chance)
        )
        self.process: Process = process
        self.clock = process.clock
        self.reports = process.reports
        self.chance = process.chance
        self.upstream = process.upstream
        self.open = process.open
        self.room = process.room
        self.heap = process.heap
        self.gates = process.gates
        self.refusals = process.refusals
        self.accounts = process.accounts
        self.ring = process.ring
        self.unwatched = process.unwatched
        self.later = process.later
        shared = rules if rules is not None else ruleset(settings)
        self.engines = {name: engine(settings, name, shared) for name in settings.providers}
        self.reserves = {name: self._reserve(name, before) for name in settings.providers}
        policies = {name: made.history_policy for name, made in self.engines.items()}
        self.run_memory: RunMemory = RunMemory(
            self.clock, policies, self.accounts, process.later, before.run_memory if before else None
        )
        self.prefixes = self.run_memory.prefixes
        self.slots = {
            name: self._slots(name, provider.concurrency, before)
            for name, provider in settings.providers.items()
            if provider.concurrency.limit
        }
        """Of the providers that have a limit of concurrent calls."""
        environ = environment(settings.network.proxy_env)
        self.transports = {name: transport_to(provider, environ) for name, provider in settings.providers.items()}
        self.bases = prefixes(provider.base_url for provider in settings.providers.values())
        self._places: dict[str, Place] = {}
        listen = settings.listen
        self.doors = Doors(listen.host, listen.hosts, listen.origins)
        self.keys = Keys(settings.auth)
        if before is None:
            process.now = self

    def place(self, raw_path: str) -> Place:
        """Where a request's path leads. Clients ask for the same few paths: those are read once. Raises RouteError."""
        known = self._places.get(raw_path)
        if known is None:
            known = place(raw_path, self.settings.providers, self.bases)
            if len(raw_path) <= LONGEST and len(self._places) < PLACES:
                self._places[raw_path] = known
        return known

    def renewed(self, settings: Settings) -> Context:
        """The same process under another config. Asks nobody and changes nothing, so it may be made in a thread;
        `take` then puts it in the place of this one."""
        return Context(settings, self.clock, before=self)

    def take(self) -> None:
        """From now on this is the config that new requests get."""
        process, settings, old = self.process, self.settings, self.process.now.settings
        process.now = self
        process.room.most = settings.limits.memory
        for name, slots in self.slots.items():
            limit = settings.providers[name].concurrency
            slots.renew(self._share(limit), limit.queue, limit.adaptive)
        process.accounts.ttl = settings.correlation.ttl
        for name, provider in old.providers.items():
            mine = settings.providers.get(name)
            if mine is None or mine.base_url != provider.base_url:
                process.ring.forget(name)
            if mine is None or any(getattr(mine, one) != getattr(provider, one) for one in WAY):
                process.gates.forget(name)

    def _share(self, limit: ConcurrencySettings) -> int:
        """This worker's share of a limit."""
        return math.ceil(limit.limit / self.settings.workers)

    def _slots(self, name: str, limit: ConcurrencySettings, before: Context | None) -> Slots:
        """A provider's slots, with the calls that hold some already."""
        if before is not None and name in before.slots:
            return before.slots[name]
        return Slots(self.clock, self._share(limit), limit.queue, adaptive=limit.adaptive)

    def _reserve(self, name: str, before: Context | None) -> Reserve:
        """A provider's reserve, with what it holds already."""
        reserve = self.settings.reserve
        if before is not None and name in before.reserves and before.settings.reserve == reserve:
            return before.reserves[name]
        return Reserve(reserve.ratio, reserve.window, reserve.floor)

    @property
    def draining(self) -> bool:
        """The process is about to end and takes no new requests."""
        return self.process.draining

    @draining.setter
    def draining(self, value: bool) -> None:
        self.process.draining = value

    async def start(self) -> None:
        """Open what needs a running loop."""
        await self.process.start()

    async def stop(self) -> None:
        """Close it."""
        await self.process.stop()


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
