"""What a scripted provider does with one request: lines, and the player that performs them on an aiohttp response.

The same lines play on every wire. The demo and the tests with real agents both use it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson
from aiohttp import web

from .voice import Voice


@dataclass(frozen=True, slots=True)
class Say:
    """Visible text, one piece."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning, one piece."""

    text: str


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call; the arguments come in these fragments (which need not make whole JSON)."""

    name: str
    fragments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScriptedFinish:
    """A legal end. `reason` in the words of chat completions."""

    reason: str = "stop"


@dataclass(frozen=True, slots=True)
class ScriptedFault:
    """The wire's own error event, then the end of the body."""

    message: str = "scripted failure"


@dataclass(frozen=True, slots=True)
class End:
    """A clean end of the body with nothing said about why."""


@dataclass(frozen=True, slots=True)
class Break:
    """The connection is reset."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """An HTTP error instead of an answer; only as the first line."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "scripted failure"


@dataclass(frozen=True, slots=True)
class Page:
    """A whole body that is no answer of this wire, whatever was asked for; only as the first line."""

    body: bytes
    content_type: str = "text/html"
    status: int = 200


Line: TypeAlias = Say | Think | ScriptedCall | ScriptedFinish | ScriptedFault | End | Break | Refuse | Page


def words(text: str) -> Iterator[Say]:
    """Text as a model sends it: a word a piece."""
    start = 0
    for at, char in enumerate(text):
        if char == " " and at > start:
            yield Say(text[start:at])
            start = at
    yield Say(text[start:])


async def play(request: web.Request, voice: Voice, lines: Iterable[Line], *, pace: float = 0.0) -> web.StreamResponse:
    """Perform the lines: `pace` seconds between pieces. A request that wants no stream gets one JSON body.

    A client that leaves raises nothing: the answer ends and `voice.left` is True.
    """
    script = iter(lines)
    first = next(script, None)
    if isinstance(first, Refuse):
        return web.Response(
            status=first.status,
            headers=first.headers,
            body=orjson.dumps(voice.refuse(first.status, first.message)),
            content_type="application/json",
        )
    if isinstance(first, Page):
        return web.Response(status=first.status, body=first.body, content_type=first.content_type)
    everything = _chain(first, script)
    if not voice.streaming:
        return _whole(request, voice, everything)
    response = web.StreamResponse(headers={"Content-Type": voice.media_type, "Cache-Control": "no-cache"})
    voice.left = True  # until the last line has been said
    await response.prepare(request)
    try:
        await response.write(voice.head())  # writing nothing does nothing
        for line in everything:
            for frames in _frames(voice, line):
                await response.write(frames)
                await asyncio.sleep(pace)
            if isinstance(line, Break):
                voice.left = False
                _abort(request)
                return response
        await response.write_eof()
    except ConnectionError:
        return response
    voice.left = False
    return response


def _chain(first: Line | None, rest: Iterator[Line]) -> Iterator[Line]:
    if first is not None:
        yield first
        yield from rest


def _frames(voice: Voice, line: Line) -> Iterator[bytes]:
    match line:
        case Say(text):
            yield voice.say(text)
        case Think(text):
            yield voice.think(text)
        case ScriptedCall(name, fragments):
            for at, fragment in enumerate(fragments):
                yield voice.call(name, fragment, new=at == 0)
        case ScriptedFinish(reason):
            yield voice.finish(reason)
        case ScriptedFault(message):
            yield voice.fault(message)


def _whole(request: web.Request, voice: Voice, lines: Iterable[Line]) -> web.Response:
    reason = "stop"
    for line in lines:
        if isinstance(line, Break | End):
            _abort(request)
            return web.Response()
        if isinstance(line, ScriptedFault):
            body = voice.refuse(500, line.message)
            return web.Response(status=500, body=orjson.dumps(body), content_type="application/json")
        if isinstance(line, ScriptedFinish):
            reason = line.reason
        for _ in _frames(voice, line):
            pass
    return web.Response(body=orjson.dumps(voice.whole(reason)), content_type="application/json")


def _abort(request: web.Request) -> None:
    transport = request.transport
    if transport is not None:
        transport.abort()
