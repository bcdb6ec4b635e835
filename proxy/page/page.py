"""The page at /-/: what every agent is doing now, and why each exchange ended as it did, for a person's eyes. Names and
numbers only, unless `privacy.show_excerpts` adds a few characters of what repeated.

Read-only. It is a whole page without a script; with one, a stream of server-sent events (/-/events) brings the same
HTML anew whenever something has changed. Its policy lets it load nothing but its own style and script. Every name and
excerpt is escaped, since clients and models choose them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any, Final, TypeAlias

import orjson
from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from ..exchange.context import Context
from ..observers.recent import RecentObserver
from ..wording import words
from . import live

ROWS: Final = 100
"""Exchanges on the page, the newest; /-/recent has all that are kept."""
MOST_OPEN: Final = 200
"""Open requests on the page, the oldest; a thousand rows a second for each viewer would cost the agents time."""
STUCK: Final = 30.0
"""Seconds that a browser may take nothing; then its place is somebody else's."""
VIEWERS: Final = 16
"""Browsers that may watch one process at once; each costs a page a second while something happens."""
LOOK: Final = 1.0
"""Seconds between two looks for news."""
QUIET: Final = 15.0
"""Seconds without news after which a comment keeps the connection alive."""
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
FILES: Final = {"page.css": "text/css", "page.js": "text/javascript"}
"""What the page loads, by name, with its media type."""

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
Row: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which exchanges are shown; "" = all."""

    session: str = ""
    provider: str = ""
    outcome: str = ""

    @classmethod
    def of(cls, request: web.Request) -> Filter:
        """As the address says."""
        return cls(*(request.query.get(name, "")[:200] for name in ("session", "provider", "outcome")))

    def takes(self, row: Row) -> bool:
        """Is this row shown?"""
        wanted = (("session", self.session), ("provider", self.provider), ("outcome", self.outcome))
        return all(not value or row.get(name, value) == value for name, value in wanted)

    def __bool__(self) -> bool:
        return bool(self.session or self.provider or self.outcome)


@dataclass(frozen=True, slots=True)
class View:
    """What stands on the page."""

    rows: Sequence[Row]
    """Exchanges that are over, the newest first."""
    running: Sequence[Row] = ()
    """Open requests, the oldest first; MOST_OPEN of them."""
    more: int = 0
    """Open requests that are not shown."""
    speeds: Sequence[Row] = ()
    """How fast each provider's models answer."""
    providers: Sequence[Row] = ()
    filter: Filter = field(default_factory=Filter)
    workers: int = 1
    draining: bool = False


class LivePage:
    """The page's handlers."""

    def __init__(self, recent: RecentObserver, fuse: Callable[[], Context] | None = None) -> None:
        """`fuse`: what runs now, asked each time; None = only exchanges that are over."""
        self._recent = recent
        self._fuse = fuse
        self._viewers = 0

    def routes(self) -> list[web.RouteDef]:
        """The page, its parts, and one page for each exchange."""
        files = [web.get(f"/-/{name}", _file(name)) for name in FILES]
        return [web.get("/-/", self.whole), web.get("/-/events", self.events), web.get("/-/x/{id}", self.one), *files]

    def view(self, chosen: Filter) -> View:
        """What is to be seen now."""
        rows = [row for row in self._recent.newest() if chosen.takes(row)][:ROWS]
        if self._fuse is None:
            return View(rows, filter=chosen)
        fuse = self._fuse()
        running, more = live.running(fuse, self._recent, chosen.takes, MOST_OPEN)
        return View(
            rows,
            running,
            more,
            live.speeds(rows),
            live.providers(fuse),
            chosen,
            fuse.settings.workers,
            fuse.draining,
        )

    async def whole(self, request: web.Request) -> web.StreamResponse:
        """The page."""
        return _html(page(self.view(Filter.of(request))))

    async def one(self, request: web.Request) -> web.StreamResponse:
        """One exchange, also while it runs."""
        ident = request.match_info["id"]
        row, running = self._recent.one(ident), None
        if row is None and self._fuse is not None:
            rows, _ = live.running(self._fuse(), self._recent, lambda one: one["request_id"] == ident, 1)
            running = rows[0] if rows else None
        text = _template("exchange.html.j2").render(row=row, running=running, words=words)
        return _html(text, 404 if row is None and running is None else 200)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """The parts of the page that change, as server-sent events, until the browser leaves or the process drains."""
        if self._viewers >= VIEWERS:
            return web.Response(status=503, headers={"Retry-After": "10"}, text="too many viewers")
        chosen = Filter.of(request)
        answer = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
        await answer.prepare(request)
        self._viewers += 1
        shown, quiet = "", 0.0
        try:
            while True:
                view = self.view(chosen)
                text = parts(view)
                async with asyncio.timeout(STUCK):
                    if text != shown:
                        await answer.write(b"data: " + orjson.dumps({"html": text}) + b"\n\n")
                        shown, quiet = text, 0.0
                    elif quiet >= QUIET:
                        await answer.write(b":\n\n")
                        quiet = 0.0
                if view.draining:
                    return answer
                await asyncio.sleep(LOOK)
                quiet += LOOK
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            return answer
        except ConnectionError:
            return answer
        finally:
            self._viewers -= 1


def page(view: View) -> str:
    """The page as HTML."""
    return str(_template("page.html.j2").render(view=view, words=words, parts=parts(view)))


def parts(view: View) -> str:
    """Those parts of it that change."""
    outcomes = Counter(str(row["outcome"]) for row in view.rows)
    sessions: dict[str, list[Row]] = {}
    for row in view.running:
        sessions.setdefault(row["session"], []).append(row)
    html = _template("parts.html.j2").render(view=view, outcomes=outcomes, sessions=sessions, words=words)
    return str(html)


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", headers=HEADERS)


def _file(name: str) -> Handler:
    body = resources.files(__package__).joinpath(name).read_bytes()

    async def handle(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type=FILES[name], charset="utf-8", headers=HEADERS)

    return handle


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("proxy.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clock"] = lambda at: datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")
    environment.filters["day"] = lambda at: datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    environment.filters["size"] = _size
    return environment


def _template(name: str) -> Any:
    return _environment().get_template(name)


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    return f"{count / 1024:.0f} KB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MB"
