"""A request's body: read whole within the limit, decoded for inspection, kept as it came for sending on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from rules import loads

from ..upstream.coding import CodingError, decode


class ClientGone(Exception):
    """The client closed its connection."""


class TooLarge(Exception):
    """The body, or what it decodes to, is over the limit."""


@dataclass(frozen=True, slots=True)
class RequestBody:
    """`raw` is what the client sent, `coding` its Content-Encoding; `body` the JSON object in it, None = not one."""

    raw: bytes
    coding: str
    body: dict[str, Any] | None


async def take(
    request: web.Request, limit: int, hold: Callable[[int], None], turn: Callable[[int], Awaitable[None]]
) -> RequestBody:
    """Read the body. `hold` is told of all bytes as they come and may raise (`room.Full`); `turn` is waited for before
    the body is parsed. Raises TooLarge, ClientGone. What cannot be decoded or parsed is not an error here: it passes
    through, and the upstream judges it."""
    if (request.content_length or 0) > limit:
        raise TooLarge
    parts: list[bytes] = []
    size = 0
    async for piece in pieces(request):
        size += len(piece)
        if size > limit:
            raise TooLarge
        hold(len(piece))
        parts.append(piece)
    raw = parts[0] if len(parts) == 1 else b"".join(parts)
    parts.clear()
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    await turn(size)
    try:
        plain = decode(raw, coding, limit) if coding else raw
    except CodingError:
        return RequestBody(raw, coding, None)
    except OverflowError as exc:
        raise TooLarge from exc
    try:
        body = loads(plain)
    except orjson.JSONDecodeError:
        body = None
    return RequestBody(raw, coding, body if isinstance(body, dict) else None)


async def pieces(request: web.Request) -> AsyncIterator[bytes]:
    """The body as it arrives. Raises ClientGone."""
    content = request.content
    try:
        while data := await content.readany():
            yield data
    except (ConnectionError, web.RequestPayloadError) as exc:
        raise ClientGone from exc
