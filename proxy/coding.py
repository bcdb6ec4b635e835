"""Content codings, undone piece by piece: one bounded piece of output at a time, whatever the input claims."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import zstandard

PIECE = 256 << 10
"""Bytes handed out at once; a bomb is therefore met by whoever counts the pieces, not by memory."""

ACCEPTED = "gzip, deflate, identity"
"""What an upstream may use towards us."""


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


def decode(body: bytes, coding: str, limit: int) -> bytes:
    """A whole body without its coding (gzip, deflate, zstd, identity; several as a list), at most `limit` bytes.

    Raises CodingError for a damaged body or an unknown coding, OverflowError over the limit.
    """
    for one in reversed([c.strip().lower() for c in coding.split(",") if c.strip()]):
        if one == "identity":
            continue
        parts: list[bytes] = []
        size = 0
        pieces = _zstd(body) if one == "zstd" else Inflate(one).feed(body)
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
