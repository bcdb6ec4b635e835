"""What is asked: a request with its body read, its wire known and its provider chosen. Reading it asks nobody.

Two kinds: `read` orders, which streamfuse understands (a wire, a JSON object), and passages, which go through
untouched because the path, the method, the body or the config says so.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

import orjson
from aiohttp import web
from multidict import CIMultiDict

from rules import (
    ArrayPlace,
    Ask,
    Begun,
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
    digest,
    error_wire,
    record,
)
from rules import wire_for_path as for_path
from rules import wire_named as get

from ..settings.engine import Engine
from ..settings.sections.provider import ProviderSettings, ResumeStyle
from . import request_body, routing
from .request_body import RequestBody
from .room import Room
from .told import Receiver, stripped
from .told import read as headers_of

KEEPS = (HealStyle.AUTO, HealStyle.PREFILL, HealStyle.NOTE)
"""Heals that go on in the text that was shown."""


@record(frozen=True, slots=True)
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
    known: ArrayPlace | Begun | Continued | None = None
    """As `RequestBody.known`."""
    digested: BodyDigest | None = None
    """What was digested of such a body."""

    @property
    def keeps_text(self) -> bool:
        """Another call may go on in the middle of the answer's text, so that all of it is kept."""
        if self.provider.resume is not ResumeStyle.NONE or self.heal in (
            HealStyle.AUTO,
            HealStyle.PREFILL,
            HealStyle.NOTE,
        ):
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


class Doorway(Receiver, Protocol):
    """What reading a request needs of the process."""

    @property
    def engines(self) -> Mapping[str, Engine]: ...
    @property
    def prefixes(self) -> PrefixCache: ...
    @property
    def room(self) -> Room: ...


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
    told = headers_of(fuse, request)
    wire = for_path(to.call)
    query = told.query
    got: RequestBody | None = None
    if wire.name != "opaque" and request.method == "POST":
        got = await request_body.take(request, settings.limits.request_body, hold, turn, fuse.prefixes, fuse.room)
    ask = None
    if got is not None and got.body is not None and wire.speaks(got.body):
        ask = wire.ask(got.body, _call(to, query))
    name = routing.choose(settings, to, told.named, ask.model if ask is not None else None)
    provider = settings.providers[name]
    if ask is not None and wire.name not in provider.wires:
        ask = None
    if ask is None:
        wire = get("opaque")
    keyed = told.admitted is not None or not routing.probes(request.method, to, request.headers)
    if query and provider.api_key is not None and keyed:
        query = routing.without_key(query)
    key_header = error_wire(to.call).key_header
    body: bytes | AsyncIterator[bytes] | None
    if got is not None:
        out = told.outgoing(name, provider, key_header).copy()
        body = got.raw
    else:
        out = routing.outgoing(
            request.headers,
            provider,
            key_header=key_header,
            admitted_by=told.admitted,
            strip=stripped(settings),
            keyed=keyed,
        )
        body = request_body.pieces(request) if request.can_read_body else None
    engine = fuse.engines[name]
    credential, key = told.credential, told.key
    if query != told.query:
        credential = routing.credential(request.headers, query)
        key = digest(credential)
    known = got.known if got is not None else None
    digested = _digest(known) if isinstance(known, ArrayPlace | Continued) else None
    identity = told.identity(ask.body if ask is not None else None, name, credential, digested)
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
        mode=engine.mode.at_most(told.mode),
        scope=told.scope,
        waits=told.waits,
        heal=told.heal if told.heal is not None else provider.heal,
        identity=identity,
        client=told.client,
        gate=(name, ask.model if ask is not None else "", key if provider.api_key is None else ""),
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
