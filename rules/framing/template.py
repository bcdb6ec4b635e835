"""Reads chunks that differ from the one before in their text alone, without a JSON parser.

A Template holds the bytes around the one string with the text of a chunk, and around the padding (OpenAI's
`obfuscation`) that may end it. Another chunk with the same bytes around other strings parses to the same object with
those strings in it. That is exact, not a guess, and saves more than half of the engine's work on most streams.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import orjson

from ..values.delta import Block, Channel, Piece

TRIES = 8
"""Templates in a row that may match nothing, before the stream counts as one whose chunks all differ (by a running
number)."""
PADDING: Final = b'"obfuscation":"'
"""A member that no client reads and that differs in each chunk. It is recognised only as the last of the object."""

_NEVER = 1 << 62
_BETWEEN = b"\x1f"
"""Stands between texts that are decoded together: a control character, which none of them holds."""
_new = tuple.__new__


class Template:
    """The shape of the last plain chunk: of its JSON text, or of the whole event."""

    __slots__ = (
        "_block", "_channel", "_end", "_head", "_least", "_padded", "_start", "_stop", "_tail", "_tries", "_used",
    )  # fmt: skip

    def __init__(self) -> None:
        self._tries = TRIES
        self._used = False
        self._least = _NEVER
        self._head = self._tail = self._end = b""
        """The bytes before the text; those after it, up to the padding where there is one; those after the padding."""
        self._padded = False
        self._start = self._stop = 0
        self._block: Block = (0, "")
        self._channel = Channel.TEXT

    def match(self, data: bytes) -> Piece | None:
        """The piece in this chunk, where the chunk differs from the last one only in text and padding; else None."""
        if len(data) <= self._least or not data.startswith(self._head):
            return None
        if not self._padded:
            if not data.endswith(self._tail):
                return None
            middle = data[self._start : self._stop]
        else:
            # An escaped quote is not the end: then the tail does not follow, or the text is not a JSON string.
            stop = data.find(b'"', self._start)
            if not data.startswith(self._tail, stop) or not data.endswith(self._end):
                return None
            padding = data[stop + len(self._tail) : len(data) - len(self._end)]
            if padding and not padding.isalnum() and not _plain(padding):
                return None
            middle = data[self._start : stop]
        try:
            # Without quotes and backslashes it is one JSON string, its characters as they are. Control characters (and
            # a few others) are for the parser.
            if b"\\" in middle:
                text = orjson.loads(b'"%b"' % middle)
            elif not middle or b'"' in middle or not (text := middle.decode()).isprintable():
                return None
        except ValueError:
            return None
        self._used = True
        return _new(Piece, (self._block, self._channel, text))

    def begins(self, data: bytes, at: int) -> bool:
        """May the event from `at` on match? Asked where many will not, because it costs two calls."""
        return self._least != _NEVER and data.startswith(self._head, at)

    def run(self, data: bytes, at: int, most: int) -> tuple[list[str], list[int]]:
        """Read the events from `at` on that `match` would read one after the other, with one split and one decode for
        all of them. Returns (their texts, where each event ends): at most `most`, none where the first does not match.
        It may stop early; `match` reads the next event then."""
        head, tail = self._head, self._tail
        if self._least == _NEVER or not data.startswith(head, at):
            return [], []
        # An event ends with its tail, and the next one begins at once with its head. A text that holds these bytes
        # would hold a raw line end or a quote, and that stops the run.
        end = self._end if self._padded else tail
        parts = data[at + len(head) :].split(end + head, most - 1)
        parts[-1], whole, _ = parts[-1].partition(end)
        if not whole:
            parts.pop()
        sizes = [*map(len, parts)]
        if self._padded:
            parts = self._unpadded(parts)
        texts = _texts(parts)
        if texts:
            self._used = True
        around = len(head) + len(end)
        return texts, [at := at + size + around for size in sizes[: len(texts)]]

    @property
    def plain(self) -> tuple[Block, Channel]:
        """Which block the texts are of."""
        return self._block, self._channel

    def _unpadded(self, parts: list[bytes]) -> list[bytes]:
        """The texts before the padding, up to the first part that has another form."""
        found: list[bytes] = []
        for part in parts:
            text, between, padding = part.partition(self._tail)
            if not between or (padding and not padding.isalnum()):
                break
            found.append(text)
        return found

    def forget(self) -> None:
        """Drop the shape: it no longer holds (another block may have begun under the same index)."""
        self._least = _NEVER

    def learn(self, data: bytes, piece: Piece) -> None:
        """Learn the shape of a chunk that was parsed into exactly this piece, with its whole text in one string."""
        if self._used:
            self._tries = TRIES
        elif self._tries:
            self._tries -= 1
        else:
            self.forget()
            return
        if (place := text_place(data, piece.text)) is None:
            return
        self._used = False
        start, stop = place
        self._head, self._tail, self._end = data[:start], data[stop:], b""
        self._padded = self._pad(self._tail)
        self._start, self._stop = start, stop - len(data)
        self._least = len(self._head) + len(self._tail) + len(self._end)
        self._block, self._channel = piece.block, piece.channel

    def _pad(self, tail: bytes) -> bool:
        """Does the object end with padding? Only the closing bracket of the object may follow it."""
        at = tail.rfind(PADDING) + len(PADDING)
        stop = tail.find(b'"', at)
        if at < len(PADDING) or tail[stop:].rstrip(b"\n") != b'"}' or tail.count(PADDING) != 1:
            return False
        if not _plain(tail[at:stop]):
            return False
        self._tail, self._end = tail[:at], tail[stop:]
        return True


def text_place(data: bytes, text: str) -> tuple[int, int] | None:
    """Where the JSON string with this text begins and ends, without its quotes. None where the chunk holds no such
    string, or two of them: it is not certain then which one is the text."""
    quoted = b'"' + text.encode() + b'"'
    if data.count(quoted) != 1:
        return None
    start = data.index(quoted) + 1
    return start, start + len(quoted) - 2


def _texts(parts: list[bytes]) -> list[str]:
    """Decode the insides of JSON strings, up to the first that is not one or that needs a parser."""
    joined = _BETWEEN.join(parts)
    if b"\\" not in joined and b'"' not in joined and b"" not in parts:
        with suppress(UnicodeDecodeError):
            texts = joined.decode().split("\x1f")
            if len(texts) == len(parts) and "".join(texts).isprintable():
                return texts
    found: list[str] = []
    for part in parts:
        try:
            if b"\\" in part:
                text = orjson.loads(b'"%b"' % part)
            elif not part or b'"' in part or not (text := part.decode()).isprintable():
                break
        except ValueError:
            break
        found.append(text)
    return found


def _plain(padding: bytes) -> bool:
    """Is it the inside of one JSON string of printable ASCII, with no escape in it?"""
    return padding.isascii() and padding.decode("ascii").isprintable() and b'"' not in padding and b"\\" not in padding
