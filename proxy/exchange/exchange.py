"""One client request from its first byte to the last of its answer, and the short loop around its attempts.

Everything runs in the request's own task. A timer that goes off ends a wait with a Failure (`Waits`), and the loop
decides about it as about any other. How the exchange ends is in `finish`. A client that leaves cancels the task for
good: that is no failure and spends no budget, and the call to the provider is closed at once.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeGuard

from aiohttp import web

from rules import (
    LONG,
    STALE,
    Accept,
    Account,
    Action,
    Ask,
    Decision,
    Failure,
    Finding,
    Heal,
    HealResult,
    Kind,
    Mode,
    Phase,
    Reason,
    Replay,
    Resume,
    Settle,
    Shown,
    Splice,
    Surrender,
    Transcript,
    come_back,
    decide,
    error_wire,
    from_memory,
    resting,
    same_again,
)

from ..intake import routing
from ..intake.fallback import eligible, redirected
from ..intake.keys import BEARER
from ..intake.order import Order, read
from ..intake.request_body import ClientGone, LargeBody, TooLarge
from ..intake.room import Full
from ..memory.accounts import AccountBook
from ..observers.excerpts import Excerpts
from ..observers.reports import EndReason, Outcome, RequestInfo, Stage
from ..settings.service.doors import no_method
from ..upstream.slots import QueueFull, Slots
from .attempt import Attempt, AttemptEnd, More, streaming
from .context import Context
from .finish import DRAINING, GOING, SHUT_DOWN, ExchangeFinish
from .follow_up import AskingAgain
from .healing import FIRST, Healing, heal_timeouts
from .passthrough import Passthrough
from .reply import Reply
from .reporting import Reporting
from .waits import IMPATIENT, Waits

RESERVE_LOOK = 0.5
"""Seconds between two looks at a reserve that is empty; its slots are a second wide."""

MOST_SPENT = 60.0
"""Seconds, at most, for which a provider that says that no call is left is not called: a limit of a day must not stop
what a smaller model or another key may still get."""

RING = (
    "This request has come back to the proxy that sent it: the base_url of a provider is the address of this proxy, or "
    "of another streamfuse whose provider is this one. Give it the address of the real provider."
)
INTERNAL = Failure(Phase.STREAM, Kind.TERMINAL, "streamfuse failed.", status=500, code="streamfuse_internal")


class Exchange:
    """One request."""

    def __init__(self, fuse: Context, request: web.Request) -> None:
        self.fuse = fuse
        self.request = request
        self.now = fuse.clock.now
        self.ident = os.urandom(16).hex()
        self.reply = Reply(request, self.now)
        self.reporting = Reporting(fuse.reports, self.ident, self.now)
        self.waits = Waits(request, self.reply)
        self.finish = ExchangeFinish(fuse, request, self.reply, self.reporting, self.ident)
        self._book: AccountBook | None = None
        self._broke: Failure | None = None
        """What the answer broke off with when it was last resumed."""
        self._held = 0
        """Bytes of the request's body."""
        self._seat = 0
        """Bytes of the body while it is worked on; 0: it has no seat."""
        self._failing_since: float | None = None
        """When the first call failed (as `now`)."""
        self._healing = Healing(fuse)
        self._prefilled = False
        """The request ends in an assistant message."""
        self._to: routing.Place | None = None
        """The request's path, read."""
        self._slots: tuple[Slots, str] | None = None
        """Where the call that runs holds a place, and whose it is."""
        self._probe: tuple[str, ...] | None = None
        """The gate whose breaker was asked for this request, until it has told something of the provider."""
        self._no_more = False
        """The provider has shown that it cannot go on in the middle of a text."""

    async def run(self) -> web.StreamResponse:
        """Serve it. Raises CancelledError or ConnectionResetError when the client left."""
        self.waits.begin()
        self.reporting.started(self.request.headers)
        try:
            await self._answered()
            return self.reply.response
        except ClientGone:
            self.reporting.gone()
            self._forget()
            raise ConnectionResetError("the client closed its connection") from None
        except asyncio.CancelledError:
            self.reporting.gone()
            self._forget()
            raise
        except Exception:
            # A mistake of ours. Before the first byte the server says so with a 500; after it the answer breaks off,
            # since nothing that we could still write would be known to be legal.
            self.reporting.failed(INTERNAL)
            self.reporting.reason = EndReason.ERROR
            if self.reply.started:
                self.reply.drop()
            raise
        finally:
            self.waits.end()
            self.reporting.ended(self.reply.status, self.reply.sent)
            self.finish.let_go()
            self._no_probe()
            self._rise()
            self.fuse.room.give(self._held)

    async def _answered(self) -> None:
        try:
            await self._serve()
        except routing.RouteError as wrong:
            await self.finish.reject(wrong.status, wrong.code, str(wrong), BEARER if wrong.status == 401 else None)
        except TooLarge:
            limit = self.fuse.settings.limits.request_body
            await self.finish.reject(
                413, "streamfuse_body_too_large", f"The request body is over limits.request_body ({limit} bytes)."
            )
        except Full:
            most = self.fuse.settings.limits.memory
            message = f"The bodies of all open requests are over limits.memory ({most} bytes); send it again."
            await self.finish.reject(503, "streamfuse_busy", message, {"Retry-After": "1"})

    async def _hold(self, size: int) -> None:
        self.fuse.room.take(size)
        self.fuse.heap.came(size)
        self._held += size
        if self._held > size:
            await self.fuse.room.piece(size)

    async def _in_line(self, size: int) -> None:
        self.waits.uploaded()  # what it waits for now is not the client
        if await self.fuse.room.sit(size):
            self._seat = size
        await self.fuse.room.turn(size)

    def _rise(self) -> None:
        self.fuse.room.rise(self._seat)
        self._seat = 0

    # --- taking it in -------------------------------------------------------------------------------------------------
    async def _serve(self) -> None:
        fuse, request = self.fuse, self.request
        to = fuse.place(request.rel_url.raw_path)
        self._to, self.finish.wire = to, error_wire(to.call)
        if (no := no_method(request.method) or fuse.doors.refusal(request.headers)) is not None:
            await self.finish.reject(no.status, no.code, no.message)
            return
        if fuse.ring.came_back(request.headers):
            await self.finish.reject(508, "streamfuse_ring", RING, {"x-should-retry": "false"})
            return
        if fuse.draining:
            await self.finish.reject(503, DRAINING, GOING, {"Retry-After": "1"})
            return
        if routing.knocks(request.method, to):
            await self.reply.whole(200, self.finish.own(), b"")
            self.reporting.reason = EndReason.DONE
            return
        most = fuse.settings.limits.streams
        if 0 < most < len(fuse.open):
            message = f"{most} requests are open, as many as limits.streams allows; send it again."
            await self.finish.reject(503, "streamfuse_too_many_streams", message, {"Retry-After": "1"})
            return
        upgrade = bool(request.headers.get("Upgrade")) and "upgrade" in request.headers.get("Connection", "").lower()
        if (kind := fuse.unwatched.first(to.call, upgrade)) is not None:
            fuse.reports.tell(Stage("unwatched", {"kind": kind}))
        if upgrade:
            await self.finish.reject(
                426, "streamfuse_no_upgrade", "WebSocket is not spoken here; use HTTP.", {"Upgrade": "HTTP/1.1"}
            )
            return
        self.waits.uploading(self.now())
        order = self.finish.order = await read(fuse, request, to, self._hold, self._in_line)
        self.waits.uploaded()
        ask = order.ask
        self.reporting.call = RequestInfo(
            self.ident,
            order.name,
            order.wire.name,
            ask.model if ask is not None else "",
            ask.streaming if ask is not None else False,
            order.identity.session or "",
            order.scope.value,
        )
        same = await fuse.ring.enter(order, request.headers)
        try:
            if ask is None:
                self._rise()
                await self._pass(order)
            else:
                self.finish.wire = order.wire
                await self._ask(order)
        finally:
            fuse.ring.leave(same)

    async def _pass(self, order: Order) -> None:
        self.reporting.attempts = 1
        passthrough = Passthrough(self.fuse, order, self.reply, self.reporting.asking())
        self.waits.watchdog = passthrough.watchdog
        failure = await self.waits.wait(passthrough.run(self.finish.own()))
        self.reporting.bytes_in = passthrough.bytes_in
        if failure is None:
            self.reporting.reason = EndReason.DONE
            return
        self.reporting.failed(failure)
        if self.reply.started:
            self.reporting.reason = EndReason.ERROR
            self.reply.drop()
        else:
            await self.finish.error(failure, {})

    # --- the loop -----------------------------------------------------------------------------------------------------
    async def _ask(self, order: Order) -> None:
        fuse, wall = self.fuse, self.fuse.clock.wall
        book = fuse.accounts.book(order.identity.key)
        rest = resting(await book.read(wall()), wall())
        body: Mapping[str, Any] | None = None
        await fuse.room.turn(self._seat)
        seen = await fuse.run_memory.look(order)
        looked, ask = seen.before, order.ask
        assert ask is not None
        self.finish.asked, self.finish.steps = ask, partial(fuse.run_memory.steps, order, ask, seen.prior)
        self.reporting.reviewed(looked)
        if looked.refusal is not None:
            self.reporting.outcome, self.reporting.code = Outcome.REFUSED, looked.refusal.code or ""
            await self.finish.error(looked.refusal, {})
            return
        if looked.body is not None:
            body = looked.body
            order = self.finish.order = replace(order, ask=replace(ask, body=body))
        if fuse.settings.privacy.show_excerpts:
            excerpts = self.reporting.excerpts = Excerpts()
            order = self.finish.order = replace(
                order, engine=replace(order.engine, rules=excerpts.over(order.engine.rules))
            )
        self._book = book
        self._prefilled = _prefilled(ask.body if body is None else body)
        if isinstance(ask.body, LargeBody):
            self._shrink(ask, ask.body)
        self._rise()
        fuse.reserves[order.name].deposit(wall())
        came, decision = await self._tries(order, book, body, rest)
        if order.provider.fallback and eligible(decision, self._shown):
            order, came, decision = await self._elsewhere(order, body, came, decision)
        # A client that leaves from here on has been told (SDKs hang up at the first error event): its account stands.
        self._book = None
        await self.finish.end(order, came, decision)

    @property
    def _shown(self) -> Shown:
        """What the client has been shown so far."""
        return self.finish.attempt.shown if self.finish.attempt is not None else Shown.NOTHING

    async def _elsewhere(
        self, order: Order, body: Mapping[str, Any] | None, came: AttemptEnd, decision: Decision
    ) -> tuple[Order, AttemptEnd, Decision]:
        """Ask the providers that `order`'s falls back to, one after the other, while the client has seen nothing. Where
        none answers, the client is told what the first one said."""
        fuse, wall = self.fuse, self.fuse.clock.wall
        assert self._to is not None and order.ask is not None
        asked = self.reporting.call
        for fallback in order.provider.fallback:
            sent = body if body is not None else order.ask.body
            if (other := redirected(fuse, self.request, self._to, order, sent, fallback)) is None:
                continue
            there, sent = other
            if self.reporting.excerpts is not None:
                rules = self.reporting.excerpts.over(there.engine.rules)
                there = replace(there, engine=replace(there.engine, rules=rules))
            assert isinstance(decision, Surrender)
            self.finish.order = there
            self.reporting.fell_back(decision.failure, there.name, there.gate[1])
            self._broke, self._no_more = None, False
            book = self._book = fuse.accounts.book(there.identity.key)
            rest = resting(await book.read(wall()), wall())
            attempt = self.finish.attempt
            begun = attempt is not None and (attempt.released or attempt.spliced or attempt.stream.begun)
            transcript = attempt.stream.transcript if attempt is not None and begun else None
            same = await fuse.ring.enter(there, self.request.headers)
            try:
                fuse.reserves[there.name].deposit(wall())
                end, decided = await self._tries(there, book, sent, rest, transcript)
            finally:
                fuse.ring.leave(same)
            if not isinstance(decided, Surrender) or self._shown > Shown.NOTHING:
                return there, end, decided
        self.finish.order, self.reporting.call = order, asked
        return order, came, decision

    async def _tries(
        self,
        order: Order,
        book: AccountBook,
        body: Mapping[str, Any] | None,
        rest: float,
        transcript: Transcript | None = None,
    ) -> tuple[AttemptEnd, Decision]:
        """Ask one provider until it is decided how this ends: what ended the newest attempt, and the decision."""
        fuse = self.fuse
        splice: Splice | None = None
        again = AskingAgain(order)
        came: AttemptEnd = None
        decision: Decision
        retry = False
        while True:
            if retry and self._lasts(came, order):
                return came, same_again(came)
            if (rung := await self._admitted(order, rest, retry)) is not None:
                return self._given_up(order, came, rung)
            if retry and self._lasts(came, order):  # others have asked meanwhile
                self._not_asked(order)
                return came, same_again(came)
            rest = 0.0
            came = await self._attempt(order, body, transcript, again.more(), splice, came, retry)
            if (follow := self._followed(order, again, body, came)) is not None:
                body, transcript = follow
                splice, retry = None, False
                continue
            came = self._told_first(came)
            decision = await self._decide(order, book, came)
            if isinstance(decision, Heal) and isinstance(came, Finding):
                return came, await self._heal(order, book, came, decision)
            if not isinstance(decision, Replay | Resume):
                return came, decision
            retry = True
            body, transcript, splice = self._again(order, body, came, decision)
            self.reporting.retrying(came, decision)
            if (rung := await self.waits.wait(fuse.clock.sleep(decision.after))) is not None:
                return rung, Settle()

    def _shrink(self, ask: Ask, body: LargeBody) -> None:
        """Let the history of a large body go: what an ordinary answer asks of it is computed now."""
        ask.brief.settle()
        steps = self.finish.steps()
        self.finish.steps = lambda: steps
        body.shrink()

    async def _attempt(
        self,
        order: Order,
        body: Mapping[str, Any] | None,
        transcript: Transcript | None,
        more: More,
        splice: Splice | None,
        before: AttemptEnd,
        retry: bool,
    ) -> AttemptEnd:
        self.reporting.attempts += 1
        if self.finish.attempt is not None:
            self.finish.attempt.let_go()
        attempt = self.finish.attempt = Attempt(
            self.fuse,
            order,
            self.reply,
            self.finish.own,
            self._noted,
            self.reporting.attempts,
            body,
            transcript,
            more,
            splice,
            fresh=isinstance(before, Failure) and before.code == STALE,
            retry=retry,
            trace=self.reporting.asking(),
        )
        self.waits.watchdog = attempt.watchdog
        try:
            came = await self.waits.wait(attempt.run())
        except (asyncio.CancelledError, ClientGone):
            self.reporting.attempted(attempt, None, gone=True)
            raise
        finally:
            self.waits.watchdog = None
            self._leave_slot(attempt)
        self.reporting.attempted(attempt, came)
        if isinstance(came, Failure) and self._failing_since is None:
            self._failing_since = self.now()
        self._heard(order, attempt, came)
        return came

    async def _heal(self, order: Order, book: AccountBook, finding: Finding, decision: Heal) -> Decision:
        """Ask once more after a loop. However that goes, the answer has an end then: the second call's own, or the
        quiet end that the first would have had."""
        fuse, healing = self.fuse, self._healing
        first = self.finish.attempt
        assert first is not None and order.ask is not None
        plan = healing.look(order, first, finding)
        if plan is None or not await self._healable(order):
            return Settle()
        self.reporting.retrying(finding, decision)
        took = self.now() - first.began
        transcript, splice, held = healing.begin(order, first, plan)
        fresh = False
        while True:
            self.reporting.attempts += 1
            second = self.finish.attempt = Attempt(
                fuse,
                healing.order(order),
                self.reply,
                self.finish.own,
                self._noted,
                self.reporting.attempts,
                plan.body,
                transcript,
                splice=splice,
                fresh=fresh,
                retry=True,
                timeouts=heal_timeouts(order, took),
                held=held,
                trace=self.reporting.asking(),
            )
            self.waits.watchdog = second.watchdog
            self.waits.until = None if order.ask.streaming else self._until(order)
            try:
                came = await self.waits.wait(second.run())
            except (asyncio.CancelledError, ClientGone):
                self.reporting.attempted(second, None, gone=True)
                raise
            finally:
                self.waits.watchdog = self.waits.until = None
                self._leave_slot(second)
            self.reporting.attempted(second, came)
            if fresh or not (isinstance(came, Failure) and came.code == STALE):
                break
            if not await self._slot_for_heal(order):
                break
            fresh = True  # the request was never read
        came = healing.checked(order, second, came)
        if came is None or (isinstance(came, Failure) and came.kind in (Kind.NETWORK, Kind.SERVER, Kind.RATE_LIMIT)):
            self._heard(order, second, came)
        result = healing.over(order, first, second, came)
        self.reporting.healed(plan, result)
        if came is None:
            self.reporting.found(finding, acted=True, asked=order.ask.body)
            await book.charge(None, lambda _account: Accept(), fuse.clock.wall())
            first.let_go()
            return Accept()
        if isinstance(came, Finding):
            self.reporting.found(came, acted=True, asked=order.ask.body)
        if transcript is None and not second.released:
            # The client has nothing of the second answer: the first one ends as it stood.
            self.finish.attempt = first
            second.let_go()
        else:
            first.let_go()
        self.finish.healing = healing
        return Settle()

    async def _healable(self, order: Order) -> bool:
        """Take what a heal needs of its provider: a place in the reserve, and one among its calls."""
        reserve, wall = self.fuse.reserves[order.name], self.fuse.clock.wall
        if not reserve.withdraw(wall()):
            return False
        if await self._slot_for_heal(order):
            return True
        reserve.refund(wall())
        return False

    async def _slot_for_heal(self, order: Order) -> bool:
        """A place among the calls to this provider, waited for as long as a heal may be silent."""
        slots = self.fuse.slots.get(order.name)
        if slots is None:
            return True
        whose = "|".join(order.gate[1:])
        if not slots.try_take(whose):
            now, until = self.now(), self._until(order)
            self.waits.until = now + FIRST if until is None else min(until, now + FIRST)
            try:
                rung = await self.waits.wait(slots.take(order.line, whose))
            except QueueFull:
                return False
            finally:
                self.waits.until = None
            if rung is not None:
                return False
        self._slots = slots, whose
        return True

    # --- patience -----------------------------------------------------------------------------------------------------
    def _until(self, order: Order) -> float | None:
        """By when (as `now`) the client must have its status, or its whole answer must break off; None: it waits with
        heartbeats."""
        assert order.ask is not None
        if self.reply.started:
            if order.ask.streaming or self._failing_since is None:
                return None
            # Blank lines of a whole answer are out. To break off is as good as a status: the client goes on by itself.
            return self._failing_since + self.fuse.settings.replay.patience
        replay, client = self.fuse.settings.replay, order.client
        if client.retries:
            most = replay.patience
        elif order.ask.streaming:
            return None
        else:
            most = replay.hold_time if client.timeout is None else replay.patience
        return self.reporting.began + min(most, client.silence or most)

    def _begins_after(self, order: Order) -> float:
        """Seconds after which a stream begins with nothing to say, for the sake of the client's timers.

        A client that makes tries of its own would lose them with the headers, so it gets them as late as its own
        time-out allows, and never where nothing runs that could still answer."""
        replay, client, attempt = self.fuse.settings.replay, order.client, self.finish.attempt
        running = self.waits.watchdog is not None
        if (running and attempt is not None and attempt.opened) or not client.retries:
            most = replay.hold_time
        elif running and (client.timeout is None or client.timeout >= LONG):
            most = replay.patience
        else:
            return math.inf
        return min(most, client.silence or most)

    async def _admitted(self, order: Order, rest: float, retry: bool) -> Failure | Surrender | None:
        """Wait until the call may be sent. What says no, or rang meanwhile; None = it may."""
        provider = order.provider
        if provider.breaker.failures and not retry:
            breaker = (provider.breaker.failures, provider.breaker.pause)
            await self.fuse.process.breaker_elsewhere(order.gate, breaker)
            self._no_probe()
            if (no := self.fuse.gates.refuses(order.gate)) is not None:
                self.reporting.answered_from_memory("breaker")
                last, wait = no
                return Surrender(last, Reason.CLOSED, retry_after=max(1.0, wait))
            self._probe = order.gate
        if (rung := await self._turn(order, rest, retry)) is not None:
            return rung
        slots = self.fuse.slots.get(order.name)
        return await self._slot(slots, order) if slots is not None else None

    def _no_probe(self) -> None:
        """If this request was a probe, another may be one: nothing has come of it."""
        if self._probe is not None:
            self.fuse.gates.give_back(self._probe)
            self._probe = None

    async def _slot(self, slots: Slots, order: Order) -> Failure | Surrender | None:
        """Wait for a place among the calls to this provider."""
        whose = "|".join(order.gate[1:])
        if slots.try_take(whose):
            self._slots = slots, whose
            return None
        now, until = self.now(), self._until(order)
        last = now + order.provider.concurrency.wait
        self.waits.until = last if until is None else min(until, last)
        self.reporting.in_line = True
        try:
            rung = await self.waits.wait(slots.take(order.line, whose))
        except QueueFull:
            rung = IMPATIENT
        finally:
            self.waits.until = None
            self.reporting.in_line = False
        if rung is IMPATIENT:
            self.reporting.answered_from_memory("queue")
            return Surrender(_no_place(order.name), Reason.CLOSED, retry_after=come_back(IMPATIENT, self.fuse.chance()))
        if rung is not None:
            return rung
        self._slots = slots, whose
        self.reporting.queued(self.now() - now)
        return None

    def _leave_slot(self, attempt: Attempt) -> None:
        """The call is over: what it says of its provider's limit, and its place for the next."""
        if self._slots is None:
            return
        (slots, whose), self._slots = self._slots, None
        limit = slots.limit(whose)
        if attempt.status == 429:
            limit.refused(attempt.began, self.now())
        elif attempt.opened:
            limit.answered()
        if attempt.spent is not None:
            limit.exhausted(self.now(), min(attempt.spent, MOST_SPENT))
        slots.give(whose)

    async def _turn(self, order: Order, rest: float, retry: bool) -> Failure | None:
        """Wait until the provider may be asked: `rest` seconds that it has asked this request for, its turn among all
        who ask a failing provider, and for a retry its reserve. A Failure that rang meanwhile."""
        fuse, now = self.fuse, self.now
        gates = fuse.gates.before(order.gate)
        reserve = fuse.reserves[order.name]
        if not gates and not rest and (not retry or reserve.withdraw(fuse.clock.wall())):
            return None
        until = self._until(order)
        most = until - now() if until is not None else fuse.settings.replay.hold_time
        if 0 < rest < most and (rung := await self.waits.wait(fuse.clock.sleep(rest))) is not None:
            return rung
        self.waits.until = until
        try:
            for gate in gates:
                if (rung := await self.waits.wait(gate.turn())) is not None:
                    return rung
            while retry and not reserve.withdraw(fuse.clock.wall()):
                if (rung := await self.waits.wait(fuse.clock.sleep(RESERVE_LOOK))) is not None:
                    return rung
        finally:
            self.waits.until = None
        return None

    def _given_up(self, order: Order, came: AttemptEnd, rung: Failure | Surrender) -> tuple[AttemptEnd, Decision]:
        """The wait for a turn was ended: the client is told what the provider said last, to it or to others."""
        if isinstance(rung, Surrender):
            return rung.failure, rung
        if rung is not IMPATIENT:
            return rung, Settle()
        self.reporting.answered_from_memory("turn")
        last = came if isinstance(came, Failure) else None
        if last is None:
            last = next((gate.last for gate in self.fuse.gates.before(order.gate) if gate.last is not None), rung)
        return last, from_memory(last, self.fuse.chance())

    def _heard(self, order: Order, attempt: Attempt, came: AttemptEnd) -> None:
        """What an attempt says of its provider's health."""
        gates = self.fuse.gates
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
                request=order.identity.key or self.ident,
                breaker=(breaker.failures, breaker.pause),
            )

    def _lasts(self, came: AttemptEnd, order: Order) -> TypeGuard[Failure]:
        """Has what came in place of an answer come to others, too, and again?"""
        if not isinstance(came, Failure) or not came.likeness:
            return False
        enough = order.engine.policy.equal_answers
        return 0 < enough <= self.fuse.gates.alike(order.gate, came)

    def _not_asked(self, order: Order) -> None:
        """The call that was let through is not made: what it holds goes back."""
        self.fuse.reserves[order.name].refund(self.fuse.clock.wall())
        if self._slots is not None:
            (slots, whose), self._slots = self._slots, None
            slots.give(whose)

    # --- deciding -----------------------------------------------------------------------------------------------------

    async def _decide(self, order: Order, book: AccountBook, came: AttemptEnd) -> Decision:
        attempt, fuse = self.finish.attempt, self.fuse
        assert attempt is not None and order.ask is not None
        if isinstance(came, Failure) and came.code == DRAINING:
            return Settle()
        if came is None:
            # Nothing failed: what was shown, and what the limits say, plays no part.
            return await book.charge(None, _accepted, fuse.clock.wall())
        now, until = self.now(), self._until(order)
        look = partial(
            decide,
            came,
            attempt.shown,
            budgets=order.engine.budgets,
            now=fuse.clock.wall(),
            jitter=fuse.chance(),
            can_resume=isinstance(came, Failure) and self._resumed(order) is not None,
            can_heal=isinstance(came, Finding) and self._healing.look(order, attempt, came) is not None,
            prefilled=self._prefilled,
            model=order.ask.model,
            scope=order.scope,
            reserve=fuse.reserves[order.name],
            policy=order.engine.policy,
            until=None if until is None else fuse.clock.wall() + until - now,
            client_retries=order.client.retries,
            client_calm=order.client.calm,
            took=now - attempt.began,
            alike=max(0, fuse.gates.alike(order.gate, came) - 1) if isinstance(came, Failure) else 0,
        )
        return await book.charge(came, lambda account: look(account=account), fuse.clock.wall())

    def _told_first(self, came: AttemptEnd) -> AttemptEnd:
        """A provider that cannot go on after all (it refuses the prefill, it begins anew) is no news to the client:
        it is told what broke the answer in the first place, and whether that may pass."""
        assert self.finish.attempt is not None
        refused = isinstance(came, Failure) and came.kind is Kind.TERMINAL and came.code != DRAINING
        if self._broke is None or not refused or self.finish.attempt.released:
            return came
        self._no_more = True
        return self._broke

    def _resumed(self, order: Order) -> Mapping[str, Any] | None:
        """The request that continues the shown text, None where wire or provider cannot."""
        assert self.finish.attempt is not None and order.ask is not None
        style = order.provider.resume.value
        if style == "none" or self._no_more or self.finish.attempt.shown is not Shown.TEXT:
            return None
        return order.wire.resume(order.ask, self.finish.attempt.stream.transcript, style)

    def _again(
        self, order: Order, body: Mapping[str, Any] | None, came: AttemptEnd, decision: Replay | Resume
    ) -> tuple[Mapping[str, Any] | None, Transcript | None, Splice | None]:
        """Body, transcript and splice of the next attempt."""
        attempt = self.finish.attempt
        assert attempt is not None and order.ask is not None
        stream = attempt.stream
        if isinstance(decision, Resume):
            if isinstance(came, Failure) and (self._broke is None or came.phase is Phase.STREAM):
                self._broke = came
            stream.transcript.earlier += max(0, stream.events - 1)
            return self._resumed(order), stream.transcript, stream.splice()
        begun = attempt.released or attempt.spliced or stream.begun
        if decision.without_prefill:
            body = _without_prefill(order.ask.body)
        return body, stream.transcript if begun else None, None

    def _followed(
        self, order: Order, again: AskingAgain, body: Mapping[str, Any] | None, came: AttemptEnd
    ) -> tuple[Mapping[str, Any], Transcript | None] | None:
        """Body and transcript of a follow-up, None where there is none."""
        assert self.finish.attempt is not None and order.ask is not None
        follow = again.after(self.finish.attempt, body if body is not None else order.ask.body, came)
        if follow is None:
            return None
        self.reporting.followed(follow.name)
        return follow.body, self.finish.attempt.heard() if follow.continues else None

    # --- shared ------------------------------------------------------------------------------------------------------
    def _noted(self, finding: Finding) -> None:
        self.reporting.found(finding, acted=finding.acts)
        order, attempt = self.finish.order, self.finish.attempt
        if finding.mode is Mode.WATCH and finding.action >= Action.CUT and order is not None and attempt is not None:
            plan = self._healing.look(order, attempt, finding)
            if plan is not None and not self._healing.watched:
                self._healing.watched = True
                self.reporting.healed(plan, HealResult.WATCHED)

    def _forget(self) -> None:
        """The client left: its account ends, in a task of the fuse's, since this one is being cancelled."""
        if self._book is not None:
            self.fuse.later(self._book.forget(self.fuse.clock.wall()))

    # --- time ---------------------------------------------------------------------------------------------------------
    def tick(self, now: float) -> None:
        """Time has passed: has a timer rung, is the client stuck, must it hear something?"""
        if self.waits.look(now):
            self._let_out(now)
            self._keep_alive(now)

    def end_now(self) -> None:
        """The grace period of a drain is over: end the answer legally, whatever it is at."""
        if self.reply.stuck_since is not None:
            self.reply.abort()
        else:
            self.waits.ring(SHUT_DOWN)

    def _let_out(self, now: float) -> None:
        """Text waits in doubt while nothing more comes: its time is up."""
        attempt = self.finish.attempt
        if attempt is None or not self.reply.started or not self.reply.idle:
            return
        if raw := attempt.overdue(now):
            with suppress(ClientGone):
                self.reply.put(raw)

    def _keep_alive(self, now: float) -> None:
        order, every = self.finish.order, self.fuse.settings.heartbeat.every
        if order is not None and order.ask is not None and not order.ask.streaming:
            self._pass_blanks(order, now, every)
            return
        if not every or order is None or order.ask is None:
            return
        if now - self.reply.heard_at < every or not self.reply.idle:
            return
        if self.reply.started:
            self.reply.beat(self._heartbeat(order, now))
        elif self.waits.waiting and now - self.reporting.began >= self._begins_after(order):
            begins = streaming(order.wire.framing(order.ask)) if order.ask is not None else {}
            self.reply.beat(self._heartbeat(order, now), {**begins, **self.finish.own()})

    def _pass_blanks(self, order: Order, now: float, every: float) -> None:
        """A whole answer: what its upstream sends to keep the connection alive begins the reply. From then on the
        client hears that bytes come, also where they are kept until the answer is whole, and that we ask again. An
        upstream that answers and is silent stays silent: the client's own timers decide about it."""
        attempt = self.finish.attempt
        if attempt is None or not self.waits.waiting:
            return
        running = self.waits.watchdog is not None
        if not self.reply.started:
            hold = self.fuse.settings.replay.hold_time
            late = every > 0 and now - self.reporting.began >= min(hold, order.client.silence or hold)
            blank = attempt.blank(now, late) if running else b""
            if blank and self.reply.beat(blank, attempt.head()):
                attempt.blank_sent()
        elif every and now - self.reply.heard_at >= every:
            coming = attempt.heard_at is not None and attempt.heard_at > self.reply.heard_at
            if coming or not (running and attempt.opened):
                self.reply.beat(b"\n")

    def _heartbeat(self, order: Order, now: float) -> bytes:
        if self.finish.attempt is None:
            return order.wire.heartbeat(False)
        after = self.fuse.settings.heartbeat.prelude
        # Between two attempts the next one's beginning is decided already.
        if after and self.waits.watchdog is not None and now - self.reporting.began >= after:
            return self.finish.attempt.prelude(self.ident) or self.finish.attempt.stream.heartbeat()
        return self.finish.attempt.stream.heartbeat()


def _accepted(account: Account) -> Decision:
    return Accept()


def _no_place(name: str) -> Failure:
    message = f"As many calls to {name} run as its concurrency.limit allows, and no place came free; send it again."
    return Failure(Phase.CONNECT, Kind.SERVER, message, status=503, code="streamfuse_queue_full")


def _prefilled(body: Mapping[str, Any]) -> bool:
    """Does the request end in an assistant message?"""
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "assistant"


def _without_prefill(body: Mapping[str, Any]) -> dict[str, Any]:
    while _prefilled(body):
        body = {**body, "messages": body["messages"][:-1]}
    return dict(body)
