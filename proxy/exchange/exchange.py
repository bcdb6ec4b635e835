"""One client request from its first byte to the last of its answer, and the short loop around its attempts.

Everything runs in the request's own task. A timer that goes off ends a wait with a Failure (`Waits`), and the loop
decides about it as about any other. How the exchange ends is in `finish`. A client that leaves cancels the task for
good: that is no failure and spends no budget, and the call to the provider is closed at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from aiohttp import web

from rules import Ask, Continued, Failure, Kind, Phase, error_wire, resting

from ..intake import routing
from ..intake.fallback import eligible
from ..intake.keys import BEARER
from ..intake.order import Order, read
from ..intake.request_body import ClientGone, LargeBody, TooLarge
from ..intake.room import Full
from ..observers.excerpts import Excerpts
from ..observers.reports import EndReason, Outcome, RequestInfo, Stage
from ..settings.service.doors import no_method
from .context import Context
from .finish import DRAINING, GOING, SHUT_DOWN, ExchangeFinish
from .heartbeats import Heartbeats
from .passthrough import Passthrough
from .reply import Reply
from .reporting import Reporting
from .tries.admission import Admission
from .tries.patience import Patience
from .tries.tries import Tries
from .waits import Waits

RING = (
    "This request has come back to the proxy that sent it: the base_url of a provider is the address of this proxy, or "
    "of another streamfuse whose provider is this one. Give it the address of the real provider."
)
SOCKETS = frozenset({"websocket", "tcp"})
"""Protocols whose client speaks no HTTP after its request. Any other offer is passed over (RFC 9110 §7.8), above all
the h2c of Java's HttpClient, which makes it on each plain connection and goes on with HTTP/1.1."""

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
        self._patience = Patience(fuse, self.reply, self.reporting, self.waits, self.finish)
        self._admission = Admission(fuse, self.reporting, self.waits, self._patience, self.ident)
        self._tries = Tries(
            fuse, request, self.reply, self.reporting, self.waits, self.finish, self._patience, self._admission
        )
        self._held = 0
        """Bytes of the request's body."""
        self._seat = 0
        """Bytes of the body while it is worked on; 0: it has no seat."""

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
            self._admission.no_probe()
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
        self.finish.wire = error_wire(to.call)
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
        upgrade = "Upgrade" in request.headers and _wants_socket(request.headers)
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
                await self._ask(order, to)
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

    async def _ask(self, order: Order, to: routing.Place) -> None:
        fuse, wall = self.fuse, self.fuse.clock.wall
        book = fuse.accounts.book(order.identity.key)
        rest = resting(await book.read(wall()), wall())
        body: Mapping[str, Any] | None = None
        seen = await fuse.run_memory.going_on(order)
        if seen is None:
            if isinstance(order.known, Continued) and isinstance(order.body, bytes):
                await self._in_line(len(order.body))  # all of it is parsed now
            else:
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
        tries = self._tries
        sent = ask.body if body is None else body
        if body is None and isinstance(order.known, Continued):
            sent = {"messages": order.known.new}  # those that were seen before do not end in an answer
        tries.begins(book, sent)
        if isinstance(ask.body, LargeBody) and ask.body.due:
            self._shrink(ask, ask.body)
        self._rise()
        fuse.reserves[order.name].deposit(wall())
        came, decision = await tries.run(order, book, body, rest)
        if order.provider.fallback and eligible(decision, tries.shown):
            order, came, decision = await tries.elsewhere(to, order, body, came, decision)
        # A client that leaves from here on has been told (SDKs hang up at the first error event): its account stands.
        tries.book = None
        await self.finish.end(order, came, decision)

    def _shrink(self, ask: Ask, body: LargeBody) -> None:
        """Let the history of a large body go: what an ordinary answer asks of it is computed now."""
        ask.brief.settle()
        steps = self.finish.steps()
        self.finish.steps = lambda: steps
        body.shrink()

    def _forget(self) -> None:
        """The client left: its account ends, in a task of the fuse's, since this one is being cancelled."""
        if (book := self._tries.book) is not None:
            self.fuse.later(book.forget(self.fuse.clock.wall()))

    # --- time ---------------------------------------------------------------------------------------------------------
    def tick(self, now: float) -> None:
        """Time has passed: has a timer rung, is the client stuck, must it hear something?"""
        if self.waits.look(now):
            beats = Heartbeats(
                self.fuse, self.reply, self.reporting, self.waits, self.finish, self._patience, self.ident
            )
            beats.let_out(now)
            beats.keep_alive(now)

    def end_now(self) -> None:
        """The grace period of a drain is over: end the answer legally, whatever it is at."""
        if self.reply.stuck_since is not None:
            self.reply.abort()
        else:
            self.waits.ring(SHUT_DOWN)


def _wants_socket(headers: Mapping[str, str]) -> bool:
    """Does this request want to leave HTTP?"""
    offered = (one.strip().partition("/")[0] for one in headers["Upgrade"].lower().split(","))
    return "upgrade" in headers.get("Connection", "").lower() and not SOCKETS.isdisjoint(offered)
