"""Walks through an event beside the deltas that it was read as, to write it again with less in it.

A codec reads an event from its beginning to its end, so the parts of the event and the deltas that say something stand
in the same order. `None` is a part that goes, a `Piece` with another text one that is shortened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..values.delta import Block, Delta, Piece, Unknown


class Lost(Exception):
    """The event and its deltas do not go together: it cannot be written again."""


class Said:
    """The pieces of an event (and what was not read in it), each with what is wanted of it, one after the other."""

    def __init__(self, deltas: Sequence[Delta], wanted: Sequence[Delta | None]) -> None:
        self._pairs = [
            (delta, left) for delta, left in zip(deltas, wanted, strict=False) if isinstance(delta, Piece | Unknown)
        ]
        self._at = 0
        self.choices = {delta.block[0] for delta, _ in self._pairs if isinstance(delta, Piece)}
        """Choices that say something."""

    def next(self) -> Piece | Unknown | None:
        """What is wanted of the next part. Raises `Lost` where there is none."""
        if self._at == len(self._pairs):
            raise Lost
        self._at += 1
        left = self._pairs[self._at - 1][1]
        return left if isinstance(left, Piece | Unknown) else None

    def skip_empty(self, block: Block) -> None:
        """Pass a piece without text, which only ties the event to its block."""
        if self._at < len(self._pairs):
            delta = self._pairs[self._at][0]
            self._at += isinstance(delta, Piece) and delta.block == block and not delta.text

    def text(self, given: Any) -> str | None:
        """What is left of a text; None where it goes."""
        left = self.next()
        if isinstance(left, Unknown):
            return str(given)
        texts = [] if left is None else [left.text]
        size = self._size(self._at - 1)
        while isinstance(given, str) and size < len(given) and self._at < len(self._pairs):  # thinking in the text
            left = self.next()
            texts += [left.text] if isinstance(left, Piece) else []
            size += self._size(self._at - 1)
        return "".join(texts) if texts else None

    def _size(self, at: int) -> int:
        delta = self._pairs[at][0]
        return len(delta.text) if isinstance(delta, Piece) else 0
