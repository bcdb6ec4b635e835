"""Text without regard to case and white space: a model that says something again seldom keeps them.

Everything here is a pure function of its arguments, or keeps only what it was fed.
"""

from __future__ import annotations

import re

_SPACE = re.compile(r"\s+")


def folded(text: str) -> str:
    """The text in one case, every run of white space as one blank, none at either end."""
    return _SPACE.sub(" ", text).strip().casefold()


class Folding:
    """Folds a text that comes in pieces, and knows where each folded character stands in the text itself."""

    __slots__ = ("_blank", "_ends", "_size")

    def __init__(self) -> None:
        self._blank = True
        """The last character was white space, or none has come: a further blank says nothing."""
        self._ends: list[int] = []
        self._size = 0

    def add(self, piece: str) -> str:
        """Take the next piece. Returns what it adds to the folded text."""
        out = []
        for char in piece:
            self._size += 1
            blank = char.isspace()
            if blank and self._blank:
                continue
            self._blank = blank
            fold = " " if blank else char.casefold()
            out.append(fold)
            self._ends += [self._size] * len(fold)
        return "".join(out)

    def size(self, count: int) -> int:
        """How many characters of the text itself the first `count` folded ones are."""
        return self._ends[count - 1] if count else 0
