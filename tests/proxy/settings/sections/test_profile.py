"""`profile`: a set of defaults that lies under what is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.settings.engine import engine
from proxy.settings.load import ConfigError, Settings, load
from proxy.settings.sections.profile import PROFILES


def settings(**more: object) -> Settings:
    return Settings.model_validate({"providers": {"a": {"base_url": "http://h"}}} | more)


def test_seeds_brings_their_request_budget_back():
    budgets = engine(settings(profile="seeds"), "a").budgets
    assert "request" in budgets.explicit
    assert (budgets.request.max_retries, budgets.request.deadline, budgets.request.initial_delay) == (4, 30, 0.2)
    assert "request" not in engine(settings(), "a").budgets.explicit


def test_what_is_written_beside_a_profile_wins_field_by_field():
    got = engine(settings(profile="seeds", retry={"request": {"max_retries": 2}}, timeouts={"idle": "9s"}), "a")
    assert (got.budgets.request.max_retries, got.budgets.request.initial_delay) == (2, 0.2)
    assert got.timeouts.idle == 9


def test_seeds_brings_their_idle_timer_back():
    assert engine(settings(profile="seeds"), "a").timeouts.idle == 480


def test_a_profile_that_does_not_exist_is_refused(tmp_path: Path):
    file = tmp_path / "c.yaml"
    file.write_text("upstream: http://h/v1\nprofile: seed\n")
    with pytest.raises(ConfigError, match="profile"):
        load(file, {}, {})


@pytest.mark.parametrize("source", ["file", "environment"])
def test_a_profile_can_come_from_anywhere(source: str, tmp_path: Path):
    file = tmp_path / "c.yaml"
    file.write_text("upstream: http://h/v1\n" + ("profile: seeds\n" if source == "file" else ""))
    environ = {"STREAMFUSE_PROFILE": "seeds"} if source == "environment" else {}
    assert load(file, {}, environ).timeouts.idle == 480


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_a_valid_config(name: str):
    assert settings(profile=name).profile == name
