"""The ready error rules: each fires on its own fixtures and on nobody else's quiet ones."""

from __future__ import annotations

from typing import Any

import pytest

from rules.errors.error_rules import ErrorRule, ErrorRules
from rules.errors.provider_packs import PackedRule, packs, rules_for

ALL = [(pack, rule) for pack, content in packs().items() for rule in content.rules]


@pytest.mark.parametrize(("pack", "rule"), ALL, ids=[rule.name for _, rule in ALL])
def test_a_rule_fires_and_stays_quiet(pack: str, rule: PackedRule) -> None:
    for event in rule.fires:
        assert rule.matches(event), event
        found = ErrorRules(packs()[pack].rules).find(event)
        assert found is not None and found.name == rule.name, "an earlier rule of the pack shadows it"
    for event in rule.quiet:
        assert not rule.matches(event), event


def test_names_are_unique() -> None:
    names = [rule.name for _, rule in ALL]
    assert len(names) == len(set(names))


def test_no_pack_asks_for_a_member_of_ordinary_chat_chunks() -> None:
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": None}
    chunk |= {"system_fingerprint": None, "service_tier": None}
    for content in packs().values():
        heads = ErrorRules(content.rules).heads
        assert heads is not None and heads.isdisjoint(chunk)


HEALTHY: list[Any] = [
    {"choices": [{"index": 0, "delta": {"content": '{"error": {"code": 502}}'}}]},
    {"type": "response.created", "response": {"status": "in_progress", "error": None}},
    {"type": "response.completed", "response": {"status": "completed", "error": None}},
    {"type": "message_start", "message": {"id": "m", "content": []}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "error"}},
    {"id": "1", "choices": [], "x_groq": {"id": "req"}, "error": None},
    {"object": "chat.completion", "choices": [{"message": {"content": "rate limit exceeded"}}]},
    [],
    None,
    "error",
]


@pytest.mark.parametrize("event", HEALTHY, ids=repr)
def test_every_pack_is_quiet_on_healthy_events(event: Any) -> None:
    assert ErrorRules([rule for _, rule in ALL]).find(event) is None


def test_a_pack_binds_by_name_or_host() -> None:
    by_name = rules_for("deepseek-eu", "relay.example")
    by_host = rules_for("mine", "api.deepseek.com")
    assert {rule.name for rule in by_name.rules} == {rule.name for rule in by_host.rules}
    assert any(rule.name == "deepseek-busy" for rule in by_name.rules)
    neither = rules_for("mine", "relay.example")
    assert {rule.name.split("-")[0] for rule in neither.rules} == {"relay"}


def test_configured_rules_come_first_and_keep_their_providers() -> None:
    mine = ErrorRule.model_validate({"name": "mine", "path": "/error/*", "match": {"type": "exists"}})
    other = ErrorRule.model_validate({"providers": ["b"], "path": "/error/*", "match": {"type": "exists"}})
    rules = rules_for("a", "api.groq.com", [other, mine])
    assert rules.rules[0].name == "mine" and other not in rules.rules
    found = rules.find({"error": {"code": "tool_use_failed"}})
    assert found is not None and found.name == "mine"
