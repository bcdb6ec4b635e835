"""Finds one unit that repeats exactly when blanks are left out: strokes that move one space a row, indentation that
only grows, cells that are padded wider and wider. It runs `exact_repetition` on the text without spaces and tabs.
"""

from __future__ import annotations

from array import array
from typing import Final

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from ..requested.repetition import RequestedRepetition
from .base import BlockMonitor, MonitorKind, Params, StreamMonitor
from .exact_repetition import Bars, ExactRepetition, ExactRepetitionParams

BLOCK: Final = 64
_BLANKS: Final = " \t"


class SpacedRepetitionParams(ExactRepetitionParams):
    """As of `exact_repetition`, with twice its bars, because rows that differ in blanks only are common in drawings and
    code."""

    factor: float = 2.05
    rows: Bars = ((16, 165, 30), (4096, 1250, 10))
    """A stroke of few signs that moves from row to row: 61 rows of six signs, 85 of four."""


def place(text: str, count: int) -> int:
    """How long the beginning of `text` is that holds `count` characters other than blanks."""
    end, longer = 0, count
    while longer > end:  # as many characters more as there are blanks among those so far
        end = longer
        longer = count + text.count(" ", 0, end) + text.count("\t", 0, end)
    return min(end, len(text))


class SpacedRepetition(BlockMonitor):
    """State: that of `exact_repetition`, and the place of every 128th character that is no blank, for the newest
    8,192."""

    __slots__ = ("bare", "fed", "inner", "marks")

    size = BLOCK

    def __init__(self, params: SpacedRepetitionParams, brief: Brief) -> None:
        super().__init__()
        self.inner = ExactRepetition(params, brief)
        self.inner.wanted = RequestedRepetition(brief, _BLANKS)
        self.fed = self.bare = 0
        self.marks = array("I", (0,)) * 64

    def _wait(self) -> None:
        # At most all characters of the text reach the inner monitor.
        part, inner = self.part, self.inner
        self.quiet = self.plain = max(BLOCK, inner.quiet) - len(part)
        if part.isascii():
            self.plain = max(BLOCK, inner.plain) - len(part)

    def _block(self, block: str, channel: Channel) -> Hit | None:
        bare = block.replace(" ", "").replace("\t", "")
        count = self.bare + len(bare)
        if count >> 7 != self.bare >> 7:
            for mark in range((self.bare >> 7) + 1, (count >> 7) + 1):
                self.marks[mark & 63] = self.fed + place(block, mark * 128 - self.bare) & 0xFFFFFFFF
        hit = self.inner.feed(bare, channel) if bare else None
        if hit is None:
            self.fed += len(block)
            self.bare = count
            return None
        at = self.fed + place(block, hit.at - self.bare)
        # the first mark behind the onset, where it is still known; the onset lies less than 128 bare characters before
        mark, since = (hit.since + 127) // 128, 0
        if hit.at // 128 - 60 < mark and mark * 128 <= hit.at:
            since = max(0, self.marks[mark & 63] - (mark * 128 - hit.since))
        period = max(1, round((hit.period or 1) * (at - since) / max(1, hit.span)))
        return Hit(at, since, at - since, period, hit.copies, hit.evidence, hit.bars)

    def suspicion(self) -> float:
        return self.inner.suspicion()

    def peak(self) -> float:
        return self.inner.peak()


def _start(params: Params, brief: Brief) -> StreamMonitor:
    assert isinstance(params, SpacedRepetitionParams)
    return SpacedRepetition(params, brief)


def _calm(params: SpacedRepetitionParams) -> int:
    # The inner monitor sees no more characters than there are, and none before a block is full.
    return max(BLOCK - 1, params.calm)


def _calm_ascii(params: SpacedRepetitionParams) -> int:
    return max(BLOCK - 1, params.calm_ascii)


MONITOR = MonitorKind(
    "spaced_repetition",
    "One unit again and again but for blanks",
    SpacedRepetitionParams,
    _start,
    gathers=True,
    calm=_calm,
    calm_ascii=_calm_ascii,
)
