"""Reads chunks that differ from the one before in their text and in a few known members, without a JSON parser.

As `template.py`, for servers that write a time or running token counts into every chunk (Ollama, Gemini). Such a chunk
is a row of literals with variable stretches between them: one text, and the values of the named members. Where the
literals are the same, and the stretches are a JSON string, digits or plain characters, the chunk parses to the same
object with those values in it: exact, not a guess.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

import orjson

from ..values.delta import Block, Channel, Piece

TRIES: Final = 8
"""Lessons in a row that may be of no use, before a stream counts as one whose chunks all differ."""
MOST: Final = 12
"""Stretches besides the text, at most."""
_PLAIN: Final = re.compile(rb'[^"\\\x00-\x1f\x7f-\xff]*')
_NEVER = b"\0"
_new = tuple.__new__


class Varied:
    """The shape of the last plain chunk."""

    __slots__ = ("_block", "_channel", "_head", "_members", "_rest", "_tries", "_used")

    def __init__(self, members: re.Pattern[bytes]) -> None:
        """`members`: matches a member that may differ, from the quote of its name on; its one group is the value: the
        inside of a string, or digits."""
        self._members = members
        self._tries = TRIES
        self._used = False
        self._head = _NEVER
        """The bytes before the first stretch. No chunk begins with NUL."""
        self._rest: list[tuple[int, bytes]] = []
        """(what the stretch is, the literal behind it), in order."""
        self._block: Block = (0, "")
        self._channel = Channel.TEXT

    def match(self, data: bytes) -> Piece | None:
        """The piece in this chunk, where the chunk differs from the last one only in text and named members."""
        if not data.startswith(self._head):
            return None
        start = len(self._head)
        text = ""
        for kind, literal in self._rest:
            stop = data.find(literal, start)
            if stop < 0:
                return None
            stretch = data[start:stop]
            start = stop + len(literal)
            if kind == DIGITS:
                if not stretch.isdigit() or (stretch[0] == 0x30 and len(stretch) > 1):
                    return None
            elif kind == TEXT:
                try:
                    if b"\\" in stretch:
                        # A quote behind a backslash ends nothing: then this is no JSON string.
                        text = orjson.loads(b'"%b"' % stretch)
                    elif not stretch or b'"' in stretch or not (text := stretch.decode()).isprintable():
                        return None
                except ValueError:
                    return None
            elif _PLAIN.fullmatch(stretch) is None:
                return None
        if start != len(data):
            return None
        self._used = True
        return _new(Piece, (self._block, self._channel, text))

    def forget(self) -> None:
        """Drop the shape: it no longer holds."""
        self._head = _NEVER

    def learn(self, data: bytes, piece: Piece) -> None:
        """Learn the shape of a chunk that was parsed into exactly this piece, with its whole text in one string."""
        if self._used:
            self._tries = TRIES
        elif self._tries:
            self._tries -= 1
        else:
            self.forget()
            return
        quoted = b'"' + piece.text.encode() + b'"'
        # If the chunk holds an equal string elsewhere, it is not certain which of the two is the text.
        if data.count(quoted) != 1:
            return
        begin = data.index(quoted) + 1
        stretches = [(begin, begin + len(quoted) - 2, TEXT)]
        for found in self._members.finditer(data):
            start, end = found.span(1)
            if end <= begin or start >= stretches[0][1]:
                number = data[start:end].isdigit() and data[start - 1] != 0x22
                stretches.append((start, end, DIGITS if number else PLAIN))
        stretches.sort()
        if len(stretches) > MOST + 1 or any(one[1] >= other[0] for one, other in pairwise(stretches)):
            return
        ends = [start for start, _, _ in stretches[1:]] + [len(data)]
        self._used = False
        self._head = data[: stretches[0][0]]
        self._rest = [(kind, data[stop:end]) for (_, stop, kind), end in zip(stretches, ends, strict=True)]
        self._block, self._channel = piece.block, piece.channel


TEXT: Final = 0
DIGITS: Final = 1
PLAIN: Final = 2
