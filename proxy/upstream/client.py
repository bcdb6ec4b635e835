"""The upstream's side: one session, whose errors become values (`broken`).

Nothing above this file sees an exception because an upstream misbehaved; cancellation alone passes through. There is no
read time-out here. The exchange decides how long it waits (`exchange.Exchange.tick`), without a timer for each read.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from rules import Failure, Kind, Phase

from . import header_bytes
from .arrived import arrived, install
from .broken import UNREACHABLE, broken, forget_frames
from .coding import ACCEPTED, CodingError, ContentDecoder, codings, decoder
from .kept import Spoilt, claim
from .short_call import NO_LIMIT, ShortAnswer, ShortCalls
from .tap import Tap
from .transport import Transport

READ = 64 << 10
"""Bytes aiohttp buffers of one answer before it stops reading the socket (it pauses at twice this)."""

PIECE = 256 << 10
"""Largest body that is handed to the transport in one piece."""

LINGER = 1.0
"""Seconds for an upstream to end its body after the terminal event."""

HEADER = 64 << 10
"""Longest header line of an upstream's answer, bytes."""

KEPT = 30.0
"""Seconds that a connection is kept for the next call."""

HEADERS = HEADER // 8
"""Most header lines of an upstream's answer: as many short ones (`a: b` and a line break) as fit into HEADER bytes."""


@dataclass(slots=True)
class UpstreamRequest:
    """One request to an upstream. `body` is bytes, or a stream that can be sent only once."""

    method: str
    url: str
    headers: CIMultiDict[str]
    body: bytes | AsyncIterator[bytes] | None = None
    on_connected: Callable[[], None] | None = None
    """Called when a connection stands, new or reused."""
    raw: bool = False
    """Pass the client's Accept-Encoding on and hand the body over as it came."""
    transport: Transport = Transport()  # noqa: RUF009  (a frozen value)
    fresh: bool = False
    """Use a new connection. Where one kept connection was stale, the others in the pool may be, too."""
    reused: bool = field(default=False, init=False)
    """Set while it runs: the request went out on a connection that had served before."""

    def taken(self, reused: bool) -> None:
        """It has a connection. `reused`: one that had served before."""
        self.reused = reused
        if self.on_connected is not None:
            self.on_connected()


def _never(_: bytes) -> bool:
    """Read on."""
    return False


class UpstreamResponse:
    """An upstream's answer: head at hand, body to be read. Must be closed."""

    __slots__ = ("_closed", "_inflate", "_pieces", "_response", "_tap", "before_break", "foreign", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse | ShortAnswer, raw: bool = False) -> None:
        self._response = response
        self.status = response.status
        self.headers: CIMultiDictProxy[str] = response.headers
        self._inflate: ContentDecoder | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._tap: Tap | None = None
        self.foreign = False
        """The body comes in a coding that we do not know, and is read as it is."""
        self.before_break = b""
        """What `upto` had read when the body broke."""
        if "Content-Encoding" in response.headers and not raw:
            try:
                self._inflate = decoder(codings(",".join(response.headers.getall("Content-Encoding"))))
            except CodingError:
                self.foreign = True
        connection = response.connection
        protocol = connection.protocol if connection is not None else None
        self._closed = protocol.closed if protocol is not None else None
        if self._closed is not None:
            self._closed.add_done_callback(self._lost)

    @property
    def content_type(self) -> str:
        """The media type, lower case, without parameters; "" where the upstream sent none."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    async def read(self) -> bytes | Failure | None:
        """What has arrived (decoded), at least one byte; None at a clean end; a Failure (and closed) when it broke."""
        content = self._response.content
        try:
            if self._inflate is None:
                if getattr(content, "_buffer", None):
                    return arrived(content) or None
                if content.is_eof() and content.exception() is None:
                    return None  # the end came with the last bytes
                return await content.readany() or None
            while True:
                for piece in self._pieces:
                    return piece
                data = await content.readany()
                if not data:
                    if self._inflate.complete:
                        return None
                    raise CodingError("the upstream's compressed answer ended early")
                self._pieces = self._inflate.feed(data)
        except CodingError as exc:
            self.close()
            return Failure(Phase.STREAM, Kind.SERVER, str(exc), code="streamfuse_upstream_invalid")
        except (TimeoutError, aiohttp.ClientError, OSError) as exc:
            # aiohttp reports the break first, but the bytes before it may be the end of the answer.
            if self._inflate is None and (came := content._read_nowait(-1)):
                return came
            self.close()
            forget_frames(exc)
            return broken(exc, Phase.STREAM)
        except RuntimeError:  # aiohttp's word for a wait on a connection that is gone
            self.close()
            return broken(aiohttp.ClientPayloadError(), Phase.STREAM)

    def _lost(self, _closed: asyncio.Future[None]) -> None:
        """The connection is gone. After chunks that are no chunks aiohttp tells its reader nothing: it would wait."""
        content = self._response.content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError())
        if self._tap is not None:
            self._tap.lost()

    async def pour(self, take: Callable[[bytes], bool]) -> None:
        """Hand what arrives to `take` at once, in the callback that read it, until it wants no more or the body has
        ended or broken: `read` then says which. Returns at once where that is not possible; raises what `take` raises.
        """
        connection = self._response.connection
        if self._inflate is not None or connection is None:
            return
        transport, handler = connection.transport, connection.protocol
        if transport is None or handler is None or transport.is_closing():
            return
        self._tap = Tap(transport, handler, self._response.content, take)
        try:
            await self._tap.run()
        finally:
            self._tap = None

    async def upto(self, limit: int, start: bytes = b"", *, until: Callable[[bytes], bool] = _never) -> bytes | Failure:
        """The body, `start` before it: all of it, or more than `limit` bytes with the rest still to be read; or less,
        where the last two pieces together are what is looked for `until` it comes."""
        parts, size = [start], len(start)
        while size <= limit and not until(b"".join(parts[-2:])):
            data = await self.read()
            if data is None:
                break
            if isinstance(data, Failure):
                self.before_break = b"".join(parts)
                return data
            parts.append(data)
            size += len(data)
        return b"".join(parts)

    async def whole(
        self, limit: int, start: bytes = b"", *, until: Callable[[bytes], bool] = _never
    ) -> bytes | Failure:
        """The body, `start` before it; as far as `until`. Over `limit` bytes it is a Failure, and closed."""
        data = await self.upto(limit, start, until=until)
        if isinstance(data, Failure) or len(data) <= limit:
            return data
        self.close()
        return Failure(
            Phase.STREAM,
            Kind.SERVER,
            f"the upstream's answer is larger than {limit} bytes",
            code="streamfuse_upstream_too_large",
        )

    async def beginning(self, limit: int, within: float, *, until: Callable[[bytes], bool] = _never) -> bytes:
        """At most `limit` bytes of the body: what came of it before it ended or broke, within so many seconds; as far
        as `until`."""
        parts: list[bytes] = []
        size = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while size < limit and not until(b"".join(parts[-2:])):
                    data = await self.read()
                    if data is None or isinstance(data, Failure):
                        break
                    parts.append(data)
                    size += len(data)
        return b"".join(parts)[:limit]

    @property
    def ended(self) -> bool:
        """The body was read to its end: the connection is back in the pool."""
        return self._response.connection is None

    async def let_go(self) -> None:
        """Everything that matters was read: give the body LINGER seconds to end, so that the connection can be used
        again, then cut it. Many servers send the end of the body in a packet of its own."""
        try:
            await self.beginning(READ, LINGER)
        finally:
            self.close()

    def close(self) -> None:
        """Done with it: the connection goes back to the pool if the body was read to its end, else it is cut now."""
        if self._closed is not None:
            self._closed.remove_done_callback(self._lost)
            # Each connection has one future, which outlives this answer. Nothing else retrieves its exception.
            self._closed.remove_done_callback(_heard)
            self._closed.add_done_callback(_heard)
        if not self.ended:  # else aiohttp has let go of everything itself
            self._response.close()


def _heard(closed: asyncio.Future[None]) -> None:
    """A connection that is reset after its last answer is no event: without this asyncio would complain of it."""
    if not closed.cancelled():
        closed.exception()


_call: ContextVar[UpstreamRequest] = ContextVar("call")
"""The call that is being sent."""

OURS = CIMultiDict((name, None) for name in ("User-Agent", "Accept", "Accept-Encoding", "Content-Type"))
"""Headers that aiohttp would add where the client sent none."""


class _Request(aiohttp.ClientRequest):
    """A request that takes its connection as `kept` says."""

    async def send(self, conn: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        call, protocol = _call.get(), conn.protocol
        assert protocol is not None
        call.taken(claim(protocol, call.fresh))
        return await super().send(conn)

    def update_auto_headers(self, skip_auto_headers: Iterable[str] | None) -> None:
        """None: the upstream gets only headers that the client sent. aiohttp would make, sort and copy a list of
        headers to leave out for every request."""
        self._skip_auto_headers = OURS


class Upstream:
    """All connections to all providers."""

    def __init__(self) -> None:
        self._session: _Session | None = None
        self._through: dict[str, _Session] = {}
        """A session for each SOCKS proxy: there a connection is made in another way."""
        self._refusals: tuple[type[Exception], ...] = ()
        """What the library of SOCKS raises, once it is loaded."""

    async def start(self) -> None:
        """Open the session; needs a running loop."""
        header_bytes.install()
        self._session = _Session(aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT))

    def _of(self, transport: Transport) -> _Session:
        """The session whose connections go this way."""
        assert self._session is not None, "start() first"
        if transport.socks is None:
            return self._session
        if transport.socks not in self._through:
            import aiohttp_socks as socks

            # With and without the h the proxy resolves the name, as in Python's clients: this side may not be able to.
            address = transport.socks.replace("socks5h:", "socks5:", 1).replace("socks4a:", "socks4:", 1)
            self._refusals = (socks.ProxyError, socks.ProxyConnectionError, socks.ProxyTimeoutError)
            self._through[transport.socks] = _Session(
                socks.ProxyConnector.from_url(address, rdns=True, limit=0, keepalive_timeout=KEPT)
            )
        return self._through[transport.socks]

    async def stop(self) -> None:
        """Close every connection."""
        for session in (self._session, *self._through.values()):
            if session is not None:
                await session.whole.close()
        self._session = None
        self._through.clear()

    async def open(self, call: UpstreamRequest) -> UpstreamResponse | Failure:
        """Send a request and read the answer's head. Redirects are handed on, never followed: only configured hosts."""
        session = self._of(call.transport)
        headers = call.headers
        if not call.raw:
            headers["Accept-Encoding"] = ACCEPTED
        # The timers of a kept connection hold this context, and with it the call, until they ring: without the body.
        body, call.body = call.body, None
        response: aiohttp.ClientResponse | ShortAnswer
        while True:
            try:
                route = session.short.route(call.url, call.transport) if _usual(call, body) else None
                if route is not None:
                    assert isinstance(body, bytes)
                    response = await session.short.send(route, headers, body, call.fresh, call.taken)
                else:
                    _call.set(call)
                    response = await session.whole.request(
                        call.method,
                        URL(call.url, encoded=True),
                        headers=headers,
                        data=_body(body),
                        allow_redirects=False,
                        ssl=call.transport.tls,
                        proxy=call.transport.proxy,
                    )
                break
            except Spoilt:  # it is closed now; the next one, or a new one
                continue
            except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as exc:
                forget_frames(exc)
                return broken(exc, Phase.HEADERS, reused=call.reused)
            except self._refusals as exc:
                return Failure(Phase.CONNECT, Kind.NETWORK, f"the SOCKS proxy did not connect: {exc}", code=UNREACHABLE)
        return UpstreamResponse(response, call.raw)


class _Session:
    """The two ways over one pool of connections."""

    __slots__ = ("short", "whole")

    def __init__(self, connector: aiohttp.BaseConnector) -> None:
        install(connector)
        self.whole = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=NO_LIMIT,
            request_class=_Request,
            read_bufsize=READ,
            max_line_size=HEADER,
            max_field_size=HEADER,
            max_headers=HEADERS,
        )
        self.short = ShortCalls(self.whole, read_bufsize=READ, line=HEADER, lines=HEADERS)


def _usual(call: UpstreamRequest, body: object) -> bool:
    """Is this a call of the kind that almost all are?"""
    return isinstance(body, bytes) and 0 < len(body) <= PIECE and call.method == "POST" and call.transport.proxy is None


def _body(body: bytes | AsyncIterator[bytes] | None) -> bytes | AsyncIterator[bytes] | io.BytesIO | None:
    """A large body is sent in pieces, as the upstream takes them: in one piece the transport would copy all of it, in
    one turn of the loop."""
    return io.BytesIO(body) if isinstance(body, bytes) and len(body) > PIECE else body
