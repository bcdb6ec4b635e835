"""The watch over the second answer of a heal: the rules, the loop that is known, and what the new text is like.

The rules start afresh on the text that the model was given, silently, and then see the new text. The unit of the first
loop is remembered: its second whole copy is a conviction at once, and text that may become one waits in doubt, so the
client is not shown the same loop again. At the end the new text is judged by what it is like. That no rule has fired
says little: a model that crawls along its loop with one word changed is cut by no rule (docs/heal.md has the figures).
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from operator import eq
from typing import Final

from ..detect.watcher import Watcher, Watching
from ..during.batching import watch_answer
from ..values.brief import Brief
from ..values.delta import Channel
from ..values.verdict import Finding, Hit, Mode, NearMiss
from ..wires.base import Ask

POOR: Final = 0.36
"""Compressed length by length (zlib) below which new text is no better than the loop: healthy beginnings had 0.39 to
0.48, crawls along a loop 0.15 to 0.32 (docs/heal.md)."""
JUDGED: Final = 16_000
"""Characters of the new text that are judged."""
LEAST_JUDGED: Final = 200
"""Characters from which on the compressed length says something."""
LEAST_UNIT: Final = 16
"""Shortest unit that is known again: shorter ones come twice in ordinary text."""
HEAD: Final = 24
"""Characters of the unit that have to come again before text waits."""


ROWS: Final = 6
"""Rows from which on a second answer that goes on like the first was meant so."""
MOST_ROWS: Final = 60
"""Rows at the end that are looked at."""
CLOSING: Final = 2
"""Lines behind the rows, at most, that are none: a last sentence."""
ALIKE: Final = 0.8
"""Share of rows that are the same as those some rows before, from which on they are a loop and no data."""
RECENT: Final = 4_000
"""Characters at the end of the new text that are looked at for rows."""
MEANT: Final = 4
"""A second answer that was meant goes on for so many times the characters at which the first was cut, at most."""
_ROW = re.compile(
    r"\s*(?:(?P<table>\|)|(?P<list>[-*+•]\s)|(?P<number>\d+[.):]\s)|[^,;\t]+(?P<cells>[,;\t])[^,;\t]+(?P=cells))"
)
_NUMBER = re.compile(r"\d{1,18}")

SEEN: Final = 4_000
"""Characters at the end of the kept text that the rules are fed: more than the period of most loops, and some 4 ms."""


def second_watch(rules: Watching, ask: Ask, finding: Finding, kept: str, unit: str) -> SecondWatch:
    """The watch over a second answer. `kept`: the text it goes on behind. `unit`: one copy of the loop, "" where it is
    not exact."""
    watch = watch_answer(rules, ask, Mode.ON)
    if kept:
        watch.feed(0, Channel.TEXT, "", kept[-SEEN:])
        watch.drain()
    return SecondWatch(watch, finding, unit)


class SecondWatch:
    """A Watcher for one second answer."""

    __slots__ = (
        "_finding", "_near", "_recent", "_size", "_tail", "_texts", "_told", "_twice", "_unit", "_watch", "chars",
        "meant", "spoke",
    )  # fmt: skip

    def __init__(self, watch: Watcher, finding: Finding, unit: str = "") -> None:
        """`watch`: fresh, fed with the kept text. `finding`: the first loop's. `unit`: one copy of it, "" where it is
        not exact."""
        self._watch = watch
        self._finding = finding
        self._unit = unit if len(unit) >= LEAST_UNIT else ""
        self._twice = self._unit * 2
        self._tail = ""
        self._near = False
        self._told = False
        self._texts: list[str] = []
        self._size = 0
        self._recent = ""
        self.meant = False
        """The second answer, asked with other sampling, goes on in the same way with other data: rows of a table, a
        list. The model meant it, and the first cut was a false alarm. It passes."""
        self.chars = 0
        """Characters of the second answer so far."""
        self.spoke = False
        """It has new text, a refusal or a tool call: reasoning and white space alone are no answer."""

    @property
    def doubt(self) -> bool:
        """As Watch.doubt."""
        return not self.meant and (self._near or self._watch.doubt)

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        """As Watch.feed."""
        self.chars += len(text)
        self.spoke = self.spoke or (channel is not Channel.REASONING and bool(text.strip()))
        if channel is Channel.TEXT and self._size < JUDGED:
            self._texts.append(text[: JUDGED - self._size])
            self._size += len(text)
        if channel is Channel.TEXT:
            self._recent = (self._recent + text)[-RECENT:]
        found = self._found(self._watch.feed(choice, channel, key, text))
        if not self._unit or channel is not self._finding.channel:
            return found
        size = len(self._unit)
        tail = self._tail + text
        known = not self._told and tail.count(self._unit) >= 2
        self._tail = tail = tail[-3 * size :]
        self._near = len(tail) >= HEAD and tail[-HEAD:] in self._twice
        if not known:
            return found
        self._told = True
        hit = Hit(self.chars, max(0, self.chars - 2 * size), 2 * size, size, 2.0)
        first = self._finding
        return [Finding(first.rule, first.action, first.mode, channel, choice, hit), *found]

    def _found(self, found: Sequence[Finding]) -> Sequence[Finding]:
        """The findings, without those about rows that were meant. Text that would never end is cut all the same."""
        first = self._finding
        if not found or not any(finding.acts for finding in found):
            return found
        if not self.meant and found[0].rule == first.rule and found[0].channel is first.channel is Channel.TEXT:
            self.meant = rows(self._recent)
        return () if self.meant and self.chars <= MEANT * max(first.hit.at, RECENT) else found

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]:
        """As Watch.called."""
        self.spoke = True
        return self._watch.called(choice, name, arguments)

    def drain(self) -> Sequence[Finding]:
        """As Watch.drain."""
        return self._found(self._watch.drain())

    def near_misses(self, *, now: bool = False) -> Sequence[NearMiss]:
        """As Watch.near_misses."""
        return self._watch.near_misses(now=now)

    @property
    def in_rows(self) -> bool:
        """Is the new text, behind a loop in text, rows that were meant? To be asked at the end."""
        return self._finding.channel is Channel.TEXT and rows(self._recent + "\n")

    @property
    def poor(self) -> bool:
        """Is the new text hardly better than the loop? To be asked at the end."""
        return poor("".join(self._texts)) or bool(self._watch.near_misses(now=True))


class SecondRules:
    """Rules whose watch is this one: for whole answers, which are watched at once."""

    __slots__ = ("_watch",)

    def __init__(self, watch: SecondWatch) -> None:
        self._watch = watch

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> SecondWatch:
        """As RuleSet.watch, but always the same one."""
        return self._watch


def rows(text: str) -> bool:
    """Does the text end in rows of one kind that are data: of a table, a list, or with as many cells each?

    Rows that come in the same order again and again are a loop, and so are rows that differ in a counter alone. Where a
    few values come in a free order, as data has them, no shift of the rows lays them on themselves."""
    lines = [line for line in text.split("\n")[:-1] if line.strip()][-MOST_ROWS:]
    kinds = [_kind(line) for line in lines]
    while kinds and kinds[-1] is None and len(lines) - len(kinds) < CLOSING:
        kinds.pop()
    kind = kinds[-1] if kinds else None
    count = next((at for at, other in enumerate(reversed(kinds)) if other != kind), len(kinds))
    if kind is None or count < ROWS:
        return False
    data = _uncounted(lines[len(kinds) - count : len(kinds)])
    return all(_alike(data, shift) < ALIKE for shift in range(1, count // 2 + 1))


def _kind(line: str) -> tuple[str | None, int] | None:
    """The kind of row that a line is: its form, and how many cells it has. None: it is no row."""
    match = _ROW.match(line)
    return (match.lastgroup, line.count(match["cells"]) if match["cells"] else 0) if match else None


def _uncounted(lines: Sequence[str]) -> list[str]:
    """The lines without their first number, where that counts them."""
    numbers = [_NUMBER.search(line) for line in lines]
    values = [int(number[0]) for number in numbers if number is not None]
    steps = Counter(after - before for before, after in pairwise(values))
    counts = len(values) == len(lines) and max(steps.values()) >= ALIKE * (len(lines) - 1)
    return [_NUMBER.sub("#", line, count=1) for line in lines] if counts else list(lines)


def _alike(data: Sequence[str], shift: int) -> float:
    """The share of rows that are the same as the row `shift` before them."""
    same: int = sum(map(eq, data, data[shift:]))
    return same / (len(data) - shift)


def poor(text: str) -> bool:
    """Does this text compress as well as a loop does?"""
    if len(text) < LEAST_JUDGED:
        return False
    raw = text.encode(errors="replace")
    return len(zlib.compress(raw)) / len(raw) < POOR
