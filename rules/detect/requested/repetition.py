"""What repetition the request asked for: a size, a verse, a drawing, or words of its own said back.

A monitor asks only when it is about to convict, so a calm answer never reads its request. A wish never switches a
monitor off. An answer that repeats more than was asked for is still a loop.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...values.brief import Brief
from .sizes import Size, made, sizes

READ = 16_384
"""Characters of the prompt's newest text in which a quotation is sought."""
CELL = 12
"""The most characters of one cell of a grid, a vector or a board, with the separator behind it."""
FARTHEST = 500_000
"""The most characters to which a wish can raise a bar."""
FILLER = re.compile(
    r"dolor sit amet|lorem ipsum|without warranty of any|is hereby granted|hereby disclaim", re.IGNORECASE
)
"""Filler text: words that only hold the place of others; and those of licences, many of which have the same ones."""
_VERSE = re.compile(
    r"\b(?:songs?|lyrics?|poems?|raps?|chorus|verses?|refrain|haikus?|sonnets?|ballad|hymn|carol|mantra|"
    r"chant|litany|psalms?|sing|bottles|rosary|novena|nursery|stage play|melody|tune|abc notation|"
    r"sheet music|chords|guitar tabs?)\b|诗|歌|詞|词",
    re.IGNORECASE,
)
_ROSTER = re.compile(
    r"\b(?:schedule(?! (?:the|an?|my|our|me|it|meetings?)\b)|calendar|timetable|planner|roster|rota|tracker|"
    r"truth tables?|hanoi|gray codes?|permutations of|combinations of|subsets of|"
    r"itinerar(?:y|ies)|(?:\d{1,3}|three|five|seven|ten|thirty)[- ]day|"
    r"(?:training|marathon|workout|meal|study|diet|content|shift|cleaning|weekly|monthly) plan|"
    r"(?:classify|label|categori[sz]e|score|grade) (?:the|these|this|each|all|every|\d+))\b",
    re.IGNORECASE,
)
"""The result has the same entry in many places: days, rows, verdicts, the moves of a known computation."""
_DRAWING = re.compile(
    r"\b(?:ascii|draw\w{0,3}|braille|grid|matrix|maze|board|sudoku|pattern|diagram|bitmap|"
    r"pixel|hex ?dump|padding|zeros)\b|图|表",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:filler|placeholders?|lorem|dummy|blank|empty|boilerplate|wireframe|mock-?up|worksheet|"
    r"(?:sample|test|seed|mock|example|fake) (?:data|text|rows|file|values|records)|fixtures?)\b|占位|空白",
    re.IGNORECASE,
)
"""The result holds text that will be replaced, so it may be the same everywhere."""
_WORD = re.compile(r"[a-z]+")
# fmt: off
_HEADS = {
    _VERSE: frozenset({
        "song", "songs", "lyric", "lyrics", "poem", "poems", "rap", "raps", "chorus", "verse", "verses",
        "refrain", "haiku", "haikus", "sonnet", "sonnets", "ballad", "hymn", "carol", "mantra", "chant",
        "litany", "psalm", "psalms", "sing", "bottles", "rosary", "novena", "nursery", "stage", "melody", "tune",
        "abc", "sheet", "chords", "guitar",
    }),
    _ROSTER: frozenset({
        "schedule", "calendar", "timetable", "planner", "roster", "rota", "tracker", "truth", "plan",
        "classify", "label", "categorize", "categorise", "score", "grade", "hanoi", "gray", "permutations",
        "combinations", "subsets", "itinerary", "itineraries", "day",
    }),
    _DRAWING: frozenset({
        "ascii", "draw", "draws", "drawn", "drawing", "braille", "grid", "matrix", "maze", "board", "sudoku",
        "pattern", "diagram", "bitmap", "pixel", "hex", "hexdump", "padding", "zeros",
    }),
    _FILLER: frozenset({
        "filler", "placeholder", "placeholders", "lorem", "dummy", "blank", "empty", "boilerplate", "wireframe", "mock",
        "mockup", "worksheet", "sample", "test", "seed", "example", "fake", "fixture", "fixtures",
    }),
}
"""Each kind's expression costs a millisecond on a long prompt: it is tried where one of these words is there."""
# fmt: on
_IDEOGRAPHS = {_VERSE: "诗歌詞词", _ROSTER: "", _DRAWING: "图表", _FILLER: "占空"}


class Wishes(NamedTuple):
    """What a request asks for."""

    sizes: tuple[Size, ...] = ()
    verse: bool = False
    drawing: bool = False
    roster: bool = False
    filler: bool = False

    def span(self, period: int, unit: str = "") -> int:
        """How many characters the answer has when it holds as many copies of `period` characters as were asked for; 0
        where the request names no size. `unit`: the newest copy."""
        most = 0
        for size in self.sizes:
            most = max(most, _span(size, period, unit))
        return min(most, FARTHEST)


def _span(size: Size, period: int, unit: str) -> int:
    kind, count, wide = size
    if kind in ("times", "parts"):
        return count * period
    if kind == "characters":
        return count if unit and not any(map(str.isspace, unit)) else 0
    lines = max(1, unit.count("\n") + unit.count("\\n"))
    if kind == "items":
        # A cycle of several lines does not deliver the items that were asked for.
        return count * period if lines == 1 else 0
    if kind == "lines":
        return count * period // lines
    if period <= CELL:
        return count * period
    return max(count * CELL // 2, count // wide * period // lines if wide else 0)


def wishes(text: str) -> Wishes:
    """Read the wishes in a user's words."""
    if not text:
        return Wishes()
    wish = made(text)
    words = frozenset(_WORD.findall(wish.lower()))
    verse, drawing, roster, filler = (_asks(form, wish, words) for form in (_VERSE, _DRAWING, _ROSTER, _FILLER))
    return Wishes(sizes(text), verse, drawing, roster, filler)


def _asks(form: re.Pattern[str], text: str, words: frozenset[str]) -> bool:
    if words.isdisjoint(_HEADS[form]) and not any(sign in text for sign in _IDEOGRAPHS[form]):
        return False
    return form.search(text) is not None


class RequestedRepetition:
    """The request's wish for repetition, read once an answer, when one of its monitors first asks."""

    __slots__ = ("_brief", "_fold")

    def __init__(self, brief: Brief, fold: str = "") -> None:
        """`fold`: characters that the monitor ignores when it compares texts."""
        self._brief = brief
        self._fold = fold

    def look(self) -> Wishes:
        """Read what the user says if that has not been done."""
        brief = self._brief
        found = brief.wishes
        if not isinstance(found, Wishes):
            found = brief.wishes = wishes(brief.asked)
        return found

    def quoted(self, text: str, share: float = 0.5, piece: int = 24, samples: int = 8) -> int:
        """How often `text` stands in the request: the median of `samples` slices of it, where `share` of them is found
        at all. An answer may say it as often again."""
        said = self._brief.prompt[-READ:]  # not kept: every monitor would hold a copy
        for sign in self._fold:
            said = said.replace(sign, "")
        if not said or len(text) < piece:
            return 0
        step = max(1, (len(text) - piece) // max(1, samples - 1))
        slices = [text[at : at + piece] for at in range(0, len(text) - piece + 1, step)][:samples]
        found = sorted(count for one in slices if (count := said.count(one)))
        return found[len(found) // 2] if len(found) >= share * len(slices) and found else 0
