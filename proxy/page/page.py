"""The page at /-/: the newest exchanges for a person's eyes, numbers and names only, unless
`privacy.show_excerpts` adds a few characters of what repeated.

Read-only, made of the same rows as /-/recent. It has no script and loads nothing; its policy forbids both. Every name
and excerpt is escaped, since clients and models choose them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from ..observers.recent import RecentObserver

ROWS: Final = 100
"""Exchanges on the page, the newest; /-/recent has all that are kept."""
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def page_route(recent: RecentObserver) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler that answers with the page."""

    async def handle(_request: web.Request) -> web.Response:
        return web.Response(text=page(recent.newest(ROWS)), content_type="text/html", headers=HEADERS)

    return handle


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """The page of these rows of /-/recent, newest first."""
    outcomes = Counter(str(row["outcome"]) for row in rows)
    return _template().render(rows=rows, outcomes=outcomes)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("proxy.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clock"] = lambda at: datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")
    return environment.get_template("page.html.j2")
