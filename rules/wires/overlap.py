"""Finds the overlap: text of a second answer that the client already has, so that it is not shown twice.

Providers that continue a prefill differ: most send only new text, some send the whole prefill again (Mistral), some its
last words. Only the text can tell. The rule errs in one direction: an overlap may be shown twice, but text is dropped
only where it is an exact copy of what stands right before it, so long and so unique there that no model would write it
twice in a row.
"""

from __future__ import annotations

from typing import Final

LEAST_WHOLE: Final = 8
"""Shortest text, in characters, that is dropped where the answer comes again from its beginning. Shorter text doubles
naturally: `1` and `11`, `ha` and `haha`."""
LEAST_TAIL: Final = 16
"""Shortest text, in characters, that is dropped where only the answer's last words come again."""
TAIL: Final = 1024
"""Characters at the end in which the last words are searched; it bounds the work."""
RESTART: Final = 64
"""Characters of the answer's beginning that show a provider to have begun anew, where the text then differs."""


def prefill(text: str) -> str:
    """The text to continue as it is sent: without white space at its end.

    Templates trim that white space, APIs refuse it, and tokens begin with it. It was shown already, so the white space
    at the beginning of the new answer is dropped.
    """
    return text.rstrip()


class Overlap:
    """Compares the beginning of a second answer with the shown text. O(TAIL) for the first piece, then O(piece)."""

    __slots__ = (
        "_alive",
        "_drop",
        "_heard",
        "_restart",
        "_sent",
        "_shown",
        "_whole",
        "again",
        "lead",
        "restarted",
        "tag",
    )

    def __init__(self, shown: str, *, continued: bool = True, restart: int = RESTART) -> None:
        """`shown`: all the text that the client has. `continued`: `prefill(shown)` was sent to be continued; False:
        it was sent as a turn of its own. `restart`: characters that show a provider to have begun anew."""
        self._restart = restart
        self._shown = shown
        self._sent = len(prefill(shown)) if continued else len(shown)
        self._heard = 0
        self._drop = 0
        # Half of the copy must be unique in the text: then the copy is not itself a repetition of something shorter.
        least = 2 * _singular(shown[: self._sent])
        self._alive = list(range(max(0, self._sent - TAIL), self._sent - max(least, LEAST_TAIL) + 1))
        self._whole = self._sent >= max(least, LEAST_WHOLE)
        if 0 not in self._alive and (self._whole or self._sent > restart):
            self._alive.insert(0, 0)
        if self._sent < len(shown):
            self._alive.append(self._sent)
        self.restarted = False
        """The answer began again from its beginning, and then differed."""
        self.again = False
        """Not known here: see `rules/heal/seam.py`."""
        self.lead = self.tag = ""

    def feed(self, piece: str) -> int | None:
        """Take the next text of the second answer. Returns how many characters so far to drop; None: not yet known."""
        shown, heard, size = self._shown, self._heard, len(piece)
        alive = []
        for start in self._alive:
            at = start + heard
            expected = shown[at : at + size]
            if expected == piece:
                if at + size < len(shown):
                    alive.append(start)
                else:
                    self._found(start, heard + size)
                continue
            same = _common(expected, piece)
            if at + same >= self._sent:
                self._found(start, heard + same)
            elif start == 0 and heard + same >= self._restart and shown.find(shown[: self._restart], 1) < 0:
                self.restarted = True
        self._alive = alive
        self._heard += size
        return None if alive else self._decide()

    def end(self) -> int:
        """No more text comes. Returns how many characters to drop."""
        for start in self._alive:
            if start + self._heard >= self._sent:
                self._found(start, self._heard)
        self._alive = []
        return self._decide()

    def _found(self, start: int, drop: int) -> None:
        if start or self._whole:
            self._drop = max(self._drop, drop)

    def _decide(self) -> int:
        self.restarted = self.restarted and self._drop == 0
        return self._drop


def _common(one: str, other: str) -> int:
    """Length of the common beginning."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _singular(text: str) -> int:
    """Length of the shortest end of the text, up to TAIL, that occurs nowhere else in it; more than the text's length
    where there is none. An end that occurs twice may well come a third time: rows, brackets, a loop."""
    low, high = 1, max(1, min(len(text), TAIL))
    if text.find(text[len(text) - high :]) != len(text) - high:
        return len(text) + 1
    while low < high:
        middle = (low + high) // 2
        if text.find(text[len(text) - middle :]) == len(text) - middle:
            high = middle
        else:
            low = middle + 1
    return low
