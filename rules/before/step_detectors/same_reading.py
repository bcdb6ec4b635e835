"""One file is read again and again in other pieces, and no piece holds a new line. The calls differ in numbers only
(offset, limit, lines), so no two calls are equal, but the lines that they return are. A piece with a new line in it is
progress and starts the count again, and so does anything that may have changed the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from ...values.signature import fold_digits
from ...values.verdict import Hit
from ..evidence.facts import CallFacts, Facts, is_piece
from ..evidence.outline import Outline
from ..step_detector import DetectorKind, DetectorParams, StepDetector, Words


class SameReadingParams(DetectorParams):
    """`pieces` in a row without a new line."""

    pieces: int = Field(default=6, ge=3)


class SameReading(StepDetector):
    """Remembers the lines of every file that is read in pieces."""

    doubtful = True

    def __init__(self, params: SameReadingParams) -> None:
        self.params = params
        self.seen = 0
        self.key = ""
        self.stale = 0
        self.lines: set[str] = set()

    def look(self, step: Facts) -> Hit | None:
        self.seen += 1
        newest = False
        for call in step.calls:
            newest = False
            if call.changes:
                self.key, self.stale, self.lines = "", 0, set()
            elif is_piece(call):
                newest = self._read(call)
        if not newest or self.stale < self.params.pieces:
            return None
        n = self.stale
        return Hit(self.seen, max(0, self.seen - n), n, None, n, {"pieces": n}, {"pieces": self.params.pieces})

    def _read(self, call: CallFacts) -> bool:
        """Does this piece hold nothing new?"""
        key = fold_digits(call.loose)
        if key != self.key:
            self.key, self.stale, self.lines = key, 0, set()
        lines = set(_lines(call))
        stale = bool(self.lines) and lines <= self.lines
        self.stale = self.stale + 1 if stale else 0
        self.lines |= lines
        return stale


def _lines(call: CallFacts) -> Iterator[str]:
    """The lines of a result, without the first of several, which says which piece it is."""
    assert call.result is not None
    lines = call.result.splitlines()
    for line in lines[1:] or lines:
        if line := line.strip():
            yield line


def plausible(params: SameReadingParams, steps: Sequence[Outline]) -> bool:
    """Are the newest calls pieces of one file? Asked newest first: most runs are through after one comparison."""
    key, pieces = 0, 0
    for step in reversed(steps):
        for call in reversed(step.calls):
            if call.changes:
                return False
            if not call.piece:
                continue
            if key and call.piece != key:
                return False
            key, pieces = call.piece, pieces + 1
            if pieces > params.pieces:
                return True
    return False


DETECTOR = DetectorKind(
    "same_reading",
    "one file read again in other pieces, without a new line",
    SameReadingParams,
    SameReading,
    Words(
        en="You read the same file {n} times in other pieces; no line was new.",
        zh="你用不同的范围把同一个文件读了 {n} 次，没有任何新内容。",
    ),
    plausible=plausible,
    late=0,
)
