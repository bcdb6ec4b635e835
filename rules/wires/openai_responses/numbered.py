"""A numbered delta is like the one before but for its number, its text and its padding: then no JSON parser is needed.

As `rules/template.py`, for events with a running `sequence_number` and OpenAI's random `obfuscation`. Exact, not a
guess: where the event learned from has no backslash every quote is structure, so the same bytes around a number and
strings parse to the same object with those in it.
"""

from __future__ import annotations

from typing import Final

import orjson

from ...values.delta import Block, Channel, Piece

TRIES: Final = 8
"""Lessons in a row that may be of no use, before a stream counts as one whose events all differ."""
NUMBER: Final = b'"sequence_number":'
DELTA: Final = b'"delta":"'
PADDING: Final = b'"obfuscation":"'
_new = tuple.__new__


class Numbered:
    """What the last plain delta looked like: the JSON text, or the whole event around it."""

    __slots__ = ("_block", "_end", "_from", "_head", "_middle", "_padded", "_tail", "_tries", "_used", "channel")

    def __init__(self) -> None:
        self._tries = TRIES
        self._used = False
        self._head = b"\0"
        self._middle = self._tail = self._end = b""
        self._from = 0
        self._padded = False
        self._block: Block = (0, "")
        self.channel = Channel.TEXT

    def match(self, data: bytes) -> Piece | None:
        """The piece that this event says (some text), where it differs from the last one in nothing else."""
        if not data.startswith(self._head):
            return None
        at, middle = self._from, self._middle
        comma = data.find(b",", at)
        number = data[at:comma]
        if not data.startswith(middle, comma) or not number.isdigit() or (number[0] == 0x30 and len(number) > 1):
            return None
        start = comma + len(middle)
        # A quote behind a backslash ends nothing: then what stands before it is no JSON string.
        stop = data.find(b'"', start)
        if not data.startswith(self._tail, stop):
            return None
        behind = stop + len(self._tail)
        if self._padded:
            padding = data[behind : len(data) - len(self._end)]
            if not (data.endswith(self._end) and padding.isalnum()):
                return None
        elif len(data) != behind:
            return None
        middle = data[start:stop]
        try:
            if b"\\" in middle:
                text = orjson.loads(b'"%b"' % middle)
            elif not middle or not (text := middle.decode()).isprintable():
                return None
        except ValueError:
            return None
        self._used = True
        return _new(Piece, (self._block, self.channel, text))

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
        padding = data.find(PADDING, stop) + len(PADDING)
        last = data.find(b'"', padding)
        self._padded = padding >= len(PADDING) and data[last:].rstrip(b"\n") == b'"}' and data[padding:last].isalnum()
        self._used = False
        self._head, self._from = data[:start], start
        self._middle = data[comma:text]
        self._tail, self._end = (data[stop:padding], data[last:]) if self._padded else (data[stop:], b"")
        self._block, self.channel = piece.block, piece.channel
