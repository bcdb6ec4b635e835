"""Risks that a config takes, each told, and nothing told of a careful one."""

from __future__ import annotations

import pytest

from proxy.config import Settings
from proxy.settings.cautions import cautions

KEYED = {"providers": {"a": {"base_url": "https://h", "api_key": "sk-secret"}}}
OPEN = {"listen": {"host": "0.0.0.0"}}


def told(tree: dict[str, object]) -> str:
    said = "\n".join(cautions(Settings.model_validate(tree)))
    assert "sk-secret" not in said
    return said


@pytest.mark.parametrize(
    "tree",
    [
        KEYED,
        {**KEYED, "listen": {"host": "::1"}},
        {**KEYED, "listen": {"hosts": ["*.example.com"], "origins": ["http://localhost:*"]}},
        {**KEYED, **OPEN, "auth": {"keys": ["k"]}},
        {"upstream": "http://10.0.0.1", **OPEN},
        {"providers": {"a": {"base_url": "http://127.0.0.1", "api_key": "k"}}},
        {"upstream": "http://h", "workers": 2, "state": "redis://h"},
        {"upstream": "http://h", "privacy": {"show_excerpts": True}},
        {"upstream": "http://h", **OPEN, "ops": {}, "privacy": {"show_excerpts": True}},
    ],
)
def test_careful_configs(tree):
    assert told(tree) == ""


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({**KEYED, **OPEN}, "set auth.keys"),
        ({**KEYED, "listen": {"host": "my.host"}}, "set auth.keys"),
        ({"upstream": "http://h", **OPEN, "privacy": {"show_excerpts": True}}, "text of answers"),
        ({"upstream": "http://h", "ops": {"host": "::"}, "privacy": {"show_excerpts": True}}, "text of answers"),
        ({"providers": {"a": {"base_url": "http://10.0.0.1", "api_key": "k"}}}, "unencrypted"),
        ({"providers": {"a": {"base_url": "https://h", "verify_tls": False}}}, "verify_tls"),
        ({"upstream": "http://h", "workers": 2}, "state: redis://"),
        ({**KEYED, "listen": {"origins": ["*"]}}, "spend the api_key of a"),
        ({**KEYED, "listen": {"origins": ["null"]}}, "any web page"),
        ({**KEYED, "listen": {"hosts": ["*"]}}, "DNS rebinding"),
        ({"providers": {"a": {"base_url": "https://h"}, "b": {"base_url": "https://i"}}}, "no default_provider"),
    ],
)
def test_risks(tree, said):
    assert said in told(tree)
