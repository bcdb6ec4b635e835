"""The listening side of HTTP: what is no HTTP, or fails where no exchange could catch it, is answered and told plainly.

aiohttp writes such failures to a log of its own, traceback and all, and quotes the offending line to the client: that
line may hold a credential. Here only the exception's class and its place in the source are told, and the answer is
JSON in the common shape, like every other error of ours.
"""

from __future__ import annotations

import logging
import traceback
from pathlib import PurePath
from types import TracebackType
from typing import Any

import orjson
from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from .reports import Reports, Stage


class Front(web.AppRunner):
    """An AppRunner whose connections tell their failures to `reports`."""

    def __init__(self, app: web.Application, reports: Reports, **options: Any) -> None:
        super().__init__(app, **options)
        self._reports = reports

    async def _make_server(self) -> web.Server:
        return _Server(await super()._make_server(), self._reports)


class _Server(web.Server):
    def __init__(self, made: web.Server, reports: Reports) -> None:
        super().__init__(
            made.request_handler,
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


class _Connection(web.RequestHandler):
    __slots__ = ("reports",)
    reports: Reports

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
            status, text = 431, "A header, or the request line, is over limits.headers."
        elif ours:
            text = "streamfuse failed while it answered; its log names the place."
        else:
            text = "This is not a valid HTTP request."
        error = {
            "message": text,
            "type": "server_error" if ours else "invalid_request_error",
            "param": None,
            "code": "streamfuse_internal" if ours else "streamfuse_bad_request",
        }
        answer = web.Response(status=status, body=orjson.dumps({"error": error}), content_type="application/json")
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Tell the class and the place; the text may hold anything."""
        found = kw.get("exc_info")
        self.reports.tell(
            Stage("request_failed", facts(found if isinstance(found, BaseException) else None), wrong=True)
        )


class LibraryLog(logging.Handler):
    """What libraries would write to the standard log (asyncio's lost tasks, aiohttp's complaints), told our way."""

    def __init__(self, reports: Reports) -> None:
        super().__init__(logging.WARNING)
        self._reports = reports

    def emit(self, record: logging.LogRecord) -> None:
        """One line: who complains, where, and the class of what was raised."""
        raised = record.exc_info[1] if record.exc_info else None
        told = {"logger": record.name, "at": f"{record.module}:{record.lineno}", **facts(raised)}
        self._reports.tell(Stage("library_complains", told, wrong=record.levelno >= logging.ERROR))


def facts(raised: BaseException | None) -> dict[str, str]:
    """What may be told of an exception: its class, and the line of source where it was raised. Never its text."""
    if raised is None:
        return {}
    return {"error": type(raised).__name__, **_place(raised.__traceback__)}


def _place(trace: TracebackType | None) -> dict[str, str]:
    frames = traceback.extract_tb(trace)
    return {"where": f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}"} if frames else {}
