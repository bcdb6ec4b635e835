"""The tail of the answer is one unit, again and again, to the character: periods of 1 to 2,048 characters.

Looked at every 32 characters of text, whatever the pieces were. The last 24 characters are sought a little way back
(often) and far back (rarely); where they are found, slices compare how long the two stretches agree, so the period is
always the smallest one. While a period holds, a look is one slice comparison.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from ..brief import Brief
from ..delta import Channel
from ..verdict import Hit
from ..wanted import Wanted
from .base import MonitorKind, Params, StreamMonitor

STEP: Final = 32
KEY: Final = 24
NEAR: Final = 512
FAR: Final = 2048
FAR_2: Final = 1024
FAR_4: Final = 448
"""Characters looked back in ASCII text, in the Basic Multilingual Plane, and where an emoji makes each four bytes."""
SLACK: Final = 192
"""Characters that the tail may grow by before it is shortened again."""

_WIDE: Final = "\u2e80"
_WORD = re.compile(r"[^\W\d_]{3}")
_CODE = re.compile(r"[{}();=<>\[\]\\/_$\"|&]")
_RULE = frozenset("-=_*.#~|+/\\:<>^'`\",;!?()[]{}&%$@─━│┃┄┅┆┇┈┉┊┋┌┐└┘├┤┬┴┼═║╔╗╚╝╠╣╦╩╬╭╮╯╰▁▂▃▄▅▆▇█░▒▓•·…—–")

Bars = tuple[tuple[int, int, float], ...]
"""(period at most, characters, copies): the first row whose period is not smaller binds; both must be reached."""


class RefrainParams(Params):
    """Bars by what the unit is made of. Seeds: the longest runs of 6,000 healthy answers, 80 hard ones and 830 files
    (docs/detection.md), with a margin of a third or more."""

    factor: float = 1.0
    """Multiplies every bar: below 1 stricter, above 1 calmer."""
    blank: Bars = ((4096, 360, 2),)
    """Spaces and tabs (longest seen outside tables: 82)."""
    newline: Bars = ((4096, 230, 2),)
    symbol: Bars = ((8, 165, 4), (4096, 400, 4))
    """Emoji, U+FFFD, full-width marks, blank braille."""
    rule: Bars = ((1, 450, 2), (2, 240, 2), (16, 200, 8), (64, 560, 8), (4096, 700, 4))
    """Punctuation and line-drawing only (longest seen: 233 at period 1, a drawing of 570 at 18)."""
    padding: Bars = ((1, 2400, 2), (4096, 600, 4))
    """Spaces and dashes inside a table row (longest seen: 1,213)."""
    digit: Bars = ((1, 1300, 4), (4, 420, 4), (64, 360, 6), (4096, 800, 4))
    """Digits, hexadecimal, one letter (zeros in a blob: 893)."""
    drawing: Bars = ((8, 300, 8), (64, 380, 8), (4096, 700, 4))
    """Few letters and no word: tunes, boards, chess positions."""
    word: Bars = (
        (16, 200, 8), (32, 260, 6), (64, 290, 5), (100, 390, 4.3), (128, 450, 4), (160, 520, 3.5), (256, 760, 3.8),
        (400, 1000, 3.2), (512, 1300, 3.1), (1024, 1600, 2.6), (4096, 2200, 2.5),
    )  # fmt: skip
    """Units with words (longest seen: 89 at period 16, 199 at 64, 304 at 128, 723 at 3.0 copies, 1,169 at 2.5)."""
    tune: float = 2.7
    """The same for units without words (notes)."""
    verse: float = 1.7
    """Factor for units of words or notes over 16 characters where the request is about songs, poems, plays or tunes."""
    wide: float = 0.6
    """Factor for words of ideographs, kana or hangul, which say as much in half as many characters."""
    sketch: float = 1.3
    """Factor for units without words where the request asks for a drawing, a table or a grid."""
    echo: float = 6.0
    """Factor where the unit stands in the request or a tool result."""
    wanted: float = 1.2
    """Copies allowed over the count that the request names."""
    code: float = 1.5
    """Factor, at most, for words with signs of code in units of 160 characters at most: generated code repeats
    statements. The more signs, the nearer to it."""
    zeros: float = 3.0
    """Factor for runs of A: zeros in base64."""
    tool_blank: int = 240
    """Characters of white space in tool arguments (JSON grammars loop there)."""

    @cached_property
    def wait(self) -> int:
        """After how many characters a look can first find enough to convict, where the last look found no period: the
        last KEY characters stood nowhere near (FAR: nowhere in reach eight looks ago), so whatever repeats began behind
        them. In steps, two at most."""
        return 2 * STEP if self._late(2 * STEP, plain=False) else STEP

    @cached_property
    def long(self) -> int:
        """The same where those characters are ASCII, and the last KEY before them not all blank: blanks began behind
        them, and a unit of ideographs is no shorter than they are. Six steps at most."""
        return next((steps * STEP for steps in (6, 5, 4, 3) if self._late(steps * STEP, plain=True)), self.wait)

    def _late(self, fed: int, *, plain: bool) -> bool:
        """No bar can be reached within so many characters."""
        for name in ("blank", "newline", "symbol", "rule", "padding", "digit", "drawing", "word"):
            table: Bars = getattr(self, name)
            low = 0
            for high, span, copies in table:
                wide = self.wide if name == "word" else 1.0
                least = float(min(span, self.tool_blank) if name == "blank" else span)
                turn = int(least * wide / copies)  # where the copies begin to say more than the span
                for period in (low + 1, fed, fed + 1, turn, turn + 1, NEAR - KEY, NEAR - KEY + 1, min(high, FAR)):
                    if not low < period <= high:
                        continue
                    late = 8 * STEP if period > NEAR - KEY else 0
                    begun = KEY if plain and name in ("blank", "newline") else period + KEY + late
                    need = max(least * (1.0 if plain and period <= fed else wide), copies * period) * self.factor
                    if begun + fed >= need:
                        return False
                low = high
        return True


def kind(unit: str) -> str:
    """What a unit is made of: the name of the bars it is held against."""
    signs = set(unit)
    if all(sign.isspace() for sign in signs):
        return "newline" if "\n" in signs else "blank"
    names = [sign for sign in signs if sign.isalnum()]
    if not names:
        return "rule" if all(sign in _RULE or sign.isspace() for sign in signs) else "symbol"
    letters = [sign for sign in names if sign.isalpha()]
    if not letters or (len(letters) < len(names) and all(sign in "abcdefABCDEF" for sign in letters)):
        return "digit"
    if any(sign > _WIDE for sign in letters):
        return "word"
    if len(letters) == 1 and len(unit) <= 2:
        return "digit"
    if len(letters) > 1 and len(unit) <= 8:
        return "word"
    return "word" if _WORD.search(unit) and 4 * sum(map(str.isalpha, unit)) >= len(unit) else "drawing"


def far(text: str) -> int:
    """How far to look back, by the bytes that Python gives a character of this text."""
    if text.isascii():
        return FAR
    return FAR_2 if max(text) < "\U00010000" else FAR_4


def stretch(text: str, period: int, sure: int) -> int:
    """How many characters at the end of `text` equal those `period` before; `sure` of them are known to."""
    size = len(text)
    most = size - period
    while sure < most:
        wide = min(most, sure * 2 or 1)
        if text[size - wide : size - sure] == text[size - wide - period : size - sure - period]:
            sure = wide
            continue
        short = wide
        while short - sure > 1:
            half = (sure + short) // 2
            if text[size - half : size - sure] == text[size - half - period : size - sure - period]:
                sure = half
            else:
                short = half
        break
    return sure


class Refrain(StreamMonitor):
    """State: the tail of the text (at most 2,240 characters, 2.6 KiB), the period while one holds, where it began."""

    __slots__ = (
        "fed",
        "keep",
        "kind",
        "left",
        "looks",
        "need",
        "params",
        "part",
        "period",
        "plain",
        "quiet",
        "since",
        "tail",
        "wanted",
    )

    def __init__(self, params: RefrainParams, brief: Brief) -> None:
        self.params = params
        self.wanted = Wanted(brief)
        self.part = self.tail = ""
        self.quiet = self.plain = STEP
        self.fed = self.looks = 0
        self.keep = FAR
        self.period = self.since = 0
        self.need = self.left = 0.0
        self.kind = ""

    def feed(self, text: str, channel: Channel) -> Hit | None:
        part = self.part + text
        at = 0
        while len(part) - at >= STEP:
            block = part[at : at + STEP]
            at += STEP
            if self._look(block, channel):
                return self._hit()
        self.part = part = part[at:]
        self.quiet = self.plain = (STEP if self.period else self.params.wait) - len(part)
        if not self.period and part.isascii() and not self.tail[-KEY:].isspace():
            self.plain = self.params.long - len(part)
        return None

    def suspicion(self) -> float:
        if not self.period or not self.need:
            return 0.0
        return min(1.0, (self.fed - self.since) / self.need)

    def peak(self) -> float:
        return max(self.left, self.suspicion())

    def _leave(self, fed: int) -> None:
        """The run ended when so many characters were fed: how near was it to a conviction?"""
        if self.need:
            self.left = max(self.left, min(1.0, (fed - self.since) / self.need))
        self.period = 0

    def _look(self, block: str, channel: Channel) -> bool:
        tail = self.tail + block
        if not block.isascii():
            self.keep = FAR_4 if max(block) > "\uffff" else min(self.keep, FAR_2)
        if len(tail) > self.keep + SLACK:
            tail = tail[-self.keep - STEP :]
            if self.period > self.keep:  # it began where more was kept
                self._leave(self.fed)
            self.keep = far(tail)
        self.tail = tail
        self.fed += STEP
        self.looks += 1
        size, period = len(tail), self.period
        if period:
            if tail[size - STEP :] == tail[size - STEP - period : size - period]:
                return self.fed - self.since >= self.need and self._convict(channel)
            self._leave(self.fed - STEP)
        if size <= KEY:
            return False
        reach = NEAR if self.looks & 7 else FAR
        before = tail.rfind(tail[size - KEY :], max(0, size - KEY - reach), size - 1)
        if before < 0:
            return False
        self.period = period = size - KEY - before
        self.since = self.fed - stretch(tail, period, KEY) - period
        self._raise(channel)
        return self.fed - self.since >= self.need and self._convict(channel)

    def _raise(self, channel: Channel) -> None:
        """Set the bar that this period is held against."""
        params, period, tail = self.params, self.period, self.tail
        self.kind = name = kind(tail[-period:])
        table: Bars = getattr(params, name)
        if period == 1 and tail[-1] in " -":
            start = max(0, len(tail) - (self.fed - self.since))
            line = tail[tail.rfind("\n", 0, start) + 1 : start + 200]
            if "|" in line:
                table = params.padding
            elif channel is Channel.TOOL and name == "blank":
                table = ((FAR, params.tool_blank, 2),)
        span, copies = next((row[1], row[2]) for row in table if period <= row[0])
        factor = params.factor
        if name == "word" and 2 * sum(sign > _WIDE for sign in tail[-period:]) > period:
            factor *= params.wide
        elif name == "word" and period <= 160:
            factor *= min(params.code, 1.0 + 2.5 * max(0.0, len(_CODE.findall(tail[-period:])) / period - 0.03))
        elif name == "digit" and period == 1 and tail[-1] == "A":
            factor *= params.zeros
        self.need = max(span * factor, copies * params.factor * period)

    def _convict(self, channel: Channel) -> bool:
        """The bar is reached; the request may raise it."""
        need = self._wanted(self.need)
        if self.fed - self.since < need:
            return False
        self.need = need
        return True

    def _wanted(self, need: float) -> float:
        """The bar as the request raises it."""
        params, wanted, period = self.params, self.wanted.look(), self.period
        unit = self.tail[-period:]
        if wanted.verse and period > 16 and self.kind in ("word", "drawing"):
            need *= params.verse if self.kind == "word" else params.tune
        elif wanted.drawing and self.kind not in ("word", "newline", "blank"):
            need *= params.sketch
        if wanted.copies:
            need = max(need, params.wanted * wanted.copies * period)
        if len(unit) >= 12 and self.wanted.echo(unit * 2 if len(unit) < 48 else unit) >= 0.5:
            need *= params.echo
        return need

    def _hit(self) -> Hit:
        span, period = self.fed - self.since, self.period
        return Hit(
            at=self.fed,
            since=self.since,
            span=span,
            period=period,
            copies=span / period,
            evidence={"span": span, "copies": round(span / period, 2)},
            bars={"span": round(self.need), "copies": round(self.need / period, 2)},
        )


def _start(params: Params, brief: Brief) -> StreamMonitor:
    assert isinstance(params, RefrainParams)
    return Refrain(params, brief)


MONITOR = MonitorKind("refrain", "One unit to the character, again and again", RefrainParams, _start, gathers=True)
