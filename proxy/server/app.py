"""The server: routes, start and stop, health, and the drain on SIGTERM.

Draining: new requests get 503 streamfuse_draining, open answers run on to the end of the grace period, and what is
still open then is ended legally. /healthz says that the process lives, /readyz that it wants work.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from aiohttp import HttpVersion11, web
from yarl import URL

from rules import RuleSet

from ..exchange.context import Context
from ..exchange.exchange import Exchange
from ..intake.keys import ASK
from ..memory.clock import Clock, LoopClock
from ..observers.reports import Reports, Stage
from ..settings.load import Settings
from ..settings.service.doors import Doors, Refused, loopback
from .hangup import let_through
from .listener import LINGER, Listener, Most
from .reload import ConfigSource, Reloaded, reread, tell, watch

T = TypeVar("T")

POLL = 0.1
"""Seconds between two looks at what is still open while draining."""

LINE = 4
"""Bytes of the shortest header line (`a:` and a line break)."""

LAST = 2.0
"""Seconds for the endings to reach their clients after the grace period."""

CLEANUP = 1.0
"""Seconds for connections that do not close. With the grace period and LAST it fits into the 10 s that `docker stop`
waits before it kills."""


PROBES = ("/healthz", "/readyz")
"""What machines ask for: no page of ours, so a name that only programs use will do, and no key is needed."""

RELOAD = "/-/reload"
"""Where to ask for the config to be read again."""

NOT_FROM_HERE = Refused(
    403,
    "streamfuse_unauthorized",
    "Without auth.keys only this machine itself may ask for a reload: run streamfuse reload there, or send SIGHUP.",
)

NO_KEY = Refused(
    401,
    "streamfuse_unauthorized",
    "This page wants one of this proxy's own keys (auth.keys): as a bearer token, or in a browser as the password of "
    "any user. auth.open names pages that want none.",
)


class Server:
    """One listening process. `start` … `stop`, or `run` until a signal comes."""

    def __init__(
        self,
        settings: Settings,
        *,
        reports: Reports | None = None,
        clock: Clock | None = None,
        rules: RuleSet | None = None,
        ops: Sequence[web.RouteDef] = (),
        reuse_port: bool = False,
        source: ConfigSource | None = None,
    ) -> None:
        """`rules`: instead of those that the settings name. `ops`: more routes for people and machines that watch
        (metrics, the page). `reuse_port`: several processes share the port. `source`: from which the config can be
        read again."""
        self.settings = settings
        self._source = source
        self._reloading: asyncio.Task[Reloaded] | None = None
        self._queued: asyncio.Task[Reloaded] | None = None
        """Reads the config once more when the present reading is over. All requests that come meanwhile share it."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._reports = reports
        self._clock = clock
        self._rules = rules
        self._ops = list(ops)
        self._reuse_port = reuse_port
        self._runners: list[web.AppRunner] = []
        self._ticker: asyncio.Task[None] | None = None
        self._hung_up_early = False
        """SIGHUP came while the port was still being opened: the config may be another one than what was read."""
        self.hurried = asyncio.Event()
        """Set: the grace period of a drain is over, however long it was to be."""
        self.fuse: Context
        self.port = 0
        self.ops_port = 0

    async def start(self) -> None:
        """Listen. Raises OSError where the port cannot be had."""
        settings = self.settings
        clock = self._clock or LoopClock(asyncio.get_running_loop())
        self.fuse = Context(settings, clock, reports=self._reports, rules=self._rules)
        await self.fuse.start()
        watching = [web.get("/healthz", self._health), web.get("/readyz", self._ready), *self._ops]
        if self._source is not None:
            watching.append(web.post(RELOAD, self._reload_asked))
        main = web.Application(client_max_size=0)
        if self.fuse.doors.for_pages:
            main.on_response_prepare.append(self._for_pages)
        if settings.ops is None:
            main.add_routes(self._guarded(route, lambda: self.fuse.doors) for route in watching)
        main.router.register_resource(_Everything(self._handle, self._expect))
        # Where web pages may call, every answer passes the application's own hook.
        own = frozenset(route.path for route in watching)
        most = None if self.fuse.doors.for_pages else (self._handle, partial(_is_not_ours, own))
        try:
            self.port = await self._listen(main, settings.listen.host, settings.listen.port, self._reuse_port, most)
            if settings.ops is not None:
                ops = web.Application()
                host = settings.ops.host
                ops.add_routes(
                    self._guarded(route, lambda: Doors(host, self.settings.listen.hosts)) for route in watching
                )
                self.ops_port = await self._listen(ops, settings.ops.host, settings.ops.port, self._reuse_port)
        except BaseException:
            await self.stop()
            raise
        self._ticker = asyncio.create_task(self.fuse.process.tick_forever())
        if (source := self._source) is not None and source.file is not None and source.spread is None:
            self._keep(watch(source.file, lambda: self.settings.reload.watch, clock, self.reload))
        self.fuse.reports.tell(Stage("started", {"port": self.port}))

    async def _listen(
        self, app: web.Application, host: str, port: int, reuse_port: bool = False, most: Most | None = None
    ) -> int:
        limit = self.settings.limits.headers
        runner = Listener(
            app,
            self.fuse.reports,
            most,
            handle_signals=False,
            access_log=None,
            handler_cancellation=True,
            auto_decompress=False,
            max_line_size=limit,
            max_field_size=limit,
            max_headers=limit // LINE,
            keepalive_timeout=75.0,
            shutdown_timeout=CLEANUP,
            lingering_time=LINGER,
        )
        await runner.setup()
        self._runners.append(runner)
        site = web.TCPSite(runner, host, port, reuse_port=reuse_port or None, backlog=1024)
        await site.start()
        return int(runner.addresses[0][1])

    async def drain(self) -> None:
        """Refuse new requests, let open ones run to the end of the grace period, then end them legally."""
        fuse = self.fuse
        fuse.draining = True
        fuse.reports.tell(Stage("draining", {"open": len(fuse.open)}))
        end = fuse.clock.now() + self.settings.drain.grace
        while fuse.open and not self.hurried.is_set() and (left := end - fuse.clock.now()) > 0:
            await fuse.clock.sleep(min(POLL, left))
        for exchange in tuple(fuse.open):
            exchange.end_now()
        # What is left now has only its last bytes to write.
        end = fuse.clock.now() + LAST
        while fuse.open and (left := end - fuse.clock.now()) > 0:
            await fuse.clock.sleep(min(POLL, left))

    async def stop(self) -> None:
        """Close everything; open exchanges are cut."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._ticker is not None:
            self._ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticker
            self._ticker = None
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
        await self.fuse.stop()
        self.fuse.reports.tell(Stage("stopped"))

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then drain. A second signal ends the grace period: open answers are ended
        legally now. A third cuts what is still open."""
        loop = asyncio.get_running_loop()
        asked, cut = asyncio.Event(), asyncio.Event()

        def signalled() -> None:
            next((step for step in (asked, self.hurried) if not step.is_set()), cut).set()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, signalled)
        loop.add_signal_handler(signal.SIGHUP, self._hung_up)
        let_through()
        try:
            # Install them first, because a signal that comes while the port opens must drain, too.
            await self.start()
            if self._hung_up_early:
                self._hung_up()
            # What is here now stays for good: the collector need not walk over it with every generation.
            gc.collect()
            gc.freeze()
            try:
                await asked.wait()
                tasks = [asyncio.create_task(self.drain()), asyncio.create_task(cut.wait())]
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            finally:
                await self.stop()
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                loop.remove_signal_handler(number)

    # --- another config -----------------------------------------------------------------------------------------------
    async def reload(self) -> Reloaded:
        """Read the config again and use it for the requests that come from now on. A broken config changes nothing. A
        call that comes during a reading waits for a reading that begins afterwards."""
        assert self._source is not None
        if self._reloading is None:
            self._reloading = self._keep(self._reload(self._source))
            return await asyncio.shield(self._reloading)
        if self._queued is None:
            self._queued = self._keep(self._reload_after(self._reloading, self._source))
        return await asyncio.shield(self._queued)

    async def _reload_after(self, running: asyncio.Task[Reloaded], source: ConfigSource) -> Reloaded:
        await asyncio.wait({running})
        self._reloading, self._queued = self._queued, None
        return await self._reload(source)

    async def _reload(self, source: ConfigSource) -> Reloaded:
        try:
            came = await reread(source.read, self.settings)
            if came.changes is not None:
                settings = came.changes.settings
                try:
                    following = await asyncio.to_thread(self.fuse.renewed, settings)
                except Exception as error:
                    came = Reloaded(None, (f"the config cannot be made ready ({type(error).__name__})",))
                else:
                    following.take()
                    self.fuse, self.settings = following, settings
                    source.taken(settings)
            tell(self.fuse.reports, came)
            return came
        finally:
            if self._queued is None:
                self._reloading = None

    def _keep(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run it until it is done or the server stops."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _hung_up(self) -> None:
        """`kill -HUP`: read the config again. A closed terminal says the same and does no harm."""
        if self._source is None:
            (self._reports or Reports()).tell(Stage("sighup_ignored"))
        elif self._ticker is not None:
            self._keep(self.reload())
        else:
            self._hung_up_early = True

    async def _reload_asked(self, request: web.Request) -> web.Response:
        """POST /-/reload. Without auth.keys only this machine may ask."""
        if not self.fuse.keys and not loopback(request.remote or ""):
            return refused(NOT_FROM_HERE)
        assert self._source is not None
        if self._source.spread is None:
            came = await self.reload()
            return web.json_response(came.data(), status=422 if came.changes is None else 200)
        came = await reread(self._source.read, self.settings)
        if came.changes is None:
            return web.json_response(came.data(), status=422)
        self._source.spread()
        return web.json_response(came.data(), status=202)

    # --- pages of ours ------------------------------------------------------------------------------------------------
    def _guarded(self, route: web.RouteDef, doors: Callable[[], Doors]) -> web.RouteDef:
        """A page of ours, behind the same doors as everything else."""
        serve, own = route.handler, route.path not in PROBES
        page = {"/metrics": "metrics", RELOAD: "reload"}.get(route.path, "page")

        async def guarded(request: web.Request) -> web.StreamResponse:
            reads = request.method in ("GET", "HEAD")
            if (no := doors().refusal(request.headers, own=own, reads=reads)) is not None:
                return refused(no)
            if own and not self.fuse.keys.opens(page, request.headers):
                return refused(NO_KEY, {"WWW-Authenticate": ASK})
            return await serve(request)

        return web.RouteDef(route.method, route.path, guarded, route.kwargs)

    async def _for_pages(self, request: web.Request, answer: web.StreamResponse) -> None:
        if "Access-Control-Allow-Methods" not in answer.headers:
            self.fuse.doors.open_to_page(request.headers.get("Origin"), answer.headers)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "OPTIONS" and (may := self.fuse.doors.preflight(request.headers)) is not None:
            return web.Response(status=204, headers=may)
        if request.method == "GET" and request.rel_url.raw_path == "/" and self._wants_page(request):
            return web.Response(status=302, headers={"Location": "/-/", "Cache-Control": "no-store"})
        exchange = Exchange(self.fuse, request)
        self.fuse.open.add(exchange)
        try:
            return await exchange.run()
        finally:
            self.fuse.open.discard(exchange)

    def _wants_page(self, request: web.Request) -> bool:
        """Has a person opened the bare address in a browser?"""
        return self.settings.ops is None and "text/html" in request.headers.get("Accept", "")

    async def _expect(self, request: web.Request) -> web.StreamResponse | None:
        """100-continue, unless the body is one that we would refuse anyway (RFC 9110 §10.1.1)."""
        if request.headers.get("Expect", "").lower() != "100-continue":
            raise web.HTTPExpectationFailed
        if request.version < HttpVersion11:
            return None  # such a client does not know an answer before the answer
        if (request.content_length or 0) <= self.settings.limits.request_body:
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return None

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "alive"})

    async def _ready(self, request: web.Request) -> web.Response:
        draining, accounts = self.fuse.draining, self.fuse.accounts
        said: dict[str, str | int] = {"status": "draining" if draining else "ready"}
        if not self.fuse.keys.opens("ready", request.headers):
            return web.json_response(said, status=503 if draining else 200)
        said["open"] = len(self.fuse.open)
        # A shared state that is away is no reason to send nobody here: each process goes on with accounts of its own.
        said["state"] = "up" if accounts.healthy else f"away: {accounts.detail}"
        return web.json_response(said, status=503 if draining else 200)


def refused(no: Refused, headers: Mapping[str, str] | None = None) -> web.Response:
    """A refusal on a path of ours, in the common shape."""
    kind = "invalid_request_error"
    error = {"message": no.message, "type": kind, "param": None, "code": no.code}
    return web.json_response({"error": error}, status=no.status, headers=headers)


def _is_not_ours(own: frozenset[str], path: str) -> bool:
    """Is this a path of a provider's, and not one of our pages or probes?"""
    return path not in own and not path.startswith("/-/")


class _Everything(web.AbstractResource):
    """Any method and any path that no other resource has; a pattern would be matched and unquoted for nothing."""

    def __init__(
        self,
        handle: Callable[[web.Request], Awaitable[web.StreamResponse]],
        expect: Callable[[web.Request], Awaitable[web.StreamResponse | None]],
    ) -> None:
        super().__init__()
        self._route = web.ResourceRoute("*", handle, self, expect_handler=expect)

    @property
    def canonical(self) -> str:
        return "/"

    async def resolve(self, request: web.Request) -> tuple[web.UrlMappingMatchInfo, set[str]]:
        return web.UrlMappingMatchInfo({}, self._route), {request.method}

    def url_for(self, **_kwargs: str) -> URL:
        return URL("/")

    def add_prefix(self, prefix: str) -> None:
        raise NotImplementedError("the proxy is not a part of another application")

    def get_info(self) -> Any:
        return {"path": "/"}

    def raw_match(self, _path: str) -> bool:
        return True

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        return iter((self._route,))
