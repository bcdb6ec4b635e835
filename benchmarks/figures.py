"""Loopbench's figures in the units that people read: shares in %, lengths in characters, cost in µs a character.

The definitions are loopbench's own (its run.py): a loop counts as caught where it fires at or behind the onset, `ended`
and `unsure` rows count nowhere, a loop fired on before its onset is a false cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .measured import Measured

Row = dict[str, Any]
KINDS = {
    "exact + flood": ("exact_cycle", "flood"),
    "paragraph": ("paragraph",),
    "drifting": ("drifting_cycle",),
    "line pool": ("line_pool",),
}


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def set_aside(model: str) -> bool:
    """Two models in five, by name: never look at their texts while tuning."""
    return _hash(model) % 5 < 2


def sampled(rows: list[Row], n: int) -> list[Row]:
    """One in `n` of each label, always the same ones."""
    if n == 1:
        return rows
    by_label: dict[str, list[Row]] = {}
    for row in rows:
        by_label.setdefault(row["label"], []).append(row)
    kept = {row["id"] for some in by_label.values() for row in sorted(some, key=lambda r: _hash(r["id"]))[::n]}
    return [row for row in rows if row["id"] in kept]


@dataclass
class Figures:
    """The figures of one detector on some rows."""

    loops: dict[str, int] = field(default_factory=dict)
    """By kind."""
    caught: dict[str, int] = field(default_factory=dict)
    by_half: dict[bool, list[int]] = field(default_factory=lambda: {True: [0, 0], False: [0, 0]})
    """Is the model set aside? → caught, loops."""
    early: int = 0
    delays: list[int] = field(default_factory=list)
    after: int = 0
    """Characters behind the onsets."""
    delivered: int = 0
    texts: dict[str, int] = field(default_factory=dict)
    """Texts by label in which nothing is a loop worth cutting."""
    cut: dict[str, int] = field(default_factory=dict)
    fed: int = 0
    cpu: float = 0.0
    longest: list[float] = field(default_factory=list)
    missed: list[tuple[Row, Measured]] = field(default_factory=list)
    false: list[tuple[Row, Measured]] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Sequence[Row], results: Sequence[Measured], which: Sequence[bool] | None = None) -> Figures:
        """Of the rows that `which` names, or of all."""
        figures = cls()
        for n, (row, got) in enumerate(zip(rows, results, strict=True)):
            if which is None or which[n]:
                figures._add(row, got)
        return figures

    def _add(self, row: Row, got: Measured) -> None:
        self.fed += got.used
        self.cpu += got.cpu
        self.longest.append(got.worst)
        label = row["label"]
        if label == "loop" and not row["ended"]:
            self._add_loop(row, got)
        elif label in ("legit", "healthy", "file"):
            self.texts[label] = self.texts.get(label, 0) + 1
            if got.fired is not None:
                self.cut[label] = self.cut.get(label, 0) + 1
                self.false.append((row, got))

    def _add_loop(self, row: Row, got: Measured) -> None:
        kind, onset, length = row["kind"], row["onset"], len(row["text"])
        half = self.by_half[set_aside(row.get("model") or "")]
        self.loops[kind] = self.loops.get(kind, 0) + 1
        half[1] += 1
        self.after += length - onset
        if got.fired is None:
            self.delivered += length - onset
            self.missed.append((row, got))
        elif got.fired < onset - max(8, row["period"] or 0):
            self.early += 1
            self.false.append((row, got))
        else:
            self.caught[kind] = self.caught.get(kind, 0) + 1
            half[0] += 1
            delay = max(0, got.fired - onset)
            self.delays.append(delay)
            self.delivered += delay

    def share(self, *kinds: str) -> tuple[int, int]:
        """(caught, loops) of these kinds, or of all."""
        return tuple(sum(n for k, n in some.items() if not kinds or k in kinds) for some in (self.caught, self.loops))  # type: ignore[return-value]

    def delay(self, part: float) -> int | None:
        """Characters from the onset to the cut."""
        found = sorted(self.delays)
        return found[min(len(found) - 1, int(part * len(found)))] if found else None

    @property
    def us_per_character(self) -> float | None:
        return self.cpu * 1e6 / self.fed if self.fed else None

    def feed_ms(self, part: float) -> float | None:
        """Of the longest feed of each answer, by the wall clock: what else the machine does is in it."""
        found = sorted(self.longest)
        return 1e3 * found[min(len(found) - 1, int(part * len(found)))] if found else None

    def as_json(self) -> dict[str, Any]:
        """Counts and numbers; shares are 0 to 1."""
        caught, loops = self.share()
        return {
            "loops": loops,
            "caught": caught,
            "recall": caught / loops if loops else None,
            "kinds": {kind: {"caught": self.caught.get(kind, 0), "loops": n} for kind, n in self.loops.items()},
            "cut": {label: {"cut": self.cut.get(label, 0), "of": n} for label, n in self.texts.items()},
            "before_onset": self.early,
            "delay_median": self.delay(0.5),
            "delay_p90": self.delay(0.9),
            "delivered": self.delivered / self.after if self.after else None,
            "us_per_character": self.us_per_character,
            "longest_feed_ms_p99": self.feed_ms(0.99),
            "missed": [row["id"] for row, _ in self.missed],
            "cut_wrongly": [row["id"] for row, _ in self.false],
        }


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}".replace("%", " %") if whole else ""


def _share(*kinds: str) -> Callable[[Figures], str]:
    def tell(figures: Figures) -> str:
        caught, loops = figures.share(*kinds)
        return f"{_percent(caught, loops)} ({caught}/{loops})" if loops else ""

    return tell


def _half(aside: bool) -> Callable[[Figures], str]:
    def tell(figures: Figures) -> str:
        caught, loops = figures.by_half[aside]
        # where these are all loops, the first row has said it
        return f"{_percent(caught, loops)} ({caught}/{loops})" if 0 < loops < figures.share()[1] else ""

    return tell


def _cut(label: str) -> Callable[[Figures], str]:
    return lambda figures: f"{figures.cut.get(label, 0)} of {figures.texts[label]:,}" if label in figures.texts else ""


def _delays(figures: Figures) -> str:
    median, late = figures.delay(0.5), figures.delay(0.9)
    return "" if median is None or late is None else f"{median:,} / {late:,}"


def _feeds(figures: Figures) -> str:
    usual, worst = figures.feed_ms(0.5), figures.feed_ms(0.99)
    return "" if usual is None or worst is None else f"{usual:.2f} / {worst:.2f}"


ROWS: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("loops caught", _share()),
    ("… models set aside", _half(True)),
    ("… other models", _half(False)),
    *((f"… {kind}", _share(*names)) for kind, names in KINDS.items()),
    ("healthy answers cut", _cut("healthy")),
    ("files cut", _cut("file")),
    ("hard legitimate cut", _cut("legit")),
    ("loops cut before their onset", lambda f: str(f.early) if f.loops else ""),
    ("delay in characters, median / 90 %", _delays),
    ("looping characters delivered", lambda f: _percent(f.delivered, f.after)),
    ("µs per character", lambda f: "" if f.us_per_character is None else f"{f.us_per_character:.2f}"),
    ("longest feed in ms, median / 99 % of answers", _feeds),
)
"""Title and how it is told; "" where the rows hold nothing for it."""


def in_short(figures: Figures) -> str:
    """One line."""
    caught, loops = figures.share()
    parts = [f"{_percent(caught, loops)} of loops caught"] if loops else []
    parts += [
        f"{words} cut {told}"
        for words, label in (("healthy", "healthy"), ("files", "file"), ("legitimate", "legit"))
        if (told := _cut(label)(figures))
    ]
    cost = figures.us_per_character
    return ", ".join([*parts, *([f"{cost:.2f} µs a character"] if cost is not None else [])])
