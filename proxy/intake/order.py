"""What is asked: a request with its body read, its wire known and its provider chosen. Reading it asks nobody.

Two kinds: `read` orders, which streamfuse understands (a wire, a JSON object), and passages, which go through
untouched because the path, the method, the body or the config says so.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
from aiohttp import web
from multidict import CIMultiDict

from rules import (
    ArrayPlace,
    Ask,
    BodyDigest,
    Client,
    Continued,
    Failure,
    HealStyle,
    Identity,
    Kind,
    Mode,
    Phase,
    PrefixCache,
    Scope,
    Wire,
    client,
    digest,
    error_wire,
    identify,
)
from rules import wire_for_path as for_path
from rules import wire_named as get

from ..settings.engine import Engine
from ..settings.load import Settings
from ..settings.sections.provider import ProviderSettings
from . import request_body, routing
from .keys import Keys
from .request_body import RequestBody


@dataclass(frozen=True, slots=True)
class Order:
    """One request, read."""

    name: str
    """The provider's name."""
    provider: ProviderSettings
    engine: Engine
    wire: Wire
    method: str
    url: str
    headers: CIMultiDict[str]
    """For the upstream; without Content-Length, which follows the body."""
    ask: Ask | None
    """None = a passage."""
    body: bytes | AsyncIterator[bytes] | None
    """As the client sent it (with its Content-Encoding); a stream can be sent only once."""
    mode: Mode
    scope: Scope
    identity: Identity
    client: Client
    gate: tuple[str, str, str]
    """(provider, model, digest of the credential): whose failures delay this request's calls."""
    line: str = ""
    """Who it is in a queue for the provider: a session, else a key. Each has its turn."""
    waits: bool = True
    """Text may wait while a rule is half convinced."""
    heal: HealStyle | None = None
    """How far a heal may go, by the request or the config; None = nobody said."""
    known: ArrayPlace | Continued | None = None
    """As `RequestBody.known`."""
    digested: BodyDigest | None = None
    """What was digested of such a body."""

    @property
    def keeps_text(self) -> bool:
        """Another call may go on in the middle of the answer's text, so that all of it is kept."""
        if self.provider.resume.value != "none" or self.heal in (HealStyle.AUTO, HealStyle.PREFILL, HealStyle.NOTE):
            return True
        return self.heal is None and self.engine.rules.asks_again

    def packed(self, body: Mapping[str, Any] | None) -> tuple[bytes | AsyncIterator[bytes] | None, CIMultiDict[str]]:
        """Body and headers for an upstream call; None = the original body, byte for byte."""
        headers = self.headers.copy()
        if body is None:
            return self.body, headers
        headers.popall("Content-Encoding", None)
        return dumps(body), headers


def dumps(body: Mapping[str, Any]) -> bytes:
    """JSON bytes. orjson refuses integers over 64 bits and lone surrogates, which clients may well send."""
    try:
        return orjson.dumps(body)
    except (TypeError, ValueError):
        return json.dumps(body, separators=(",", ":")).encode()


class Doorway(Protocol):
    """What reading a request needs of the process."""

    @property
    def settings(self) -> Settings: ...
    @property
    def engines(self) -> Mapping[str, Engine]: ...
    @property
    def keys(self) -> Keys | None: ...
    @property
    def prefixes(self) -> PrefixCache: ...


def admission(fuse: Doorway, request: web.Request) -> tuple[str | None, str]:
    """Where one of our own keys was presented (a header, or `?key`; None = nowhere), and the query without it."""
    query = request.rel_url.raw_query_string
    if not fuse.keys:
        return None, query
    if (admitted := fuse.keys.admit(request.headers)) is not None:
        return admitted, query
    if fuse.keys.admits(routing.key_of(query)):
        return "?key", routing.without_key(query)
    return None, query


def in_line(provider: ProviderSettings, identity: Identity, credential: str) -> str:
    """Who a request is in the queue for its provider; "" where there is no queue."""
    return (identity.session or digest(credential)) if provider.concurrency.limit else ""


async def read(
    fuse: Doorway,
    request: web.Request,
    to: routing.Place,
    hold: Callable[[int], Awaitable[None]],
    turn: Callable[[int], Awaitable[None]],
) -> Order:
    """Take a request in; `hold` and `turn` as for `request_body.take`. Raises RouteError, TooLarge, ClientGone, and
    what `hold` raises."""
    settings = fuse.settings
    headers = request.headers
    admitted, query = admission(fuse, request)
    if fuse.keys and admitted is None:
        raise routing.RouteError(
            401, "streamfuse_unauthorized", "Present one of this proxy's own keys (auth.keys) as a bearer token."
        )
    mode = routing.mode_of(headers)
    waits = routing.waits(headers)
    heal = routing.heal_of(headers)
    scope = _scope(headers)
    wire = for_path(to.call)
    named = headers.get("x-streamfuse-provider")
    got: RequestBody | None = None
    if wire.name != "opaque" and request.method == "POST":
        got = await request_body.take(request, settings.limits.request_body, hold, turn, fuse.prefixes)
    ask = None
    if got is not None and got.body is not None and wire.speaks(got.body):
        ask = wire.ask(got.body, _call(to, query))
    name = routing.choose(settings, to, named, ask.model if ask is not None else None)
    provider = settings.providers[name]
    if ask is not None and wire.name not in provider.wires:
        ask = None
    if ask is None:
        wire = get("opaque")
    keyed = admitted is not None or not routing.probes(request.method, to, headers)
    if provider.api_key is not None and keyed:
        query = routing.without_key(query)
    strip = (*settings.correlation.headers,) if settings.correlation.strip else ()
    if settings.session.strip:
        strip += (*settings.session.headers,)
    out = routing.outgoing(
        headers,
        provider,
        key_header=error_wire(to.call).key_header,
        admitted_by=admitted,
        strip=strip,
        keyed=keyed,
    )
    body: bytes | AsyncIterator[bytes] | None
    if got is not None:
        out.popall("Content-Length", None)
        body = got.raw
    else:
        body = request_body.pieces(request) if request.can_read_body else None
    engine = fuse.engines[name]
    credential = routing.credential(headers, query)
    key = digest(credential) if provider.api_key is None else ""
    known = got.known if got is not None else None
    digested = _digest(known) if known is not None else None
    identity = identify(
        headers,
        ask.body if ask is not None else None,
        provider=name,
        credential=credential,
        correlation=settings.correlation.headers,
        session=settings.session.headers,
        digested=digested,
    )
    return Order(
        name=name,
        provider=provider,
        engine=engine,
        wire=wire,
        method=request.method,
        url=routing.join(provider.base_url, to, query, known=got is not None),
        headers=out,
        ask=ask,
        body=body,
        mode=engine.mode.at_most(mode),
        scope=scope,
        waits=waits,
        heal=heal if heal is not None else provider.heal,
        identity=identity,
        client=client(headers),
        gate=(name, ask.model if ask is not None else "", key),
        line=in_line(provider, identity, credential),
        known=known,
        digested=digested,
    )


def _digest(known: ArrayPlace | Continued) -> BodyDigest:
    if not isinstance(known, Continued):
        return BodyDigest(known.member)
    past = known.prefix.past
    return BodyDigest(known.prefix.member, known.members, known.new, past.items, past.mark)


def _call(to: routing.Place, query: str) -> str:
    """What a wire reads of the address: the path below the version, and the query without a key."""
    query = routing.without_key(query) if query else ""
    return f"{to.call}?{query}" if query else to.call


def rejected(status: int, code: str, message: str) -> Failure:
    """A request that is not taken, as a value for `wire.error`."""
    return Failure(Phase.CONNECT, Kind.TERMINAL, message, status=status, code=code)


def _scope(headers: Mapping[str, str]) -> Scope:
    word = headers.get("x-streamfuse-scope")
    if word is None:
        return Scope.REQUEST
    try:
        return Scope(word.strip().lower())
    except ValueError:
        raise routing.RouteError(
            400, "streamfuse_bad_request", f"x-streamfuse-scope must be one of {', '.join(Scope)}."
        ) from None
