"""A provider as a script: each request is answered by steps that read top to bottom, as raw bytes on loopback.

    async with Upstream() as up:
        up.answer(head(), event({"choices": []}), wait("seen"), reset())
        ...
        up.go("seen")

One script a request, in the order given; the last one repeats. `up.requests` holds what arrived, `up.gone` counts the
clients that left before the script's end. Nothing here is timed: a script waits for `go`, or for the client to leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class ClientLeft(Exception):
    """The other side closed while the script was waiting."""


@dataclass
class Received:
    """One request as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    connection: int = 0

    def header(self, name: str) -> str | None:
        """The first value of a header, any case."""
        return next((v for k, v in self.headers if k.lower() == name.lower()), None)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Connection:
    """What a step may use."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    upstream: Upstream
    chunked: bool = False
    alive: bool = True
    eof: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        with contextlib.suppress(ConnectionError):
            await self.writer.drain()


Step = Callable[[Connection], Awaitable[None]]


def raw(data: bytes) -> Step:
    """Bytes as they are."""

    async def step(c: Connection) -> None:
        await c.send(data)

    return step


def head(
    status: int = 200,
    content_type: str | None = "text/event-stream",
    headers: Mapping[str, str] | None = None,
    length: int | None = None,
) -> Step:
    """A status line and headers; the body that follows is chunked unless `length` is given."""
    lines = [f"HTTP/1.1 {status} Status"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
    lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
    data = ("\r\n".join(lines) + "\r\n\r\n").encode()

    async def step(c: Connection) -> None:
        c.chunked = length is None
        await c.send(data)

    return step


def chunk(data: bytes) -> Step:
    """A piece of the body."""

    async def step(c: Connection) -> None:
        await c.send(b"%x\r\n%s\r\n" % (len(data), data) if c.chunked else data)

    return step


def event(body: Any, name: str = "") -> Step:
    """One SSE event."""
    data = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    return chunk((b"event: " + name.encode() + b"\n" if name else b"") + b"data: " + data + b"\n\n")


def text(content: str, index: int = 0, **more: Any) -> Step:
    """One chat chunk with this text."""
    return event(chat(content, index, **more))


def chat(content: str | None = None, index: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chat chunk."""
    if content is not None:
        delta["content"] = content
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "m",
        "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
    }


def role() -> Step:
    """The start-up chunk."""
    return event(chat("", role="assistant"))


def finish(reason: str = "stop") -> Step:
    """The finish chunk."""
    return event(chat(finish=reason))


def done() -> Step:
    """[DONE] and the end of the body."""

    async def step(c: Connection) -> None:
        await chunk(b"data: [DONE]\n\n")(c)
        await end()(c)

    return step


def end() -> Step:
    """The body is complete; the connection stays open for the next request."""

    async def step(c: Connection) -> None:
        if c.chunked:
            await c.send(b"0\r\n\r\n")

    return step


def close() -> Step:
    """FIN: closes the connection, whatever was promised."""

    async def step(c: Connection) -> None:
        c.alive = False

    return step


def reset() -> Step:
    """RST: the connection breaks."""

    async def step(c: Connection) -> None:
        sock = c.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        c.writer.transport.abort()
        c.alive = False

    return step


def wait(name: str) -> Step:
    """Until the test says `go(name)`; ends early when the client leaves."""

    async def step(c: Connection) -> None:
        gate = c.upstream.gate(name)
        tasks = [asyncio.ensure_future(gate.wait()), asyncio.ensure_future(c.eof.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        if c.eof.is_set() and not gate.is_set():
            raise ClientLeft

    return step


def hang() -> Step:
    """Silence until the client leaves."""

    async def step(c: Connection) -> None:
        await c.eof.wait()
        raise ClientLeft

    return step


class Flood:
    """A step that sends the same bytes again and again until the client leaves, and counts how often."""

    def __init__(self, piece: Step) -> None:
        self.count = 0
        self._piece = piece

    async def __call__(self, c: Connection) -> None:
        while not c.eof.is_set():
            await self._piece(c)
            self.count += 1

    async def stuck(self) -> int:
        """How often, once nobody takes any more. Only real time tells: the sockets' buffers fill meanwhile."""
        before = -1
        while before != self.count:
            before = self.count
            await asyncio.sleep(0.1)
        return self.count


def whole(body: Any, status: int = 200, content_type: str = "application/json", **headers: str) -> tuple[Step, ...]:
    """A complete answer with a Content-Length."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {k.replace("_", "-"): v for k, v in headers.items()}
    return head(status, content_type, named, length=len(data)), chunk(data)


def talk(*words: str) -> tuple[Step, ...]:
    """A healthy chat answer of these words."""
    return (head(), role(), *(text(w) for w in words), finish(), done())


class Upstream:
    """The scripted server. `url` is its base, without a version prefix."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._scripts: list[tuple[Step, ...]] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._connections = 0
        self.requests: list[Received] = []
        self.gone = 0
        self.port = 0

    async def __aenter__(self) -> Upstream:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        await asyncio.sleep(0.001)  # a connection that has only just been made starts its task
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}"

    def answer(self, *steps: Step) -> None:
        """The next request that has no script yet gets this one."""
        self._scripts.append(steps)

    def gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    def go(self, name: str) -> None:
        """Let the scripts past `wait(name)`."""
        self.gate(name).set()

    async def until(self, condition: Callable[[], bool], seconds: float = 5.0) -> None:
        """Wait for something about this server (`requests`, `gone`) to become true; the limit is only a safety net."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(condition)

    async def _note(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections += 1
        number = self._connections
        try:
            while await self._serve(reader, writer, number):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        except asyncio.IncompleteReadError:
            return False
        method, target, _ = lines[0].split(" ", 2)
        headers = [(k, v.strip()) for k, _, v in (line.partition(":") for line in lines[1:] if line)]
        got = Received(method, target, headers, connection=number)
        which = len(self.requests)
        self.requests.append(got)
        await self._note()
        if got.header("content-length"):
            got.body = await reader.readexactly(int(got.header("content-length") or 0))
        elif (got.header("transfer-encoding") or "").lower() == "chunked":
            while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
                got.body += await reader.readexactly(size)
                await reader.readexactly(2)
            await reader.readuntil(b"\r\n")
        await self._note()
        script = self._scripts[min(which, len(self._scripts) - 1)] if self._scripts else talk("hello")
        connection = Connection(reader, writer, self)
        watcher = asyncio.create_task(self._watch(connection))
        try:
            for step in script:
                await step(connection)
                if connection.eof.is_set() and connection.alive and step is not script[-1]:
                    raise ClientLeft
        except ClientLeft:
            self.gone += 1
            await self._note()
            return False
        finally:
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watcher
        return connection.alive and not connection.eof.is_set()

    @staticmethod
    async def _watch(connection: Connection) -> None:
        """Notice the client closing while a script runs; bytes of a next request stay unread."""
        reader = connection.reader
        waiter = reader._wait_for_data  # type: ignore[attr-defined]  # there is no public peek
        while not reader.at_eof():
            if reader._buffer:  # type: ignore[attr-defined]
                return
            try:
                await waiter("watch")
            except (ConnectionError, OSError):
                break
        connection.eof.set()
