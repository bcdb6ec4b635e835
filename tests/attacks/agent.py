"""A client of bytes: it sends what it is told, reads to the end, and says what a program would make of the answer."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from dataclasses import dataclass, field
from typing import Any

from .healthy import WIRES

PATIENCE = 60.0
"""Seconds until an answer counts as hanging; a safety net."""


class _Line(asyncio.Protocol):
    """Everything that came, up to the end of the connection, even where the end is a reset."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_result(exc is None)


async def converse(port: int, raw: bytes) -> tuple[bytes, str]:
    """Send these bytes; (everything that came back, `closed`, `reset` or `hangs`)."""
    transport, line = await asyncio.get_running_loop().create_connection(_Line, "127.0.0.1", port)
    transport.write(raw)
    try:
        async with asyncio.timeout(PATIENCE):
            how = "closed" if await line.ended else "reset"
    except TimeoutError:
        how = "hangs"
    transport.abort()
    return bytes(line.data), how


@dataclass
class Got:
    """One answer over HTTP. `broken`: why its body is not whole, or nothing."""

    status: int = 0
    head: bytes = b""
    body: bytes = b""
    broken: str = ""


def answers(data: bytes) -> list[Got]:
    """Every answer in these bytes, as a client of HTTP/1.1 cuts them."""
    found = []
    while data:
        head, blank, rest = data.partition(b"\r\n\r\n")
        line = re.match(rb"HTTP/1\.[01] (\d\d\d)", head)
        if not blank or not line:
            found.append(Got(0, data, b"", "no HTTP"))
            break
        got = Got(int(line[1]), head)
        found.append(got)
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
            got.body, data, got.broken = _chunks(rest)
        elif got.status < 200 or got.status in (204, 304):
            data = rest
        elif length:
            size = int(length[1])
            got.body, data = rest[:size], rest[size:]
            got.broken = "" if len(got.body) == size else "shorter than its length"
        else:
            got.body, data = rest, b""
        if re.search(rb"(?i)\r\ncontent-encoding: *gzip", head):
            got.body = zlib.decompressobj(wbits=31).decompress(got.body)
    return found


def _chunks(data: bytes) -> tuple[bytes, bytes, str]:
    """(body, what comes after it, why it is broken)."""
    body, at = bytearray(), 0
    while (end := data.find(b"\r\n", at)) >= 0:
        try:
            size = int(data[at:end], 16)
        except ValueError:
            break
        at = end + 2
        if size == 0:
            return bytes(body), data[at:].partition(b"\r\n")[2], ""
        body += data[at : at + size]
        if data[at + size : at + size + 2] != b"\r\n":
            return bytes(body), b"", "breaks off within a chunk"
        at += size + 2
    return bytes(body), b"", "has no last chunk"


async def ask(port: int, wire: str, case: str, *, stream: bool = True, headers: str = "") -> Got:
    """One question on this wire. `headers`: more lines."""
    path, asks = WIRES[wire].path, WIRES[wire].asks
    body = json.dumps({**asks, "stream": stream}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer k\r\n"
        f"x-case: {case}\r\n{headers}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    data, how = await converse(port, head.encode() + body)
    (got, *more) = [one for one in answers(data) if one.status == 0 or one.status >= 200] or [Got(broken=how)]
    if more:
        got.broken = "two answers"
    elif how != "closed" and not got.broken:
        got.broken = how
    return got


@dataclass
class Understood:
    """What a forgiving client makes of a stream."""

    text: str = ""
    thought: str = ""
    calls: dict[Any, str] = field(default_factory=dict)
    """Arguments of each call, as its fragments came."""
    finish: str | None = None
    error: Any = None
    done: bool = False
    """The wire's own last event came."""
    faults: list[str] = field(default_factory=list)
    """What breaks the wire's grammar."""

    @property
    def failed(self) -> bool:
        return bool(self.error) or self.finish == "error"


def events(raw: bytes) -> tuple[list[tuple[str, str]], bool]:
    """((name, data) of each event by the SSE standard, whether an unfinished one is left at the end)."""
    found: list[tuple[str, str]] = []
    data: list[str] = []
    name = ""
    lines = re.split("\r\n|\n|\r", raw.decode(errors="replace"))
    for line in lines[:-1]:
        if not line:
            if data:
                found.append((name, "\n".join(data)))
            name, data = "", []
        elif not line.startswith(":"):
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "event":
                name = value
            elif key == "data":
                data.append(value)
    return found, bool(data or lines[-1])


def understand(wire: str, raw: bytes) -> Understood:
    """Read a stream of this wire."""
    seen = Understood()
    found, unfinished = events(raw)
    if unfinished:
        seen.faults.append("the last event is not ended")
    read: Any = {"anthropic_messages": _Message, "openai_responses": _Response}.get(wire, _Chunks)(seen)
    for name, data in found:
        if seen.done:
            seen.faults.append("an event after the end")
        if data == "[DONE]":
            seen.done = True
            continue
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        if isinstance(body, dict):
            read(name, body)
        else:
            seen.faults.append("an event that is no object")
    return seen


class _Chunks:
    def __init__(self, seen: Understood) -> None:
        self.seen = seen

    def __call__(self, name: str, body: dict[str, Any]) -> None:
        seen = self.seen
        seen.error = seen.error or body.get("error")
        for choice in body.get("choices") or ():
            delta = choice.get("delta") or {}
            text = choice.get("text") or delta.get("content") or ""
            if text and seen.finish:
                seen.faults.append("text after the finish")
            seen.text += text
            seen.thought += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls") or ():
                key = (choice.get("index"), call.get("index"))
                seen.calls[key] = seen.calls.get(key, "") + ((call.get("function") or {}).get("arguments") or "")
            if choice.get("finish_reason"):
                if seen.finish:
                    seen.faults.append("a second finish")
                seen.finish = choice["finish_reason"]


class _Message:
    def __init__(self, seen: Understood) -> None:
        self.seen, self.begun, self.open, self.ever = seen, False, set[int](), set[int]()

    def __call__(self, name: str, body: dict[str, Any]) -> None:
        seen, kind, at = self.seen, body.get("type"), body.get("index", -1)
        if kind != name:
            seen.faults.append(f"{kind} under another name")
        if kind == "error":
            seen.error, seen.done = body["error"], True
        elif kind == "message_start":
            if self.begun:
                seen.faults.append("a second start")
            self.begun = True
        elif kind == "content_block_start":
            if at in self.ever:
                seen.faults.append("a block's index twice")
            self.ever.add(at)
            self.open.add(at)
            if body["content_block"]["type"] == "tool_use":
                seen.calls[at] = ""
        elif kind == "content_block_delta":
            if at not in self.open:
                seen.faults.append("a delta of a block that is not open")
            delta = body["delta"]
            seen.text += delta.get("text", "")
            seen.thought += delta.get("thinking", "")
            if "partial_json" in delta:
                seen.calls[at] = seen.calls.get(at, "") + delta["partial_json"]
        elif kind == "content_block_stop":
            self.open.discard(at)
        elif kind == "message_delta":
            if seen.finish:
                seen.faults.append("a second finish")
            seen.finish = body["delta"].get("stop_reason")
        elif kind == "message_stop":
            seen.done = True
            if self.open:
                seen.faults.append("the end with open blocks")


class _Response:
    def __init__(self, seen: Understood) -> None:
        self.seen, self.last, self.begun = seen, -1, False

    def __call__(self, name: str, body: dict[str, Any]) -> None:
        seen, kind, at = self.seen, body.get("type"), body.get("output_index")
        number = body.get("sequence_number")
        if number is not None:
            if number <= self.last:
                seen.faults.append("a sequence_number that does not rise")
            self.last = number
        if kind == "response.created":
            if self.begun:
                seen.faults.append("a second start")
            self.begun = True
        elif kind == "response.output_text.delta":
            seen.text += body["delta"]
        elif kind == "response.reasoning_summary_text.delta":
            seen.thought += body["delta"]
        elif kind == "response.output_item.added" and body["item"]["type"] == "function_call":
            seen.calls[at] = ""
        elif kind == "response.function_call_arguments.delta":
            seen.calls[at] = seen.calls.get(at, "") + body["delta"]
        elif kind in ("response.completed", "response.incomplete"):
            seen.finish, seen.done = kind.removeprefix("response."), True
        elif kind in ("response.failed", "error"):
            seen.error, seen.done = (body.get("response") or {}).get("error") or body, True
