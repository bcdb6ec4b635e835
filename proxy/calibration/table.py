"""A calibration for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .calibrate import Alarms, Calibration
from .sweep import WIDE, Margin


def calibration_table(told: Calibration) -> RenderableType:
    """False alarms by rule and by habit, every bar, then what it means."""
    parts: list[RenderableType] = []
    if told.together.of:
        parts += [_counts("answers", "rule", [*told.rules, told.together]), ""]
    habits = [habit for habit in told.habits if habit.fired]
    if habits:
        parts += [_counts("histories", "habit", habits), ""]
    if any(rule.margins for rule in told.rules):
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("rule", "bar", "now", "tightest", "loosest", "distance", "nearest healthy answer"):
            right = title in ("now", "tightest", "loosest", "distance")
            table.add_column(title, justify="right" if right else "left", overflow="fold", no_wrap=right)
        for rule in told.rules:
            for n, margin in enumerate(rule.margins):
                table.add_row(rule.name if n == 0 else "", *_cells(margin))
        parts += [table, ""]
    parts += (Text(problem, style="red") for problem in told.unreadable)
    parts += (Text(line, style="bold" if n == 0 else "") for n, line in enumerate(_said(told)))
    return Group(*parts)


def _counts(of: str, kind: str, alarms: list[Alarms]) -> Table:
    acts = "cuts" if kind == "rule" else "acts"
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in (kind, of, "fires", acts, f"{acts} per 1,000", "at most (95 %)"):
        table.add_column(title, justify="left" if title == kind else "right")
    for one in alarms:
        numbers = (f"{n:,}" for n in (one.of, one.fired, one.acted))
        table.add_row(one.name, *numbers, f"{one.per_1000:.2f}", f"{one.at_most:.2f}")
    return table


def _cells(margin: Margin) -> Iterator[str]:
    yield margin.bar
    yield f"{margin.now:.6g}"
    yield "none" if margin.tightest is None else f"{'' if margin.nearest else '≤ '}{margin.tightest:.4g}"
    yield "" if margin.loosest is None else f"{margin.loosest:.4g}"
    yield "" if margin.distance is None else f"{'' if margin.nearest else '≥ '}{margin.distance:.2f}×"
    yield margin.nearest


def _said(told: Calibration) -> Iterator[str]:
    habits = max((habit.of for habit in told.habits), default=0)
    yield (
        f"{told.together.of:,} healthy answers, {told.characters:,} characters: {told.together.acted:,} would be cut; "
        f"{habits:,} histories: {sum(habit.acted for habit in told.habits):,} times a habit would act"
    )
    if any(rule.margins for rule in told.rules):
        loops = f"the {told.loops:,} labelled loops" if told.loops else "made-up runs (see docs/replay.md)"
        yield f"tightest: the most sensitive value (within {WIDE}-fold) at which nothing healthy fires; all else as now"
        yield f"loosest: the calmest value at which what is caught now of {loops} still is"
        yield "distance: the value now in tightest ones; below 1× something healthy fires now"
