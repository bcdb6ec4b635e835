"""One client request from its first byte to the last of its answer, and the short loop around its attempts.

Everything runs in the request's own task. The process's ticker looks in once a second (`tick`): a timer that rang
cancels the wait for the upstream and leaves its Failure here, so the loop decides about it like about any other. The
client leaving cancels the task for good: no failure, no budget spent, the upstream is closed at once.
"""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from aiohttp import web

from rules.decide import Accept, Decision, Replay, Resume, Settle, Surrender, admit, decide
from rules.failures import Failure, Kind, Phase
from rules.seam import Seam
from rules.threads import Thread
from rules.timers import Watchdog
from rules.transcript import Shown, Transcript
from rules.verdict import Finding
from rules.wires.base import Advice, Ask, Ending, Wire

from . import routing
from .asking_again import AskingAgain
from .attempt import STREAMING, Attempt, Came, More, Ready
from .excerpts import Excerpts
from .fuse import Fuse
from .intake import TooLarge
from .order import Order, error_wire, read, rejected
from .passage import Passage
from .reply import ClientGone, Reply
from .reports import Call, EndReason, Outcome
from .settings.provider import Fail
from .state import Book
from .telling import Telling

T = TypeVar("T")

WRITE_TIMEOUT = 120.0
"""Seconds that a client may take nothing of what is written to it: longer than any idle limit of a proxy between
(sse-edge-cases §2: 60 to 100 s), so whoever is that slow has gone without saying so."""

UPLOAD_TIMEOUT = 60.0
"""Seconds without a byte of a request's body: nginx's client_body_timeout."""

INTERNAL = Failure(Phase.STREAM, Kind.TERMINAL, "streamfuse failed.", status=500, code="streamfuse_internal")
DRAINING = "streamfuse_draining"
GOING = "streamfuse is shutting down; send the request again."
CUT_SHORT = "[The proxy was shut down before this answer was complete. Carry on from here.]"


class Exchange:
    """One request."""

    def __init__(self, fuse: Fuse, request: web.Request) -> None:
        self.fuse = fuse
        self.request = request
        self.now = fuse.clock.now
        self.ident = uuid.uuid4().hex
        self.reply = Reply(request, self.now)
        self.telling = Telling(fuse.reports, self.ident, self.now)
        self.order: Order | None = None
        self.attempt: Attempt | None = None
        self._wire: Wire = error_wire("/")
        self._book: Book | None = None
        self._prior: Thread | None = None
        self._asked: Ask | None = None
        """As the client sent it, before anything was added."""
        self._broke: Failure | None = None
        """What the answer broke off with when it was last resumed."""
        self._no_more = False
        """The provider has shown that it cannot go on in the middle of a text."""
        self._watchdog: Watchdog | None = None
        self._task: asyncio.Task[object] | None = None
        self._waiting = False
        self._upload: tuple[float, int] | None = None
        """While the body is read: since when nothing of it has come, and how much had."""
        self._rung: Failure | None = None

    async def run(self) -> web.StreamResponse:
        """Serve it. Raises CancelledError or ConnectionResetError when the client left."""
        self._task = asyncio.current_task()
        self.telling.started()
        try:
            await self._answered()
            return self.reply.response
        except ClientGone:
            self.telling.gone()
            self._forget()
            raise ConnectionResetError("the client closed its connection") from None
        except asyncio.CancelledError:
            self.telling.gone()
            self._forget()
            raise
        except Exception:
            # A mistake of ours. Before the first byte the server says so with a 500; after it the answer breaks off,
            # since nothing that we could still write would be known to be legal.
            self.telling.failed(INTERNAL)
            self.telling.reason = EndReason.ERROR
            if self.reply.started:
                self.reply.drop()
            raise
        finally:
            self._task = None
            self.telling.ended(self.reply.status, self.reply.sent)

    async def _answered(self) -> None:
        try:
            await self._serve()
        except routing.RouteError as wrong:
            await self._reject(wrong.status, wrong.code, str(wrong))
        except TooLarge:
            limit = self.fuse.settings.limits.request_body
            await self._reject(
                413, "streamfuse_body_too_large", f"The request body is over limits.request_body ({limit} bytes)."
            )

    # --- taking it in -------------------------------------------------------------------------------------------------
    async def _serve(self) -> None:
        fuse, request = self.fuse, self.request
        to = routing.place(request.rel_url.raw_path, fuse.settings.providers, fuse.bases)
        self._wire = error_wire(to.call)
        if fuse.draining:
            await self._reject(
                503, DRAINING, "streamfuse is shutting down; send the request again.", {"Retry-After": "1"}
            )
            return
        most = fuse.settings.limits.streams
        if 0 < most < len(fuse.open):
            message = f"{most} requests are open, as many as limits.streams allows; send it again."
            await self._reject(503, "streamfuse_too_many_streams", message, {"Retry-After": "1"})
            return
        if request.headers.get("Upgrade") and "upgrade" in request.headers.get("Connection", "").lower():
            await self._reject(
                426, "streamfuse_no_upgrade", "WebSocket is not spoken here; use HTTP.", {"Upgrade": "HTTP/1.1"}
            )
            return
        self._upload = (self.now(), 0)
        order = self.order = await read(fuse, request, to)
        self._upload = None
        ask = order.ask
        self.telling.call = Call(
            self.ident,
            order.name,
            order.wire.name,
            ask.model if ask is not None else "",
            ask.streaming if ask is not None else False,
            order.identity.session or "",
            order.scope.value,
        )
        if ask is None:
            await self._pass(order)
        else:
            self._wire = order.wire
            await self._ask(order)

    async def _pass(self, order: Order) -> None:
        self.telling.attempts = 1
        passage = Passage(self.fuse, order, self.reply)
        self._watchdog = passage.watchdog
        failure = await self._wait(passage.run(self._own()))
        self.telling.bytes_in = passage.bytes_in
        if failure is None:
            self.telling.reason = EndReason.DONE
            return
        self.telling.failed(failure)
        if self.reply.started:
            self.telling.reason = EndReason.ERROR
            self.reply.drop()
        else:
            await self._error(failure, {})

    # --- the loop -----------------------------------------------------------------------------------------------------
    async def _ask(self, order: Order) -> None:
        fuse, wall = self.fuse, self.fuse.clock.wall
        book = fuse.accounts.book(order.identity.key)
        if (closed := admit(await book.read(wall()), wall())) is not None:
            await self._surrender(order, closed)
            self.telling.outcome = Outcome.REFUSED
            return
        body: Mapping[str, Any] | None = None
        seen = await fuse.past.look(order)
        looked, self._prior, self._asked = seen.before, seen.prior, order.ask
        self.telling.reviewed(looked)
        if looked.refusal is not None:
            self.telling.outcome, self.telling.code = Outcome.REFUSED, looked.refusal.code or ""
            await self._error(looked.refusal, {})
            return
        if looked.body is not None:
            assert order.ask is not None
            body = looked.body
            order = self.order = replace(order, ask=replace(order.ask, body=body))
        if fuse.settings.privacy.show_excerpts:
            excerpts = self.telling.excerpts = Excerpts()
            order = self.order = replace(order, engine=replace(order.engine, rules=excerpts.over(order.engine.rules)))
        self._book = book
        reserve = fuse.reserves[order.name]
        reserve.deposit(wall())
        transcript: Transcript | None = None
        seam: Seam | None = None
        again = AskingAgain(order)
        while True:
            came = await self._attempt(order, body, transcript, again.more(), seam)
            if (follow := self._followed(order, again, body, came)) is not None:
                body, transcript = follow
                seam = None
                continue
            came = self._told_first(came)
            decision = await self._decide(order, book, came)
            if not isinstance(decision, Replay | Resume):
                break
            reserve.withdraw(wall())
            body, transcript, seam = self._again(order, body, came, decision)
            if isinstance(came, Finding):
                self.telling.found(came, acted=True)
            self.telling.retrying(came, decision)
            if (rung := await self._wait(fuse.clock.sleep(decision.after))) is not None:
                came, decision = rung, Settle()
                break
        # A client that leaves from here on has been told (SDKs hang up at the first error event): its account stands.
        self._book = None
        await self._end(order, came, decision)

    async def _attempt(
        self,
        order: Order,
        body: Mapping[str, Any] | None,
        transcript: Transcript | None,
        more: More,
        seam: Seam | None,
    ) -> Came:
        self.telling.attempts += 1
        attempt = self.attempt = Attempt(
            self.fuse, order, self.reply, self._own, self._noted, self.telling.attempts, body, transcript, more, seam
        )
        self._watchdog = attempt.watchdog
        try:
            came = await self._wait(attempt.run())
        except (asyncio.CancelledError, ClientGone):
            self.telling.attempted(attempt, None, gone=True)
            raise
        finally:
            self._watchdog = None
        self.telling.attempted(attempt, came)
        return came

    async def _decide(self, order: Order, book: Book, came: Came) -> Decision:
        attempt, fuse = self.attempt, self.fuse
        assert attempt is not None and order.ask is not None
        if isinstance(came, Failure) and came.code == DRAINING:
            return Settle()
        look = partial(
            decide,
            came,
            attempt.shown,
            budgets=order.engine.budgets,
            now=fuse.clock.wall(),
            jitter=fuse.chance(),
            can_resume=self._resumed(order, came) is not None,
            prefilled=_prefilled(order.ask.body),
            model=order.ask.model,
            scope=order.scope,
            reserve=fuse.reserves[order.name],
            policy=order.engine.policy,
        )
        return await book.charge(came, lambda account: look(account=account), fuse.clock.wall())

    def _told_first(self, came: Came) -> Came:
        """A provider that cannot go on after all (it refuses the prefill, it begins anew) is no news to the client:
        it is told what broke the answer in the first place, and whether that may pass."""
        assert self.attempt is not None
        refused = isinstance(came, Failure) and came.kind is Kind.TERMINAL and came.code != DRAINING
        if self._broke is None or not refused or self.attempt.released:
            return came
        self._no_more = True
        return self._broke

    def _resumed(self, order: Order, came: Came) -> Mapping[str, Any] | None:
        """The request that continues the shown text, None where wire or provider cannot."""
        assert self.attempt is not None and order.ask is not None
        style = order.provider.resume.value
        transcript = self.attempt.stream.transcript
        if style == "none" or self._no_more or self.attempt.shown is not Shown.TEXT:
            return None
        advice = None
        if isinstance(came, Finding):
            engine = order.engine
            keep = self.fuse.past.worth(came, transcript, engine.rules)
            said = engine.cut.text(came, transcript.text()[-200:])
            advice = Advice(said, self.attempt.unseen + keep if keep is not None else None)
        return order.wire.resume(order.ask, transcript, style, advice)

    def _again(
        self, order: Order, body: Mapping[str, Any] | None, came: Came, decision: Replay | Resume
    ) -> tuple[Mapping[str, Any] | None, Transcript | None, Seam | None]:
        """Body, transcript and seam of the next attempt."""
        attempt = self.attempt
        assert attempt is not None and order.ask is not None
        stream = attempt.stream
        if isinstance(decision, Resume):
            if isinstance(came, Failure) and (self._broke is None or came.phase is Phase.STREAM):
                self._broke = came
            stream.transcript.earlier += max(0, stream.events - 1)
            return self._resumed(order, came), stream.transcript, stream.seam(continued=not decision.advice)
        begun = attempt.released or attempt.spliced or stream.begun
        if decision.without_prefill:
            body = _without_prefill(order.ask.body)
        return body, stream.transcript if begun else None, None

    def _followed(
        self, order: Order, again: AskingAgain, body: Mapping[str, Any] | None, came: Came
    ) -> tuple[Mapping[str, Any], Transcript | None] | None:
        """Body and transcript of a follow-up, None where there is none."""
        assert self.attempt is not None and order.ask is not None
        follow = again.after(self.attempt, body if body is not None else order.ask.body, came)
        if follow is None:
            return None
        self.telling.followed(follow.name)
        return follow.body, self.attempt.heard() if follow.continues else None

    # --- the end ------------------------------------------------------------------------------------------------------
    async def _end(self, order: Order, came: Came, decision: Decision) -> None:
        attempt = self.attempt
        assert attempt is not None
        match decision:
            case Accept():
                await self._accept(order, attempt, came)
            case Settle():
                await self._settle(order, attempt, came)
            case Surrender():
                await self._surrender(order, decision)

    async def _accept(self, order: Order, attempt: Attempt, came: Came) -> None:
        self.telling.reason = EndReason.DONE
        if (heard := attempt.heard()) is not None and self._asked is not None:
            kind = self.fuse.past.answered(order, self._asked, heard, self._prior)
            self.telling.step = kind.value if kind is not None else ""
        if attempt.ready is not None:
            await self._send(attempt.ready)
            return
        if attempt.spilled and isinstance(came, Failure):
            self.telling.failed(came)
            self.telling.reason = EndReason.ERROR
            self.reply.drop()
            return
        if attempt.spilled:
            await self.reply.finish()
            return
        await self.reply.finish(await attempt.rest() + attempt.stream.closing())

    async def _send(self, ready: Ready) -> None:
        status, headers, body = ready
        headers.update(self._own())
        await self.reply.whole(status, headers, body, close=self.fuse.draining)

    async def _settle(self, order: Order, attempt: Attempt, came: Came) -> None:
        if isinstance(came, Finding):
            self.telling.outcome, self.telling.reason = Outcome.CUT, EndReason.CUT
            self.telling.found(came, acted=True)
        else:
            self.telling.outcome, self.telling.reason = Outcome.CUT, EndReason.DRAIN
        if not self.reply.started and isinstance(came, Failure):
            self.telling.failed(came)
            await self._error(came, {"Retry-After": "1"})
            return
        if isinstance(came, Finding):
            self._remember(order, attempt, came)
        if attempt.ready is not None:
            await self._send(attempt.ready)
            return
        ending = attempt.stream.ending(self.telling.attempts)
        if isinstance(came, Failure):
            ending = Ending(notice=CUT_SHORT, marker={"action": "drain", "attempts": self.telling.attempts})
        await self.reply.finish(await attempt.rest() + attempt.stream.closing(ending))

    def _remember(self, order: Order, attempt: Attempt, finding: Finding) -> None:
        """The client will send this cut answer back: then it is to be known again."""
        if attempt.ready is not None:
            self.fuse.past.cut_whole(finding, order, attempt.ready[2])
        elif (heard := attempt.heard()) is not None:
            self.fuse.past.cut(finding, heard, order.engine.rules)

    async def _surrender(self, order: Order, decision: Surrender) -> None:
        told = decision.told
        self.telling.surrendered(decision)
        if not self.reply.started:
            await self._error(told, {})
            return
        self.telling.reason = EndReason.IDLE if told.kind is Kind.STALL else EndReason.ERROR
        if self.attempt is None or order.provider.fail is Fail.BREAK:
            self.reply.drop()
            return
        await self.reply.finish(await self.attempt.rest() + self.attempt.stream.failing(told))

    async def _reject(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.telling.rejected(code)
        await self._error(rejected(status, code, message), headers or {})

    async def _error(self, failure: Failure, headers: Mapping[str, str]) -> None:
        """A failure as a status, before anything was sent."""
        status, body = self._wire.error(failure)
        out = {name: value for name, value in failure.headers.items() if name != "content-type"}
        if failure.retry_after is not None:
            out["retry-after"] = str(math.ceil(failure.retry_after))
        if failure.should_retry is not None:
            out["x-should-retry"] = "true" if failure.should_retry else "false"
        out |= {**self._own(), **headers, "Content-Type": "application/json"}
        unread = self.request.can_read_body and not self.request.content.is_eof()
        await self.reply.whole(status, out, body, close=unread or self.fuse.draining)

    def _own(self) -> dict[str, str]:
        own = {"x-streamfuse-request-id": self.ident, "x-streamfuse-attempts": str(self.telling.attempts)}
        if self.order is not None:
            own["x-streamfuse-provider"] = self.order.name
        return own

    def _noted(self, finding: Finding) -> None:
        self.telling.found(finding, acted=finding.acts)

    def _forget(self) -> None:
        """The client left: its account ends, in a task of the fuse's, since this one is being cancelled."""
        if self._book is not None:
            self.fuse.later(self._book.forget(self.fuse.clock.wall()))

    # --- time ---------------------------------------------------------------------------------------------------------
    async def _wait(self, awaitable: Awaitable[T]) -> T | Failure:
        """Wait, unless a timer rings first: then the Failure it left."""
        self._waiting = True
        try:
            return await awaitable
        except asyncio.CancelledError:
            rung, self._rung = self._rung, None
            if rung is None or self._task is None or self._task.uncancel() > 0:
                raise
            return rung
        finally:
            self._waiting = False

    def _ring(self, failure: Failure) -> None:
        if self._waiting and self._rung is None and self._task is not None:
            self._rung = failure
            self._task.cancel()

    def tick(self, now: float) -> None:
        """Time has passed: has a timer rung, is the client stuck, must it hear something?"""
        reply, watchdog = self.reply, self._watchdog
        if self._upload is not None:
            since, before = self._upload
            if (got := self.request.content.total_bytes) != before:
                self._upload = (now, got)
            elif now - since >= UPLOAD_TIMEOUT:
                reply.abort()
            return
        if reply.stuck_since is not None:
            if now - reply.stuck_since >= WRITE_TIMEOUT:
                reply.abort()
            elif watchdog is not None:
                # Nothing is read while the client takes nothing: the upstream's silence is ours.
                watchdog.heard(now, True)
            return
        if reply.ended:
            return
        if watchdog is not None and (failure := watchdog.expired(now)) is not None:
            self._ring(failure)
            return
        self._keep_alive(now)

    def _keep_alive(self, now: float) -> None:
        order, every = self.order, self.fuse.settings.heartbeat.every
        if not every or order is None or order.ask is None or not order.ask.streaming:
            return
        if now - self.reply.heard_at < every or not self.reply.idle:
            return
        if self.reply.started:
            self.reply.beat(self._heartbeat(order, now))
        elif self._waiting and now - self.telling.began >= self.fuse.settings.replay.hold_time:
            self.reply.beat(self._heartbeat(order, now), {**STREAMING, **self._own()})

    def _heartbeat(self, order: Order, now: float) -> bytes:
        if self.attempt is None:
            return order.wire.heartbeat(False)
        after = self.fuse.settings.heartbeat.prelude
        # Between two attempts the next one's beginning is decided already.
        if after and self._watchdog is not None and now - self.telling.began >= after:
            return self.attempt.prelude(self.ident) or self.attempt.stream.heartbeat()
        return self.attempt.stream.heartbeat()

    def end_now(self) -> None:
        """The grace period of a drain is over: end the answer legally, whatever it is at."""
        if self.reply.stuck_since is not None:
            self.reply.abort()
            return
        self._ring(
            Failure(
                Phase.HEADERS,
                Kind.TERMINAL,
                GOING,
                status=503,
                code=DRAINING,
                retry_after=1.0,
            )
        )


def _prefilled(body: Mapping[str, Any]) -> bool:
    """Does the request end in an assistant message?"""
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "assistant"


def _without_prefill(body: Mapping[str, Any]) -> dict[str, Any]:
    while _prefilled(body):
        body = {**body, "messages": body["messages"][:-1]}
    return dict(body)
