"""One client request from its first byte to the last of its answer."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

import orjson
from aiohttp import web
from multidict import CIMultiDict

from rules.failures import Failure, Kind, Phase

from . import intake, routing
from .fuse import Fuse
from .reply import ClientGone, Reply
from .reports import Call, Ended, EndReason, Outcome
from .upstream import Answer
from .upstream import Call as UpstreamCall

T = TypeVar("T")


class Exchange:
    """One request. `tick` is called about once a second while it is open; everything else runs in its own task."""

    def __init__(self, fuse: Fuse, request: web.Request) -> None:
        self.fuse = fuse
        self.request = request
        self.now = fuse.clock.now
        self.began = self.now()
        self.ident = uuid.uuid4().hex
        self.reply = Reply(request, self.now)
        self.attempts = 0
        self.bytes_in = 0
        self.provider = ""
        self.outcome = Outcome.OK
        self.reason: EndReason | None = None
        self.code = ""
        self._task: asyncio.Task[object] | None = None
        self._rung: Failure | None = None

    async def run(self) -> web.StreamResponse:
        """Serve it. Raises CancelledError or ConnectionResetError when the client left."""
        self._task = asyncio.current_task()
        try:
            await self._serve()
            return self.reply.response
        except routing.RouteError as wrong:
            await self._reject(wrong.status, wrong.code, str(wrong))
            return self.reply.response
        except ClientGone:
            self._gone()
            raise ConnectionResetError("the client closed its connection") from None
        except asyncio.CancelledError:
            self._gone()
            raise
        finally:
            self._task = None
            self.fuse.reports.tell(self._ended())

    def tick(self, now: float) -> None:
        """Time has passed."""

    async def _serve(self) -> None:
        request, settings = self.request, self.fuse.settings
        if self.fuse.draining:
            await self._reject(
                503, "streamfuse_draining", "streamfuse is shutting down; send the request again.", {"Retry-After": "1"}
            )
            return
        if "upgrade" in request.headers.get("Connection", "").lower() and request.headers.get("Upgrade"):
            await self._reject(
                426,
                "streamfuse_no_upgrade",
                "streamfuse does not speak WebSocket; use the HTTP API.",
                {"Upgrade": "HTTP/1.1"},
            )
            return
        to = routing.place(request.rel_url.raw_path, settings.providers)
        admitted = None
        if self.fuse.keys:
            admitted = routing.admitted(request.headers, self.fuse.keys)
            if admitted is None:
                await self._reject(401, "streamfuse_unauthorized", "Present one of this proxy's own keys (auth.keys).")
                return
        routing.mode_of(request.headers)
        self.provider = routing.choose(settings, to, request.headers.get("x-streamfuse-provider"), None)
        provider = settings.providers[self.provider]
        query = request.rel_url.raw_query_string
        if provider.api_key is not None:
            query = routing.without_key(query)
        headers = routing.outgoing(request.headers, provider, admitted_by=admitted)
        url = routing.join(provider.base_url, to, query, known=False)
        await self._pass(UpstreamCall(request.method, url, headers, self._stream_body(), raw=True))

    def _stream_body(self) -> AsyncIterator[bytes] | None:
        return intake.pieces(self.request) if self.request.can_read_body else None

    async def _pass(self, call: UpstreamCall) -> None:
        """Hand a call through untouched, both ways."""
        self.attempts += 1
        answer = await self.wait(self.fuse.upstream.open(call))
        if isinstance(answer, Failure):
            await self._fail(answer)
            return
        try:
            await self.reply.begin(answer.status, self._headers(answer, untouched=True))
            while (data := await answer.read()) is not None:
                if isinstance(data, Failure):
                    self.outcome, self.reason, self.code = Outcome.FAILED, EndReason.ERROR, data.code or ""
                    self.reply.drop()
                    return
                self.bytes_in += len(data)
                await self.reply.write(data)
            self.reason = EndReason.DONE
            await self.reply.finish()
        finally:
            answer.close()

    async def wait(self, awaitable: Awaitable[T]) -> T | Failure:
        """Wait for the upstream, unless a timer rings first."""
        try:
            return await awaitable
        except asyncio.CancelledError:
            if (failure := self._claim()) is None:
                raise
            return failure

    def _claim(self) -> Failure | None:
        """The timer that cancelled this wait, unless the client left as well."""
        failure, self._rung = self._rung, None
        task = asyncio.current_task()
        if failure is None or task is None or task.uncancel() > 0:
            return None
        return failure

    def _headers(self, answer: Answer, *, untouched: bool = False) -> CIMultiDict[str]:
        headers = routing.incoming(answer.headers, untouched=untouched)
        headers.update(self._own())
        return headers

    def _own(self) -> dict[str, str]:
        own = {"x-streamfuse-request-id": self.ident, "x-streamfuse-attempts": str(self.attempts)}
        if self.provider:
            own["x-streamfuse-provider"] = self.provider
        return own

    async def _fail(self, failure: Failure) -> None:
        self.outcome, self.code = Outcome.FAILED, failure.code or ""
        await self._error(failure, {})

    async def _reject(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        self.outcome, self.code = Outcome.REJECTED, code
        failure = Failure(Phase.CONNECT, Kind.TERMINAL, message, status=status, code=code)
        await self._error(failure, headers or {})

    async def _error(self, failure: Failure, headers: dict[str, str]) -> None:
        error = {"message": failure.message, "type": "streamfuse_error", "param": None, "code": failure.code}
        out = {"Content-Type": "application/json", **self._own(), **headers}
        await self.reply.whole(
            failure.status or 502, out, orjson.dumps({"error": error}), close=bool(self.request.can_read_body)
        )

    def _gone(self) -> None:
        self.outcome, self.reason = Outcome.CLIENT_GONE, EndReason.CLIENT_GONE

    def _ended(self) -> Ended:
        return Ended(
            Call(self.ident, self.provider, "opaque"),
            self.outcome,
            self.reason,
            self.reply.status,
            self.now() - self.began,
            attempts=self.attempts,
            bytes_in=self.bytes_in,
            bytes_out=self.reply.sent,
            code=self.code,
        )
