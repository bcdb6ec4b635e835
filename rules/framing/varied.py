"""Reads chunks that differ from the one before in their text and in a few known members, without a JSON parser.

It does the work of `template.py` for servers that write a time or running token counts into every chunk (Ollama,
Gemini). The last chunk becomes a pattern: its bytes, with open places for the text and for the values of the named
members. A chunk that matches is the same object with other values: a JSON string, digits, or plain characters. That is
exact, not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

import orjson

from ..values.delta import Block, Channel, Piece
from .template import TRIES, text_place

MOST: Final = 12
"""Open places besides the text, at most."""
_TEXT: Final = rb'([^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+)'
"""The inside of a JSON string. What stands behind a backslash is judged by a parser."""
_DIGITS: Final = rb"(?:0|[1-9][0-9]*+)"
_PLAIN: Final = rb'[^"\\\x00-\x1f\x7f-\xff]*+'
_new = tuple.__new__


class Varied:
    """The shape of the last plain chunk."""

    __slots__ = ("_block", "_channel", "_fullmatch", "_members", "_tries", "_used", "last")

    def __init__(self, members: re.Pattern[bytes]) -> None:
        """`members`: matches a member that may differ, from the quote of its name on; its one group is the value: the
        inside of a string, or digits."""
        self._members = members
        self._tries = TRIES
        self._used = False
        self._fullmatch: Callable[[bytes], re.Match[bytes] | None] | None = None
        self._block: Block = (0, "")
        self._channel = Channel.TEXT
        self.last: bytes | None = None
        """The chunk that matched last."""

    def match(self, data: bytes) -> Piece | None:
        """The piece in this chunk, where the chunk differs from the last one only in text and named members."""
        if self._fullmatch is None or (found := self._fullmatch(data)) is None:
            return None
        inside = found[1]
        try:
            if b"\\" in inside:
                text = orjson.loads(b'"%b"' % inside)
            elif not inside or not (text := inside.decode()).isprintable():
                return None
        except ValueError:
            return None
        self._used = True
        self.last = data
        return _new(Piece, (self._block, self._channel, text))

    def forget(self) -> None:
        """Drop the shape: it no longer holds."""
        self._fullmatch = None

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
        begin, end = place
        places = [(begin, end, _TEXT)]
        for found in self._members.finditer(data):
            start, stop = found.span(1)
            if stop <= begin or start >= end:
                number = data[start:stop].isdigit() and data[start - 1] != 0x22
                places.append((start, stop, _DIGITS if number else _PLAIN))
        places.sort()
        if len(places) > MOST + 1 or any(one[1] >= other[0] for one, other in pairwise(places)):
            return
        pattern, at = b"", 0
        for start, stop, kind in places:
            pattern += re.escape(data[at:start]) + kind
            at = stop
        self._used = False
        self._fullmatch = re.compile(pattern + re.escape(data[at:])).fullmatch
        self._block, self._channel = piece.block, piece.channel
