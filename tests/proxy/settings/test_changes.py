"""Two configs: what a running process takes of the second, and what needs a restart."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.settings.changes import FIXED, changes
from proxy.settings.load import Settings

PLAIN: dict[str, Any] = {"providers": {"a": {"base_url": "http://a.example/v1"}}}


def settings(**more: Any) -> Settings:
    return Settings.model_validate({**PLAIN, **more})


def test_nothing_changes():
    came = changes(settings(), settings())
    assert (came.changed, came.restart) == ((), ())


def test_sections_and_providers_are_named():
    new = settings(
        providers={
            "a": {"base_url": "http://a.example/v1", "api_key": "secret-1"},
            "b": {"base_url": "http://b.example"},
        },
        default_provider="a",
        rules={"mode": "watch"},
    )
    came = changes(settings(), new)
    assert came.changed == ("providers.a", "providers.b", "rules")
    assert came.restart == () and came.settings == new
    assert "secret" not in repr(came.changed)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"listen": {"host": "127.0.0.2"}}, "listen.host"),
        ({"listen": {"port": 1}}, "listen.port"),
        ({"ops": {"port": 1}}, "ops"),
        ({"workers": 2}, "workers"),
        ({"loop": "auto"}, "loop"),
        ({"state": "redis://127.0.0.1:1"}, "state"),
        ({"limits": {"headers": "9KB"}}, "limits.headers"),
        ({"listen": {"origins": ["https://a.example"]}}, "listen.origins"),
    ],
)
def test_what_needs_a_restart_stays_as_it_was(more, named):
    old = settings()
    came = changes(old, settings(**more, rules={"mode": "watch"}))
    assert came.restart == (named,)
    assert came.changed == ("rules",)
    assert came.settings == settings(rules={"mode": "watch"})


def test_origins_change_where_there_are_some():
    old, new = settings(listen={"origins": ["https://a.example"]}), settings(listen={"origins": ["https://b.example"]})
    came = changes(old, new)
    assert (came.changed, came.restart, came.settings) == (("listen",), (), new)
    assert changes(old, settings()).settings == settings()


def test_what_is_fixed_exists():
    for section, name in FIXED:
        assert not name or hasattr(getattr(settings(), section), name)
        assert hasattr(settings(), section)
