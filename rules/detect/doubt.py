"""Text that waits while a rule is half convinced. If the rule then cuts, the client has not seen the loop; if not, the
text comes a moment later.

Only whole events that say text or reasoning of one block wait, in order, at most 2,048 characters or five seconds; any
other event sends them first. Text that still waits when the answer ends without a cut is sent, too, so nothing is lost.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..values.delta import Block, Piece

CHARACTERS: Final = 2048
"""Characters that wait at most: as many as a long unit needs to show that it comes again."""
SECONDS: Final = 5.0
"""Seconds that text waits at most: a pause that people and clients' own timers bear."""


MOST_WAITS: Final = 1000
"""Waits of one answer that are remembered."""


class TextWait(NamedTuple):
    """Text has waited in doubt."""

    seconds: float
    """From its first event to what ended the wait, as far as that was told a time."""
    dropped: bool
    """A rule cut, and the client never saw it."""


class Doubt:
    """The waiting text of one answer."""

    __slots__ = ("_size", "_tired", "now", "since", "stirred", "waiting", "waits")

    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, Piece]] = []
        """Events as the client would get them, and what they say."""
        self.stirred = False
        """Something waits, or has waited as long as it may. Call `calm` when no rule doubts any more."""
        self.since = 0.0
        """When the first of them came."""
        self.now = 0.0
        """The newest time that it was told."""
        self.waits: list[TextWait] = []
        """Those that are over, in order."""
        self._size = 0
        self._tired: Block | None = None
        """A block that has waited as long as it may. Its text passes until no rule doubts it."""

    def takes(self, raw: bytes, piece: Piece, now: float) -> bool:
        """Let this doubted event wait. False: it cannot; send the waiting events, and this one behind them."""
        if self._tired == piece.block:
            return False
        self.now = now
        waiting = self.waiting
        if waiting and waiting[0][1].block != piece.block:
            return False
        if not waiting:
            self.since = now
        elif self._size + len(piece.text) > CHARACTERS or now - self.since > SECONDS:
            self._tired = piece.block
            return False
        self.stirred = True
        waiting.append((raw, piece))
        self._size += len(piece.text)
        return True

    def overdue(self, now: float) -> bool:
        """Has something waited as long as it may?"""
        self.now = now
        return bool(self.waiting) and now - self.since > SECONDS

    def tire(self) -> None:
        """The time is up: the text of this block passes until no rule doubts it."""
        if self.waiting:
            self._tired = self.waiting[0][1].block

    def calm(self) -> None:
        """No rule doubts any more. The caller sends the waiting text now."""
        self._tired = None
        self.stirred = False

    def taken(self, dropped: bool = False) -> list[tuple[bytes, Piece]]:
        """Remove and return all waiting events, in order. `dropped`: the client never gets them."""
        if self.waiting and len(self.waits) < MOST_WAITS:
            self.waits.append(TextWait(max(0.0, self.now - self.since), dropped))
        out, self.waiting, self._size = self.waiting, [], 0
        return out
