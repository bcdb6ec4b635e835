"""A request's body: read whole within the limit, decoded for inspection, kept as it came for sending on."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, TypeVar

import orjson
from aiohttp import web

from rules import ArrayPlace, Begun, Continued, PrefixCache, loads, newest, record

from ..upstream.arrived import arrived
from ..upstream.coding import CodingError, decode
from .room import Room

T = TypeVar("T")


class ClientGone(Exception):
    """The client closed its connection."""


class TooLarge(Exception):
    """The body, or what it decodes to, is over the limit."""


@record(frozen=True, slots=True)
class RequestBody:
    """`raw` is what the client sent, `coding` its Content-Encoding; `body` the JSON object in it, None = not one."""

    raw: bytes
    coding: str
    body: Mapping[str, Any] | None
    known: ArrayPlace | Begun | Continued | None = None
    """Where its history stands, or what is new in it; None where that is not known."""


LARGE = 1 << 20
"""Bytes from which a body's history is let go while the answer comes."""

END = 256
"""Characters at the end of a prompt that are still told when it was let go."""

HISTORIES = frozenset({"messages", "input", "prompt"})
"""Members that hold almost everything of a large body."""


class LargeBody(Mapping[str, Any]):
    """The JSON object of a large body. Its history can be let go while the answer comes: parsed it takes up to five
    times its bytes, and the garbage collector walks over every part of it. Whoever asks for it later (to resume an
    answer, say) has the body parsed again, and then it stays."""

    __slots__ = ("_again", "_here", "_large", "_names", "_newest")

    def __init__(self, whole: dict[str, Any], again: Callable[[], Any], large: bool = True) -> None:
        """`again`: parses the body once more. `large`: its history is to be let go."""
        self._here = whole
        self._large = large
        self._names = frozenset(whole)
        self._again = again
        self._newest: dict[str, Any] = {}
        """Of what is not here: the last item, where that is an answer to be continued, or the end of a text."""

    def shrink(self) -> None:
        """Let the history go."""
        for name in HISTORIES & self._here.keys():
            value = self._here[name]
            last = value[-1] if type(value) is list and value else None
            if type(value) is str:
                self._newest[name] = value[-END:]
            elif type(last) is dict and last.get("role") == "assistant":
                self._newest[name] = last
        self._here = {name: value for name, value in self._here.items() if name not in HISTORIES}

    def newest(self, name: str) -> Any:
        """As `rules.values.json.newest`."""
        return newest(self._here, name) if name in self._here else self._newest.get(name)

    @property
    def due(self) -> bool:
        """Is it large, and is its history there?"""
        return self._large and len(self._here) == len(self._names)

    @property
    def whole(self) -> dict[str, Any]:
        """All of it."""
        if len(self._here) < len(self._names):
            self._here = self._again()
        return self._here

    def __getitem__(self, name: str) -> Any:
        return self._here[name] if name in self._here or name not in self._names else self.whole[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self._names)


class ContinuedBody(LargeBody):
    """A body whose beginning was seen before, so that only what is new was parsed. Who asks for its history has all of
    it parsed."""

    __slots__ = ()

    def __init__(self, read: Continued, again: Callable[[], Any], large: bool) -> None:
        """`again`: parses the body."""
        super().__init__(read.members, again, large)
        self._names |= {read.prefix.member}
        if read.new:  # what was seen before ends in no answer
            self._newest[read.prefix.member] = read.new[-1]


async def take(
    request: web.Request,
    limit: int,
    hold: Callable[[int], Awaitable[None]],
    turn: Callable[[int], Awaitable[None]],
    prefixes: PrefixCache | None = None,
    room: Room | None = None,
) -> RequestBody:
    """Read the body. `hold` is told of all bytes as they come and may raise (`room.Full`) or let wait; `turn` is waited
    for before the body is parsed. `prefixes`: bodies that this one may go on from. Raises TooLarge, ClientGone. What
    cannot be decoded or parsed is not an error here: it passes through, and the upstream judges it."""
    if (request.content_length or 0) > limit:
        raise TooLarge
    raw = await _read(request, limit, hold)
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    plain = raw
    if coding:
        try:
            # A small body may become a large one; undoing it lets go of the interpreter's lock.
            plain = await asyncio.to_thread(decode, raw, coding, limit)
        except CodingError:
            return RequestBody(raw, coding, None)
        except OverflowError as exc:
            raise TooLarge from exc
        await hold(len(plain))
    size = len(plain)
    if coding:
        prefixes = None
    hashes: Sequence[int] = ()
    if prefixes is not None:
        async with room.alone(size) if room is not None else nullcontext():
            read = await _in_turns(prefixes.going_on(raw))
        if isinstance(read, Continued):  # this was cheap: it need not wait for its turn
            return RequestBody(raw, coding, ContinuedBody(read, lambda: loads(raw), size >= LARGE), read)
        hashes = read
    await turn(size)
    known: ArrayPlace | Begun | None = None
    try:
        body, known = prefixes.whole(plain, hashes) if prefixes is not None else (loads(plain), None)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        return RequestBody(raw, coding, None)
    if size < LARGE:
        return RequestBody(raw, coding, body, known)
    return RequestBody(raw, coding, LargeBody(body, lambda: loads(decode(raw, coding, limit))), known)


async def _in_turns(work: Generator[None, None, T]) -> T:
    """Do this work, and let other tasks run wherever it yields."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            done: T = end.value
            return done
        await asyncio.sleep(0)


async def _read(request: web.Request, limit: int, hold: Callable[[int], Awaitable[None]]) -> bytes:
    first = b""
    rest: io.BytesIO | None = None
    size = 0
    content = request.content
    while True:  # as `pieces`, without a generator: 15 calls of a body that comes in one piece
        try:
            # What is there needs no coroutine: mostly all of the body (20 calls of a request).
            piece = arrived(content) if getattr(content, "_buffer", None) else await content.readany()
        except (ConnectionError, web.RequestPayloadError) as exc:
            raise ClientGone from exc
        if not piece:
            break
        size += len(piece)
        if size > limit:
            raise TooLarge
        await hold(len(piece))
        if rest is not None:
            rest.write(piece)
        elif first:
            # It grows where it is, and what it gives out is its own buffer: a body is never there twice.
            rest = io.BytesIO()
            rest.write(first)
            rest.write(piece)
        else:
            first = piece
        if content.is_eof() and content.exception() is None and not getattr(content, "_buffer", None):
            break
    return first if rest is None else rest.getvalue()


async def pieces(request: web.Request) -> AsyncIterator[bytes]:
    """The body as it arrives. Raises ClientGone."""
    content = request.content
    try:
        while data := await content.readany():
            yield data
    except (ConnectionError, web.RequestPayloadError) as exc:
        raise ClientGone from exc
