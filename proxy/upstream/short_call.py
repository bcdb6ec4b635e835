"""A POST with a short body, sent on one of aiohttp's connections without aiohttp's request and response objects.

Connections, their pool, TLS, SOCKS and the HTTP parser stay aiohttp's; what is new for each call is a head, one write,
and an answer of four members. aiohttp makes a request object, a response object and a task that writes the body for
each call: 250 calls of functions, where this takes 100. Long bodies, streams as bodies, other methods and HTTP proxies
go aiohttp's own way (`client.Upstream`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import aiohttp
from aiohttp import http_writer
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from .kept import claim
from .transport import Transport

ROUTES, LONGEST = 256, 512
"""Addresses that are remembered, and the characters of the longest."""

NO_LIMIT = aiohttp.ClientTimeout(total=None)
"""Who waits decides how long (`exchange.Exchange.tick`)."""


class Destination(NamedTuple):
    """What is the same for all calls to one address."""

    request: ClientRequest
    """By which aiohttp finds or makes a connection."""
    line: str
    host: str


class ShortAnswer:
    """The head of an answer, and its body to be read; as much of `aiohttp.ClientResponse` as `UpstreamResponse` asks
    for. Must be closed, unless its body was read to its end."""

    __slots__ = ("_connection", "content", "headers", "status")

    def __init__(
        self,
        status: int,
        headers: CIMultiDictProxy[str],
        content: aiohttp.StreamReader,
        connection: Connection,
    ) -> None:
        self.status = status
        self.headers = headers
        self.content = content
        self._connection = connection
        content.on_eof(self._ended)

    @property
    def connection(self) -> Connection | None:
        """None: it is back in the pool, or closed."""
        return self._connection if self._connection.protocol is not None else None

    def _ended(self) -> None:
        """The body is over: the connection is free for the next call, unless it speaks another protocol now, or some of
        the request waits to be sent because the provider answered before it had read all of it."""
        protocol = self._connection.protocol
        if protocol is None or protocol.upgraded:
            return
        transport = protocol.transport
        if transport is not None and transport.get_write_buffer_size():
            self._connection.close()
        else:
            self._connection.release()

    def close(self) -> None:
        """Cut it."""
        if self.content.exception() is None:
            self.content.set_exception(aiohttp.ClientConnectionError("Connection closed"))
        self._connection.close()


class ShortCalls:
    """The calls of one session that go this way."""

    __slots__ = ("_connector", "_line", "_lines", "_read_bufsize", "_routes", "_session")

    def __init__(self, session: aiohttp.ClientSession, *, read_bufsize: int, line: int, lines: int) -> None:
        """`read_bufsize`: bytes of a body that may wait before the socket is left unread. `line`, `lines`: bytes of the
        longest header line of an answer, and how many lines there may be."""
        assert session.connector is not None
        self._session = session
        self._connector = session.connector
        self._read_bufsize = read_bufsize
        self._line = line
        self._lines = lines
        self._routes: dict[tuple[Transport, str], Destination] = {}

    def route(self, url: str, transport: Transport) -> Destination | None:
        """The way to an address. None: it goes aiohttp's own way. Raises ValueError for what is no URL."""
        known = self._routes.get((transport, url))
        if known is None:
            address = URL(url, encoded=True)
            if address.scheme not in ("http", "https") or not address.raw_host or address.raw_user is not None:
                return None
            loop = asyncio.get_running_loop()
            request = ClientRequest("POST", address, loop=loop, session=self._session, ssl=transport.tls)
            known = Destination(request, f"POST {address.raw_path_qs} HTTP/1.1", request.headers["Host"])
            # A query may hold a key, and differ each time.
            if "?" not in url and len(url) <= LONGEST:
                if len(self._routes) >= ROUTES:
                    self._routes.clear()
                self._routes[transport, url] = known
        return known

    async def send(
        self, route: Destination, headers: CIMultiDict[str], body: bytes, fresh: bool, taken: Callable[[bool], None]
    ) -> ShortAnswer:
        """Send it and read the answer's head. `headers`: without Content-Length. `taken` is told of the connection
        before anything is sent on it: has it served before? Raises Spoilt, and what aiohttp raises."""
        head: CIMultiDict[str] = CIMultiDict()
        head["Host"] = route.host
        if "Host" in headers:
            head.update(headers)
        else:
            head.extend(headers)
        head["Content-Length"] = str(len(body))
        raw = http_writer._serialize_headers(route.line, head)
        connection = await self._connector.connect(route.request, [], NO_LIMIT)
        try:
            protocol = connection.protocol
            assert protocol is not None
            reused = claim(protocol, fresh)
            taken(reused)
            protocol.set_response_params(
                auto_decompress=False,
                read_until_eof=True,
                read_bufsize=self._read_bufsize,
                max_line_size=self._line,
                max_field_size=self._line,
                max_headers=self._lines,
            )
            if protocol.transport is None or protocol.transport.is_closing():
                raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
            protocol.transport.write(raw + body)
            while True:
                message, content = await protocol.read()
                if not 100 <= message.code <= 199 or message.code == 101:
                    break
        except HttpProcessingError as wrong:
            connection.close()
            raise aiohttp.ClientResponseError(
                route.request.request_info, (), status=wrong.code, message=wrong.message
            ) from wrong
        except BaseException:
            connection.close()
            raise
        return ShortAnswer(message.code, message.headers, content, connection)
