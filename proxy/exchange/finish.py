"""How one exchange ends: with the answer, a cut, an error as a status, an error inside the answer, or a broken line.

Every end is told before it is written, since clients hang up at the last byte. Raises ClientGone throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from aiohttp import web
from multidict import CIMultiDict

from rules import Accept, Ask, Decision, Ending, Facts, Failure, Finding, Kind, Phase, Settle, Surrender, error_wire

from ..intake.order import Order, rejected
from ..observers.reports import EndReason, Outcome
from ..settings.sections.provider import Fail
from ..wording.advice import advised
from .attempt.answer import AttemptEnd, Ready
from .attempt.attempt import Attempt
from .context import Context
from .healing import Healing
from .reply import Reply
from .reporting import Reporting

DRAINING = "streamfuse_draining"
GOING = "streamfuse is shutting down; send the request again."
CUT_SHORT = "[The proxy was shut down before this answer was complete. Carry on from here.]"
SHUT_DOWN = Failure(Phase.HEADERS, Kind.TERMINAL, GOING, status=503, code=DRAINING, retry_after=1.0)
"""Ends what is still running when a drain's grace period is over."""
OF_ITS_BODY = frozenset({
    "content-type", "content-md5", "content-digest", "repr-digest", "digest", "etag", "last-modified", "x-should-retry",
})  # fmt: skip
"""Headers of an upstream's error that say something of its body, which is written anew, and what we say ourselves."""
NO_HEADERS: Mapping[str, str] = {}


class ExchangeFinish:
    """The last part of an exchange, and the headers of all its answers."""

    __slots__ = (
        "_fuse",
        "_ident",
        "_reply",
        "_reporting",
        "_request",
        "asked",
        "attempt",
        "healing",
        "order",
        "steps",
        "wire",
    )

    def __init__(self, fuse: Context, request: web.Request, reply: Reply, reporting: Reporting, ident: str) -> None:
        self._fuse = fuse
        self._request = request
        self._reply = reply
        self._reporting = reporting
        self._ident = ident
        self.wire = error_wire("/")
        """What errors are written in."""
        self.order: Order | None = None
        self.attempt: Attempt | None = None
        """The newest upstream call."""
        self.healing: Healing | None = None
        """A heal that came to nothing."""
        self.asked: Ask | None = None
        """The request as the client sent it, before anything was added."""
        self.steps: Callable[[], Sequence[Facts]] = tuple
        """What `RunMemory.answered` wants: the steps of the conversation that it goes on with."""

    def own(self) -> dict[str, str]:
        """Our headers, on every answer."""
        own = {"x-streamfuse-request-id": self._ident, "x-streamfuse-attempts": str(self._reporting.attempts)}
        if self.order is not None:
            own["x-streamfuse-provider"] = self.order.name
        return own

    def let_go(self) -> None:
        """The exchange is over: what it held is not needed any more."""
        if self.attempt is not None:
            self.attempt.let_go()
        self.attempt = self.order = self.asked = self.healing = None
        self.steps = tuple

    async def end(self, order: Order, came: AttemptEnd, decision: Decision) -> None:
        """As decided, after `came` ended the newest attempt."""
        attempt = self.attempt
        match decision:
            case Surrender():
                await self.surrender(order, decision)
            case _ if attempt is None:
                await self._unasked(came)
            case Accept():
                await self._accept(order, attempt, came)
            case Settle():
                await self._settle(order, attempt, came)

    async def _unasked(self, came: AttemptEnd) -> None:
        """The process ends while a request still waits for its first call."""
        assert isinstance(came, Failure)
        self._reporting.outcome, self._reporting.reason = Outcome.CUT, EndReason.DRAIN
        self._reporting.failed(came)
        if self._reply.started:
            self._reply.drop()
        else:
            await self.error(came, {"Retry-After": "1"})

    async def _accept(self, order: Order, attempt: Attempt, came: AttemptEnd) -> None:
        self._reporting.reason = EndReason.DONE
        if (heard := attempt.heard()) is not None and self.asked is not None:
            kind = self._fuse.run_memory.answered(order, self.asked, heard, self.steps)
            self._reporting.step = kind.value if kind is not None else ""
        if attempt.ready is not None:
            await self._send(attempt.ready)
            return
        if attempt.spilled and isinstance(came, Failure):
            self._reporting.failed(came)
            self._reporting.reason = EndReason.ERROR
            self._reply.drop()
            return
        if attempt.spilled:
            await self._reply.finish()
            return
        await self._reply.finish(await attempt.rest() + attempt.stream.closing())

    async def _send(self, ready: Ready) -> None:
        status, headers, body = ready
        if self._reply.started:  # with blank lines
            await self._reply.finish(body)
            return
        headers.update(self.own())
        await self._reply.whole(status, headers, body, close=self._fuse.draining)

    async def _settle(self, order: Order, attempt: Attempt, came: AttemptEnd) -> None:
        reporting = self._reporting
        reporting.outcome = Outcome.CUT
        if isinstance(came, Finding):
            reporting.reason = EndReason.CUT
            reporting.found(came, acted=True, asked=order.ask.body if order.ask is not None else None)
        else:
            reporting.reason = EndReason.DRAIN
        if not self._reply.started and isinstance(came, Failure):
            reporting.failed(came)
            await self.error(came, {"Retry-After": "1"})
            return
        healing = self.healing
        if isinstance(came, Finding) and (healing is None or attempt.first_at is None):
            self._remember(order, attempt, came)
        if attempt.ready is not None:
            await self._send(attempt.ready)
            return
        if self._whole(order):
            self._reply.cut()
            return
        if healing is None:
            ending = attempt.stream.ending(reporting.attempts)
        else:
            ending = healing.ending(order, attempt, reporting.attempts)
        if isinstance(came, Failure):
            ending = Ending(notice=CUT_SHORT, marker={"action": "drain", "attempts": reporting.attempts})
        await self._reply.finish(await attempt.rest() + attempt.stream.closing(ending))

    def _remember(self, order: Order, attempt: Attempt, finding: Finding) -> None:
        """The client will send this cut answer back: then it is to be known again."""
        if attempt.ready is not None:
            self._fuse.run_memory.cut_whole(finding, order, attempt.ready[2])
        elif (heard := attempt.heard()) is not None:
            self._fuse.run_memory.cut(finding, heard, order.engine.rules)

    async def surrender(self, order: Order, decision: Surrender) -> None:
        """Say plainly that it is over."""
        told, attempt = advised(decision.told, order.name, order.provider.base_url), self.attempt
        self._reporting.surrendered(decision)
        breaks = order.provider.fail is Fail.BREAK
        # An agent that is not stopped by x-should-retry meets what it would have met alone, and goes on as it would.
        as_alone = decision.hands_on and order.client.agent and not breaks
        came = None
        if attempt is not None and (as_alone or (attempt.fails_itself and not breaks)):
            came = attempt.as_came()
        if not self._reply.started and came is not None:
            await self._send(came)
            return
        if not self._reply.started and (self._whole(order) or not as_alone):
            # The newest call's own error goes to its client with all headers; what another request met does not.
            ours = attempt is not None and attempt.status == told.status
            await self.error(told, {}, attempt.refused if attempt is not None and ours else NO_HEADERS)
            return
        self._reporting.reason = EndReason.IDLE if told.kind is Kind.STALL else EndReason.ERROR
        if self._whole(order):
            # Blank lines are all that the client has. An error that came in place of the answer ends it, as without us;
            # after anything else the body must not seem complete: the client then tries again, as without us.
            body = attempt.no_answer if attempt is not None and not breaks else None
            body = came[2] if came is not None else body
            if body is not None:
                await self._reply.finish(body)
            else:
                self._reply.cut()
            return
        if breaks:
            self._reply.drop()
            return
        if attempt is None:  # no call was made, but heartbeats have begun the stream: its error is all of it
            attempt = Attempt(self._fuse, order, self._reply, self.own, lambda _finding: None)
        await self._reply.finish(await attempt.rest() + attempt.stream.failing(told))

    @staticmethod
    def _whole(order: Order) -> bool:
        return order.ask is not None and not order.ask.streaming

    async def reject(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        """Refuse the request itself."""
        self._reporting.rejected(code)
        await self.error(rejected(status, code, message), headers or {})

    async def error(
        self, failure: Failure, headers: Mapping[str, str], upstreams: Mapping[str, str] = NO_HEADERS
    ) -> None:
        """A failure as a status, before anything was sent. `upstreams`: all headers of the upstream's own error."""
        status, body = self.wire.error(failure)
        out = CIMultiDict(upstreams)
        for name in OF_ITS_BODY:
            out.popall(name, None)
        out.update({name: value for name, value in failure.headers.items() if name != "content-type"})
        if failure.retry_after is not None:
            # Whole seconds are all that Retry-After can say; the SDKs read the finer one first.
            out["retry-after"] = str(math.ceil(failure.retry_after))
            out["retry-after-ms"] = str(math.ceil(failure.retry_after * 1000))
        if failure.should_retry is not None:
            out["x-should-retry"] = "true" if failure.should_retry else "false"
        out.update({**self.own(), **headers, "Content-Type": "application/json"})
        unread = self._request.can_read_body and not self._request.content.is_eof()
        await self._reply.whole(status, out, body, close=unread or self._fuse.draining)
