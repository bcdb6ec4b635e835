"""How far a bar may be moved: one setting of one rule over a grid of values, all its other numbers as configured.

A bar is a number that a monitor names in the evidence of its hits, or its `factor`: higher is calmer. Ends are found by
bisection answer by answer and then checked against all of them, since not every monitor is strictly monotonous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import ValidationError

from rules import Hit, Mode, Rule, RuleSet
from rules import changed_rules as changed

from ..replay.recorder import Called, HeardText, Recorded, play
from .explain import COPIES, LEAST, PIECES, RUNS, unit

STEP = 1.02
"""Ratio of neighbouring values: the precision of every answer."""
LOOPING = (1, 5, 21, 89, 377)
"""Periods of the runs that stand for loops where no recording is labelled as one."""
WIDE = 32
"""The grid reaches from the value now, divided by this, to the value now times this."""


class RecordedAnswer(NamedTuple):
    """A recording by its name, and what was heard of it."""

    name: str
    heard: Recorded


@dataclass(frozen=True, slots=True)
class Margin:
    """One bar. `tightest` is the most sensitive value at which nothing healthy fires, `loosest` the calmest at which
    every loop that is caught now still is; None: there is no such value within the grid."""

    bar: str
    setting: str
    now: float
    lowest: float
    """The most sensitive value that was tried."""
    tightest: float | None
    loosest: float | None
    nearest: str = ""
    """The healthy recording that sets the tightest value; "" where none fires even at the lowest."""

    @property
    def distance(self) -> float | None:
        """The value now in tightest ones: below 1, something healthy is cut now. None without a tightest."""
        return self.now / self.tightest if self.tightest else None


def bars(rule: Rule, seen: Sequence[Hit] = ()) -> list[str]:
    """The settings of a rule that are bars, by its hits on made-up runs and on what was `seen`."""
    named: dict[str, None] = {}
    for hit in (*seen, *_hits(rule)):
        named |= dict.fromkeys(hit.bars)
    held = {name for name, value in rule.params if isinstance(value, int | float) and not isinstance(value, bool)}
    factor = ["factor"] if "factor" in held and "factor" not in named else []
    return [name for name in named if name in held] + factor


def _hits(rule: Rule) -> Iterator[Hit]:
    alone = _alone(rule)
    for one in [*runs((4, 34, 233)), *_equal(rule)]:
        yield from (finding.hit for finding in play(one.heard, alone))


def runs(periods: Sequence[int] = LOOPING) -> list[RecordedAnswer]:
    """Made-up runs as of `streamfuse check --explain`: in text, reasoning and tool arguments, as prose and in lines."""
    out: list[RecordedAnswer] = []
    for run in RUNS:
        for period in periods:
            text = unit(period, lines=run.lines) * (max(LEAST, period * COPIES) // period)
            heard = Recorded()
            at = n = 0
            while at < len(text):
                size = PIECES[n % len(PIECES)]
                heard.said.append(HeardText(0, run.channel, "0", text[at : at + size]))
                at, n = at + size, n + 1
            out.append(RecordedAnswer(f"{run.title}, period {period}", heard))
    return out


def _equal(rule: Rule) -> Iterator[RecordedAnswer]:
    """Equal deltas and equal calls, which no run holds."""
    for channel in rule.channels:
        yield RecordedAnswer("equal deltas", Recorded([HeardText(0, channel, "0", "word ")] * 2000))
    yield RecordedAnswer("equal calls", Recorded([Called(0, "ls", "{}")] * 100))


def grid(rule: Rule, name: str) -> list[float]:
    """Values that the rule accepts, most sensitive first."""
    now = getattr(rule.params, name)
    if not now > 0:
        return []
    raw = [now]
    for step in (STEP, 1 / STEP):
        value = float(now)
        while now / WIDE <= value * step <= now * WIDE:
            value *= step
            raw.append(round(value) if isinstance(now, int) else value)
    return sorted(value for value in set(raw) if _accepts(rule, name, value))


def _accepts(rule: Rule, name: str, value: float) -> bool:
    try:
        changed(rule, {"params": {name: value}})
    except ValidationError:
        return False
    return True


def _alone(rule: Rule) -> RuleSet:
    return RuleSet([rule.model_copy(update={"mode": Mode.ON})])


def fires(answer: RecordedAnswer, rules: RuleSet) -> bool:
    """Does anything fire on it?"""
    return next(play(answer.heard, rules), None) is not None


def measure(rule: Rule, name: str, healthy: Sequence[RecordedAnswer], loops: Sequence[RecordedAnswer]) -> Margin | None:
    """The margin of one bar; None where it cannot be moved. `loops` are those that the rule catches now."""
    values = grid(rule, name)
    if len(values) < 2:
        return None
    made = [_alone(changed(rule, {"params": {name: value}})) for value in values]
    calm, nearest = _edge(healthy, len(values), lambda answer, at: not fires(answer, made[at]))
    deaf, _ = _edge(loops, len(values), lambda answer, at: fires(answer, made[len(values) - 1 - at]))
    loosest = None if deaf is None or not loops else values[len(values) - 1 - deaf]
    return Margin(
        name,
        f"rules.change.{rule.name}.params.{name}",
        getattr(rule.params, name),
        values[0],
        None if calm is None else values[calm],
        loosest,
        nearest,
    )


def _edge(
    answers: Sequence[RecordedAnswer], size: int, good: Callable[[RecordedAnswer, int], bool]
) -> tuple[int | None, str]:
    """(the first place of the grid at which every answer is good, the answer that sets it). None: there is none."""
    edge, by, clean = 0, "", False
    while not clean:
        clean = True
        for answer in answers:
            if good(answer, edge):
                continue
            clean, by = False, answer.name
            bad, fine = edge, size
            while fine - bad > 1:
                middle = (bad + fine) // 2
                bad, fine = (bad, middle) if good(answer, middle) else (middle, fine)
            if fine == size:
                return None, by
            edge = fine
    return edge, by
