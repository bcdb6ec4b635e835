"""Reads text for `novelty` and measures how long nothing in it was new, in a state of bounded size."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from math import inf
from typing import Final

from ....values.brief import Brief
from ....values.delta import Channel
from ....values.verdict import Hit
from ...odds import told
from ...requested.repetition import RequestedRepetition
from ..base import SHOWN, BlockMonitor
from .gates import Measure, Surroundings, look
from .params import NoveltyParams
from .words import ESCAPE, HALF, LINE, NONE, SPREAD, TOKEN, code_of, meant

BLOCK: Final = 64
VIEW: Final = 640
"""Characters of the newest text by which the surroundings (letters, signs, indentation, lists) are judged."""
SLOTS: Final = 4096
CELLS: Final = 127
PAIRS: Final = 2048
FRAMES: Final = 512
"""Frames that are remembered (a word, one left open, a word); a newer one takes the place of an older."""
ASKED: Final = 240
"""From so many characters of nothing new on the surroundings are looked at, and the score is asked."""
FRAMED: Final = 0.62
"""From this share of known frames on the score is asked though words are new: templates whose slots change."""
LAGS: Final = 16
FRESH: Final = 320
"""So many characters on, the words of the view are counted again."""
FEW: Final = 8
WORDY: Final = 24
"""Poor is a view of at least 24 words that are 8 different ones at most."""
AROUND: Final = ",.;:!?"
"""Signs around a word that make no other word of it."""
STALE: Final = 800
"""From here on the twofold measure of staleness is looked at though little is clean."""


class NoveltyReading(BlockMonitor):
    """State: a table of 4,096 word runs (12 KiB), a bit map (2 KiB), 127 counters (508 bytes), 640 characters."""

    __slots__ = (
        "beat", "calm", "carry", "clean", "counters", "doubted", "even", "fed", "framed", "frames", "half", "lags",
        "last", "leading", "line", "near", "outer", "pairs", "params", "poor", "runs", "said", "seen", "slow", "stale",
        "steady", "steps", "strides", "view", "wanted", "when",
    )  # fmt: skip

    size = BLOCK

    def __init__(self, params: NoveltyParams, brief: Brief) -> None:
        super().__init__()
        self.params = params
        self.wanted = RequestedRepetition(brief)
        self.carry = self.view = ""
        self.fed = 0
        self.said = 0
        """Characters of words and signs read so far: the measure of distance."""
        self.clean = self.calm = self.stale = 0
        """The gates' measures; stale is kept twofold."""
        self.poor = VIEW - FRESH
        self.steady = 0.0
        self.seen = 0
        self.strides = self.leading = 0
        """Numbers inside lines, and at their beginning, that have moved since something was new."""
        self.half = ""
        """The beginning of an escape in tool arguments, whose rest is still to come."""
        self.outer = 0
        """Where tool arguments were last outside of a JSON string."""
        self.near = 0.0
        self.line = self.doubted = inf
        """From this score on a text of this channel is convicted, and from this one it waits."""
        self.last = ("", "", "")
        """The words before, "" where there is none or one that does not count."""
        self.runs = bytearray(SLOTS)
        self.when = array("H", (0,)) * SLOTS  # to the byte: bytes() would leave room to grow
        self.pairs = bytearray(PAIRS)
        self.frames = bytearray(FRAMES)
        self.framed = self.slow = 0.0
        """Share of known frames among the newest 80 words, and 400."""
        self.even = self.beat = 0
        """Characters that came again at one distance, halved by each that did not; that distance, in fours."""
        self.counters = array("H", (0,)) * CELLS
        self.steps = array("H", (0,)) * CELLS
        self.lags = array("H", (0,)) * LAGS
        """The newest distances to a previous sighting, in fours of characters."""

    def _wait(self) -> None:
        part, carry, (clean, stale, poor) = len(self.part), len(self.carry), self.params.lows
        # What is still to be read counts once, and twice where it is wide. Poor grows at one place in FRESH.
        left = min(clean - max(self.clean, self.calm), stale - (self.stale >> 1)) if self.poor + FRESH < poor else 0
        wide, plain = max(BLOCK, left // 2 - carry), max(BLOCK, left - 2 * carry - part)
        if self.doubted != inf:  # the score is asked earlier than a gate can open
            left = ASKED - 1 - self.calm - 2 * carry
            framed = self.framed
            # The share of known frames rises by a fifth of what is missing in a block, at most.
            most = BLOCK * (1 if framed >= 0.525 else 2 if framed >= 0.4 else 3 if framed >= 0.25 else 4)
            if most < plain:
                plain = most
            most = BLOCK if left < 2 * BLOCK else most if most < 2 * BLOCK else 2 * BLOCK
            if most < wide:
                wide = most
            most = BLOCK if left < BLOCK else (1 + left // BLOCK) * BLOCK
            if most < plain:
                plain = most
        self.quiet = min(SHOWN, wide - part)
        self.plain = min(SHOWN, plain - part)

    def suspicion(self) -> float:
        return min(1.0, self.near)

    def _block(self, block: str, channel: Channel) -> Hit | None:
        if not self.fed:
            self.line, self.doubted = self.params.lines[channel]
        if channel is Channel.TOOL:
            block = self._unescape(block)
        tokens = TOKEN.findall(self.carry + block)
        last = tokens[-1] if tokens else "\n"
        # a word that touches the border may go on behind it
        self.carry = tokens.pop() if last != "\n" and len(last) < 32 and block.endswith(last[-1]) else ""
        self.fed += BLOCK
        self.view = (self.view + block)[-VIEW:]
        self._read(tokens)
        if not self.fed % FRESH:
            words = self.view.split() if len(self.view) == VIEW else []
            # Most texts have said more than FEW words within the first WORDY.
            few = (
                len(words) >= WORDY
                and len({word.strip(AROUND) for word in words[:WORDY]}) <= FEW
                and len({word.strip(AROUND) for word in words}) <= FEW
            )
            self.poor = self.poor + FRESH if few else VIEW - FRESH
        if self.calm < ASKED and self.poor < VIEW and (self.stale < STALE or self.fed & 511):
            if self.framed < FRAMED or self.fed & BLOCK or self.doubted == inf:
                self.near = 0.0
                return None
        elif self.calm < 400 and self.fed & BLOCK:
            return None
        return self._judge(look(self.view), channel)

    def _unescape(self, block: str) -> str:
        """JSON's escapes as the sign meant; the short ones behind a blank, so that places in the text nearly stay."""
        text, self.half = self.half + block, ""
        if "\\" in text:
            at = text.rfind("\\", len(text) - 5 if len(text) > 5 else 0)
            if at >= 0 and HALF.fullmatch(text, at) and (at + 1 - len(text[: at + 1].rstrip("\\"))) & 1:
                text, self.half = text[:at], text[at:]
        elif '"' not in text and "\n" not in text:
            return text
        if '"' in text or "\n" in text:
            bare = ESCAPE.sub("", text)
            if '"' in bare or "\n" in bare:
                self.outer = self.fed
        return ESCAPE.sub(meant, text) if "\\" in text else text

    def _read(self, tokens: list[str]) -> None:
        a, b, c = (code_of(token) if token else NONE for token in self.last)
        said, clean, calm, seen, stale = self.said, self.clean, self.calm, self.seen, self.stale
        runs, when, pairs, lags = self.runs, self.when, self.pairs, self.lags
        mask, stops = SLOTS - 1, 1
        frames, even, beat, framed = self.frames, self.even, self.beat, 0
        for code in map(code_of, tokens):
            size, d, _, _, _, _, kind, _ = code
            said += size
            known = True
            # the word before last and this one, with the word between left open
            frame = (b[3] ^ d) * SPREAD >> 5
            mark = frame >> 13 & 0xFF or 1
            if frames[frame := frame & FRAMES - 1] == mark:
                framed += 1
            else:
                frames[frame] = mark
            if kind > stops:
                known = self._steps(kind - 2, b[1], c[1])
                if self._said(a[5] ^ b[4] ^ c[3] ^ kind * SPREAD, said >> 2 & 0xFFFF):
                    known = True
            run = a[5] ^ b[4] ^ c[3] ^ d
            tag = run >> 13 & 0xFF or 1
            now = said >> 2 & 0xFFFF
            place = run & mask
            there = runs[place]
            if there != tag:
                other = run * 5 >> 17 & mask
                beside = runs[other]
                if beside != tag:
                    # new: it takes the empty or the older of its two places
                    if there and (not beside or (now - when[other] & 0xFFFF) > (now - when[place] & 0xFFFF)):
                        place = other
                    runs[place] = tag
                    when[place] = now
                    pair = (c[2] ^ d) & 0x3FFF
                    bit = 1 << (pair & 7)
                    pair >>= 3
                    bits = pairs[pair]
                    stale -= 5 * size
                    if stale < 0:
                        stale = 0
                    even >>= 1
                    if bits & bit:
                        clean = clean >> 1 if known else 0
                        calm >>= 1
                    else:
                        pairs[pair] = bits | bit
                        clean = 0
                        calm = 0 if known else calm >> 1
                    if kind == stops:
                        a = b = NONE
                    else:
                        a, b = b, c
                    c = code
                    continue
                place = other
            if kind <= stops:
                stale += size << 1
            lag = now - when[place] & 0xFFFF
            if known:
                clean += size
                calm += size
                lags[seen & 15] = lag
                seen += 1
            else:
                clean = 0
            if -2 < lag - beat < 2:
                even += size
            else:
                even >>= 1
            beat = lag
            when[place] = now
            if kind == stops:
                a = b = NONE
            else:
                a, b = b, c
            c = code
        self.last = (a[7], b[7], c[7])
        self.said, self.clean, self.calm, self.seen, self.stale = said, clean, calm, seen, stale
        self.even, self.beat = even, beat
        if tokens:
            count = len(tokens)
            share, weight = framed / count, count / 80 if count < 16 else 0.2
            self.framed += (share - self.framed) * weight
            self.slow += (share - self.slow) * weight / 5
        if calm < 64:
            self.strides = self.leading = 0

    def _steps(self, value: int, b: int, c: int) -> bool:
        """Does this number stay or step, behind these two words?"""
        cell = (c if c == LINE else b * 31 + c) % CELLS
        step = value - self.counters[cell] & 0xFFFF
        known = step == 0 or step == 1 or step == self.steps[cell] or (step == 2 and c == LINE)
        self.counters[cell] = value
        if step and known:
            if c == LINE:
                self.leading += 1
            else:
                self.strides += 1
        self.steps[cell] = step
        return known

    def _said(self, run: int, now: int) -> bool:
        """Has this very number stood behind these words before? From now on it has."""
        runs, when = self.runs, self.when
        tag = run >> 13 & 0xFF or 1
        place = run & SLOTS - 1
        other = run * 5 >> 17 & SLOTS - 1
        if runs[place] == tag:
            when[place] = now
            return True
        if runs[other] == tag:
            when[other] = now
            return True
        if runs[place] and (not runs[other] or (now - when[other] & 0xFFFF) > (now - when[place] & 0xFFFF)):
            place = other
        runs[place] = tag
        when[place] = now
        return False

    def measures(self, here: Surroundings) -> list[float]:
        """What the fitted score is told (see `odds.NAMES`)."""
        lags = sorted(lag << 2 for lag in self.lags[: min(LAGS, self.seen)])
        lag = max(1, lags[len(lags) // 2]) if lags else 1
        steady = sum(abs(one - lag) <= 6 for one in lags) / max(1, len(lags))
        clean, calm, even, beat = self.clean, self.calm, self.even, self.beat << 2
        counts = clean, calm, self.stale, self.poor, lag, clean / lag, even, beat, even / max(1, beat), calm / lag
        moved = (self.strides + self.leading) * lag / (clean + 1)
        return told(counts, (self.framed, self.slow, steady, moved, *here))

    def _measure(self, name: Measure) -> int:
        if name == "clean":
            return self.clean
        if name == "calm":
            return self.calm
        return self.stale >> 1 if name == "stale" else self.poor

    @abstractmethod
    def _judge(self, here: Surroundings, channel: Channel) -> Hit | None:
        """What the measures say in these surroundings. Sets `near`."""
