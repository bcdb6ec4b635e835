"""What people wrote, as the engine gets it."""

from __future__ import annotations

import pytest

import rules.after.timers
from proxy.settings.engine import engine
from proxy.settings.load import Settings
from proxy.settings.sections.cut import CutSettings
from proxy.settings.sections.replay import ReserveSettings
from proxy.settings.sections.timeouts import TimeoutSettings, TimeoutsOver
from proxy.settings.service.limits import LimitSettings
from rules.after.budgets import Budgets
from rules.after.budgets import Reserve as EngineReserve
from rules.after.decision.policy import Policy
from rules.detect.monitors.novelty.params import NoveltyParams
from rules.during.cut import Cut as EngineCut
from rules.during.cut import Limits as EngineLimits
from rules.values.verdict import Mode


def settings(**more: object) -> Settings:
    return Settings.model_validate({"providers": {"a": {"base_url": "http://h"}}} | more)


def test_a_config_that_says_nothing_gives_the_engine_s_defaults():
    got = engine(settings(), "a")
    assert got.budgets == Budgets()
    assert got.timeouts == rules.after.timers.Timeouts()
    assert got.policy == Policy()
    assert got.cut == EngineCut()
    assert got.limits == EngineLimits()
    assert got.mode is Mode.ON
    ours, theirs = ReserveSettings(), EngineReserve()
    assert (ours.ratio, ours.window, ours.floor) == (theirs.ratio, theirs.window, theirs.floor)


def test_a_written_idle_timer_is_not_stretched_unless_that_is_written_too():
    assert engine(settings(), "a").timeouts.idle_alive == 900
    assert engine(settings(timeouts={"idle": "60s"}), "a").timeouts.idle_alive == 60
    assert engine(settings(timeouts={"idle": "60s", "idle_alive": "90s"}), "a").timeouts.idle_alive == 90


def test_the_sections_know_every_field_of_the_engine():
    assert set(CutSettings.model_fields) == set(EngineCut.model_fields)
    assert (
        set(TimeoutSettings.model_fields)
        == set(TimeoutsOver.model_fields)
        == set(rules.after.timers.Timeouts.model_fields)
    )
    assert set(EngineLimits.model_fields) <= set(LimitSettings.model_fields)


def test_a_provider_overrides_field_by_field():
    s = Settings.model_validate(
        {
            "providers": {
                "a": {
                    "base_url": "http://h",
                    "retry": {"rate_limit": {"max_retries": 8}, "server": {"no_deadline": False}},
                    "timeouts": {"idle": "120s", "headers": None},
                }
            },
            "retry": {"rate_limit": {"max_retries": 2, "initial_delay": "1s"}, "server": {"no_deadline": True}},
        }
    )
    got = engine(s, "a")
    assert (got.budgets.rate_limit.max_retries, got.budgets.rate_limit.initial_delay) == (8, 1.0)
    # the last layer that names a deadline decides alone, and false brings the built-in one back (MiMo-Code's merge)
    assert got.budgets.server.deadline == 900
    assert (got.timeouts.idle, got.timeouts.headers, got.timeouts.connect) == (120, None, 10)


@pytest.mark.parametrize(
    ("top", "provider", "binds"), [("on", "watch", "watch"), ("watch", "on", "watch"), ("off", "on", "off")]
)
def test_the_weaker_mode_binds(top, provider, binds):
    s = settings(providers={"a": {"base_url": "http://h", "mode": provider}}, rules={"mode": top})
    assert engine(s, "a").mode == binds


def test_cut_limits_and_policy_arrive():
    s = settings(
        cut={"finish": "length", "notice": "always", "notice_text": "x", "language": "zh"},
        limits={"event": "1MB", "hold": 0},
        replay={"reasoning": True, "rounds": 5},
    )
    got = engine(s, "a")
    assert got.cut == EngineCut(finish="length", notice="always", notice_text="x", language="zh")
    assert got.limits == EngineLimits(event=1 << 20, hold=0)
    assert got.policy == Policy(replay_reasoning=True, rounds=5)


def test_error_rules_of_known_providers_come_after_one_s_own():
    own = {"path": "/x", "match": {"type": "exists"}, "name": "mine"}
    s = settings(providers={"claude": {"base_url": "http://h"}}, error_rules=[own])
    names = [rule.name for rule in engine(s, "claude").error_rules.rules]
    assert names[0] == "mine" and "anthropic-overloaded" in names
    bare = settings(error_rules=[{**own, "providers": ["b"]}], error_packs=False)
    assert engine(bare, "a").error_rules.rules == ()


def test_the_price_of_a_false_cut_reaches_the_rule_that_has_one():
    told = engine(settings(rules={"packs": ["early"], "risk": {"text": 0.02, "arguments": 0.3}}), "a").rules
    params = told["early-nothing-new"].params
    assert isinstance(params, NoveltyParams)
    price = params.risk.model_dump()
    assert price == {"text": 0.02, "reasoning": 0.15, "arguments": 0.3}, "what is left out stays as the pack says"
