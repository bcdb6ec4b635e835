"""Runs of each period through real rules."""

from __future__ import annotations

import pytest
from rich.console import Console

from proxy.calibration.explain import PERIODS, RUNS, first, table, unit
from rules.detect.packs import assemble
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet

CYCLE = Rule(name="c", monitor="cycle", channels=("text",), params={"period": 64, "span": 256})


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("period", PERIODS)
def test_a_unit_is_as_long_as_its_period_and_has_no_shorter_one(period, lines):
    text = unit(period, lines=lines)
    assert len(text) == period
    assert (text + text).find(text, 1) == period


def test_the_character_is_where_the_real_rule_fires():
    rules = RuleSet([CYCLE])
    found = first(rules, RUNS[0], 55)
    assert found is not None and found.rule == "c"
    assert found.hit.at >= 256 and found.hit.since == 0
    assert first(rules, RUNS[0], 89) is None, "over the rule's longest period"
    assert first(rules, RUNS[2], 55) is None, "not the rule's channel"


def test_the_table_names_rule_and_character():
    console = Console(width=200)
    with console.capture() as said:
        console.print(table(assemble(["seeds"]), (34, 4000)))
    text = said.get()
    assert "text-cycle" in text and "reasoning-cycle" in text and "passes" in text and "4,000" in text
    assert "text-cycle: period 34: the same 34 characters," in text, "each rule's reason in a sentence"
