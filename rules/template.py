"""One chunk is like the next but for its text: read once, such chunks need no JSON parser any more.

A Template holds the bytes before and behind the one string that a chunk said. Another chunk with the very same bytes
around a string of plain characters parses to the very same object with that other string in it: this is exact, not a
guess, and saves more than half of the engine's work on most providers' streams.
"""

from __future__ import annotations

from .delta import Block, Channel, Piece

TRIES = 8
"""Lessons in a row that may be of no use, before a stream counts as one whose chunks all differ (a running number,
OpenAI's `obfuscation`)."""

_NEVER = 1 << 62
_new = tuple.__new__


class Template:
    """What the last plain chunk looked like."""

    __slots__ = ("_block", "_channel", "_head", "_least", "_start", "_stop", "_tail", "_tries", "_used")

    def __init__(self) -> None:
        self._tries = TRIES
        self._used = False
        self._least = _NEVER
        self._head = self._tail = b""
        self._start = self._stop = 0
        self._block: Block = (0, "")
        self._channel = Channel.TEXT

    def match(self, data: bytes) -> Piece | None:
        """The piece that this chunk says, where it differs from the last one in nothing but a plain text."""
        if len(data) > self._least and data.startswith(self._head) and data.endswith(self._tail):
            middle = data[self._start : self._stop]
            # Without quotes and backslashes it is one JSON string, its characters as they are. Control characters
            # (and a few others) are for the parser.
            if b'"' not in middle and b"\\" not in middle:
                text = middle.decode()
                if text.isprintable():
                    self._used = True
                    return _new(Piece, (self._block, self._channel, text))
        return None

    def forget(self) -> None:
        """What was learned holds no more (another block may have begun under the same index)."""
        self._least = _NEVER

    def learn(self, data: bytes, piece: Piece) -> None:
        """This chunk, parsed, said exactly this piece, all of it by one string."""
        if self._used:
            self._tries = TRIES
        elif self._tries:
            self._tries -= 1
        else:
            self.forget()
            return
        quoted = b'"' + piece.text.encode() + b'"'
        # If another string were equal to it, it would not be certain which of the two was said.
        if data.count(quoted) != 1:
            return
        self._used = False
        start = data.index(quoted) + 1
        stop = start + len(quoted) - 2
        self._head, self._tail = data[:start], data[stop:]
        self._start, self._stop = start, stop - len(data)
        self._least = len(data) - (stop - start)
        self._block, self._channel = piece.block, piece.channel
