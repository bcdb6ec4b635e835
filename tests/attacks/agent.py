"""A client of bytes: it sends what it is told, reads to the end, and says what a program would make of the answer."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from dataclasses import dataclass

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
    """One question on this wire. `headers`: more lines.

    Each case asks for a model of its own: what a provider gives several requests for one model in place of an answer
    is known to last (`rules/after/repeats.py`), and cases that run side by side must know nothing of each other."""
    model = f"m{case}"
    path = WIRES[wire].to(stream).replace("/models/m:", f"/models/{model}:")
    asks = WIRES[wire].body(stream)
    body = json.dumps({**asks, "model": model} if "model" in asks else asks).encode()
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
