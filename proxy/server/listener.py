"""The listening side of HTTP. It answers and reports requests that are no HTTP, and failures outside of any exchange.

aiohttp writes such failures to a log of its own, traceback and all, and quotes the offending line to the client: that
line may hold a credential. Here only the exception's class and its place in the source are told, and the answer is JSON
in the common shape, like every other error of ours.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from pathlib import PurePath
from types import TracebackType
from typing import Any, TypeAlias

import orjson
from aiohttp import StreamReader, web
from aiohttp.http import HttpVersion11
from aiohttp.http_exceptions import LineTooLong
from aiohttp.streams import EMPTY_PAYLOAD
from aiohttp.web_protocol import _ErrInfo

from ..intake.told import KeptConnection
from ..observers.reports import Reports, Stage

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

Most: TypeAlias = tuple[Callable[[web.Request], Awaitable[web.StreamResponse]], Callable[[str], bool]]
"""(what serves, whether it serves a path)."""

UNDONE = frozenset({"", "chunked", "identity"})
"""Transfer codings that leave nothing to undo."""

PARTS = 256
"""Most parts of a path."""

READ = 64 << 10
"""Bytes that are read of one connection in one turn of the loop. asyncio's 256 KiB, from 200 clients that send bodies
of megabytes at once, hold the loop for 60 ms."""


LINGER = 30.0
"""Seconds for which the rest of a request is read and dropped after an early answer: nginx's lingering_time. A
connection that is closed while its client still sends is reset, and the client may lose the answer with it."""

SILENCE = 5.0
"""Seconds without a byte after which nothing more is waited for, where the end of the request cannot be known: nginx's
lingering_timeout."""

DROPPED = 256 << 20
"""Bytes that are dropped at most."""


class Listener(web.AppRunner):
    """An AppRunner whose connections tell their failures to `reports`."""

    def __init__(self, app: web.Application, reports: Reports, most: Most | None = None, **options: Any) -> None:
        """`most`: what serves most requests without a look at the application's routes, and which ones."""
        super().__init__(app, **options)
        self._reports = reports
        self._most = most

    async def _make_server(self) -> web.Server:
        return _HttpServer(await super()._make_server(), self._reports, self._most)


class _HttpServer(web.Server):
    def __init__(self, made: web.Server, reports: Reports, most: Most | None) -> None:
        super().__init__(
            _plain(made.request_handler, reports, most),
            request_factory=made.request_factory,
            handler_cancellation=made.handler_cancellation,
            loop=made._loop,
            **made._kwargs,
        )
        self._reports = reports

    def __call__(self) -> web.RequestHandler:
        connection = _Connection(self, loop=self._loop, **self._kwargs)
        connection.reports = self._reports
        return connection


def _plain(serve: Handler, reports: Reports, most: Most | None) -> Handler:
    """Refuse what aiohttp takes and should not: a body in a transfer coding that is not undone here (RFC 9112 §6.1; it
    undoes the last one, chunked, and hands on what is still compressed as if it were the body), and a path of very many
    parts (it looks up every beginning of it: 0.4 s for 60 KB)."""

    def refused(status: int, name: str, text: str) -> web.Response:
        reports.tell(Stage("not_http", {"error": name}))
        answer = web.Response(status=status, body=_error(text, ours=False), content_type="application/json")
        answer.force_close()
        return answer

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        named = request.headers.get("Transfer-Encoding")
        if named is not None and any(coding.strip().lower() not in UNDONE for coding in named.split(",")):
            text = "Of transfer codings only chunked is understood; a body may be compressed with Content-Encoding."
            return refused(501, "TransferEncoding", text)
        path = request.rel_url.raw_path
        if path.count("/") > PARTS:
            return refused(414, "PathTooLong", f"A path may have {PARTS} parts.")
        if most is not None and most[1](path) and "Expect" not in request.headers:
            # The application would look up its route, and make an object of what it found: 30 calls.
            assert isinstance(request, web.Request)
            return await most[0](request)
        return await serve(request)

    return handle


class _Connection(KeptConnection):
    """One connection of a client. aiohttp counts header lines and bounds each; here their sum is bounded: any number
    of lines is fine, as long as all of them together are not over limits.headers."""

    __slots__ = ("_body", "_dropped", "_head", "reports")
    reports: Reports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._head = 0
        """Bytes that have come of a head which is not complete yet."""
        self.told = None
        self._body: StreamReader | None = None
        """The newest request's body."""
        self._dropped = 0
        """Bytes that have come after an answer that did not wait for them."""
        if hasattr(transport, "max_size"):
            transport.max_size = READ
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self.told = None  # aiohttp's side of a connection waits for the collector; what its client said does not
        super().connection_lost(exc)

    def resume_reading(self, resume_parser: bool = True) -> None:
        """A body's reader has room again. aiohttp says so after every read, and its parser is then fed with nothing: 8
        calls a request where it was not paused."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def data_received(self, data: bytes) -> None:
        if self._body is not None and not self._body.is_eof():
            if self._current_request is None and not self._messages:
                self._drop(len(data))
            super().data_received(data)
            return
        if self._close:
            self._drop(len(data))
            return
        before = self._messages[-1] if self._messages else None
        super().data_received(data)
        newest = self._messages[-1] if self._messages else None
        if newest is not before and newest is not None:
            self._head, self._body, self._dropped = 0, newest[1], 0
            return
        self._head += len(data)
        if self._head > self.max_field_size and not self._buffer_paused and not self._upgraded:
            self._too_long()

    def _too_long(self) -> None:
        """Refuse a head that does not end. An answer that is still on its way to this client is cut with it."""
        waiter = self._waiter
        if waiter is None or waiter.done() or self._messages:
            self.force_close()
            return
        self._messages.append((_ErrInfo(status=431, exc=LineTooLong(b"", 0), message=""), EMPTY_PAYLOAD))
        self._close = True
        waiter.set_result(None)

    def _drop(self, size: int) -> None:
        """So many bytes more are read for nothing."""
        self._dropped += size
        if self._dropped > DROPPED:
            self.force_close()

    def _make_error_handler(self, err_info: Any) -> Handler:
        """The handler of what is no HTTP. Its answer ends the connection, and nobody knows where the request ends that
        the client may still be sending."""

        async def handler(request: web.BaseRequest) -> web.StreamResponse:
            self._close = True
            request._version = HttpVersion11  # aiohttp takes what it could not read for HTTP/1.0, and answers so
            answer = self.handle_error(request, err_info.status, err_info.exc, err_info.message)
            await answer.prepare(request)
            await answer.write_eof()
            await self._linger()
            return answer

        return handler

    async def _linger(self) -> None:
        """Say that nothing more comes, and drop what the client still sends, until it closes or is silent."""
        end, before = self._loop.time() + LINGER, -1
        if self.transport is not None and self.transport.can_write_eof():
            self.transport.write_eof()
            self._resume_transport_reading()
        while not self._force_close and self._dropped > before and self._loop.time() < end:
            before = self._dropped
            await asyncio.sleep(SILENCE)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """An answer to what never became an exchange; the connection ends with it."""
        transport = request.transport
        if isinstance(exc, ConnectionResetError) and (transport is None or transport.is_closing()):
            raise exc  # the client left, and its exchange has told so
        ours = status >= 500
        self.reports.tell(Stage("request_failed" if ours else "not_http", facts(exc), wrong=ours))
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        if isinstance(exc, LineTooLong):
            status, text = 431, _OVER
        elif ours:
            text = "streamfuse failed while it answered; its log names the place."
        else:
            text = "This is not a valid HTTP request."
        answer = web.Response(status=status, body=_error(text, ours=ours), content_type="application/json")
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Tell the class and the place; the text may hold anything."""
        found = kw.get("exc_info")
        self.reports.tell(
            Stage("request_failed", facts(found if isinstance(found, BaseException) else None), wrong=True)
        )


_OVER = "The headers, or the request line, are over limits.headers."


def _error(text: str, *, ours: bool) -> bytes:
    error = {
        "message": text,
        "type": "server_error" if ours else "invalid_request_error",
        "param": None,
        "code": "streamfuse_internal" if ours else "streamfuse_bad_request",
    }
    return orjson.dumps({"error": error})


class LibraryLog(logging.Handler):
    """Reports, in our own form, the messages that libraries write to the standard log (asyncio's lost tasks, aiohttp's
    complaints)."""

    def __init__(self, reports: Reports) -> None:
        super().__init__(logging.WARNING)
        self._reports = reports

    def emit(self, record: logging.LogRecord) -> None:
        """One line: who complains, where, and the class of what was raised."""
        raised = record.exc_info[1] if record.exc_info else None
        told = {"logger": record.name, "at": f"{record.module}:{record.lineno}", **facts(raised)}
        self._reports.tell(Stage("library_complains", told, wrong=record.levelno >= logging.ERROR))


def facts(raised: BaseException | None) -> dict[str, str]:
    """The class of an exception, and the source line where it was raised. Never its text, which may hold content."""
    if raised is None:
        return {}
    return {"error": type(raised).__name__, **_place(raised.__traceback__)}


def _place(trace: TracebackType | None) -> dict[str, str]:
    frames = traceback.extract_tb(trace)
    return {"where": f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}"} if frames else {}
