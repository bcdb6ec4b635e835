"""What repetition the request asked for: a count, a grid, a verse, a drawing, or words of its own said back.

A monitor asks only when it is about to convict, so a calm answer never reads its prompt. Everything is a factor on a
bar, never a switch: asked-for repetition may still be a loop, it only has to be a longer one.
"""

from __future__ import annotations

import re

from .brief import Brief

READ = 8_192
"""Characters of the prompt's newest text that are read; the newest message is what the answer answers."""
_COUNT = re.compile(
    r"(?<![\d.,])(\d{1,5})\s{0,2}(?:times\b|copies\b|rows?\b|lines?\b|zeros\b|ones\b|emojis?\b|repetitions\b|"
    r"stars\b|dots\b|dashes\b|spaces\b|x\s{0,2}(\d{1,4})\b|×\s{0,2}(\d{1,4})\b|by\s(\d{1,4})\b|次|遍|行|个)",
    re.IGNORECASE,
)
_ITEMS = re.compile(
    r"\b(?:top|list(?:ing)?(?: of)?|first|next|at least)(?: the| top| all)? (\d{2,4})(?![\d.,%])", re.IGNORECASE
)
"""Items of a list; below LONG they say nothing that the bars do not allow anyway."""
LONG = 20
_VERSE = re.compile(
    r"\b(?:songs?|lyrics?|poems?|raps?|chorus|verses?|refrain|haikus?|sonnets?|ballad|hymn|carol|mantra|"
    r"chant|litany|psalm|stage play|melody|tune|abc notation|sheet music|chords?|tabs?)\b|诗|歌|詞|词",
    re.IGNORECASE,
)
_DRAWING = re.compile(
    r"\b(?:ascii|draw\w{0,3}|braille|grid|matrix|maze|board|sudoku|pattern|diagram|bitmap|"
    r"pixel|hex ?dump|padding|zeros)\b|图|表",
    re.IGNORECASE,
)


class Wanted:
    """The request's wish for repetition, read once, when first asked."""

    __slots__ = ("_brief", "_fold", "copies", "drawing", "items", "verse")

    def __init__(self, brief: Brief, fold: str = "") -> None:
        """`fold` names the characters that the monitor leaves out of what it compares."""
        self._brief = brief
        self._fold = fold
        self.copies = 0
        """The largest count the request names ("50 times", "40x40" is 1600), 0 where it names none."""
        self.items = -1
        """How long a list is asked for ("top 100"), 0 where none is or a short one; below that nothing was read yet."""
        self.verse = False
        self.drawing = False

    def look(self) -> Wanted:
        """Read the prompt if that has not been done, and hand back oneself."""
        if self.items < 0:
            self.items = 0
            text = self._brief.prompt[-READ:]
            if text:
                for found in _COUNT.finditer(text):
                    count = int(found[1])
                    for other in found.groups()[1:]:
                        if other:
                            count *= int(other)
                    self.copies = max(self.copies, min(count, 1_000_000))
                items = max((int(found[1]) for found in _ITEMS.finditer(text)), default=0)
                self.items = items if items >= LONG else 0
                self.verse = _VERSE.search(text) is not None
                self.drawing = _DRAWING.search(text) is not None
        return self

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
