"""What repetition the request asked for: a count, a grid, a verse, a drawing, or words of its own said back.

A monitor asks only when it is about to convict, so a calm answer never reads its prompt. Everything is a factor on a
bar, never a switch: asked-for repetition may still be a loop, it only has to be a longer one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .brief import Brief

READ = 8_192
"""Characters of the prompt's newest text that are read; the newest message is what the answer answers."""
_COUNT = re.compile(
    r"(?<![\d.,])(\d{1,5})\s{0,2}(?:times\b|copies\b|rows?\b|lines?\b|zeros\b|ones\b|emojis?\b|repetitions\b|"
    r"rounds\b|reps\b|bars\b|cycles\b|stars\b|dots\b|dashes\b|spaces\b|"
    r"x\s{0,2}(\d{1,4})\b|×\s{0,2}(\d{1,4})\b|by\s(\d{1,4})\b|次|遍|行|个)",
    re.IGNORECASE,
)
_ITEMS = re.compile(
    r"\b(?:top|list(?:ing)?(?: of)?|first|next|at least)(?: the| top| all)? (\d{2,4})(?![\d.,%])", re.IGNORECASE
)
"""Items of a list; below LONG they say nothing that the bars do not allow anyway."""
_NAMED = re.compile(
    r"(?<![\d.,$€£:/-])(\d{2,4})(?: [a-z][\w'-]{0,20}){0,2}? (?:cases|examples|questions|names|ideas|items|"
    r"reviews|tweets|e?mails|titles|topics|facts|tips|prompts|affirmations|quotes|jokes|hashtags|keywords|entries|records|"
    r"stories|scenarios|tasks|products|customers|users|sentences|problems|exercises|flashcards|phrases)\b",
    re.IGNORECASE,
)
LONG = 20
_VERSE = re.compile(
    r"\b(?:songs?|lyrics?|poems?|raps?|chorus|verses?|refrain|haikus?|sonnets?|ballad|hymn|carol|mantra|"
    r"chant|litany|psalm|stage play|melody|tune|abc notation|sheet music|chords?|tabs?)\b|诗|歌|詞|词",
    re.IGNORECASE,
)
_ROSTER = re.compile(
    r"\b(?:schedule(?! (?:the|an?|my|our|me|it|meetings?)\b)|calendar|timetable|planner|roster|rota|tracker|"
    r"truth tables?|"
    r"(?:training|marathon|workout|meal|study|diet|content|shift|cleaning|weekly|monthly) plan|"
    r"(?:classify|label|categori[sz]e|score|grade) (?:the|these|this|each|all|every|\d+))\b",
    re.IGNORECASE,
)
"""What is asked for has the same entry at many places: days, rows, verdicts."""
_DRAWING = re.compile(
    r"\b(?:ascii|draw\w{0,3}|braille|grid|matrix|maze|board|sudoku|pattern|diagram|bitmap|"
    r"pixel|hex ?dump|padding|zeros)\b|图|表",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")
# fmt: off
_HEADS = {
    _VERSE: frozenset({
        "song", "songs", "lyric", "lyrics", "poem", "poems", "rap", "raps", "chorus", "verse", "verses",
        "refrain", "haiku", "haikus", "sonnet", "sonnets", "ballad", "hymn", "carol", "mantra", "chant",
        "litany", "psalm", "stage", "melody", "tune", "abc", "sheet", "chord", "chords", "tab", "tabs",
        "schedule", "calendar", "timetable", "planner", "roster", "rota", "tracker", "truth", "plan",
        "classify", "label", "categorize", "categorise", "score", "grade", "ascii", "draw", "draws", "drawn",
        "drawing", "braille", "grid", "matrix", "maze", "board", "sudoku", "pattern", "diagram", "bitmap",
        "pixel", "hex", "hexdump", "padding", "zeros",
    }),
    _ROSTER: frozenset({
        "schedule", "calendar", "timetable", "planner", "roster", "rota", "tracker", "truth", "plan",
        "classify", "label", "categorize", "categorise", "score", "grade", "ascii", "draw", "draws", "drawn",
        "drawing", "braille", "grid", "matrix", "maze", "board", "sudoku", "pattern", "diagram", "bitmap",
        "pixel", "hex", "hexdump", "padding", "zeros",
    }),
    _DRAWING: frozenset({
        "ascii", "draw", "draws", "drawn", "drawing", "braille", "grid", "matrix", "maze", "board", "sudoku",
        "pattern", "diagram", "bitmap", "pixel", "hex", "hexdump", "padding", "zeros",
    }),
}
"""Each kind's expression costs a millisecond on a long prompt: it is tried where one of these words is there."""
# fmt: on
_IDEOGRAPHS = {_VERSE: "诗歌詞词", _ROSTER: "", _DRAWING: "图表"}


class Wishes(NamedTuple):
    """What a request asks for."""

    copies: int = 0
    """The largest count it names ("50 times", "40x40" is 1600), 0 where it names none."""
    items: int = 0
    """How long a list is asked for ("top 100"), 0 where none is or a short one."""
    entries: int = 0
    """How many entries of a named kind ("200 test cases") are asked for, 0 where none or few are."""
    verse: bool = False
    drawing: bool = False
    roster: bool = False


def wishes(text: str) -> Wishes:
    """Read a request's text."""
    if not text:
        return Wishes()
    copies = 0
    for found in _COUNT.finditer(text):
        count = int(found[1])
        for other in found.groups()[1:]:
            if other:
                count *= int(other)
        copies = max(copies, min(count, 1_000_000))
    words = frozenset(_WORD.findall(text.lower()))
    verse, drawing, roster = (_asks(form, text, words) for form in (_VERSE, _DRAWING, _ROSTER))
    return Wishes(copies, _most(_ITEMS, text), _most(_NAMED, text), verse, drawing, roster)


def _asks(form: re.Pattern[str], text: str, words: frozenset[str]) -> bool:
    if words.isdisjoint(_HEADS[form]) and not any(sign in text for sign in _IDEOGRAPHS[form]):
        return False
    return form.search(text) is not None


def _most(form: re.Pattern[str], text: str) -> int:
    most = max((int(found[1]) for found in form.finditer(text)), default=0)
    return most if most >= LONG else 0


class Wanted:
    """The request's wish for repetition, read once an answer, when one of its monitors first asks."""

    __slots__ = ("_brief", "_fold")

    def __init__(self, brief: Brief, fold: str = "") -> None:
        """`fold` names the characters that the monitor leaves out of what it compares."""
        self._brief = brief
        self._fold = fold

    def look(self) -> Wishes:
        """Read the prompt if that has not been done."""
        brief = self._brief
        if brief.wishes is None:
            brief.wishes = wishes(brief.prompt[-READ:])
        return brief.wishes

    def echo(self, text: str, piece: int = 24, samples: int = 8) -> float:
        """Which share of `text` (sampled in slices of `piece` characters) stands in the request, 0..1."""
        said = self._brief.prompt[-READ:]  # not kept: every monitor would hold a copy
        for sign in self._fold:
            said = said.replace(sign, "")
        if not said or len(text) < piece:
            return 0.0
        step = max(1, (len(text) - piece) // max(1, samples - 1))
        slices = [text[at : at + piece] for at in range(0, len(text) - piece + 1, step)][:samples]
        return sum(one in said for one in slices) / len(slices)
