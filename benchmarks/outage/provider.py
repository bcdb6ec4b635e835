"""A provider on loopback that fails in one way for a while and is well afterwards, on every wire, as raw bytes.

Its time is that of the running loop. Every call for an answer is kept with the moment at which it came; what agents ask
besides (HEAD /, models) gets a 404 and is not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Iterator, Mapping

from proxy.demo.voice import Voice
from proxy.demo.voices import voice_for

from .scenario import Scenario, Way

ANSWER = "All is well: ANSWER-7421."
SLOW_FIRST, SLOW_NEXT = 20.0, 5.0
"""Seconds to the first byte, and between pieces, of the slow provider."""

NONE: Mapping[str, str] = {}
READ = 0.2
"""Seconds between the first words of an answer and its cut, so that they are on their way for certain."""


class Provider:
    """`down` seconds of outage from `begin`, or else from the first call."""

    def __init__(self, scenario: Scenario, down: float) -> None:
        self.scenario = scenario
        self.down = down
        self.calls: list[float] = []
        """Seconds since the outage began, of each call that arrived."""
        self.port = 0
        self._began: float | None = None
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._opening: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Take a port. Where connections are refused it is only listened on when the outage is over."""
        # With the protocol named, asyncio switches Nagle off: its real 40 ms would be many skipped seconds.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        if self.scenario.way is not Way.REFUSED:
            await self._open()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._accept, sock=self._socket, limit=1 << 24, backlog=512)

    async def _open_later(self) -> None:
        await asyncio.sleep(self.down)
        await self._open()

    def begin(self) -> None:
        """The outage begins now."""
        self._began = asyncio.get_running_loop().time()
        if self.scenario.way is Way.REFUSED:
            self._opening = asyncio.create_task(self._open_later())

    async def stop(self) -> None:
        for task in (*self._tasks, *([self._opening] if self._opening else [])):
            task.cancel()
        await asyncio.gather(*self._tasks, *([self._opening] if self._opening else []), return_exceptions=True)
        if self._server is not None:
            self._server.close()
        elif self._socket is not None:
            self._socket.close()

    @property
    def url(self) -> str:
        """Root, without /v1."""
        return f"http://127.0.0.1:{self.port}"

    # --- one connection ----------------------------------------------------------------------------------------------
    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._serve(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False ends the connection."""
        method, path, body = await _read(reader)
        kind = voice_for(path)
        if kind is None or method != "POST":
            _whole(
                writer, 404, b"" if method == "HEAD" else b'{"error":{"message":"not here","type":"not_found_error"}}'
            )
            return True
        if self._began is None:
            self.begin()
        assert self._began is not None
        at = asyncio.get_running_loop().time() - self._began
        self.calls.append(at)
        ask = json.loads(body)
        voice = kind(ask, len(self.calls))
        streaming = voice.streaming
        way = self.scenario.way if at < self.down else None
        if way is Way.FLAKY:
            way = Way.STATUS if len(self.calls) % 2 else None
        if way is Way.STATUS:
            _whole(writer, self.scenario.status, *_refusal(voice, self.scenario))
        elif way is Way.RESET:
            _reset(writer)
            return False
        elif way is Way.SILENT:
            await reader.read()  # until the client leaves
            return False
        elif way is Way.STALL:
            _half(writer, voice, streaming)
            await reader.read()
            return False
        elif way in (Way.CUT, Way.CUT_CALL):
            await _cut(writer, voice, streaming, call=way is Way.CUT_CALL)
            return False
        elif way is Way.FAULT:
            if streaming:
                _stream(writer, voice, voice.head(), voice.fault("The engine has died."))
            else:
                _whole(writer, 500, json.dumps(voice.refuse(500, "The engine has died.")).encode())
        elif way in (Way.SHORT, Way.LONG, Way.CLAIM):
            await _lie(writer, voice, streaming, way)
            return False
        elif way is Way.JUNK:
            writer.write(b"220 mail.example ESMTP ready\r\n\r\n")
            return False
        elif way is Way.NOTHING:
            _whole(writer, 200, b"")
        else:
            slow = way is Way.SLOW
            await asyncio.sleep(SLOW_FIRST if slow else 0)
            await _well(writer, voice, streaming, SLOW_NEXT if slow else 0)
        await writer.drain()
        return True


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    """Method, path and body of a request. Raises IncompleteReadError where the client left."""
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    body = b""
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    elif headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
    return method, path, body


def _refusal(voice: Voice, scenario: Scenario) -> tuple[bytes, dict[str, str]]:
    """Body and headers of an HTTP error."""
    said = "The provider is having an outage." if scenario.status != 200 else "The engine is overloaded."
    headers = {"Retry-After": str(scenario.retry_after)} if scenario.retry_after is not None else {}
    if scenario.page:
        return f"<html><body><h1>{said}</h1></body></html>".encode(), {**headers, "Content-Type": "text/html"}
    status = scenario.status if scenario.status != 200 else 529
    return json.dumps(voice.refuse(status, said)).encode(), headers


def _whole(writer: asyncio.StreamWriter, status: int, body: bytes, headers: Mapping[str, str] = NONE) -> None:
    named = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    writer.write(f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + body)


def _head(voice: Voice) -> bytes:
    kind = voice.media_type
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def _stream(writer: asyncio.StreamWriter, voice: Voice, *pieces: bytes) -> None:
    writer.write(_head(voice) + b"".join(_chunk(piece) for piece in pieces) + b"0\r\n\r\n")


def _pieces(text: str) -> Iterator[str]:
    """Words, each but the first with the space before it."""
    first, *rest = text.split(" ")
    yield first
    yield from (f" {word}" for word in rest)


async def _well(writer: asyncio.StreamWriter, voice: Voice, streaming: bool, pause: float) -> None:
    """The good answer."""
    if not streaming:
        for piece in _pieces(ANSWER):
            await asyncio.sleep(pause)
            voice.say(piece)
        _whole(writer, 200, json.dumps(voice.whole("stop")).encode())
        return
    writer.write(_head(voice) + _chunk(voice.head()))
    for piece in _pieces(ANSWER):
        await asyncio.sleep(pause)
        writer.write(_chunk(voice.say(piece)))
    writer.write(_chunk(voice.finish("stop")) + b"0\r\n\r\n")


def _half(writer: asyncio.StreamWriter, voice: Voice, streaming: bool, *, call: bool = False) -> None:
    """The first half of an answer; on a wire whose calls come whole, the half before the call."""
    if streaming:
        head = voice.head()
        begun = voice.call("bash", '{"command": "ls', new=True) if call else b""
        writer.write(_head(voice) + _chunk(head) + _chunk(begun or voice.say(ANSWER[:12])))
        return
    voice.say(ANSWER)
    body = json.dumps(voice.whole("stop")).encode()
    half = body[: body.index(ANSWER.encode()) + 12]
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + half)


async def _lie(writer: asyncio.StreamWriter, voice: Voice, streaming: bool, way: Way) -> None:
    """An answer under a Content-Length that is not its own, and a clean close."""
    if streaming:
        body = voice.head() + b"".join(voice.say(piece) for piece in _pieces(ANSWER)) + voice.finish("stop")
    else:
        voice.say(ANSWER)
        body = json.dumps(voice.whole("stop")).encode()
    half = len(body) // 2
    claimed = {Way.SHORT: len(body), Way.LONG: half, Way.CLAIM: len(body) + 100}[way]
    sent = body if way is Way.CLAIM else body[:half]
    kind = "text/event-stream" if streaming else "application/json"
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {claimed}\r\n\r\n".encode() + sent)
    if way is Way.LONG:
        await writer.drain()
        await asyncio.sleep(READ)
        writer.write(body[half:])


async def _cut(writer: asyncio.StreamWriter, voice: Voice, streaming: bool, *, call: bool) -> None:
    """Half an answer, then a reset."""
    _half(writer, voice, streaming, call=call)
    await writer.drain()
    await asyncio.sleep(READ)
    _reset(writer)


def _reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
