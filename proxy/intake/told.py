"""What the headers of a request say to this proxy: who asks, how, for how long it waits, and what goes upstream.

A client that keeps its connection sends the same headers with every request but for Content-Length, so they are read
once a connection (60 calls of a request). What was read, credentials included, is dropped when the connection ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from aiohttp import web
from multidict import CIMultiDict

from rules import BodyDigest, Client, HealStyle, Identity, Scope, client, digest, identify

from ..settings.load import Settings
from ..settings.sections.provider import ProviderSettings
from . import routing
from .keys import Keys

NOBODY = Identity()
LENGTH = b"content-length"


class Receiver(Protocol):
    """What reading headers needs of the process."""

    @property
    def settings(self) -> Settings: ...
    @property
    def keys(self) -> Keys | None: ...


class KeptConnection(web.RequestHandler):
    """A client's connection, which keeps what its last request's headers said."""

    __slots__ = ("told",)

    told: Told | None


class Told:
    """Read for one config; the same for all requests with these headers and this query."""

    __slots__ = (
        "_fuse", "_headers", "_nameless", "_out", "_query", "_raw", "admitted", "client", "credential", "heal", "key",
        "mode", "named", "query", "scope", "waits",
    )  # fmt: skip

    def __init__(self, fuse: Receiver, request: web.Request) -> None:
        """Raises RouteError."""
        headers = request.headers
        self._fuse = fuse
        self._raw = request.raw_headers
        self._headers = headers
        self._query = request.rel_url.raw_query_string
        self.admitted, self.query = admission(fuse, request)
        """Where one of our own keys was presented, and the query without it."""
        if fuse.keys and self.admitted is None:
            raise routing.RouteError(
                401, "streamfuse_unauthorized", "Present one of this proxy's own keys (auth.keys) as a bearer token."
            )
        self.mode = routing.mode_of(headers)
        self.waits = routing.waits(headers)
        self.heal: HealStyle | None = routing.heal_of(headers)
        self.scope: Scope = routing.scope_of(headers)
        self.named = headers.get("x-streamfuse-provider")
        self.client: Client = client(headers)
        self.credential = routing.credential(headers, self.query)
        """For digests only."""
        self.key = digest(self.credential)
        self._out: dict[tuple[str, str], CIMultiDict[str]] = {}
        self._nameless = self._identify(None, "", "") == NOBODY

    def same(self, fuse: Receiver, request: web.Request) -> bool:
        """Does it hold for this request, too?"""
        if fuse is not self._fuse or request.rel_url.raw_query_string != self._query:
            return False
        raw, known = request.raw_headers, self._raw
        if len(raw) != len(known):
            return False
        for now, before in zip(raw, known, strict=True):
            if now != before and (now[0] != before[0] or now[0].lower() != LENGTH):
                return False
        return True

    def outgoing(self, name: str, provider: ProviderSettings, key_header: str) -> CIMultiDict[str]:
        """The headers for a provider's call with a body of ours: without Content-Length. To be changed by nobody."""
        out = self._out.get((name, key_header))
        if out is None:
            settings = self._fuse.settings
            out = self._out[name, key_header] = routing.outgoing(
                self._headers, provider, key_header=key_header, admitted_by=self.admitted, strip=stripped(settings)
            )
            out.popall("Content-Length", None)
        return out

    def identity(
        self, body: Mapping[str, Any] | None, provider: str, credential: str, digested: BodyDigest | None
    ) -> Identity:
        """As `identify`."""
        return NOBODY if self._nameless else self._identify(body, provider, credential, digested)

    def _identify(
        self, body: Mapping[str, Any] | None, provider: str, credential: str, digested: BodyDigest | None = None
    ) -> Identity:
        settings = self._fuse.settings
        return identify(
            self._headers,
            body,
            provider=provider,
            credential=credential,
            correlation=settings.correlation.headers,
            session=settings.session.headers,
            digested=digested,
        )


def read(fuse: Receiver, request: web.Request) -> Told:
    """What the headers say. Raises RouteError."""
    connection = request.protocol
    if not isinstance(connection, KeptConnection):
        return Told(fuse, request)
    told = connection.told
    if told is None or not told.same(fuse, request):
        connection.told = None  # what it held is free, even where this one cannot be read
        told = connection.told = Told(fuse, request)
    return told


def admission(fuse: Receiver, request: web.Request) -> tuple[str | None, str]:
    """Where one of our own keys was presented (a header, or `?key`; None = nowhere), and the query without it."""
    query = request.rel_url.raw_query_string
    if not fuse.keys:
        return None, query
    if (admitted := fuse.keys.admit(request.headers)) is not None:
        return admitted, query
    if fuse.keys.admits(routing.key_of(query)):
        return "?key", routing.without_key(query)
    return None, query


def stripped(settings: Settings) -> tuple[str, ...]:
    """The headers that name a request or a session and do not go upstream."""
    strip = (*settings.correlation.headers,) if settings.correlation.strip else ()
    if settings.session.strip:
        strip += (*settings.session.headers,)
    return strip
