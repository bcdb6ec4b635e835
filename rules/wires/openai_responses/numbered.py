"""A numbered delta is like the one before but for its number, its text and its padding: then no JSON parser is needed.

As `rules/template.py`, for events with a running `sequence_number` and OpenAI's random `obfuscation`. Exact, not a
guess: without a backslash every quote is structure, so the same bytes around a number and plain strings parse to the
same object with those in it.
"""

from __future__ import annotations

from typing import Final

from ...delta import Block, Channel, Piece

TRIES: Final = 8
"""Lessons in a row that may be of no use, before a stream counts as one whose events all differ."""
NUMBER: Final = b'"sequence_number":'
DELTA: Final = b'"delta":"'
PADDING: Final = b'"obfuscation":"'
_new = tuple.__new__


class Numbered:
    """What the last plain delta looked like."""

    __slots__ = ("_block", "_channel", "_from", "_head", "_middle", "_padded", "_tail", "_tries", "_used")

    def __init__(self) -> None:
        self._tries = TRIES
        self._used = False
        self._head = b"\0"
        self._middle = self._tail = b""
        self._from = 0
        self._padded = False
        self._block: Block = (0, "")
        self._channel = Channel.TEXT

    def match(self, data: bytes) -> Piece | None:
        """The piece that this event says, where it differs from the last one in nothing else."""
        if not data.startswith(self._head):
            return None
        comma = data.find(b",", self._from)
        number = data[self._from : comma]
        if not data.startswith(self._middle, comma) or not number.isdigit() or (number[0] == 0x30 and len(number) > 1):
            return None
        start = comma + len(self._middle)
        stop = data.find(b'"', start)
        if not data.startswith(self._tail, stop):
            return None
        behind = stop + len(self._tail)
        if len(data) != behind and not (self._padded and data.endswith(b'"}') and data[behind:-2].isalnum()):
            return None
        if b"\\" in data:
            return None
        text = data[start:stop].decode()
        if not text.isprintable():
            return None
        self._used = True
        return _new(Piece, (self._block, self._channel, text))

    def learn(self, data: bytes, piece: Piece) -> None:
        """This event, parsed, said exactly this piece."""
        if self._used:
            self._tries = TRIES
        elif self._tries:
            self._tries -= 1
        else:
            self._head = b"\0"  # no event begins so
            return
        start = data.find(NUMBER) + len(NUMBER)
        comma = data.find(b",", start)
        text = data.find(DELTA, comma) + len(DELTA)
        stop = data.find(b'"', text)
        once = data.count(NUMBER) == data.count(DELTA) == 1 and b"\\" not in data
        if not once or not data[start:comma].isdigit() or data[text:stop] != piece.text.encode():
            return
        padding = data.find(PADDING, stop)
        self._padded = padding > 0 and data.endswith(b'"}') and data[padding + len(PADDING) : -2].isalnum()
        self._used = False
        self._head, self._from = data[:start], start
        self._middle = data[comma:text]
        self._tail = data[stop : padding + len(PADDING)] if self._padded else data[stop:]
        self._block, self._channel = piece.block, piece.channel
