"""Two configs on the same recordings: what only one of them finds, and where both do.

Findings are compared by place (recording, choice, channel), not by rule: another rule that cuts the same loop is the
same finding, earlier or later. Of several findings in one place the first that acts counts, else the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rules import Channel, wires

from ..judge import STOPPED, JudgedRecording, RecordedFinding, Step, judge, sized, walk
from ..judging import JudgingConfig
from .responsive_table import ResponsiveTable, block
from .table import FORMAT, NOTHING, finding_json

Place = tuple[int, Channel]


class Pair(NamedTuple):
    """One place, as A and as B see it; at least one of them finds something."""

    seen: tuple[JudgedRecording, JudgedRecording]
    a: RecordedFinding | None
    b: RecordedFinding | None

    @property
    def same(self) -> bool:
        """Nothing that a client could tell apart."""
        one, other = self.a, self.b
        return one is not None and other is not None and (one.does, at(one)) == (other.does, at(other))


@dataclass(slots=True)
class Difference:
    """What a comparison saw. Exit code as of `diff`: 0 where both configs find the same, 1 where they differ."""

    recordings: int = 0
    pairs: list[Pair] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    saved: tuple[int, int] = (0, 0)
    stopped: bool = False
    """Somebody pressed Ctrl-C: this is not all."""

    @property
    def only_a(self) -> list[Pair]:
        """Found by A alone."""
        return [pair for pair in self.pairs if pair.b is None]

    @property
    def only_b(self) -> list[Pair]:
        """Found by B alone."""
        return [pair for pair in self.pairs if pair.a is None]

    @property
    def both(self) -> list[Pair]:
        """Found by both, the same or not."""
        return [pair for pair in self.pairs if pair.a is not None and pair.b is not None]

    @property
    def exit_code(self) -> int:
        """0 the same, 1 different, 2 where nothing was there to judge, 130 after Ctrl-C."""
        if self.stopped:
            return STOPPED
        if not self.recordings:
            return 2
        return 0 if all(pair.same for pair in self.pairs) else 1


def at(found: RecordedFinding) -> int:
    """Where it fires: characters of its scope, steps for a habit."""
    return found.finding.hit.at


def compare(
    paths: Sequence[Path],
    a: JudgingConfig,
    b: JudgingConfig,
    wire: str | None = None,
    step: Step | None = None,
    *,
    excerpts: bool = False,
) -> Difference:
    """Judge everything under these paths twice. Raises as `run`."""
    spoken = wires.get(wire) if wire is not None else None
    out = Difference()
    twice = walk(
        sized(paths),
        lambda one: (judge(one, a, spoken, excerpts=excerpts), judge(one, b, spoken, excerpts=excerpts)),
        out.unreadable,
        step,
    )
    try:
        for seen in twice:
            out.recordings += 1
            out.saved = (out.saved[0] + seen[0].saved, out.saved[1] + seen[1].saved)
            out.pairs += _pairs(seen)
    except KeyboardInterrupt:
        out.stopped = True
    return out


def _pairs(seen: tuple[JudgedRecording, JudgedRecording]) -> Iterator[Pair]:
    one, other = _by_place(seen[0]), _by_place(seen[1])
    for place in sorted(one.keys() | other.keys()):
        yield Pair(seen, one.get(place), other.get(place))


def _by_place(seen: JudgedRecording) -> dict[Place, RecordedFinding]:
    out: dict[Place, RecordedFinding] = {}
    for found in seen.found:
        place = (found.finding.choice, found.finding.channel)
        if place not in out or (found.acts and not out[place].acts):
            out[place] = found
    return out


def diff_table(told: Difference) -> RenderableType:
    """What differs first, then one line that sums up."""
    parts: list[RenderableType] = []
    different = [*told.only_a, *told.only_b, *(pair for pair in told.both if not pair.same)]
    if different:
        table = Table(box=None, pad_edge=False, header_style="bold")
        blocks: list[RenderableType] = []
        for title in ("found by", "recording", "channel", "choice", "A: rule", "does", "at", "B: rule", "does", "at"):
            right = title in ("choice", "at")
            table.add_column(title, justify="right" if right else "left", overflow="fold", no_wrap=right)
        for pair in different:
            finding = (pair.a or pair.b or _never()).finding
            by = "A only" if pair.b is None else "B only" if pair.a is None else "both"
            place = (pair.seen[0].name, finding.channel.label, str(finding.choice))
            table.add_row(by, *place, *_cells(pair.a), *_cells(pair.b))
            sides = [(name, one) for name, one in (("A", pair.a), ("B", pair.b)) if one is not None]
            who = {"A": "A ", "B": "B "} if len(sides) > 1 else {"A": "", "B": ""}
            told_by = (f"{who[name]}{one.finding.rule} ({one.does} at {at(one):,})" for name, one in sides)
            blocks += block(place[0], f"{by}, in {place[1]}: {', '.join(told_by)}")
        parts.append(ResponsiveTable(table, blocks))
    parts += (Text(problem, style="red") for problem in told.unreadable)
    if not told.recordings and not told.stopped:
        parts.append(Text(NOTHING, style="red"))
    if told.stopped:
        parts.append(Text("stopped: this is what was compared until then", style="yellow"))
    same = sum(pair.same for pair in told.both)
    parts.append(
        Text(
            f"{told.recordings:,} recordings: only A finds {len(told.only_a):,}, only B {len(told.only_b):,}, "
            f"both {len(told.both):,} ({same:,} of them alike); "
            f"characters saved by A {told.saved[0]:,}, by B {told.saved[1]:,}",
            style="bold",
        )
    )
    return Group(*parts)


def _cells(found: RecordedFinding | None) -> tuple[str, str, str]:
    return ("", "", "") if found is None else (found.finding.rule, found.does, f"{at(found):,}")


def _never() -> RecordedFinding:
    raise AssertionError("a pair has a finding")


def diff_json(told: Difference) -> dict[str, Any]:
    """The whole comparison."""
    return {
        "format": FORMAT,
        "recordings": told.recordings,
        "stopped": told.stopped,
        "saved": {"a": told.saved[0], "b": told.saved[1]},
        "only_a": [finding_json(pair.seen[0], pair.a) for pair in told.only_a if pair.a],
        "only_b": [finding_json(pair.seen[1], pair.b) for pair in told.only_b if pair.b],
        "both": [
            {"same": pair.same, "a": finding_json(pair.seen[0], pair.a), "b": finding_json(pair.seen[1], pair.b)}
            for pair in told.both
            if pair.a and pair.b
        ],
        "unreadable": told.unreadable,
    }
