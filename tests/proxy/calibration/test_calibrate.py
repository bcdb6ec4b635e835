"""A config against healthy sessions: counts, bounds, exit codes, and what is printed."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from proxy.calibration.calibrate import Alarms, calibration_json
from proxy.calibration.calibrate import calibrate as measured
from proxy.commands.offline import calibrate
from proxy.replay import JudgingConfig, Unreadable
from rules.detect import packs
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.values.verdict import Mode

from ..replay.answers import CALM, LOOP

GUARD = JudgingConfig(RuleSet([Rule(name="span", monitor="cycle", channels=["text"])]), watchers=())


def rows(tmp_path: Path, *written: dict[str, Any]) -> Path:
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written))
    return tmp_path


def test_healthy_answers_are_counted_by_rule(tmp_path: Path) -> None:
    told = measured([rows(tmp_path, *[{"text": CALM}] * 9, {"text": LOOP * 10, "label": "legit"})], GUARD)
    (rule,) = told.rules
    assert (rule.of, rule.fired, rule.acted, rule.per_1000) == (10, 1, 1, 100.0)
    assert 100 < rule.at_most < 450
    assert (told.together.acted, told.characters, told.exit_code) == (1, 9 * len(CALM) + 10 * len(LOOP), 1)
    span = next(margin for margin in rule.margins if margin.bar == "span")
    assert span.distance is not None and span.distance < 1 and span.nearest.endswith("x.jsonl:10")


def test_loops_are_what_must_stay_caught_and_the_unsure_are_left_out(tmp_path: Path) -> None:
    told = measured(
        [
            rows(
                tmp_path,
                {"text": CALM},
                {"text": LOOP * 10, "label": "loop"},
                {"text": LOOP * 90, "label": "unsure"},
                {"text": LOOP * 90, "label": "loop", "ended": True},
            )
        ],
        GUARD,
    )
    (rule,) = told.rules
    assert (rule.of, rule.acted, told.loops, told.exit_code) == (1, 0, 1, 0)
    span = next(margin for margin in rule.margins if margin.bar == "span")
    assert span.loosest is not None and 256 < span.loosest <= len(LOOP) * 10


def test_a_rule_that_only_tells_cuts_nothing(tmp_path: Path) -> None:
    told = measured([rows(tmp_path, {"text": LOOP * 10})], JudgingConfig(GUARD.rules, mode=Mode.WATCH, watchers=()))
    assert (told.rules[0].fired, told.rules[0].acted, told.exit_code) == (1, 0, 0)


def test_habits_are_counted_by_history(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    said: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for _ in range(6):
        said += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "no"}]
    told = measured([rows(tmp_path, {"messages": said}, {"messages": said[:3]})], JudgingConfig(RuleSet()))
    repeated = next(habit for habit in told.habits if habit.name == "repeated_action")
    assert (repeated.of, repeated.acted, repeated.per_1000) == (2, 1, 500.0)
    assert told.exit_code == 1


def test_few_answers_prove_little() -> None:
    assert Alarms("x").at_most == 1000
    assert 25 < Alarms("x", of=100).at_most < 40
    assert 2.5 < Alarms("x", of=1000).at_most < 4
    assert Alarms("x", of=10, acted=10).at_most == pytest.approx(1000)


def test_nothing_to_read_is_2_and_a_wrong_path_raises(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{")
    told = measured([tmp_path], GUARD)
    assert told.exit_code == 2 and len(told.unreadable) == 1
    with pytest.raises(Unreadable):
        measured([tmp_path / "gone"], GUARD)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("terminal", [False, True])
def test_it_is_printed_without_a_character_of_the_texts(tmp_path: Path, as_json: bool, terminal: bool) -> None:
    rows(tmp_path, {"text": CALM}, {"text": LOOP * 10})
    out, err = StringIO(), StringIO()
    consoles = {
        "out": Console(file=out, width=200, color_system=None),
        "err": Console(file=err, force_terminal=terminal, color_system=None),
    }
    assert calibrate([tmp_path], GUARD, None, json=as_json, **consoles) == 1
    said = out.getvalue()
    assert "function" not in said and "bright" not in said
    assert bool(err.getvalue()) is terminal
    if as_json:
        told = json.loads(said)
        assert told == json.loads(json.dumps(calibration_json(measured([tmp_path], GUARD))))
        assert {"format", "answers", "characters", "loops", "together", "rules", "habits", "unreadable"} == set(told)
        assert {"bar", "setting", "now", "tightest", "loosest", "lowest", "distance", "nearest"} == set(
            told["rules"][0]["bars"][0]
        )
    else:
        assert "2 healthy answers" in said and "500.00" in said and "0.4" in said and "x.jsonl:2" in said


def test_every_rule_of_the_packs_has_a_bar_that_can_be_moved(tmp_path: Path) -> None:
    told = measured([rows(tmp_path, {"text": CALM})], JudgingConfig(packs.assemble(), watchers=()))
    assert all(rule.margins for rule in told.rules)
