"""A provider whose answer depends on the request's `x-case` header: many cases run against one proxy at the same time.

A case is a script: it gets the connection and how often it was asked, writes bytes, and says whether the connection
may be used again. Waits are turns of the loop, or the moment at which the proxy closes; nothing is timed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from benchmarks.outage.skipping import SkippedClock, SkippingLoop
from proxy.server.app import Server
from proxy.settings.load import Settings


class Line:
    """One connection of the proxy to the provider."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.used = 0
        """Requests that came over it."""
        self.wrote = False
        """Anything was written for the request that is being answered."""

    async def send(self, data: bytes) -> None:
        """Written in pieces, so that a long answer meets a reader that may have gone."""
        self.wrote = self.wrote or bool(data)
        for at in range(0, len(data), 1 << 20):
            self._writer.write(data[at : at + (1 << 20)])
            await self._writer.drain()

    async def read(self) -> tuple[bytes, bytes] | None:
        """The next request's head and body; None when the proxy closed."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            body = await self._reader.readexactly(int(length[1])) if length else b""
            if re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
                while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
                    body += (await self._reader.readexactly(size + 2))[:-2]
                await self._reader.readuntil(b"\r\n")
        except asyncio.IncompleteReadError:
            return None
        self.used, self.wrote = self.used + 1, False
        return head, body

    async def pause(self) -> None:
        """Let the proxy read what was sent: the next bytes come in another read."""
        for _ in range(20):
            await asyncio.sleep(0)

    async def closed(self) -> None:
        """Silence until the proxy gives up."""
        with contextlib.suppress(ConnectionError):
            while await self._reader.read(1 << 16):
                pass

    def reset(self) -> None:
        """RST."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


Script = Callable[[Line, int], Awaitable[bool]]
"""(connection, how often this case was asked, from 1) -> the connection may be used again."""


class Provider:
    """An async context manager; `scripts` by case."""

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.calls: Counter[str] = Counter()
        self.stale: Counter[str] = Counter()
        """Calls over a kept connection that got no byte: asked again at no cost, as every HTTP client does."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Provider:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await asyncio.sleep(0)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        line = Line(reader, writer)
        try:
            while (request := await line.read()) is not None:
                if not await self.reply(line, *request):
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await writer.wait_closed()

    async def reply(self, line: Line, head: bytes, body: bytes) -> bool:
        """Answer one request; whether the connection may be used again."""
        named = re.search(rb"(?i)\r\nx-case: *(\S+)", head)
        case = named[1].decode() if named else ""
        self.calls[case] += 1
        try:
            return await self.scripts[case](line, self.calls[case])
        finally:
            if not line.wrote and line.used > 1:
                self.stale[case] += 1


_SWIFT = {"max_retries": 2, "initial_delay": "10ms", "max_delay": "100ms", "jitter_ratio": 0}
SETTINGS: dict[str, Any] = {
    "listen": {"port": 0},
    "retry": {
        **dict.fromkeys(("request", "stream", "server", "unknown", "rate_limit"), _SWIFT),
        "network": {**_SWIFT, "mode": "bounded", "deadline": "20s"},
    },
    "reserve": {"floor": 100000},
}
"""Three calls at most, in a moment."""
CALLS = 3


@contextlib.asynccontextmanager
async def served(provider: Provider, **more: Any) -> AsyncIterator[Server]:
    """A proxy in front of this provider; keyword arguments are settings. In a loop whose time skips, its clock does."""
    providers = {"up": {"base_url": f"http://127.0.0.1:{provider.port}/v1"}}
    loop = asyncio.get_running_loop()
    clock = SkippedClock(loop) if isinstance(loop, SkippingLoop) else None
    server = Server(Settings.model_validate({**SETTINGS, "providers": providers, **more}), clock=clock)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
