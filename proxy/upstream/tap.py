"""An upstream's answer handed on in the very callback that read it from the socket.

An event that comes alone then costs no future, no turn of the loop and no change of task, which are half of the time
that a proxy in Python adds to it. aiohttp's own protocol still parses every byte, and takes the connection back before
anybody else can have it; `Transport.set_protocol` is a public interface.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from .arrived import arrived


class Tap(asyncio.Protocol):
    """Stands between a transport and aiohttp's protocol while `run` waits."""

    __slots__ = ("_content", "_done", "_handler", "_here", "_take", "_transport")

    def __init__(
        self,
        transport: asyncio.Transport,
        handler: asyncio.Protocol,
        content: aiohttp.StreamReader,
        take: Callable[[bytes], bool],
    ) -> None:
        """`handler`: aiohttp's protocol on this transport. `take`: is given what arrived, at least one byte, and says
        whether it wants more. It must not wait."""
        self._transport = transport
        self._handler = handler
        self._content = content
        self._take = take
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._here = True

    async def run(self) -> None:
        """Until `take` wants no more, or the body has ended or broken, which the next read of the content tells.
        Raises what `take` raises."""
        self._transport.set_protocol(self)
        try:
            self._hand_on()  # what came while nobody looked
            await self._done
        finally:
            self._leave()

    def lost(self) -> None:
        """The connection is gone, and aiohttp's protocol has been told: some transports tell the protocol that they
        had, not the one that they have by now."""
        self._hand_on()

    def data_received(self, data: bytes) -> None:
        self._handler.data_received(data)
        self._hand_on()

    def eof_received(self) -> bool | None:
        return self._handler.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        handler = self._handler
        # aiohttp's exception about a lost connection keeps the frames that it went through, this one too.
        del self
        handler.connection_lost(exc)

    def pause_writing(self) -> None:
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        self._handler.resume_writing()

    def _hand_on(self) -> None:
        content, done = self._content, self._done
        # A read can let a paused connection go on, which brings more, or the end, within the call.
        while not done.done():
            try:
                data = arrived(content)
            except Exception as exc:  # broken: the next read tells how
                exc.__traceback__ = None  # the body keeps the exception, which must not keep this frame
                break
            if not data:
                if content.is_eof():
                    break
                return
            try:
                if not self._take(data):
                    break
            except BaseException as exc:  # it belongs to whoever waits, not to the transport
                done.set_exception(exc)
        # The connection may be in the pool by now, and in other hands with the next callback.
        self._leave()

    def _leave(self) -> None:
        """Give the connection back to aiohttp's protocol, once."""
        if self._here:
            self._here = False
            # A closing transport is not used again, and a TLS transport may already have dropped its state. Leave it as
            # it is; its last callbacks pass through here.
            if not self._transport.is_closing():
                self._transport.set_protocol(self._handler)
        self._take = _no_more
        if not self._done.done():
            self._done.set_result(None)


def _no_more(_data: bytes) -> bool:
    return False
