"""One serving process: the sinks, the operators' routes and the server, on the event loop that the config names."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
from aiohttp import web

from ..exchange.context import Context
from ..intake.heap import keep_apart
from ..observers import Sinks
from ..observers.metrics import CONTENT_TYPE, MetricsObserver
from ..observers.recent import RecentObserver
from ..observers.reports import Observer, Reports
from ..page.page import LivePage
from ..settings.load import Settings
from .app import Server
from .listener import LibraryLog
from .reload import ConfigSource, Read


class CannotListen(Exception):
    """The port cannot be had; the text says why and what to do."""


def run(
    settings: Settings,
    *extra: Observer,
    worker: bool = False,
    read: Read | None = None,
    file: Path | None = None,
) -> None:
    """Serve until a signal comes. `extra`: more sinks. `worker`: one of several that share the port. `read` reads the
    config again, `file` is where it stands.

    Raises CannotListen.
    """
    keep_apart()
    here = Sinks(settings)
    try:
        with asyncio.Runner(loop_factory=_loop(settings)) as runner:
            runner.run(_serve(settings, here, extra, worker, read, file))
    except OSError as error:
        raise CannotListen(why(error, settings)) from None
    finally:
        here.telemetry.close()
        here.journal.close()


async def _serve(
    settings: Settings,
    here: Sinks,
    extra: tuple[Observer, ...],
    worker: bool,
    read: Read | None,
    file: Path | None,
) -> None:
    reports = Reports([*here.all, *extra], here.telemetry.tracing)
    if (told := here.telemetry.told()) is not None:
        reports.tell(told)
    logging.basicConfig(handlers=[LibraryLog(reports)], force=True)
    # Python would write a warning to stderr itself, and wait until somebody reads it.
    logging.captureWarnings(True)
    server = Server(
        settings,
        reports=reports,
        ops=pages(here, lambda: server.fuse),
        reuse_port=worker,
        source=ConfigSource(read, file, here.renew, _tell_parent if worker else None) if read is not None else None,
    )
    if worker:
        _follow_parent()
    await server.run()


def pages(here: Sinks, fuse: Callable[[], Context] | None = None) -> list[web.RouteDef]:
    """The pages of ours that show what the sinks know. `fuse`: also what is under way."""
    return [
        web.get("/metrics", metrics_route(here.metrics)),
        *LivePage(here.recent, fuse).routes(),
        web.get("/-/recent", recent_route(here.recent)),
    ]


def metrics_route(metrics: MetricsObserver) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler that answers with the Prometheus text."""

    async def handle(_request: web.Request) -> web.Response:
        return web.Response(body=metrics.exposition(), headers={"Content-Type": CONTENT_TYPE})

    return handle


def recent_route(recent: RecentObserver) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler that answers with the newest exchanges as JSON, newest first; `?n=` of them."""

    async def handle(request: web.Request) -> web.Response:
        count = request.query.get("n", "")
        rows = recent.newest(int(count[:6]) if count.isascii() and count.isdigit() else None)
        return web.Response(body=orjson.dumps({"exchanges": rows}), content_type="application/json")

    return handle


def _loop(settings: Settings) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """asyncio's own by default: uvloop gave no steady gain and accepts one connection a turn (measured, docs)."""
    if settings.loop == "asyncio":
        return None
    try:
        import uvloop
    except ImportError:
        if settings.loop == "auto":
            return None
        raise CannotListen(
            "loop is uvloop, which is not installed here: pip install uvloop, or loop: asyncio"
        ) from None
    return uvloop.new_event_loop


def _tell_parent() -> None:
    """The parent of all workers checks the config and tells each of them to read it."""
    os.kill(os.getppid(), signal.SIGHUP)


def _follow_parent() -> None:
    """A worker ends when its parent does, however the parent ended: its stdin is a pipe that closes then."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            loop.remove_reader(sys.stdin.fileno())
            os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(sys.stdin.fileno(), read)


def why(error: OSError, settings: Settings) -> str:
    """What went wrong with listening, and what to do."""
    found = re.search(r"\('([^']*)', (\d+)", str(error))
    host, port = (found[1], found[2]) if found else (settings.listen.host, str(settings.listen.port))
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is taken by another process: choose another with --port (0 takes a free one)"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"this user may not listen on port {port}: choose one above 1023 with --port"
    if error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        return f"{host} is no address of this machine: --host 127.0.0.1 for this machine only, 0.0.0.0 for all"
    return f"cannot listen on {host}:{port} ({error.strerror or type(error).__name__})"
