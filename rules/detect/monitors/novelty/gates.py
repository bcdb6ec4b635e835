"""When is it enough? A gate says how much without anything new convicts, and in what surroundings.

Sentences, lists and tables of an answer are judged soon; code and data, in which little new is the rule, late. What the
newest text is made of is measured only where a monitor is suspicious already, and in one pass a share.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

_SIGN: Final = re.compile(r"[{}();=<>\[\]\\/_$\"]")
_CODE: Final = re.compile(r"[a-z][A-Z]|[A-Za-z0-9][._/\\:][A-Za-z]|[A-Za-z]_|[a-z]\(|\*[a-z]|::|->|=>|==|[;{}<>]")
"""Joints inside names (camelCase, a.b, a/b, a_b), calls, arrows, braces: none of them stands in sentences."""
_COMMENT: Final = re.compile(r"[ \t]{0,12}(?:\*(?: |$)|//|#(?!#|[A-Za-z])|--|;|%|/\*|\.\\\"|<!--|[+](?: |$))")
_ITEM: Final = re.compile(r"[ \t]{0,12}(?:[-*•+]|\(?\d{1,4}[.):](?!\d)|\*{1,2}\d{1,4}\.|#{1,4} )")
_ORDERED: Final = re.compile(r"[ \t]{0,12}(?:\(?\d{1,4}[.):]|\*{1,2}\d{1,4}[.)]) ?[^\s\d]")
_TAG: Final = re.compile(r"#[A-Za-z]")
_FIGURES: Final = re.compile(r"[-+~#№]?\d[\d:.,/]*(?:[hms]|ms|s)?\b|-->|→")
_BREAK: Final = re.compile(r"\n|(?<=[.!?])[ \t]{1,4}|(?<=[。！？])")
_AROUND: Final = "\0 \t\r-–>|[](){}*_\"'«»“”"
_STOPS: Final = ".!?…。！？"
_SENTENCE: Final = re.compile(
    r"[^\W\d_]{1,24}(?:(?:[,;:'’-] ?| )[^\W\d_]{1,24}){2,40} ?[.!?…]{0,3}|[^\x00-\u2e7f]{4,80}"
)
"""Three words or more, without signs of code, paths and rows; or ideographs, kana, hangul."""
_WIDE: Final = re.compile(r"[^\x00-\u2e7f]{4,80}")
SAME: Final = 6
"""Lines of the newest text that say one sentence, at least."""
LINES: Final = 56
"""Lines that are looked at: a flood of line ends must not cost more than prose."""


class Surroundings(NamedTuple):
    """Shares of the newest text, 0..1: of its characters, or (tags) words, or (items to comments) lines."""

    letters: float
    digits: float
    spaces: float
    signs: float
    """Signs of code and data."""
    code: float
    """Joints inside names, calls, arrows."""
    tags: float
    """Of words: how many are hashtags."""
    items: float
    ordered: float
    """Items with a number."""
    table: float
    """Lines with two bars or more."""
    indent: float
    """Lines that are indented otherwise than most are: a text that is indented as a whole is prose all the same."""
    comments: float
    lines: float = 0.0
    """Line ends for each character that is no blank."""


def look(view: str) -> Surroundings:
    """What `view` (not empty) is made of."""
    size = len(view)
    lines = view.split("\n")[-LINES:]
    count = len(lines)
    return Surroundings(
        letters=sum(map(str.isalpha, view)) / size,
        digits=sum(map(str.isdigit, view)) / size,
        spaces=view.count(" ") / size,
        signs=len(_SIGN.findall(view)) / size,
        code=len(_CODE.findall(view)) / size,
        tags=_tags(view),
        items=sum(_ITEM.match(line) is not None for line in lines) / count if count > 2 else 0.0,
        ordered=sum(_ORDERED.match(line) is not None for line in lines) / count if count > 2 else 0.0,
        table=sum(line.count("|") > 1 for line in lines) / count if count > 2 else 0.0,
        indent=_indent(lines),
        comments=sum(_COMMENT.match(line) is not None for line in lines) / count,
        lines=view.count("\n") / max(1, size - view.count(" ")),
    )


def _indent(lines: list[str]) -> float:
    depths = [_depth(line) for line in lines if line and not line.isspace()]
    if not depths:
        return 0.0
    usual = max(set(depths), key=depths.count)
    if 2 * depths.count(usual) <= len(depths):
        usual = 0
    return sum(depth != usual and depth > 0 for depth in depths) / len(lines)


def _depth(line: str) -> int:
    """Columns of white space that a line begins with, 12 at most; one blank is none."""
    depth = len(line[:12]) - len(line[:12].lstrip(" \t"))
    return depth if depth > 1 or line[:1] == "\t" else 0


def _tags(view: str) -> float:
    tags = len(_TAG.findall(view))
    return tags / (tags + sum(word[0].isalpha() for word in view.split())) if tags else 0.0


Spoken = Literal["", "beside", "among"]
"""Where the numbers stand that move: beside the sentence (subtitles under their times), or among its words as well."""


def same_sentence(view: str, numbers: Spoken) -> bool:
    """Is one sentence all that `view` says, whatever numbers stand there? Subtitles that say "Thank you for watching."
    at ever new times do. Real subtitles and timetables say more than one thing; rows and most logs have words beside
    their numbers, but no sentence with a stop."""
    said: set[str] = set()
    count = 0
    for line in _BREAK.split(view)[1:-1]:
        bare = _FIGURES.sub("\0", line)
        words = bare.strip(_AROUND)
        if not words:
            continue
        if "\0" in words:
            if numbers != "among":
                return False
            words = " ".join(words.replace("\0", " ").split())
        said.add(words)
        count += 1
        form = _SENTENCE if words[-1] in _STOPS or "\0" not in bare else _WIDE
        if len(said) > 1 or form.fullmatch(words) is None:
            return False
    return count >= SAME


class Where(NamedTuple):
    """Bounds on the surroundings; the first six are least, the others most."""

    letters: float = 0.0
    spaces: float = 0.0
    tags: float = 0.0
    items: float = 0.0
    ordered: float = 0.0
    table: float = 0.0
    digits: float = 1.0
    signs: float = 1.0
    code: float = 1.0
    indent: float = 1.0
    comments: float = 1.0

    def holds(self, here: Surroundings) -> bool:
        return (
            here.letters >= self.letters
            and here.spaces >= self.spaces
            and here.tags >= self.tags
            and here.items >= self.items
            and here.ordered >= self.ordered
            and here.table >= self.table
            and here.digits <= self.digits
            and here.signs <= self.signs
            and here.code <= self.code
            and here.indent <= self.indent
            and here.comments <= self.comments
        )


SENTENCES: Final = Where(letters=0.5, spaces=0.1, digits=0.12, signs=0.05, code=0.02, indent=0.1, comments=0.1)
PLAIN: Final = SENTENCES._replace(digits=0.05, signs=0.02)
"""Sentences without figures: reckoning says much in few words."""
LIST: Final = Where(letters=0.4, items=0.6, signs=0.08, code=0.02, comments=0.1)
ORDERED: Final = Where(letters=0.4, ordered=0.4, signs=0.08)
TABLE: Final = Where(letters=0.25, table=0.7, signs=0.08, code=0.03, indent=0.1)
TAGS: Final = Where(letters=0.8, tags=0.85, signs=0.02)
WORDS: Final = Where(letters=0.4, spaces=0.05, signs=0.08, code=0.04, indent=0.1, comments=0.2)
POOR: Final = Where(letters=0.5, signs=0.06)
ANYTHING: Final = Where(letters=0.4, digits=0.12, indent=0.1)

COUNTER: Final = Where(letters=0.2)
SPOKEN: Final = Where(letters=0.1)
ROWS: Final = 400.0
"""A counter that has stepped so often in one short frame counts for ever, whatever is around it."""

Measure = Literal["clean", "calm", "stale", "poor"]
"""clean: characters (blanks not counted) since the last word run that was new, or a number that neither stayed nor
stepped. calm: the same, but such numbers are passed over. stale: of the newest text, characters of word runs that were
known, less two and a half times those that were new; numbers are not looked at. poor: characters of the newest text in
which every 640 held no more than eight different words."""


class NoveltyGate(NamedTuple):
    """One way to convict: how much without anything new, in what surroundings."""

    measure: Measure
    bar: int
    where: Where
    copies: float = 0.0
    """The measure in distances to the previous sighting (its median), at least."""
    steady: float = 0.0
    """Share of the newest sightings whose distance is the median one, at least."""
    lag: int = 1_000_000
    """That distance, at most."""
    spoken: Spoken = ""
    """Only numbers move: without them, every line of words is the same sentence (`same_sentence`)."""


GATES: Final[tuple[NoveltyGate, ...]] = (
    NoveltyGate("clean", 540, PLAIN, copies=4.0, steady=0.6),
    NoveltyGate("clean", 1200, SENTENCES, copies=0.9),
    NoveltyGate("stale", 3000, SENTENCES._replace(letters=0.6, signs=0.02, code=0.012, digits=0.03), 5.0, 0.6, 500),
    NoveltyGate("clean", 460, ORDERED._replace(digits=0.1), copies=3.2, steady=0.6),
    NoveltyGate("clean", 620, ORDERED._replace(digits=0.1), copies=4.0),
    NoveltyGate("clean", 900, ORDERED, copies=1.8),
    NoveltyGate("calm", 540, TABLE._replace(digits=0.12), copies=2.2),
    NoveltyGate("stale", 400, TAGS),
    NoveltyGate("poor", 2240, POOR),
    NoveltyGate("clean", 1500, WORDS, copies=1.8),
    NoveltyGate("clean", 2400, ANYTHING, copies=12.0),
    NoveltyGate("clean", 3000, COUNTER, copies=ROWS),
    NoveltyGate("calm", 3000, SPOKEN, copies=100.0, spoken="beside"),
    NoveltyGate("calm", 6000, SPOKEN, copies=300.0, spoken="among"),
)
"""docs/detection.md names for each the texts without a loop that came nearest."""
