"""Finds one unit that repeats exactly, character for character, at the end of the answer: periods of 1 to 2,048
characters.

It looks every 32 characters of text, however the text was cut. It searches for the last 24 characters a little way back
(often) and far back (rarely). Where it finds them, it compares slices to see how long the two stretches agree, so the
period is always the smallest one. While a period holds, a look is one slice comparison.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import Any, Final

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from ..requested.repetition import FILLER, RequestedRepetition
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
_DOTTED = re.compile(r"[a-z][._/][a-z]")
_JOIN = re.compile(r"[^\W\d_][,.!?]? (?=[^\W\d_])")
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_MEANT: Final = {"n": "\n", "t": "\t", "r": "\n"}
_SHELL = re.compile(r'\s{0,4}\{\s{0,4}"(?:command|cmd|bash|shell)"')
_RULE = frozenset("-=_*.#~|+/\\:<>^'`\",;!?()[]{}&%$@─━│┃┄┅┆┇┈┉┊┋┌┐└┘├┤┬┴┼═║╔╗╚╝╠╣╦╩╬╭╮╯╰▁▂▃▄▅▆▇█░▒▓•·…—–")

Bars = tuple[tuple[int, int, float], ...]
"""(period at most, characters, copies): the first row whose period is not smaller binds; both must be reached."""


class ExactRepetitionParams(Params):
    """Bars by what the unit is made of. Seeds: the longest runs of 6,000 healthy answers, 80 hard ones and 830 files
    (docs/detection.md), with a margin of a third or more."""

    factor: float = 1.0
    """Multiplies every bar: below 1 stricter, above 1 calmer."""
    blank: Bars = ((4096, 360, 2),)
    """Spaces and tabs (longest seen outside tables: 82)."""
    newline: Bars = ((4096, 230, 2),)
    symbol: Bars = ((8, 165, 4), (4096, 400, 4))
    """Emoji, U+FFFD, full-width marks, blank braille."""
    rule: Bars = ((1, 380, 2), (2, 240, 2), (16, 200, 8), (64, 560, 8), (4096, 700, 4))
    """Punctuation and line-drawing only (longest seen: 233 at period 1, a drawing of 570 at 18)."""
    rows: Bars = ((34, 240, 36), (4096, 1250, 10))
    """Whole lines of it: empty rows of a table to fill in (one for each day of a month, and some more), lines to write
    on, the body of a sketched window."""
    row: int = 36
    """Such lines, where a unit holds several of them: the bar is no higher than for so many lines, `block` characters
    and four copies."""
    block: int = 400
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
    wanted: float = 1.2
    """An answer may exceed by a fifth what was asked for or quoted."""
    quoted: float = 1.5
    """Factor where the unit stands in the request, besides as many copies as stand there."""
    code: float = 1.5
    """Factor, at most, for words with signs of code in units of 160 characters at most: generated code repeats
    statements. The more signs, the nearer to it."""
    zeros: float = 3.0
    """Factor for runs of A: zeros in base64."""
    log: float = 5.5
    """Factor for whole lines with figures inside a code fence: a log, a table of data."""
    filler: float = 4.0
    """Factor where the request asks for filler, samples or blank forms, or the words are those of filler text."""
    tool_blank: int = 240
    """Characters of white space in tool arguments (JSON grammars loop there)."""
    data: Bars = ((1, 2400, 2), (2, 4000, 2), (4096, 10_000, 4))
    """Anything but prose and commands in tool arguments: files hold zero vectors, tile maps, seed rows, null tables.
    Nothing was shown yet, a false cut loses the whole call, and waiting costs tokens only."""
    gaps: Bars = ((4096, 1500, 2),)
    """Line ends and blanks inside a string of tool arguments: the empty part of a file."""

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

    @cached_property
    def calm(self) -> int:
        """Up to how many characters a new one is less than half convinced: half of the lowest bar."""
        return self._calm(min(1.0, self.wide))

    @cached_property
    def calm_ascii(self) -> int:
        """The same where none of them is an ideograph."""
        return self._calm(1.0)

    def _calm(self, wide: float) -> int:
        given: list[Any] = [getattr(self, name) for name in type(self).model_fields]
        spans = [span for table in given if isinstance(table, tuple) for _, span, _ in table]
        lowest: float = min(*spans, self.tool_blank) * min(wide, self.log, self.code, self.zeros) * self.factor
        return math.ceil(lowest / 2 / STEP) * STEP - 1  # it looks at whole steps only

    def _late(self, fed: int, *, plain: bool) -> bool:
        """No bar can be reached within so many characters."""
        for period in (2, fed, self.block // 4, self.block // 4 + 1, NEAR - KEY, NEAR - KEY + 1, FAR):
            late = 8 * STEP if period > NEAR - KEY else 0
            if period + KEY + late + fed >= max(self.block, 4 * period) * self.factor:  # rows, several in a unit
                return False
        for name in ("blank", "newline", "symbol", "rule", "rows", "padding", "digit", "drawing", "word"):
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
    """The kind of characters in a unit, by the name of the bars that apply to it."""
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


def _inside(unit: str) -> bool:
    """Can all of it stand inside one JSON string? Outside of strings the structure of the call repeats, and that is no
    loop."""
    return "\n" not in unit and '"' not in _ESCAPED.sub("", unit)


def _figures(unit: str) -> float:
    return sum(map(str.isdigit, unit)) / len(unit)


def prose(unit: str) -> bool:
    """Is it made of words in a row?"""
    if any(sign > _WIDE for sign in unit):
        return 5 * sum(sign > _WIDE for sign in unit) >= 4 * len(unit)
    said = sum(map(str.isalpha, unit)) + unit.count(" ")
    if 5 * said < 4 * len(unit) or len(_JOIN.findall(unit + unit[:2])) < 2:
        return False
    return 24 * len(_DOTTED.findall(unit)) < len(unit)  # "meta.list.item meta.list.value" are names of a file


def plainly(arguments: str) -> str:
    """The text inside JSON strings, with the escapes of line ends, tabs, signs and letters decoded."""
    return _ESCAPED.sub(_meant, arguments) if "\\" in arguments else arguments


def _meant(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _MEANT.get(found[2], found[2])


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


class ExactRepetition(StreamMonitor):
    """State: the tail of the text (at most 2,240 characters, 2.6 KiB), the period while one holds, where it began."""

    __slots__ = (
        "fed",
        "fence",
        "file",
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
        "raised",
        "since",
        "tail",
        "wanted",
    )

    def __init__(self, params: ExactRepetitionParams, brief: Brief) -> None:
        self.params = params
        self.wanted = RequestedRepetition(brief)
        self.part = self.tail = ""
        self.quiet = self.plain = STEP
        self.fed = self.looks = 0
        self.keep = FAR
        self.fence = self.file = False
        """Inside a code fence; in tool arguments that may hold a file: not in a command, unless it writes one."""
        self.period = self.since = 0
        self.need = self.left = 0.0
        self.raised = False
        """The request has been asked about this run."""
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
        """The run ended at this character: note how near it was to a conviction."""
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
        if "`" in block and (tail[-STEP - 2 :].count("```")) & 1:
            self.fence = not self.fence
        if self.looks == 1:
            self.file = channel is Channel.TOOL and _SHELL.match(block) is None
        if channel is Channel.TOOL and not self.file and "<<" in tail[-STEP - 1 :]:
            self.file = True
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
        self.raised = False
        params, period, tail = self.params, self.period, self.tail
        unit = tail[-period:]
        tool = channel is Channel.TOOL
        said = plainly(unit[-1] + unit[:-1] if unit[-1] == "\\" else unit) if tool else unit
        self.kind = name = kind(said)
        table: Bars = getattr(params, name)
        factor = params.factor
        if period == 1 and tail[-1] in " -" and "|" in self._line():
            table = params.padding
        elif tool and name in ("blank", "newline"):
            table = ((FAR, params.tool_blank, 2),) if "\\" not in unit else params.gaps
        elif tool and self.file and not prose(said) and _inside(unit):
            table = params.data
        elif name == "rule" and "\n" in unit:
            table = params.rows
        elif name == "word" and 2 * sum(sign > _WIDE for sign in unit) > period:
            factor *= params.wide
        elif name == "word" and self.fence and period >= 24 and "\n" in unit and _figures(unit) >= 0.08:
            factor *= params.log
        elif name == "word" and period <= 160:
            factor *= min(params.code, 1.0 + 2.5 * max(0.0, len(_CODE.findall(unit)) / period - 0.03))
        elif name == "digit" and period == 1 and tail[-1] == "A":
            factor *= params.zeros
        span, copies = next((row[1], row[2]) for row in table if period <= row[0])
        self.need = max(span * factor, copies * params.factor * period)
        if table is params.rows and (lines := unit.count("\n")) > 1:
            self.need = min(self.need, max(params.block, params.row * period / lines, 4 * period) * params.factor)

    def _line(self) -> str:
        """The line in which the run began, as far as it is kept."""
        start = max(0, len(self.tail) - (self.fed - self.since))
        return self.tail[self.tail.rfind("\n", 0, start) + 1 : start + 200]

    def _convict(self, channel: Channel) -> bool:
        """The bar is reached. The request may raise it once in each run."""
        if not self.raised:
            self.raised = True
            self.need = self._wanted(self.need)
        return self.fed - self.since >= self.need

    def _wanted(self, need: float) -> float:
        """The bar as the request raises it."""
        params, wanted, period = self.params, self.wanted.look(), self.period
        unit = self.tail[-period:]
        if wanted.verse and period > 16 and self.kind in ("word", "drawing"):
            need *= params.verse if self.kind == "word" else params.tune
        elif wanted.drawing and self.kind not in ("word", "newline", "blank"):
            need *= params.sketch
        elif wanted.filler or FILLER.search(unit):
            need *= params.filler
        need = max(need, params.wanted * wanted.span(period, unit))
        if len(unit) >= 12:
            quoted = self.wanted.quoted(unit * 2 if len(unit) < 48 else unit)
            need = need * params.quoted + params.wanted * period * quoted if quoted else need
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
    assert isinstance(params, ExactRepetitionParams)
    return ExactRepetition(params, brief)


def _calm(params: ExactRepetitionParams) -> int:
    return params.calm


def _calm_ascii(params: ExactRepetitionParams) -> int:
    return params.calm_ascii


MONITOR = MonitorKind(
    "exact_repetition",
    "One unit to the character, again and again",
    ExactRepetitionParams,
    _start,
    gathers=True,
    calm=_calm,
    calm_ascii=_calm_ascii,
)
