"""Rules that find errors in the data of an answer, as opencode-sse-retry describes them and beyond."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from rules.errors.error_rules import ErrorRule, ErrorRules
from rules.values.failures import Failure, Kind, Phase
from tests.vectors import vectors


def rule(match: Any, path: str = "/error/code", **more: Any) -> ErrorRule:
    return ErrorRule.model_validate({"path": path, "match": match, **more})


@pytest.mark.parametrize("row", vectors("json_rules", "json_rule"), ids=lambda row: row["id"])
def test_like_the_seed(row: Any) -> None:
    written = [ErrorRule.model_validate(one) for one in row["in"]["rules"]]
    try:
        body = orjson.loads(row["in"]["data"])
    except orjson.JSONDecodeError:
        body = None  # what is not JSON never reaches a rule
    found = ErrorRules(written, row["in"]["provider"]).find(body)
    assert (None if found is None else written.index(found)) == row["out"]


@pytest.mark.parametrize(
    ("match", "value", "holds"),
    [
        ({"type": "exists"}, None, True),
        ({"type": "not_null"}, None, False),
        ({"type": "not_null"}, 0, True),
        ({"type": "exact", "value": "a"}, "a", True),
        ({"type": "exact", "value": "a"}, "A", False),
        ({"type": "exact", "value": "429"}, 429, False),
        ({"type": "prefix", "value": "ab"}, "abc", True),
        ({"type": "prefix", "value": "b"}, "abc", False),
        ({"type": "contains", "value": "b"}, "abc", True),
        ({"type": "contains", "value": "b"}, ["b"], False),
        ({"type": "equals", "value": 429}, 429, True),
        ({"type": "equals", "value": 429}, 429.0, True),
        ({"type": "equals", "value": "429"}, 429, True),
        ({"type": "equals", "value": "4.5"}, 4.5, True),
        ({"type": "equals", "value": 1}, True, False),
        ({"type": "equals", "value": 429}, "429", False),
        ({"type": "equals", "value": 429}, None, False),
    ],
)
def test_conditions(match: dict[str, Any], value: Any, holds: bool) -> None:
    assert rule(match).matches({"error": {"code": value}}) is holds


@pytest.mark.parametrize(
    "written",
    [
        {"path": "/a", "match": []},
        {"path": "/a"},
        {"path": "a", "match": {"type": "exists"}},
        {"path": "/a", "match": {"type": "regex", "value": "x"}},
        {"path": "/a", "match": {"type": "exact"}},
        {"path": "/a", "match": {"type": "contains", "value": ""}},
        {"path": "/a", "match": {"type": "equals", "value": "many"}},
        {"path": "/a", "match": {"type": "equals", "value": "true"}},
        {"path": "/a", "match": {"type": "equals", "value": True}},
        {"path": "/a", "match": {"type": "exists", "value": "x"}},
        {"path": "/a", "match": {"type": "exists"}, "maxRetries": -1},
        {"path": "/a", "match": {"type": "exists"}, "maxRetries": 101},
        {"path": "/a", "match": {"type": "exists"}, "kind": "loop"},
        {"path": "/a", "match": {"type": "exists"}, "retries": 1},
    ],
)
def test_what_is_not_a_rule(written: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ErrorRule.model_validate(written)


def test_the_seeds_own_keys_and_defaults() -> None:
    written = rule({"type": "exists"}, maxRetries=3)
    assert (written.max_retries, written.limit, written.providers) == (3, 3, ("*",))
    assert rule({"type": "exists"}).limit == 2
    assert rule({"type": "exists"}, kind="server").limit is None
    assert rule({"type": "exists"}, max_retries=0).limit == 0


def test_the_label_is_the_same_wherever_the_rule_is() -> None:
    unnamed = rule([{"type": "exact", "value": "x"}, {"type": "exists"}])
    assert unnamed.label == "/error/code exact:x exists"
    assert rule({"type": "exists"}, name="mine").label == "mine"


def test_providers_are_globs() -> None:
    for_some = rule({"type": "exists"}, providers=["deep*", "groq"])
    assert [for_some.applies(name) for name in ("deepseek", "groq", "groq2", "openai")] == [True, True, False, False]
    assert rule({"type": "exists"}, providers="a").applies("a")
    assert not ErrorRules([for_some], "openai")


def test_a_failure_of_its_own_kind() -> None:
    rules = ErrorRules([rule({"type": "prefix", "value": "x"}, name="mine", max_retries=1)])
    failure = rules.failure({"error": {"code": "x1", "message": "try again in 3s"}})
    assert failure is not None
    assert (failure.kind, failure.phase, failure.rule, failure.rule_limit) == (Kind.RULE, Phase.STREAM, "mine", 1)
    assert (failure.code, failure.retry_after) == ("x1", 3)
    assert rules.failure({"error": {"code": "y"}}) is None


def test_a_rule_may_say_what_it_is() -> None:
    rules = ErrorRules([rule({"type": "equals", "value": 1305}, kind="server")])
    failure = rules.failure([{"error": {"code": 1305}}])
    assert failure is None  # the path names no list
    failure = rules.failure({"error": {"code": 1305}})
    assert failure is not None and (failure.kind, failure.rule_limit) == (Kind.SERVER, None)


def test_an_http_error_keeps_what_it_is_but_for_the_kind() -> None:
    base = Failure(Phase.HEADERS, Kind.TERMINAL, "no", status=400, code="odd", body=b"{}", retry_after=2.0)
    rules = ErrorRules([rule({"type": "exact", "value": "odd"}, name="mine")])
    failure = rules.failure({"error": {"code": "odd"}}, base)
    assert failure is not None
    assert (failure.kind, failure.status, failure.phase, failure.body) == (Kind.RULE, 400, Phase.HEADERS, b"{}")


def test_heads_tell_what_need_not_be_looked_at() -> None:
    rules = ErrorRules([rule({"type": "exists"}), rule({"type": "exists"}, path="/x_groq/error")])
    assert rules.heads == {"error", "x_groq"}
    assert ErrorRules([rule({"type": "exists"}, path="/*/code")]).heads is None
    assert ErrorRules([]).heads == frozenset() and ErrorRules([]).find({"error": 1}) is None


@pytest.mark.parametrize("body", [None, 1, "error", [], [[]], {}, {"error": None}, {"error": [1, None, {}]}])
def test_any_body_is_borne(body: Any) -> None:
    rules = ErrorRules(
        [rule({"type": "contains", "value": "x"}, path="/error/*"), rule({"type": "exists"}, path="/*/*")]
    )
    rules.failure(body)
