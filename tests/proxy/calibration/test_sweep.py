"""How far a bar may be moved: found by bisection, true for every answer."""

from __future__ import annotations

from itertools import pairwise

import pytest

from proxy.calibration.sweep import STEP, WIDE, RecordedAnswer, bars, fires, grid, measure, runs
from proxy.replay import JudgingConfig
from proxy.replay.judge import listen
from rules.detect.packs import changed
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.values.delta import Channel
from rules.values.verdict import Hit

from ..replay.answers import CALM, LOOP, text

SPAN = Rule(name="it", monitor="cycle", params={"span": 256}, channels=[Channel.TEXT])


def answers(*texts: str) -> list[RecordedAnswer]:
    return [RecordedAnswer(f"answer {n}", listen(text(one), JudgingConfig())[1]) for n, one in enumerate(texts)]


@pytest.mark.parametrize(
    ("monitor", "named"),
    [
        ("cycle", ["span", "distinct"]),
        ("period", ["tokens", "copies", "distinct"]),
        ("lines", ["chars", "coverage", "concentration"]),
        ("equal_deltas", ["run"]),
        ("exact_repetition", ["factor"]),
        ("novelty", ["factor"]),
        ("spaced_repetition", ["factor"]),
    ],
)
def test_bars_are_the_numbers_that_hits_are_held_against(monitor: str, named: list[str]) -> None:
    assert bars(Rule(name="it", monitor=monitor)) == named


def test_a_rule_about_calls_has_its_bar_too() -> None:
    assert bars(Rule(name="it", monitor="same_call", channels=["tool"])) == ["equal"]


def test_bars_of_hits_that_were_seen_count() -> None:
    rule = Rule(name="it", monitor="equal_deltas", channels=["tool"])
    assert bars(rule, [Hit(1, 0, 1, bars={"run": 60, "gone": 1})]) == ["run"]


def test_a_grid_holds_what_the_rule_accepts() -> None:
    values = grid(SPAN, "span")
    assert values == sorted(set(values)) and 256 in values
    assert (values[0], values[-1]) == (256 // WIDE, 8190)
    assert all(b <= a * STEP + 2 for a, b in pairwise(values))
    lines = Rule(name="it", monitor="lines", params={"coverage": 0.9})
    assert max(grid(lines, "coverage")) <= 1
    assert grid(changed(lines, {"params": {"concentration": 0.0}}), "concentration") == []


def test_the_ends_are_where_verdicts_turn() -> None:
    healthy = answers(CALM, CALM + " " + "ab " * 20, LOOP * 2)
    loops = answers(LOOP * 20, LOOP * 12)
    margin = measure(SPAN, "span", healthy, loops)
    assert margin is not None and margin.tightest is not None and margin.loosest is not None
    assert (margin.now, margin.nearest, margin.setting) == (256, "answer 2", "rules.change.it.params.span")

    def caught(span: float, rows: list[RecordedAnswer]) -> int:
        rules = RuleSet([changed(SPAN, {"params": {"span": span}})])
        return sum(fires(row, rules) for row in rows)

    values = grid(SPAN, "span")
    tight, loose = values.index(margin.tightest), values.index(margin.loosest)
    assert (caught(values[tight], healthy), caught(values[tight - 1], healthy)) == (0, 1)
    assert (caught(values[loose], loops), caught(values[loose + 1], loops)) == (2, 1)
    assert margin.distance == 256 / margin.tightest > 2


def test_what_nothing_comes_near_says_so() -> None:
    margin = measure(SPAN, "span", answers(CALM), [])
    assert margin is not None
    assert (margin.tightest, margin.lowest, margin.nearest, margin.loosest) == (8, 8, "", None)


def test_what_no_value_makes_safe_says_so() -> None:
    margin = measure(SPAN, "span", answers(CALM, LOOP * 400), [])
    assert margin is not None
    assert (margin.tightest, margin.distance, margin.nearest) == (None, None, "answer 1")


def test_a_bar_that_cannot_be_moved_has_no_margin() -> None:
    assert measure(Rule(name="it", monitor="lines", params={"concentration": 0.0}), "concentration", [], []) is None


def test_made_up_runs_are_what_explain_shows() -> None:
    made = runs((5, 34))
    assert {answer.name.rpartition(", ")[2] for answer in made} == {"period 5", "period 34"}
    assert sum(fires(answer, RuleSet([SPAN])) for answer in made) == 4, "text, in lines or not"
