"""A long passage, sentence for sentence in the same order, for the third time: periods of 1,000 to some 25,000 signs.

Sentences and lines are remembered by a digest each, so a period needs no text kept. Copies must agree to the letter;
whatever the pieces were: read every 128 characters, a sentence is judged at its end.
"""

from __future__ import annotations

import re
from array import array
from typing import Final
from zlib import crc32

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from ..requested_repetition import RequestedRepetition
from .base import SHOWN, BlockMonitor, MonitorKind, Params, StreamMonitor

SLOTS: Final = 384
BLOCK: Final = 128
LEAST: Final = 24
"""Characters of a sentence; shorter ones are joined with the next, since they recur without meaning anything."""
MOST: Final = 256
"""A sentence that does not end is cut here."""
_END = re.compile(r"[\n.!?。！？]")


class LongPassageParams(Params):
    """No healthy answer, hard text or file of loopbench holds more than two copies of so long a passage."""

    least: int = 1000
    """Characters of a period; shorter ones are the refrain's."""
    span: int = 2500
    """Characters that agree with what stood one period before, at least."""
    copies: float = 1.25
    """The same, in periods: 1.25 is a quarter of the third copy."""
    factor: float = 1.0
    """Multiplies both."""
    wanted: float = 1.2
    """What is asked for, or quoted, may be exceeded by a fifth."""


class LongPassage(BlockMonitor):
    """State: digests and places of 384 sentences (3 KiB), the sentence being read."""

    __slots__ = (
        "back",
        "carry",
        "digests",
        "fed",
        "latest",
        "params",
        "period",
        "read",
        "run",
        "starts",
        "wanted",
    )

    size = BLOCK

    def __init__(self, params: LongPassageParams, brief: Brief) -> None:
        super().__init__()
        self.params = params
        self.wanted = RequestedRepetition(brief)
        self.carry = ""
        self.fed = 0
        """Characters of whole sentences."""
        self.read = 0
        """Sentences read."""
        self.back = self.period = 0
        """How many sentences, and characters, ago the same was said; 0 where it was not."""
        self.run = 0
        """Where the sentences that agree began."""
        self.digests = array("I", bytes(4 * SLOTS))
        """By number, the newest 384: what the sentence was."""
        self.starts = array("H", bytes(2 * SLOTS))
        """By number: where it began, in sixteens of characters."""
        self.latest = array("H", bytes(2 * SLOTS))
        """By digest: its newest number; a collision only hides where a run could have begun."""

    def _wait(self) -> None:
        # A run that has not begun needs `span` characters; what has been read of a sentence may become a part of it.
        far = 0 if self.back else int(self.params.span * self.params.factor) - len(self.carry)
        self.quiet = self.plain = min(SHOWN, max(BLOCK, far) - len(self.part))

    def _block(self, block: str, channel: Channel) -> Hit | None:
        if len(self.carry) < MOST and _END.search(block) is None:
            self.carry += block
            if len(self.carry) < MOST:
                return None
            block = ""
        text = self.carry + block
        start, scan = 0, max(0, len(self.carry) - 1)
        while True:
            end = _END.search(text, max(scan, start + LEAST))
            stop = end.end() if end else 0
            if not end or stop - start > MOST:
                if len(text) - start < MOST:
                    break
                stop = start + MOST
            hit = self._sentence(text[start:stop])
            if hit:
                return hit
            start = scan = stop
        self.carry = text[start:]
        return None

    def _sentence(self, sentence: str) -> Hit | None:
        digest = crc32(sentence.encode("utf-8", "surrogatepass"))
        start, self.fed = self.fed, self.fed + len(sentence)
        self.read = read = self.read + 1
        if not self.back or self.digests[(read - self.back) % SLOTS] != digest:
            self.back = read - self.latest[digest % SLOTS] & 0xFFFF
            if self.back >= min(read, SLOTS) or self.digests[(read - self.back) % SLOTS] != digest:
                self.back = 0
            self.run = start
            self.period = ((start >> 4) - self.starts[(read - self.back) % SLOTS] & 0xFFFF) << 4 if self.back else 0
        self.digests[read % SLOTS] = digest
        self.starts[read % SLOTS] = start >> 4 & 0xFFFF
        self.latest[digest % SLOTS] = read & 0xFFFF
        span, period, params = self.fed - self.run, self.period, self.params
        bar = max(params.span, params.copies * period) * params.factor
        if period < params.least or span < bar:
            return None
        bar = max(bar, params.wanted * self.wanted.look().span(period))
        bar += params.wanted * period * self.wanted.quoted(sentence, samples=2)
        if span < bar:
            return None
        return Hit(
            at=self.fed,
            since=self.run - period,
            span=span + period,
            period=period,
            copies=round(1 + span / period, 2),
            evidence={"span": span, "copies": round(span / period, 2)},
            bars={"span": round(bar), "copies": round(bar / period, 2)},
        )


def _start(params: Params, brief: Brief) -> StreamMonitor:
    assert isinstance(params, LongPassageParams)
    return LongPassage(params, brief)


MONITOR = MonitorKind("chapter", "A long passage for the third time", LongPassageParams, _start, gathers=True)
