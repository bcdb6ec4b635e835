"""Keys as people write them, brought to the fields of the models."""

from __future__ import annotations

import pytest

from proxy.settings.load import Settings
from proxy.settings.reading.names import Misnamed, canonical, model_at, nearest, snake, type_at
from proxy.settings.sections.retry import BudgetOver


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ("max_retries", "max_retries"),
        ("maxRetries", "max_retries"),
        ("max-retries", "max_retries"),
        ("baseURL", "base_url"),
        ("apiKey", "api_key"),
        ("rateLimit", "rate_limit"),
        ("initialDelayMs", "initial_delay_ms"),
    ],
)
def test_snake(written, field):
    assert snake(written) == field


def test_milliseconds_only_where_a_duration_is():
    assert canonical({"initialDelayMs": 1500, "deadline_ms": "250"}, BudgetOver) == {
        "initial_delay": 1.5,
        "deadline": 0.25,
    }
    assert canonical({"maxRetriesMs": 5}, BudgetOver) == {"maxRetriesMs": 5}


def test_names_of_one_s_own_are_left_alone():
    tree = {"providers": {"myProvider": {"baseUrl": "http://h", "headers": {"xMyHeader": "1"}}}}
    assert canonical(tree, Settings) == {
        "providers": {"myProvider": {"base_url": "http://h", "headers": {"xMyHeader": "1"}}}
    }


def test_what_was_given_is_never_changed():
    tree = {"retry": {"rateLimit": {"maxRetries": 1}}, "rules": [], "maxRetries": 3}
    before = repr(tree)
    canonical(tree, Settings)
    assert repr(tree) == before


def test_one_field_twice():
    with pytest.raises(Misnamed, match="same field"):
        canonical({"maxRetries": 1, "max_retries": 1}, BudgetOver)


@pytest.mark.parametrize(("key", "meant"), [("prot", "port"), ("hots", "hosts"), ("zzz", None)])
def test_nearest(key, meant):
    model = model_at(("listen",), Settings)
    assert model is not None and nearest(key, model) == meant


def test_types_along_a_path():
    assert model_at(("providers", "any", "retry", "server"), Settings) is BudgetOver
    assert type_at(("listen", "port"), Settings) is int
    assert type_at(("listen", "port", "deeper"), Settings) is None
    assert model_at((), Settings) is Settings
