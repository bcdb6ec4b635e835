"""The client's side of one exchange: nothing goes out before `begin`, and nothing after the end.

Every write waits until the client has taken enough of what came before (aiohttp drains above 64 KiB), so the upstream
is never read further than the client reads. A write that waits too long is ended from outside (`stuck_since`).
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping

from aiohttp import HttpVersion11, web
from multidict import CIMultiDict

from ..intake.request_body import ClientGone

BEHIND = 64 << 10
"""Bytes still to be sent from which a transport of asyncio asks its writers to wait."""

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: on, for no time. Closing the socket then resets the connection."""


class _Response(web.StreamResponse):
    """Headers wait for the first bytes of the body: one packet."""

    _send_headers_immediately = False


class Reply:
    """What the client is given."""

    __slots__ = (
        "_bare",
        "_beats",
        "_chunked",
        "_now",
        "_request",
        "_response",
        "ended",
        "heard_at",
        "sent",
        "status",
        "stuck_since",
        "verbatim",
    )

    def __init__(self, request: web.Request, now: Callable[[], float]) -> None:
        """`now`: seconds, monotonic."""
        self._request = request
        self._response: web.StreamResponse | None = None
        self._bare = request.method == "HEAD"
        """The answer has no body, whatever its headers say of one (RFC 9110 §9.3.2)."""
        self._chunked = False
        self._now = now
        self._beats: set[asyncio.Task[None]] = set()
        self.ended = False
        self.heard_at = now()
        """When the client was last sent something (or came)."""
        self.stuck_since: float | None = None
        """Since when a write has been waiting for the client; None while none does."""
        self.sent = 0
        """Body bytes handed to the connection."""
        self.status: int | None = None
        self.verbatim = False
        """The body passes as it comes: a heartbeat would stand in the middle of it."""

    @property
    def started(self) -> bool:
        """The status line is out: an error can no longer be a status."""
        return self._response is not None

    @property
    def response(self) -> web.StreamResponse:
        """What aiohttp wants back from the handler. Raises ClientGone where there is none."""
        if self._response is None:
            raise ClientGone
        return self._response

    async def begin(
        self, status: int, headers: Mapping[str, str], first: bytes | None = b"", *, close: bool = False
    ) -> None:
        """Send status line and headers, in one packet with `first`; None: they wait for the next bytes, which must
        follow at once. `close`: the connection ends with this answer."""
        response = _Response(status=status, headers=CIMultiDict(headers))
        # Before HTTP/1.1 a body without a length ends with the connection, also where the client asked to keep it:
        # aiohttp writes no keep-alive then, but goes on waiting for the next request.
        if close or (self._request.version < HttpVersion11 and "Content-Length" not in response.headers):
            response.force_close()
        self._response = response
        self.status = status
        try:
            await response.prepare(self._request)
        except ConnectionError as exc:
            raise ClientGone from exc
        self._chunked = response.headers.get("Transfer-Encoding") == "chunked"
        if first is not None:
            await self.write(first)

    async def write(self, data: bytes) -> None:
        """Send body bytes. Raises ClientGone."""
        assert self._response is not None
        if self._bare:
            data = b""
        self.stuck_since = self.heard_at = self._now()
        try:
            await self._response.write(data)
        except ConnectionError as exc:
            raise ClientGone from exc
        self.stuck_since = None
        self.sent += len(data)

    def put(self, data: bytes) -> bool:
        """Send body bytes, not the first ones, now: False, and nothing sent, where `write` would have to wait. A write
        of aiohttp's, in its framing, without its turn through three coroutines. Raises ClientGone."""
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ClientGone
        if self._beats or transport.get_write_buffer_size() > BEHIND:
            return False
        transport.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)
        self.heard_at = self._now()
        self.sent += len(data)
        return True

    async def finish(self, last: bytes = b"") -> web.StreamResponse:
        """End the body now, in one packet with `last`. Raises ClientGone."""
        assert self._response is not None
        if self._bare:
            last = b""
        if not self.ended:
            self.ended = True
            self.stuck_since = self.heard_at = self._now()
            try:
                await self._response.write_eof(last)
            except ConnectionError as exc:
                raise ClientGone from exc
            self.stuck_since = None
            self.sent += len(last)
        return self._response

    async def whole(self, status: int, headers: Mapping[str, str], body: bytes, *, close: bool = False) -> None:
        """A complete answer with its length."""
        framed = CIMultiDict(headers)
        framed["Content-Length"] = str(len(body))
        await self.begin(status, framed, None, close=close)
        await self.finish(body)

    @property
    def idle(self) -> bool:
        """The body is open, the client has taken everything, and no heartbeat is on its way."""
        transport = self._request.transport
        return (
            not self.ended
            and not self.verbatim
            and self.stuck_since is None
            and not self._beats
            and transport is not None
            and not transport.is_closing()
            and transport.get_write_buffer_size() == 0
        )

    def beat(self, data: bytes, headers: Mapping[str, str] | None = None) -> bool:
        """Send a heartbeat if the client keeps up; never waits, never piles up. `headers`: begin a 200 with them where
        nothing has begun."""
        if not self.idle or (self._response is None and headers is None):
            return False
        task = asyncio.ensure_future(self._beat(data, headers))
        self._beats.add(task)
        task.add_done_callback(self._beats.discard)
        return True

    async def _beat(self, data: bytes, headers: Mapping[str, str] | None) -> None:
        try:
            if self._response is not None:
                if not (self.ended or self.verbatim):
                    await self.write(data)
            elif headers is not None:
                await self.begin(200, headers, data)
        except ClientGone:
            return

    def drop(self) -> None:
        """Break the connection in the middle of the body: what is written goes out, the end of the body never comes."""
        self.ended = True
        if self._request.transport is not None:
            self._request.transport.close()

    def cut(self) -> None:
        """Drop the connection so that nobody takes what was sent for a complete body. Before HTTP/1.1 a body ends with
        its connection, and only a reset tells that it broke off."""
        transport = self._request.transport
        if transport is not None and not self._chunked and (sock := transport.get_extra_info("socket")) is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.drop()

    def abort(self) -> None:
        """Drop a client that takes nothing, and what was still to be written."""
        self.ended = True
        if self._request.transport is not None:
            self._request.transport.abort()
