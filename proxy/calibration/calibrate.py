"""A config against one's own healthy sessions: false alarms per 1,000 answers, and how far each bar may be moved.

Everything under the paths is taken to be healthy but what is labelled: `loop` is what must stay caught, `unsure` and
loops that ended by themselves are left out. All answers are kept in memory while bars are swept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

from rules import Hit, Mode, Rule, RuleSet, wires

from ..replay.judge import JudgedRecording, Step, judge, listen, sized, walk
from ..replay.judging import JudgingConfig
from ..replay.labels import LOOP
from ..replay.recordings import Recording
from ..replay.report.table import FORMAT
from .sweep import Margin, RecordedAnswer, bars, fires, measure, runs

LEFT_OUT = ("unsure", f"{LOOP} (ended)")
SURE = 1.96
"""Standard deviations of a 95 % interval."""


@dataclass(slots=True)
class Alarms:
    """How often one rule or habit speaks up where nothing is wrong."""

    name: str
    of: int = 0
    fired: int = 0
    acted: int = 0
    hits: list[Hit] = field(default_factory=list)
    margins: list[Margin] = field(default_factory=list)

    @property
    def per_1000(self) -> float:
        """False cuts (for a habit: reminders and refusals) per 1,000."""
        return 1000 * self.acted / self.of if self.of else 0.0

    @property
    def at_most(self) -> float:
        """The upper end of what per_1000 may truly be, 95 % sure (Wilson's interval): few answers prove little."""
        if not self.of:
            return 1000.0
        share, n, z = self.acted / self.of, self.of, SURE * SURE
        return 1000 * min(1.0, (share + z / 2 / n + SURE * sqrt(share * (1 - share) / n + z / 4 / n / n)) / (1 + z / n))


@dataclass(slots=True)
class Calibration:
    """What a calibration saw. Exit code 0 where nothing healthy is cut, 1 where something is, 2 nothing to read."""

    rules: list[Alarms]
    habits: list[Alarms]
    together: Alarms
    """Any rule at all: what a user feels."""
    characters: int = 0
    loops: int = 0
    unreadable: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """As of every command."""
        if not self.together.of and not any(habit.of for habit in self.habits):
            return 2
        return 1 if self.together.acted or any(habit.acted for habit in self.habits) else 0


def calibrate(
    paths: Sequence[Path],
    guard: JudgingConfig,
    wire: str | None = None,
    step: Step | None = None,
) -> Calibration:
    """Count, then sweep every bar of every rule that is not off. `step` hears of files, then of bars. Raises as
    `run`."""
    spoken = wires.get(wire) if wire is not None else None
    rules = [rule for rule in guard.rules if rule.mode is not Mode.OFF]
    out = Calibration(
        [Alarms(rule.name) for rule in rules],
        [Alarms(w.kind.name) for w in guard.watchers if w.rule.mode is not Mode.OFF],
        Alarms("any rule"),
    )
    healthy: list[RecordedAnswer] = []
    loops: list[RecordedAnswer] = []

    def hear(recording: Recording) -> None:
        if recording.label in LEFT_OUT:
            return
        if recording.is_history:
            if recording.label != LOOP:
                _count(out.habits, judge(recording, guard))
            return
        _, heard = listen(recording, guard, spoken)
        if not heard.total:
            return
        answer = RecordedAnswer(recording.name, heard)
        if recording.label == LOOP:
            loops.append(answer)
            return
        healthy.append(answer)
        out.characters += heard.total
        for alarms in (*out.rules, out.together):
            told = [one.finding for one in heard.told if alarms is out.together or one.finding.rule == alarms.name]
            alarms.of += 1
            alarms.fired += bool(told)
            alarms.acted += any(finding.acts for finding in told)
            alarms.hits += [finding.hit for finding in told[:1]]

    for _ in walk(sized(paths), hear, out.unreadable, step):
        pass
    out.loops = len(loops)
    _sweep(rules, out, healthy, loops or runs(), step)
    return out


def _count(habits: Iterable[Alarms], seen: JudgedRecording) -> None:
    for alarms in habits:
        found = [one for one in seen.found if one.finding.rule == alarms.name]
        alarms.of += 1
        alarms.fired += bool(found)
        alarms.acted += any(one.acts for one in found)


def _sweep(
    rules: Sequence[Rule],
    out: Calibration,
    healthy: Sequence[RecordedAnswer],
    loops: Sequence[RecordedAnswer],
    step: Step | None,
) -> None:
    known = zip(rules, out.rules, strict=True)
    todo = [(rule, alarms, name) for rule, alarms in known for name in bars(rule, alarms.hits)]
    caught: dict[str, list[RecordedAnswer]] = {}
    for n, (rule, alarms, name) in enumerate(todo if healthy else ()):
        if step is not None:
            step(n, len(todo), f"{rule.name} {name}")
        if rule.name not in caught:
            alone = RuleSet([rule])
            caught[rule.name] = [loop for loop in loops if fires(loop, alone)]
        margin = measure(rule, name, healthy, caught[rule.name])
        if margin is not None:
            alarms.margins.append(margin)


def calibration_json(told: Calibration) -> dict[str, Any]:
    """The whole of it: numbers, and names of recordings."""
    return {
        "format": FORMAT,
        "answers": told.together.of,
        "characters": told.characters,
        "loops": told.loops,
        "together": _alarms(told.together),
        "rules": [{**_alarms(rule), "bars": [{**_margin(margin)} for margin in rule.margins]} for rule in told.rules],
        "habits": [_alarms(habit) for habit in told.habits],
        "unreadable": told.unreadable,
    }


def _alarms(told: Alarms) -> dict[str, Any]:
    return {
        "name": told.name,
        "of": told.of,
        "fired": told.fired,
        "acted": told.acted,
        "per_1000": round(told.per_1000, 3),
        "at_most": round(told.at_most, 3),
    }


def _margin(margin: Margin) -> dict[str, Any]:
    return {
        "bar": margin.bar,
        "setting": margin.setting,
        "now": margin.now,
        "tightest": margin.tightest,
        "loosest": margin.loosest,
        "lowest": margin.lowest,
        "distance": margin.distance,
        "nearest": margin.nearest,
    }
