"""A finding names the settings that would have kept it quiet, and they do."""

from __future__ import annotations

import pytest

from proxy.calibration.explain import unit
from proxy.replay import JudgingConfig, Recording, judge
from proxy.replay.explanation import Quiet, evidence, in_short, quiet
from rules.detect import packs
from rules.detect.packs import changed
from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.values.delta import Channel
from rules.values.verdict import Action, Finding, Hit, Mode

from .answers import CALM, LOOP, text

ONE = {
    "cycle": LOOP * 20,
    "lines": "".join(f"let me try {'abc'[n % 3]} again and see what comes of it\n" for n in range(200)),
    "period": "one two three four five " * 40,
    "exact_repetition": LOOP * 20,
    "novelty": LOOP * 60,
    "spaced_repetition": "".join(f"{' ' * n}/ {' ' * n}\\\n" for n in range(400)),
    "long_passage": (unit(1500) + CALM) * 5,
}


@pytest.mark.parametrize("monitor", ONE)
def test_every_setting_that_is_named_keeps_it_quiet_at_that_character(monitor: str) -> None:
    rules = RuleSet([Rule(name="it", monitor=monitor)])
    (found,) = judge(text(ONE[monitor]), JudgingConfig(rules)).found
    at = found.finding.hit.at
    assert found.quiet and in_short(found.quiet) and evidence(found.finding.hit)
    for one in found.quiet:
        path, _, name = one.setting.rpartition(".")
        assert path == "rules.change.it.params"
        over = one.above * 1.001 if isinstance(getattr(rules["it"].params, name), float) else one.above + 1
        calmer = RuleSet([changed(rules["it"], {"params": {name: over}})])
        later = judge(text(ONE[monitor]), JudgingConfig(calmer)).found
        assert not later or later[0].finding.hit.at > at, one


def test_a_habit_names_its_place_in_the_history_settings() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    said: list[dict[str, object]] = [{"role": "user", "content": "go"}]
    for _ in range(6):
        said += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "no"}]
    found = judge(Recording("s", request={"messages": said}), JudgingConfig()).found
    assert "history.habits.repeated_action.params.equal" in {one.setting for f in found for one in f.quiet}


def test_bars_that_no_setting_holds_are_named_without_one() -> None:
    hit = Hit(10, 0, 10, evidence={"odd": 7.0, "shown": 1.0}, bars={"odd": 5.0})
    rules = packs.assemble(["seeds"])
    finding = Finding("text-cycle", Action.CUT, Mode.ON, Channel.TEXT, 0, hit)
    assert quiet(finding, rules) == (Quiet("odd", 7.0, ""),)
    assert evidence(hit) == "odd 7 ≥ 5"
