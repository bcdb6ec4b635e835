"""Content codings, undone piece by piece: one bounded piece of output at a time, whatever the input claims."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Protocol

import zstandard

PIECE = 256 << 10
"""Bytes handed out at once, so a decompression bomb meets the caller's limit before it fills the memory."""

ACCEPTED = "gzip, deflate, identity"
"""What an upstream is asked for. One that answers in br or zstd all the same is understood, as most clients do."""

MOST = 4
"""Codings that one body may come in, one over the other."""

_SLICE = 64
"""Bytes of zstd fed at once: a block of 4 bytes may stand for 128 KiB, and the library has no limit of its own."""


class CodingError(ValueError):
    """The bytes are not what their Content-Encoding says, or the coding is one we do not undo."""


class Inflate:
    """gzip (also several members) and deflate (zlib or, as many servers send it, raw)."""

    __slots__ = ("_bits", "_object", "_raw_deflate", "_started")

    def __init__(self, coding: str) -> None:
        """Raises CodingError for a coding other than gzip, x-gzip and deflate."""
        if coding not in ("gzip", "x-gzip", "deflate"):
            raise CodingError(f"content-encoding {coding[:40]!r} is not supported")
        self._raw_deflate = coding == "deflate"
        self._bits = zlib.MAX_WBITS if self._raw_deflate else 16 + zlib.MAX_WBITS
        self._object = zlib.decompressobj(self._bits)
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces of at most PIECE bytes. Raises CodingError."""
        while data:
            try:
                out = self._object.decompress(data, PIECE)
            except zlib.error as exc:
                if self._raw_deflate and not self._started:
                    self._raw_deflate = False
                    self._object = zlib.decompressobj(-zlib.MAX_WBITS)
                    continue
                raise CodingError("the compressed body is damaged") from exc
            self._started = True
            if out:
                yield out
            if self._object.eof:
                data = self._object.unused_data
                if data:
                    if self._bits == zlib.MAX_WBITS or not data.startswith(b"\x1f\x8b"):
                        return
                    self._object = zlib.decompressobj(self._bits)
            else:
                data = self._object.unconsumed_tail
                if not data and not out:
                    return

    @property
    def complete(self) -> bool:
        """The coding's own end mark was seen (or nothing came at all)."""
        return self._object.eof or not self._started


class Brotli:
    """br. Its library is loaded when the first such body comes: hardly any does."""

    __slots__ = ("_error", "_object", "_started")

    def __init__(self) -> None:
        import brotli

        self._error: type[Exception] = brotli.error
        self._object = brotli.Decompressor()
        self._started = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces of about PIECE bytes. Raises CodingError."""
        self._started = self._started or bool(data)
        while True:
            try:
                out: bytes = self._object.process(data, output_buffer_limit=PIECE)
            except self._error as exc:
                raise CodingError("the compressed body is damaged") from exc
            data = b""
            if out:
                yield out
            elif self._object.is_finished() or self._object.can_accept_more_data():
                return

    @property
    def complete(self) -> bool:
        """The coding's own end mark was seen (or nothing came at all)."""
        return not self._started or bool(self._object.is_finished())


class Zstd:
    """zstd, also several frames."""

    __slots__ = ("_object", "_open")

    def __init__(self) -> None:
        self._object: zstandard.ZstdDecompressionObj | None = None
        self._open = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces of at most 2 MiB. Raises CodingError."""
        at = 0
        while at < len(data):
            piece = data[at : at + _SLICE]
            at += len(piece)
            if self._object is None:
                self._object = zstandard.ZstdDecompressor(max_window_size=128 << 20).decompressobj()
            self._open = True
            try:
                out = self._object.decompress(piece)
            except zstandard.ZstdError as exc:
                raise CodingError("the compressed body is damaged") from exc
            if out:
                yield out
            if self._object.eof:
                at -= len(self._object.unused_data)
                self._object, self._open = None, False

    @property
    def complete(self) -> bool:
        """The last frame has ended (or nothing came at all)."""
        return not self._open


class ContentDecoder(Protocol):
    """One coding, undone as the bytes come."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decoded pieces, each of a bounded size. Raises CodingError."""
        ...

    @property
    def complete(self) -> bool:
        """The coding's own end mark was seen (or nothing came at all)."""
        ...


class Chain:
    """Several codings, the last one applied undone first."""

    __slots__ = ("_first", "_then")

    def __init__(self, first: ContentDecoder, then: ContentDecoder) -> None:
        self._first = first
        self._then = then

    def feed(self, data: bytes) -> Iterator[bytes]:
        """As of one coding."""
        for piece in self._first.feed(data):
            yield from self._then.feed(piece)

    @property
    def complete(self) -> bool:
        """Both have ended."""
        return self._first.complete and self._then.complete


def codings(value: str) -> list[str]:
    """The codings that a Content-Encoding names, in the order they were applied, without those that change nothing."""
    named = [one.strip().lower() for one in value.split(",")]
    return [one for one in named if one and one != "identity"]


def decoder(named: Iterable[str]) -> ContentDecoder | None:
    """A decoder for these codings; None where there are none. Raises CodingError for one that we do not know."""
    steps = [_one(name) for name in named]
    if len(steps) > MOST:
        raise CodingError("the body comes in too many codings")
    undo: ContentDecoder | None = None
    for step in steps:
        undo = step if undo is None else Chain(step, undo)
    return undo


def _one(coding: str) -> ContentDecoder:
    return Brotli() if coding == "br" else Zstd() if coding == "zstd" else Inflate(coding)


def decode(body: bytes, coding: str, limit: int) -> bytes:
    """A whole body without its coding (gzip, deflate, br, zstd, identity; several as a list), at most `limit` bytes.

    Raises CodingError for a damaged body or an unknown coding, OverflowError over the limit.
    """
    for one in reversed(codings(coding)):
        parts: list[bytes] = []
        size = 0
        pieces = _zstd(body) if one == "zstd" else _one(one).feed(body)
        for piece in pieces:
            size += len(piece)
            if size > limit:
                raise OverflowError(f"the decoded body is larger than {limit} bytes")
            parts.append(piece)
        body = b"".join(parts)
    return body


def _zstd(body: bytes) -> Iterator[bytes]:
    try:
        with zstandard.ZstdDecompressor(max_window_size=128 << 20).stream_reader(
            body, read_across_frames=True
        ) as reader:
            while piece := reader.read(PIECE):
                yield piece
    except zstandard.ZstdError as exc:
        raise CodingError("the compressed body is damaged") from exc
