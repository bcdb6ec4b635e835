"""What a call waits for before it is sent, and what it says of its provider when it is over: the breaker, the turn
among all who ask a failing provider, the reserve, and a place among the provider's calls.
"""

from __future__ import annotations

from typing import TypeGuard

from rules import STALE, Decision, Failure, Kind, Phase, Reason, Settle, Shown, Surrender, come_back, from_memory

from ...intake.order import Order
from ...upstream.slots import QueueFull, Slots
from ..attempt.answer import AttemptEnd
from ..attempt.attempt import Attempt
from ..context import Context
from ..finish import DRAINING
from ..healing import FIRST
from ..reporting import Reporting
from ..waits import IMPATIENT, Waits
from .patience import Patience

RESERVE_LOOK = 0.5
"""Seconds between two looks at a reserve that is empty; its slots are a second wide."""

MOST_SPENT = 60.0
"""Seconds, at most, for which a provider that says that no call is left is not called: a limit of a day must not stop
what a smaller model or another key may still get."""


class Admission:
    """Of one exchange."""

    __slots__ = ("_fuse", "_ident", "_now", "_patience", "_probe", "_reporting", "_slots", "_waits")

    def __init__(self, fuse: Context, reporting: Reporting, waits: Waits, patience: Patience, ident: str) -> None:
        """`ident`: of the exchange."""
        self._fuse = fuse
        self._reporting = reporting
        self._waits = waits
        self._patience = patience
        self._ident = ident
        self._now = fuse.clock.now
        self._slots: tuple[Slots, str] | None = None
        """Where the call that runs holds a place, and whose it is."""
        self._probe: tuple[str, ...] | None = None
        """The gate whose breaker was asked for this request, until it has told something of the provider."""

    async def admitted(self, order: Order, rest: float, retry: bool) -> Failure | Surrender | None:
        """Wait until the call may be sent. What says no, or rang meanwhile; None = it may."""
        provider = order.provider
        if provider.breaker.failures and not retry:
            breaker = (provider.breaker.failures, provider.breaker.pause)
            await self._fuse.process.breaker_elsewhere(order.gate, breaker)
            self.no_probe()
            if (no := self._fuse.gates.refuses(order.gate)) is not None:
                self._reporting.answered_from_memory("breaker")
                last, wait = no
                return Surrender(last, Reason.CLOSED, retry_after=max(1.0, wait))
            self._probe = order.gate
        if (rung := await self._turn(order, rest, retry)) is not None:
            return rung
        slots = self._fuse.slots.get(order.name)
        return await self._slot(slots, order) if slots is not None else None

    def no_probe(self) -> None:
        """If this request was a probe, another may be one: nothing has come of it."""
        if self._probe is not None:
            self._fuse.gates.give_back(self._probe)
            self._probe = None

    async def _slot(self, slots: Slots, order: Order) -> Failure | Surrender | None:
        """Wait for a place among the calls to this provider."""
        whose = "|".join(order.gate[1:])
        if slots.try_take(whose):
            self._slots = slots, whose
            return None
        now, until = self._now(), self._patience.until(order)
        last = now + order.provider.concurrency.wait
        self._waits.until = last if until is None else min(until, last)
        self._reporting.in_line = True
        try:
            rung = await self._waits.wait(slots.take(order.line, whose))
        except QueueFull:
            rung = IMPATIENT
        finally:
            self._waits.until = None
            self._reporting.in_line = False
        if rung is IMPATIENT:
            self._reporting.answered_from_memory("queue")
            return Surrender(
                _no_place(order.name), Reason.CLOSED, retry_after=come_back(IMPATIENT, self._fuse.chance())
            )
        if rung is not None:
            return rung
        self._slots = slots, whose
        self._reporting.queued(self._now() - now)
        return None

    def leave_slot(self, attempt: Attempt) -> None:
        """The call is over: what it says of its provider's limit, and its place for the next."""
        if self._slots is None:
            return
        (slots, whose), self._slots = self._slots, None
        limit = slots.limit(whose)
        if attempt.status == 429:
            limit.refused(attempt.began, self._now())
        elif attempt.opened:
            limit.answered()
        if attempt.spent is not None:
            limit.exhausted(self._now(), min(attempt.spent, MOST_SPENT))
        slots.give(whose)

    async def _turn(self, order: Order, rest: float, retry: bool) -> Failure | None:
        """Wait until the provider may be asked: `rest` seconds that it has asked this request for, its turn among all
        who ask a failing provider, and for a retry its reserve. A Failure that rang meanwhile."""
        fuse, now = self._fuse, self._now
        gates = fuse.gates.before(order.gate)
        reserve = fuse.reserves[order.name]
        if not gates and not rest and (not retry or reserve.withdraw(fuse.clock.wall())):
            return None
        until = self._patience.until(order)
        most = until - now() if until is not None else fuse.settings.replay.hold_time
        if 0 < rest < most and (rung := await self._waits.wait(fuse.clock.sleep(rest))) is not None:
            return rung
        self._waits.until = until
        try:
            for gate in gates:
                if (rung := await self._waits.wait(gate.turn(retry))) is not None:
                    return rung
            while retry and not reserve.withdraw(fuse.clock.wall()):
                if (rung := await self._waits.wait(fuse.clock.sleep(RESERVE_LOOK))) is not None:
                    return rung
        finally:
            self._waits.until = None
        return None

    def given_up(self, order: Order, came: AttemptEnd, rung: Failure | Surrender) -> tuple[AttemptEnd, Decision]:
        """The wait for a turn was ended: the client is told what the provider said last, to it or to others."""
        if isinstance(rung, Surrender):
            return rung.failure, rung
        if rung is not IMPATIENT:
            return rung, Settle()
        self._reporting.answered_from_memory("turn")
        last = came if isinstance(came, Failure) else None
        if last is None:
            last = next((gate.last for gate in self._fuse.gates.before(order.gate) if gate.last is not None), rung)
        return last, from_memory(last, self._fuse.chance())

    def heard(self, order: Order, attempt: Attempt, came: AttemptEnd) -> None:
        """What an attempt says of its provider's health."""
        gates = self._fuse.gates
        if not isinstance(came, Failure) or attempt.shown > Shown.NOTHING:
            self._probe = None
            gates.answered(order.gate)
        elif came.code not in (DRAINING, STALE):
            breaker = order.provider.breaker
            if came.kind is not Kind.TERMINAL:
                self._probe = None
            gates.failed(
                order.gate,
                came,
                attempt.began,
                streaming=attempt.opened,
                request=order.identity.key or self._ident,
                breaker=(breaker.failures, breaker.pause),
            )

    def lasts(self, came: AttemptEnd, order: Order) -> TypeGuard[Failure]:
        """Has what came in place of an answer come to others, too, and again?"""
        if not isinstance(came, Failure):
            return False
        enough = order.engine.policy.equal_answers
        return 0 < enough <= self._fuse.gates.alike(order.gate, came)

    def not_asked(self, order: Order) -> None:
        """The call that was let through is not made: what it holds goes back."""
        self._fuse.reserves[order.name].refund(self._fuse.clock.wall())
        if self._slots is not None:
            (slots, whose), self._slots = self._slots, None
            slots.give(whose)

    async def slot_for_heal(self, order: Order) -> bool:
        """A place among the calls to this provider, waited for as long as a heal may be silent."""
        slots = self._fuse.slots.get(order.name)
        if slots is None:
            return True
        whose = "|".join(order.gate[1:])
        if not slots.try_take(whose):
            now, until = self._now(), self._patience.until(order)
            self._waits.until = now + FIRST if until is None else min(until, now + FIRST)
            try:
                rung = await self._waits.wait(slots.take(order.line, whose))
            except QueueFull:
                return False
            finally:
                self._waits.until = None
            if rung is not None:
                return False
        self._slots = slots, whose
        return True


def _no_place(name: str) -> Failure:
    message = f"As many calls to {name} run as its concurrency.limit allows, and no place came free; send it again."
    return Failure(Phase.CONNECT, Kind.SERVER, message, status=503, code="streamfuse_queue_full")
