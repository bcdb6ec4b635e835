"""Nothing new is being said: every run of four words stood in this answer before, and counters only step.

Sees what no period can: loops whose numbers, names or order drift, paragraphs again with small edits, pools of
phrases. Words are compared, not characters; a number folds into one sign and is known only while it stays or steps.
Read and judged at every 64th character, whatever the pieces were.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from functools import cached_property
from math import inf
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from pydantic import Field

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from ..odds import bound, load, told
from ..requested_repetition import FILLER, RequestedRepetition
from .base import SHOWN, BlockMonitor, MonitorKind, Params, StreamMonitor
from .novelty_gates import GATES, ROWS, Measure, NoveltyGate, Surroundings, look

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
LEAST_DOUBT: Final = 0.75
"""The doubt begins so far below a conviction, at least."""
LETTERS: Final = 0.3
"""Share of letters from which on the score is asked: it was fitted on words, and knows nothing of drums and grids."""
SIGNS: Final = 0.05
JOINTS: Final = 0.02
"""Shares of signs and joints of code from which on it has no say: little new is the rule in code and data."""
FIGURES: Final = 0.03
"""Share of digits from which on lines in a tool's arguments are a log or a table, whatever words they have."""
COUNTED: Final = 0.4
"""Numbers that moved for each copy, from which on rows count."""
DENSE: Final = 24
"""A text is little else than a count where a number moves so often, in characters."""
LAGS: Final = 16
FRESH: Final = 320
"""So many characters on, the words of the view are counted again."""
FEW: Final = 8
WORDY: Final = 24
"""Poor is a view of at least 24 words that are 8 different ones at most."""
STALE: Final = 800
"""From here on the twofold measure of staleness is looked at though little is clean."""
WORDS: Final = 8192
"""Different words that are remembered, by all answers together."""
TOKEN: Final = re.compile(
    r" ?([a-z]{1,32}|[A-Z][a-z]{1,32}|[!-/:-@\[-`{-~](?![^\w\s]|_)|\n|[A-Z]{1,32}(?![a-z])|[A-Z]|[0-9]{1,18}"
    r"|[^\W0-9A-Za-z_]{1,3}|(?:[!-/:-@\[-`{-~]|[^\w\s]){1,4})"
)
"""Words (CamelCase split, other scripts by three), numbers, up to four signs, line ends. Every repeat is bounded. The
blank before a word, and a sign that stands alone, are there for speed only."""
_NUMERALS: Final = {
    word: number
    for number, words in {
        1: "one first", 2: "two second II", 3: "three third III", 4: "four fourth IV", 5: "five fifth",
        6: "six sixth VI", 7: "seven seventh VII", 8: "eight eighth VIII", 9: "nine ninth IX", 10: "ten tenth",
        11: "eleven eleventh XI", 12: "twelve twelfth XII", 13: "thirteen XIII", 14: "fourteen XIV", 15: "fifteen XV",
        16: "sixteen XVI", 17: "seventeen XVII", 18: "eighteen XVIII", 19: "nineteen XIX", 20: "twenty XX",
        30: "thirty", 40: "forty", 50: "fifty", 60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety", 100: "hundred",
    }.items()
    for word in words.split()
}  # fmt: skip
"""Number words are numbers: they are news unless they stay or step, and may count on."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_HALF = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
"""An escape that may go on in the next block."""
_MEANT: Final = {"n": "\n", "t": "\t", "r": " "}
_NUMBER: Final = crc32(b"#") >> 2
_STOPS = frozenset((".", "!", "?", "。", "！", "？"))
"""A sentence's first words are judged without the sentence before it: order is no news."""
_WIDE: Final = "\u2e80"
"""Signs from here on (ideographs, kana, hangul, emoji) say as much as two letters, and count so."""
_LINE: Final = crc32(b"\n") >> 2


class Risk(Params):
    """What a false cut may cost in each channel: the score convicts where at most this share of the texts that reached
    it stopped by themselves. 0: never."""

    text: float = Field(default=0.0, ge=0.0, le=1.0)
    """In visible text and refusals."""
    reasoning: float = Field(default=0.0, ge=0.0, le=1.0)
    arguments: float = Field(default=0.0, ge=0.0, le=1.0)
    """Nothing was shown yet, a false cut loses the whole call, and no labelled texts tell what is usual there."""

    def of(self, channel: Channel) -> float:
        """The price in a channel."""
        if channel is Channel.REASONING:
            return self.reasoning
        return self.arguments if channel is Channel.TOOL else self.text


class NoveltyParams(Params):
    """Gates: docs/detection.md names for each the texts without a loop that came nearest."""

    risk: Risk = Risk()
    """Beside the gates, a fitted score over all measures together convicts at this price (`odds`)."""
    doubt: float = Field(default=0.14, ge=0.0, le=1.0)
    """From this price on the score is half convinced, and text waits (`rules.detect.doubt`). 0: the score never doubts,
    and is not asked where it cannot convict."""
    few: bool = False
    """The score also judges text of eight different words at most (verdicts, grades, cells) and of few letters (drums,
    grids), as the gates do."""
    asked: float = 0.7
    """Where the request asks for verses, plans, drawings or filler, or is quoted, the score must be so much higher."""
    factor: float = 1.0
    """Multiplies the bar of every gate: below 1 stricter, above 1 calmer."""
    gates: tuple[NoveltyGate, ...] = GATES
    counting: float = 2.0
    """Factor where a number inside the lines (not the number of a list item) counts on: that may be progress."""
    count: float = 12.0
    """The same where a copy has `unit` characters at most: "Check number 7 is fine." and `test_7 ... ok` are counts;
    and for copies of any length where the request may want a counting song."""
    unit: int = 48
    rows: int = 150
    """Copies of a row in which numbers count on, at least: generated data, test cases, calls."""
    row: int = 120
    """Letters and signs of such a row, at most: one line, with figures or signs of code in it."""
    file: float = 4.0
    """Factor for all but sentences without figures in tool arguments: nothing was shown yet, and a cut loses all of
    it."""
    filler: float = 3.0
    """Factor where the request asks for filler, samples or blank forms, or the words are those of filler text."""
    thought: float = 0.58
    """Share of letters from which on indented lines of reasoning are thoughts, not code."""
    redraft: float = 1.2
    """Copies that every gate asks for in reasoning, where a draft is often said again word for word."""
    wanted: float = 1.2
    """What is asked for, or quoted, may be exceeded by a fifth."""
    quoted: float = 1.5
    """Factor where what repeats stands in the request, and so may come with words of its own."""
    week: int = 500
    """Characters at most of what may be the same in a plan's next part."""
    roster: float = 4.0
    """Factor where a schedule, a plan by days, a truth table or a verdict for each of many is asked for."""
    verse: float = 4.8
    """Factor where the request is about songs, poems or tunes."""
    least: int = 470
    """The bar that is multiplied, at least, where numbers count on or verses are wanted."""

    @cached_property
    def lows(self) -> tuple[int, int, int]:
        """What clean or calm, stale, and poor must reach at least for a gate to open: all else only raises bars."""
        return (
            min(self._low("clean"), self._low("calm")),
            self._low("stale"),
            self._low("poor"),
        )

    @cached_property
    def lines(self) -> dict[Channel, tuple[float, float]]:
        """By channel, the score that convicts and the score that is half convinced; infinity where there is none."""
        found = {}
        for channel in Channel:
            line = bound(self.risk.of(channel))
            doubt = inf if channel is Channel.TOOL else bound(self.doubt)  # a call is held back anyway
            found[channel] = line, min(doubt, line - LEAST_DOUBT)
        return found

    def _low(self, measure: Measure) -> int:
        return int(min((gate.bar for gate in self.gates if gate.measure == measure), default=1 << 30) * self.factor)


class Score(NamedTuple):
    """What the fitted score says of a text."""

    value: float
    bound: float
    """From this value on it convicts; infinity where it never does."""
    doubt: float
    """From this value on it is half convinced."""
    lag: int
    """The median distance to the previous sighting."""

    @property
    def near(self) -> float:
        """0 … 1, 0.5 at `doubt`."""
        if self.value < self.doubt:
            return 0.0
        return 0.5 if self.bound == inf else min(1.0, 1.0 - (self.bound - self.value) / (self.bound - self.doubt) / 2)


Code: TypeAlias = tuple[int, int, int, int, int, int, int, str]


class _Codes(dict[str, Code]):
    """What is worth knowing of a word, computed once: its size; its hash, the same in every process and of 30 bits (the
    fastest ints), numbers folded into one; that hash as the first of a pair, and as one, two and three words back in a
    run (the bits that are used); 0, or 1 for a stop, or 2 and more for the number that it is; the word."""

    def __init__(self) -> None:
        self.ring = [""] * WORDS
        self.at = 0
        """The place in the ring of the word that makes room for the next one."""

    def __missing__(self, token: str) -> Code:
        size = len(token) if token < _WIDE else 2 * len(token)
        if "0" <= token[0] <= "9":
            return size, *_hashes(_NUMBER), 2 + (int(token) & 0xFFFF), token
        value = _NUMERALS.get(token) or _NUMERALS.get(token.lower(), 0)
        code = _NUMBER if value else crc32(token.lower().encode()) >> 2
        at, ring = self.at, self.ring
        self.pop(ring[at], None)
        ring[at] = token
        self.at = (at + 1) % WORDS
        self[token] = known = (
            size, code, code << 1 & 0x3FFF, code << 3 & _BITS, code << 6 & _BITS, code << 9 & _BITS,
            2 + value if value else 1 if token in _STOPS else 0, token,
        )  # fmt: skip
        return known


def _hashes(code: int) -> tuple[int, int, int, int, int]:
    return code, code << 1 & 0x3FFF, code << 3 & _BITS, code << 6 & _BITS, code << 9 & _BITS


_SPREAD: Final = 0x9E3779B1
"""Parts the hashes of numbers that stand side by side (2 to the 32nd by the golden ratio)."""
_BITS: Final = (1 << 29) - 1
_NONE: Final[Code] = (0, 0, 0, 0, 0, 0, 0, "")
_code = _Codes().__getitem__


def _meant(found: re.Match[str]) -> str:
    if not found[1]:
        return " " + _MEANT.get(found[2], found[2])
    point = int(found[1], 16)
    return chr(point if point >> 11 != 0x1B else 0xE000 | point & 0x7FF)  # half of an emoji: a sign of its own


class Novelty(BlockMonitor):
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
            few = len(words) >= WORDY and len({word.strip(",.;:!?") for word in words}) <= FEW
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
            if at >= 0 and _HALF.fullmatch(text, at) and (at + 1 - len(text[: at + 1].rstrip("\\"))) & 1:
                text, self.half = text[:at], text[at:]
        elif '"' not in text and "\n" not in text:
            return text
        if '"' in text or "\n" in text:
            bare = _ESCAPE.sub("", text)
            if '"' in bare or "\n" in bare:
                self.outer = self.fed
        return _ESCAPE.sub(_meant, text) if "\\" in text else text

    def _read(self, tokens: list[str]) -> None:
        a, b, c = (_code(token) if token else _NONE for token in self.last)
        said, clean, calm, seen, stale = self.said, self.clean, self.calm, self.seen, self.stale
        runs, when, pairs, lags = self.runs, self.when, self.pairs, self.lags
        mask, stops = SLOTS - 1, 1
        frames, even, beat, framed = self.frames, self.even, self.beat, 0
        for code in map(_code, tokens):
            size, d, _, _, _, _, kind, _ = code
            said += size
            known = True
            # the word before last and this one, with the word between left open
            frame = (b[3] ^ d) * _SPREAD >> 5
            mark = frame >> 13 & 0xFF or 1
            if frames[frame := frame & FRAMES - 1] == mark:
                framed += 1
            else:
                frames[frame] = mark
            if kind > stops:
                known = self._steps(kind - 2, b[1], c[1])
                if self._said(a[5] ^ b[4] ^ c[3] ^ kind * _SPREAD, said >> 2 & 0xFFFF):
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
                        a = b = _NONE
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
                a = b = _NONE
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
        cell = (c if c == _LINE else b * 31 + c) % CELLS
        step = value - self.counters[cell] & 0xFFFF
        known = step == 0 or step == 1 or step == self.steps[cell] or (step == 2 and c == _LINE)
        self.counters[cell] = value
        if step and known:
            if c == _LINE:
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

    def _judge(self, here: Surroundings, channel: Channel) -> Hit | None:
        near = 0.0
        for gate, value, bar, lag, copies, counted in self._open(here, channel):
            if value >= bar and value >= copies * lag:
                bar = self._wanted(bar, lag, counted, gate.measure == "poor")
                if value >= bar:
                    return self._hit(gate, value, bar, lag, copies, here.letters)
            near = max(near, min(value / bar, value / lag / copies if copies else 1.0))
        score = self._odds(here, channel)
        if score is not None:
            near = max(near, score.near)
            if score.value >= score.bound and not self._granted(score):
                return self._sure(score)
        self.near = near
        return None

    def _odds(self, here: Surroundings, channel: Channel) -> Score | None:
        """The fitted score; None where it has nothing to say."""
        if self.doubted == inf or (self.calm < ASKED and self.framed < FRAMED):
            return None
        if here.signs >= SIGNS or here.code >= JOINTS:
            return None
        if not self.params.few and (here.letters < LETTERS or self.poor >= VIEW):
            return None
        measures = self.measures(here)
        lag = max(1, round(2 ** measures[4] - 1))
        if self.progress(here, lag):
            return None
        return Score(load().score(measures), self.line, self.doubted, lag)

    def progress(self, here: Surroundings, lag: int) -> bool:
        """Do numbers count on here, and not yet so far that no count is likely? Then the score has no say: labelled
        collections hold too few healthy counts to fit anything."""
        params, short = self.params, lag <= self.params.unit
        moved = self.strides + (self.leading if here.items < 0.5 else 0)
        if moved * lag < COUNTED * self.clean:
            return False
        least = params.least * (params.count if short else params.counting)
        if lag <= params.row and (here.signs >= 0.04 or here.digits >= 0.06):
            least = max(least, params.rows * lag)
        if moved * DENSE >= self.clean:
            least = max(least, 2.0 * lag)  # a long count said once more, to the end
        return max(self.clean, self.calm) < least

    def _granted(self, score: Score) -> bool:
        """Does the request want it so?"""
        wanted, params, lag = self.wanted.look(), self.params, score.lag
        unit = self.view[-max(1, lag * self.fed // self.said) :]
        if max(self.clean, self.calm) < params.wanted * wanted.span(lag, unit):
            return True
        if score.value >= score.bound + params.asked:
            return False
        soft = wanted.verse or wanted.drawing or wanted.roster or wanted.filler or FILLER.search(self.view) is not None
        return soft or self.wanted.quoted(self.view[-min(len(self.view), max(96, lag)) :], share=0.35) > 0

    def _sure(self, score: Score) -> Hit:
        period = max(1, score.lag * self.fed // self.said)
        new = max(self.clean, self.calm, self.even) * self.fed // self.said
        span = min(self.fed, new + period)
        return Hit(
            at=self.fed,
            since=self.fed - span,
            span=span,
            period=period,
            copies=round(span / period, 2),
            evidence={"odds": round(score.value, 3), "nothing_new": new},
            bars={"odds": score.bound},
        )

    def _open(self, here: Surroundings, channel: Channel) -> Iterator[tuple[NoveltyGate, int, float, int, float, bool]]:
        """The gates that these surroundings open: gate, what it measures, its bar, the distance, copies, counted."""
        params = self.params
        lags = sorted(lag << 2 for lag in self.lags[: min(LAGS, self.seen)])
        lag = max(1, lags[len(lags) // 2]) if lags else 1
        steady = sum(abs(one - lag) <= 6 for one in lags) / max(1, len(lags))
        self.steady = steady
        # the numbers of a list are no progress; "12 files left" is
        short, tool = lag <= params.unit, channel is Channel.TOOL
        if channel is Channel.REASONING and here.letters >= params.thought:
            here = here._replace(indent=0.0)
        strides = self.strides + (self.leading if short and here.items < 0.5 else 0)
        row = lag <= params.row and (here.signs >= 0.04 or here.digits >= 0.06) and here.lines * lag < 1.5
        for gate in params.gates:
            if steady < gate.steady or lag > gate.lag or not gate.where.holds(here):
                continue
            value = self._measure(gate.measure)
            bar = gate.bar * params.factor
            counted = (strides + (strides > 1)) * lag >= (0.4 if short else 0.8) * value
            if counted and gate.copies < ROWS:
                bar = max(bar, params.least) * (params.count if short else params.counting)
                if row:
                    bar = max(bar, params.factor * params.rows * lag)
            data = gate.where.code > 0.02 or (here.digits >= FIGURES and here.lines > 0)
            if tool and data and self.fed - self.outer > VIEW // 2:
                bar *= params.file
            copies = max(gate.copies, params.redraft) if channel is Channel.REASONING else gate.copies
            yield gate, value, bar, lag, copies, counted and not short

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

    def _wanted(self, bar: float, lag: int, song: bool, poor: bool) -> float:
        """The bar as the request raises it; `song`: numbers count on in long copies."""
        params, view = self.params, self.view
        wanted = self.wanted.look()
        # blanks are not in the distance, but in what is poor
        unit = view[-max(1, lag * self.fed // self.said) :]
        bar = max(bar, params.wanted * wanted.span(lag, unit) * (1.6 if poor else 1.0))
        if wanted.roster and lag <= params.week:
            bar *= params.roster
        if wanted.filler or FILLER.search(view):
            bar *= params.filler
        if wanted.verse:
            bar = max(bar, params.least)
            bar *= params.verse * (params.count / params.counting if song else 1.0)
        # what is said after the request's words need not be their copy
        quoted = self.wanted.quoted(view[-min(len(view), max(96, lag)) :], share=0.35)
        return bar * params.quoted + params.wanted * lag * quoted if quoted else bar

    def _hit(self, gate: NoveltyGate, value: int, bar: float, lag: int, copies: float, letters: float) -> Hit:
        # the measures leave out blanks
        period = max(1, lag * self.fed // self.said)
        span = min(self.fed, value * self.fed // self.said + period)
        return Hit(
            at=self.fed,
            since=self.fed - span,
            span=span,
            period=period,
            copies=round(span / period, 2),
            evidence={gate.measure: value, "copies": round(value / lag, 2), "letters": round(letters, 3)},
            bars={gate.measure: round(bar), "copies": copies, "letters": gate.where.letters},
        )


def _start(params: Params, brief: Brief) -> StreamMonitor:
    assert isinstance(params, NoveltyParams)
    return Novelty(params, brief)


MONITOR = MonitorKind("novelty", "Nothing new is being said", NoveltyParams, _start, gathers=True)
