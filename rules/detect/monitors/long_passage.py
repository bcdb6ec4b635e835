"""Finds a long passage that comes for the third time, sentence for sentence in the same order: periods of 1,000 to some
21,000 characters. It also finds whole sentences that come for the third time or more, in any order and with new ones
between them, as in drafts without an end.

Sentences and lines are remembered by a digest each, so a period needs no text kept. Copies must agree in every letter.
Text is read in blocks of 128 characters, however it was cut, and a sentence is judged at its end.
"""

from __future__ import annotations

import re
from array import array
from typing import Final
from zlib import crc32

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from ..requested.repetition import FILLER, RequestedRepetition
from .base import SHOWN, BlockMonitor, MonitorKind, Params, StreamMonitor

SLOTS: Final = 320
BLOCK: Final = 128
LEAST: Final = 24
"""Characters of a sentence; shorter ones are joined with the next, since they recur without meaning anything."""
MOST: Final = 256
"""A sentence that does not end is cut here."""
SPOKEN: Final = 40
"""Characters of a sentence that is counted where it comes again; shorter ones come again in any text."""
_END = re.compile(r"[\n.!?。！？]")


class LongPassageParams(Params):
    """No healthy answer, hard text or file of loopbench holds more than two copies of so long a passage."""

    least: int = 1000
    """The shortest period, in characters. `exact_repetition` finds shorter ones."""
    span: int = 2500
    """Characters that agree with what stood one period before, at least."""
    copies: float = 1.25
    """The same, in periods: 1.25 is a quarter of the third copy."""
    known: int = 1800
    """Characters of sentences that were said twice before, less half of those that were not: longest seen without a
    loop 383 in 6,000 answers, 1,325 in 830 files, 984 in a lesson plan (a rap song: 3,113)."""
    verse: float = 2.5
    """Factor of that where the request is about songs, poems or plays, asks for filler, or holds the sentence."""
    factor: float = 1.0
    """Multiplies all bars."""
    wanted: float = 1.2
    """What is asked for, or quoted, may be exceeded by a fifth."""


class LongPassage(BlockMonitor):
    """State: digests and places of 320 sentences (3 KiB), the sentence being read."""

    __slots__ = (
        "back",
        "carry",
        "digests",
        "fed",
        "filler",
        "latest",
        "params",
        "period",
        "read",
        "risen",
        "run",
        "starts",
        "stock",
        "times",
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
        self.digests = array("I", (0,)) * SLOTS
        """By number, the newest 320: what the sentence was."""
        self.starts = array("H", (0,)) * SLOTS
        """By number: where it began, in sixteens of characters."""
        self.filler = False
        """A sentence that came again is one of filler or of a licence."""
        self.times = bytearray(SLOTS)
        """By digest: how often the sentence with that newest number was said."""
        self.stock = self.risen = 0
        """Characters of sentences that were said twice before, less half of the others; where that began to rise."""
        self.latest = array("H", (0,)) * SLOTS
        """By digest: its newest number; a collision only hides where a run could have begun."""

    def _wait(self) -> None:
        # A run that has not begun needs `span` characters; what has been read of a sentence may become a part of it.
        params = self.params
        far = 0 if self.back else int(min(params.span, params.known - self.stock) * params.factor) - len(self.carry)
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
        again = self._again(digest, sentence, start)
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
        if again and (hit := self._drafts(sentence)) is not None:
            return hit
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

    def _again(self, digest: int, sentence: str, start: int) -> bool:
        """Count the sentence. True where the request's wishes must be read now."""
        place = digest % SLOTS
        read = self.read + 1
        back = read - self.latest[place] & 0xFFFF
        same = back < min(read, SLOTS) and self.digests[(read - back) % SLOTS] == digest
        self.times[place] = times = min(255, self.times[place] + 1) if same else 1
        if times > 2 and _spoken(sentence):
            if not self.stock:
                self.risen = start
            self.stock += len(sentence)
            self.filler = self.filler or FILLER.search(sentence) is not None
            return self.stock >= self.params.known * self.params.factor
        self.stock = max(0, self.stock - len(sentence) // 2)
        return False

    def _drafts(self, sentence: str) -> Hit | None:
        """Do whole sentences repeat more than the request may want?"""
        params, wanted, size = self.params, self.wanted.look(), len(sentence)
        bar = params.known * params.factor
        if wanted.verse or wanted.filler or self.filler or self.wanted.quoted(sentence, samples=2):
            bar *= params.verse
        bar = max(bar, params.wanted * wanted.span(size, sentence))
        if self.stock < bar:
            return None
        evidence, bars = {"known": self.stock}, {"known": round(bar)}
        return Hit(self.fed, self.risen, self.fed - self.risen, evidence=evidence, bars=bars)


def _spoken(sentence: str) -> bool:
    """Words in a row, not code or data, and enough of them."""
    said = sentence.strip()
    size = len(said)
    return size >= SPOKEN and 10 * sum(map(str.isalpha, said)) >= 7 * size and 10 * said.count(" ") >= size


def _start(params: Params, brief: Brief) -> StreamMonitor:
    assert isinstance(params, LongPassageParams)
    return LongPassage(params, brief)


def _calm(params: LongPassageParams) -> int:
    # It has no suspicion, and finds nothing in fewer characters than its bars.
    return max(BLOCK, int(min(params.span, params.known) * params.factor)) - 1


MONITOR = MonitorKind(
    "long_passage",
    "A long passage for the third time",
    LongPassageParams,
    _start,
    gathers=True,
    calm=_calm,
)
