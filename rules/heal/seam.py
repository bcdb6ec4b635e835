"""The place where a healed answer goes on behind a text that looped.

There are two texts. *Shown* is what the client has: it ends somewhere inside the loop. *Kept* is what the model is
given as its own beginning: the text before the first copy, up to the end of a sentence or a line, because a model that
sees the loop falls back into it. The new answer continues *kept*, but the client reads it behind *shown*. So the
running sentence is completed first (the loop's text is known), then comes the white space that the two need, and of the
new answer is left out what the client has: *kept* said again, or the sentence that *shown* ends with. Where *kept*
comes again behind a preamble, the answer was begun anew.

What is said again is known without regard to case and white space. Pure text in, pure text out; nothing here knows a
wire.
"""

from __future__ import annotations

import re
from typing import Final

from ..wires.overlap import Overlap
from .folded import Folding, folded

SIGHT: Final = 40
"""Characters of the looping text that are looked for further ahead: a rule that looks at novelty may name a later
beginning than the first copy's."""
BACK: Final = 4000
"""Characters before the loop in which the end of a sentence is looked for. Further ahead only line ends count."""
AHEAD: Final = 600
"""Characters at most by which a running sentence is completed."""
LEAST_UNIT: Final = 16
"""Shortest unit that is known again: shorter ones come twice in ordinary text."""
LEAST_LAST: Final = 16
"""Shortest last sentence that is left out where the new answer begins with it."""
ANEW: Final = 32
"""Characters of the answer's beginning that show that it was begun anew. A warmer answer soon takes other words."""

PREAMBLE: Final = 200
"""Characters that may stand before an answer that is begun anew ("Sure, here is the story:")."""
OPENING: Final = 64
"""Characters of the kept text's beginning by which it is known behind a preamble, at most."""

_SENTENCE = re.compile(r"[.!?…][\"'”’»)\]*_]*(?=\s)|[。！？][\"”’」』）]*")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


def in_fence(text: str) -> bool:
    """Does the text end inside a code fence?"""
    return len(_FENCE.findall(text)) % 2 == 1


def trimmed(text: str, since: int) -> int:
    """How much of a looping text to keep: up to the last end of a sentence or a line before the first copy.

    0 = nothing. `since`: where the repetition begins, as a rule saw it."""
    at = max(0, min(since, len(text)))
    if len(text) >= SIGHT:
        first = text.find(text[-SIGHT:])
        at = min(at, first)
    for _ in range(8):  # the end of the sentence before it is often the same as the unit's, and counts as repeated
        if at < len(text) and not text[at].isalnum():
            at += 1
    line = text.rfind("\n", 0, at) + 1
    row = text[line : line + 1] == "|" or text[line:at].lstrip(" \t>").startswith("|")
    if row or in_fence(text[:line]):
        return line
    best = line
    for match in _SENTENCE.finditer(text, max(line, at - BACK), min(len(text), at + 1)):
        if match.end() <= at:
            best = match.end()
    return best


def ends_well(text: str) -> bool:
    """Does the text end with a sentence or a line?"""
    bare = text.rstrip()
    return (
        not bare or text[-1] == "\n" or any(m.end() == len(bare) for m in _SENTENCE.finditer(bare + " ", len(bare) - 8))
    )


class Seam:
    """Compares the beginning of the new answer with what the client has. The interface of `Overlap`, and `lead`."""

    __slots__ = (
        "_drop", "_echo", "_expected", "_folding", "_open", "_opening", "_period", "_raw", "_shown", "again", "lead",
        "restarted", "tag",
    )  # fmt: skip

    def __init__(self, text: str, shown: int, kept: int, period: int | None = None, tag: str = "") -> None:
        """`text`: all that the model wrote, of which the client has the first `shown` characters and the model is given
        the first `kept`. `period`: of the loop, where it is exact. `tag`: closes the tag that the
        client's thinking stands in."""
        self._shown = text[:shown]
        self.tag = tag
        given = folded(text[:kept])
        self._echo: Overlap | None = Overlap(given, restart=ANEW)
        opening = given[:OPENING]
        self._opening = opening if len(opening) >= ANEW and given.count(opening) == 1 else ""
        """The beginning of the kept text, until it is known that it does not come again behind a preamble. Where it
        comes twice, it may come a third time."""
        self._folding = Folding()
        self._drop: int | None = None
        self._raw = ""
        """The new text so far, of which it is not yet known where it begins."""
        self.again = False
        """The new answer says the loop's unit twice: it has fallen back into the loop at once."""
        self.restarted = False
        self.lead = ""
        """What goes in front of the new text, once it is known how much of that is left out."""
        looped = kept < shown
        """The client has a part of the loop."""
        self._open = text[shown:kept] if not looped else completion(text, shown, period)
        have = self._shown + self._open
        self._period: int | None = None
        """Of the folded loop, where it is exact."""
        if looped and period is not None and period >= LEAST_UNIT:
            cycle = _cycle(text, len(have), period)
            self._expected = folded(cycle)
            self._period = len(folded(cycle * 2)) - len(folded(cycle + cycle[:period]))
        else:
            last = folded(_last_sentence(have)) if looped else ""
            self._expected = last if len(last) >= LEAST_LAST else ""

    def feed(self, piece: str) -> int | None:
        """Take the next text of the new answer. Returns how many characters so far to drop; None: not yet known."""
        self._raw += piece
        if self._echo is not None:
            drop = self._echo.feed(self._folding.add(piece))
            if drop is None:
                return None
            self._drop = self._folding.size(drop)
            self._echoed()
            return None if self._echo is not None else self._loop(final=False)
        return self._loop(final=False)

    def end(self) -> int:
        """No more text comes. Returns how many characters to drop."""
        if self._echo is not None:
            self._drop = self._folding.size(self._echo.end())
            self._echoed()
        drop = self._loop(final=True)
        assert drop is not None
        return drop

    def _echoed(self) -> None:
        assert self._echo is not None
        self.restarted = self._echo.restarted
        self._echo = None

    def _loop(self, *, final: bool) -> int | None:
        """Past what was kept: is the new text the loop's, or the last sentence of what was shown?"""
        assert self._drop is not None
        if self.restarted:
            return self._drop
        new = self._raw[self._drop :]
        bare = new.lstrip()
        if not bare:
            return len(self._raw) if final else None
        expected, folding = self._expected, Folding()
        said = folding.add(new)
        same = _common(expected, said)
        if expected and same >= len(said.rstrip()) and same < len(expected) and not final:
            return None
        drop = self._drop
        if self._period is not None:
            copies = same // self._period
            self.again = same == len(expected)
            drop += folding.size(copies * self._period)
        elif expected and same == len(expected):
            drop += folding.size(same)
        if self._opening and not self.again:
            far = PREAMBLE + len(self._opening)
            if self._opening in said[:far]:
                self.restarted = True
                return self._drop
            if len(said) < far and not final:
                return None
            self._opening = ""
        if final and not self._raw[drop:].strip():  # it ends here, and has said nothing new
            return len(self._raw)
        if self.tag:
            self.lead = self.tag
            return drop + len(self._raw[drop:]) - len(self._raw[drop:].lstrip())
        drop += self._doubled(self._raw[drop:])
        self.lead = self._open + self._space(self._raw[drop:])
        return drop

    def _doubled(self, rest: str) -> int:
        """White space at the beginning of the new text that the client has already."""
        have = self._shown + self._open
        had = have[len(have.rstrip()) :]
        given = rest[: len(rest) - len(rest.lstrip())]
        if not had or not given:
            return 0
        return len(had) if given.startswith(had) else len(given)

    def _space(self, rest: str) -> str:
        """The white space that is missing between what the client has and the new text."""
        have = self._shown + self._open
        if not have or not rest.strip() or have[-1:].isspace() or rest[:1].isspace():
            return ""
        if not ends_well(have):
            return "\n\n"
        return "" if have[-1] in "。！？」』）" else " "


def completion(text: str, shown: int, period: int | None) -> str:
    """What completes the sentence or line that the client's text ends in: as the model went on, and further along the
    loop where it is exact. Without an end of a sentence in reach: the running word."""
    rest = text[shown:]
    if period:
        rest += _cycle(text, len(text), period)
    rest = rest[:AHEAD]
    have = text[:shown]
    if ends_well(have):
        return ""
    line = have[have.rfind("\n") + 1 :].lstrip(" \t>")
    at = rest.find("\n") + 1
    if not line.startswith("|") and not in_fence(have):
        match = _SENTENCE.search(rest + " ")
        if match is not None and (not at or match.end() <= at):
            return rest[: match.end()]
    if at:
        return rest[:at]
    word = re.match(r"\w*", rest)
    return word.group() if word is not None and have[-1:].isalnum() else ""


def _cycle(text: str, at: int, period: int) -> str:
    """Two copies of the loop as it goes on from the character `at`."""
    unit = text[len(text) - period :]
    turn = (at - len(text)) % period
    turned = unit[turn:] + unit[:turn]
    return turned * 2


def _last_sentence(text: str) -> str:
    """The last sentence or line of a text, without the white space around it."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    for match in _SENTENCE.finditer(body, start, max(start, len(body) - 1)):
        start = match.end()
    return body[start:].strip()


def _common(one: str, other: str) -> int:
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    return next(at for at in range(size) if one[at] != other[at])
