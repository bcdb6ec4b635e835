"""Where the calls to a failing provider wait for their turn, at the pace that its health allows: first come, first
served, and first calls of requests before retries. A healthy provider has no gate, and its calls do not wait. Failures
of the provider itself are counted by model; those of a rate limit by model and key, because the limit of one team does
not concern the others. Kept in this process's memory: every worker keeps a pace of its own.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from rules import Breaker, Failure, Health, Kind, Repeats, likeness

from ..memory.clock import Clock

MOST = 4096
"""Gates of one process; the one longest untouched goes first. A client chooses model names."""

Key = tuple[str, ...]
Changed = Callable[[Key, "Gate", bool], None]


class Gate:
    """One queue."""

    __slots__ = ("_clock", "_pump", "_queue", "_retries", "breaker", "health", "last", "odd", "repeats")

    def __init__(self, clock: Clock) -> None:
        self.health = Health()
        self.odd = Health()
        """Of whole 200s that were no answer. The provider has time for them, so only their retries go one after the
        other: what the first one gets tells the others whether to ask again (`repeats`)."""
        self.last: Failure | None = None
        """What the provider said last."""
        self.breaker: Breaker | None = None
        """Where the config asks for one."""
        self.repeats = Repeats()
        self._clock = clock
        self._queue: deque[asyncio.Future[None]] = deque()
        """First calls of requests, in the order in which they came. They go before the retries: a request that the
        provider would answer waits for one turn, not for all turns of those whose calls fail."""
        self._retries: deque[asyncio.Future[None]] = deque()
        self._pump: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        """Nobody waits, and nothing is held against the provider."""
        return not self.waiting and self.calm and (self.breaker is None or self.breaker.calm)

    @property
    def calm(self) -> bool:
        """Is nothing held against the provider?"""
        return self.health.calm and self.odd.calm

    def _wait(self, retry: bool) -> float:
        """Seconds until the next call may go."""
        now = self._clock.now()
        return max(self.health.wait(now), self.odd.wait(now)) if retry else self.health.wait(now)

    def _take(self, retry: bool) -> None:
        now = self._clock.now()
        self.health.take(now)
        if retry:
            self.odd.take(now)

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._queue) + len(self._retries)

    async def turn(self, retry: bool = False) -> None:
        """Wait for one's turn. Cancelling it gives the turn to the next. `retry`: the provider has been asked for this
        request before."""
        if not self._queue and not (retry and self._retries) and self._wait(retry) <= 0:
            self._take(retry)
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._retries if retry else self._queue).append(mine)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.ensure_future(self._serve())
        await mine

    async def _serve(self) -> None:
        while queue := self._queue or self._retries:
            retry = queue is self._retries
            if queue[0].done():  # whoever waited here has left
                queue.popleft()
            elif (wait := self._wait(retry)) > 0:
                await self._clock.sleep(wait)
            else:
                self._take(retry)
                queue.popleft().set_result(None)

    def close(self) -> None:
        """Let nobody wait any longer."""
        if self._pump is not None:
            self._pump.cancel()
        for queue in (self._queue, self._retries):
            for waiting in queue:
                if not waiting.done():
                    waiting.set_result(None)
            queue.clear()


class Gates:
    """All of them, made when something fails."""

    def __init__(self, clock: Clock, changed: Changed = lambda key, gate, forgotten: None) -> None:
        """`changed` is told when a breaker opens, a probe fails, or it closes; the last argument says that it closes
        because nothing is known any more, not because of an answer."""
        self._clock = clock
        self._changed = changed
        self._kept: OrderedDict[Key, Gate] = OrderedDict()

    def before(self, key: Key) -> list[Gate]:
        """The gates that a call passes. `key`: provider, model, digest of the credential."""
        if not self._kept:
            return []
        return [gate for one in (key[:2], key) if (gate := self._kept.get(one)) is not None]

    def failed(
        self,
        key: Key,
        failure: Failure,
        began: float,
        *,
        streaming: bool,
        request: str = "",
        breaker: tuple[int, float] = (0, 0.0),
    ) -> None:
        """A call failed before it gave output. `streaming`: after it began as a 200. `request`: which logical request
        it was for. `breaker`: failures that open one, 0 = none is wanted, and its pause."""
        if failure.kind is Kind.TERMINAL:
            # An error of this request. It says that somebody is there, so the pace is eased; whether answers come it
            # does not say: a wrong key is refused at the door of a provider that is overloaded behind it.
            self._tell(key, Health.answered, closes=False)
            return
        of = key if failure.kind is Kind.RATE_LIMIT else key[:2]
        gate = self._gate(of)
        gate.last = failure
        now = self._clock.now()
        gate.repeats.came(likeness.common(failure), request, began, now)
        if likeness.useless(failure):
            counts = gate.odd.failed(began, now, streaming=True)
        else:
            counts = gate.health.failed(began, now, streaming=streaming)
        if breaker[0] and counts:
            if gate.breaker is None:
                gate.breaker = Breaker(*breaker)
            gate.breaker.failures, gate.breaker.pause = breaker
            gate.breaker.failed(request, now)
            if gate.breaker.open:
                self._changed(of, gate, False)

    def _gate(self, of: Key) -> Gate:
        gate = self._kept.get(of)
        if gate is None:
            gate = self._kept[of] = Gate(self._clock)
            if len(self._kept) > MOST:
                self._drop(next(iter(self._kept)))
        self._kept.move_to_end(of)
        return gate

    def tripped(self, key: Key, failure: Failure, breaker: tuple[int, float]) -> None:
        """Another process has opened its breaker for this key: open ours, too, where it is closed."""
        gate = self._gate(key)
        if gate.breaker is None:
            gate.breaker = Breaker(*breaker)
        if not gate.breaker.open:
            gate.last = failure
            gate.breaker.trip(self._clock.now(), breaker[1])

    def closed_elsewhere(self, key: Key) -> None:
        """Another process has had an answer where our breaker is still open: close ours."""
        gate = self._kept.get(key)
        if gate is not None and gate.breaker is not None and gate.breaker.open:
            gate.breaker.answered()
            self._changed(key, gate, True)
            if gate.idle:
                del self._kept[key]

    def refuses(self, key: Key) -> tuple[Failure, float] | None:
        """Is a new request answered from memory? The last failure, and the seconds until the next probe."""
        now = self._clock.now()
        gates = [(gate, gate.breaker) for gate in self.before(key) if gate.breaker is not None]
        for gate, breaker in gates:
            if gate.last is not None and (wait := breaker.wait(now)) > 0:
                return gate.last, wait
        for _, breaker in gates:  # only where all of them let it through: it is the probe of those that are open
            breaker.take(now)
        return None

    def alike(self, key: Key, failure: Failure) -> int:
        """How often in a row this came in place of an answer, where more than one request has got it (`Repeats`)."""
        gate = self._kept.get(key[:2])
        return gate.repeats.count(likeness.common(failure), self._clock.now()) if gate is not None else 0

    def give_back(self, key: Key) -> None:
        """A request that may have been the probe has ended without telling anything of the provider."""
        now = self._clock.now()
        for gate in self.before(key):
            if gate.breaker is not None:
                gate.breaker.give_back(now)

    def forget(self, provider: str) -> None:
        """The config has changed or removed this provider: forget its failures."""
        for key in [key for key in self._kept if key[0] == provider]:
            self._drop(key)

    def sweep(self) -> None:
        """Forget the failures of providers that have not been called for a while. A breaker that is never probed must
        not be reported as open for ever."""
        now = self._clock.now()
        for key, gate in list(self._kept.items()):
            if gate.breaker is not None and gate.breaker.open and gate.breaker.forgets(now):
                self._changed(key, gate, True)
            if (
                not gate.waiting
                and gate.health.old(now)
                and gate.odd.old(now)
                and (gate.breaker is None or not gate.breaker.open)
            ):
                del self._kept[key]

    def _drop(self, key: Key) -> None:
        gate = self._kept.pop(key)
        if gate.breaker is not None and gate.breaker.answered():
            self._changed(key, gate, True)
        gate.close()

    def opened(self, key: Key) -> None:
        """A call is being answered with a 200."""
        self._tell(key, Health.opened)

    def answered(self, key: Key) -> None:
        """A call has given output, or an error that is not the provider's fault."""
        self._tell(key, Health.answered)

    def _tell(self, key: Key, happened: Callable[[Health, float], None], *, closes: bool = True) -> None:
        if not self._kept:
            return
        now = self._clock.now()
        for one in (key[:2], key):
            if (gate := self._kept.get(one)) is not None:
                happened(gate.health, now)
                happened(gate.odd, now)
                failing = gate.health.failing or gate.odd.failing
                if closes and gate.breaker is not None and not failing and gate.breaker.answered():
                    self._changed(one, gate, False)
                if gate.idle:
                    del self._kept[one]

    def sick(self) -> Iterator[tuple[Key, Gate]]:
        """All gates: the providers, by model and key, against which something is held."""
        yield from self._kept.items()

    def close(self) -> None:
        """The process ends."""
        for gate in self._kept.values():
            gate.close()
        self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)
