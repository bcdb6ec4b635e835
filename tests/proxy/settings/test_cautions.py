"""Risks that a config takes, each told, and nothing told of a careful one."""

from __future__ import annotations

import pytest

from proxy.settings.cautions import cautions
from proxy.settings.load import Settings

KEYED = {"providers": {"a": {"base_url": "https://h", "api_key": "sk-secret"}}}
LONG = "fuse-0123456789abcdef"
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
        {**KEYED, **OPEN, "auth": {"keys": [LONG]}},
        {**KEYED, "auth": {"keys": ["short"], "metrics_key": "m"}},
        {**KEYED, **OPEN, "auth": {"keys": [LONG]}, "privacy": {"show_excerpts": True}},
        {"upstream": "http://10.0.0.1", **OPEN},
        {"upstream": "http://litellm:4000/v1"},
        {"upstream": "https://static.1.2.clients.your-server.de/v1"},
        {"upstream": "https://llm.example/v1"},
        {"providers": {"a": {"base_url": "http://127.0.0.1", "api_key": "sk-xxxxxxxx"}}},
        {"upstream": "http://llm.prod.svc.cluster.local/v1"},
        {
            "providers": {"a": {"base_url": "https://h", "headers": {"Authorization": "Bearer k"}}},
            "auth": {"keys": [LONG]},
        },
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
        ({**KEYED, **OPEN, "auth": {"keys": ["short"]}}, "can be guessed"),
        ({**KEYED, "auth": {"keys": ["sk-secret"]}}, "holds the api_key of a"),
        ({**KEYED, "auth": {"keys": [LONG], "metrics_key": LONG}}, "metrics_key is one of auth.keys"),
        ({**KEYED, "auth": {"keys": [LONG], "metrics_key": "m", "open": ["metrics"]}}, "nobody is asked"),
        ({"upstream": "http://api.openai.com/v1"}, "encrypts nothing"),
        ({"upstream": "http://8.8.8.8/v1"}, "encrypts nothing"),
        ({"upstream": "https://localhost:8080/v1"}, "most local servers"),
        ({"upstream": "https://h", "auth": {"keys": [LONG]}}, "this provider gets none"),
        ({"upstream": "https://api.openai.com:80/v1"}, "port 80 is not the port of https"),
        ({"upstream": "http://10.0.0.1:443/v1"}, "port 443 is not the port of http"),
        ({"upstream": "https://YOUR-RESOURCE.openai.azure.com/openai/v1"}, "placeholder that nobody filled in"),
        ({"upstream": "https://example.com/v1"}, "placeholder that nobody filled in"),
        ({"upstream": "https://platform.openai.com/v1"}, "the API is at https://api.openai.com/v1"),
        ({"providers": {"a": {"base_url": "https://api.openai.com/v1", "api_key": "sk-..."}}}, "masked key"),
        ({"providers": {"a": {"base_url": "https://api.openai.com/v1", "api_key": "sk-proj-****abcd"}}}, "masked key"),
        ({"providers": {"a": {"base_url": "https://api.openai.com/v1", "api_key": "your-api-key-here"}}}, "masked key"),
        ({**KEYED, "auth": {"open": ["metrics"]}}, "everything is open anyway"),
        (
            {**KEYED, **OPEN, "auth": {"keys": [LONG], "open": ["page"]}, "privacy": {"show_excerpts": True}},
            "text of answers",
        ),
        ({"providers": {"a": {"base_url": "https://h", "headers": {"X-Api-Key": "k"}}}, **OPEN}, "set auth.keys"),
        ({**KEYED, "listen": {"origins": ["http://chat.example.com"]}}, "whoever is on the way"),
        ({**KEYED, "listen": {"origins": ["*"]}}, "spend the api_key of a"),
        ({**KEYED, "listen": {"origins": ["null"]}}, "any web page"),
        ({**KEYED, "listen": {"hosts": ["*"]}}, "DNS rebinding"),
        ({"providers": {"a": {"base_url": "https://h"}, "b": {"base_url": "https://i"}}}, "no default_provider"),
    ],
)
def test_risks(tree, said):
    assert said in told(tree)


def test_a_fallback_that_is_none_and_one_without_a_key():
    tree = {
        "providers": {
            "a": {"base_url": "https://a.example/v1", "fallback": [{}, {"provider": "b"}, {"model": "small"}],
                  "breaker": {"failures": 1}},
            "b": {"base_url": "https://b.example/v1"},
        },
        "default_provider": "a",
    }  # fmt: skip
    said = list(cautions(Settings.model_validate(tree)))
    assert [one.partition(":")[0] for one in said] == ["providers.a.fallback", "providers.a.fallback", "providers.a"]
    assert "no fallback" in said[0] and "does not go to another host" in said[1] and "one failure" in said[2]


def test_a_fallback_to_nobody_is_a_mistake():
    tree = {"providers": {"a": {"base_url": "https://a.example/v1", "fallback": [{"provider": "x"}]}}}
    with pytest.raises(ValueError, match="there is no such provider"):
        Settings.model_validate(tree)


def test_the_old_name_of_a_heal_gets_a_word() -> None:
    tree = {"providers": {"a": {"base_url": "https://x.test/v1"}}}
    for rules in ({"change": {"refrain": {"action": "retry"}}}, {"add": [{"name": "x", "action": "retry"}]}):
        said = list(cautions(Settings.model_validate(tree | {"rules": rules})))
        assert sum("providers.NAME.heal" in one for one in said) == 1
    assert not any("heal" in one for one in cautions(Settings.model_validate(tree)))


def test_a_number_of_retries_that_nothing_reads() -> None:
    written: dict[str, object] = {"max_retries": 1}
    there = {"upstream": "https://x.test/v1", "retry": {"network": written}}
    here = {"providers": {"a": {"base_url": "https://x.test/v1", "retry": {"network": written}}}}
    for tree in (there, here):
        assert "retry.network.max_retries has no effect" in told(dict(tree))
    written["mode"] = "bounded"
    for tree in (there, here):
        assert told(dict(tree)) == ""
