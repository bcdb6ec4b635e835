"""The rules on whole answers: what is cut, what stays, and that a clean body is the very same object."""

from __future__ import annotations

from typing import Any

import pytest

from rules import wires
from rules.during.cut import Cut
from rules.during.whole_body.whole_json import TURN, JudgedBody, look_whole, watch_whole
from rules.errors.error_rules import ErrorRule, ErrorRules
from rules.values.delta import Channel
from rules.values.failures import Failure, Kind
from rules.values.verdict import Action, Mode
from rules.wires.base import Ask, Json

from ...fakes import WordRules

CHAT = wires.get("openai_chat")
ASK = CHAT.ask({"model": "m", "messages": []})


def message(index: int = 0, finish: str = "stop", **members: Any) -> dict[str, Any]:
    return {"index": index, "message": {"role": "assistant", **members}, "finish_reason": finish, "logprobs": None}


def answer(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": list(choices), **more}


def call(name: str, arguments: str, at: int = 0) -> dict[str, Any]:
    return {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": arguments}}


def watched(body: Json, rules: WordRules | None = None, ask: Ask = ASK, **given: Any) -> JudgedBody:
    return watch_whole(CHAT, ask, rules or WordRules(), body, **given)


def test_a_clean_body_is_the_very_same_object() -> None:
    body = answer(message(content="fine", tool_calls=[call("f", '{"a":1}')]))
    seen = watched(body)
    assert seen.body is body
    assert (seen.findings, seen.cut, seen.failure, seen.known) == ((), None, None, True)


def test_one_copy_of_what_repeats_stays() -> None:
    body = answer(message(content="x" * 100 + "LOOP" + "y" * 500, finish="length"), usage={"total_tokens": 9})
    seen = watched(body)
    choice = seen.body["choices"][0]
    assert seen.cut is not None
    # The fake's period is 2; the place is found to within a step.
    assert choice["message"]["content"].startswith("x" * 100)
    assert len(choice["message"]["content"]) <= 100 + 2 + 32
    assert choice["finish_reason"] == "stop"
    assert seen.body["streamfuse"]["rule"] == "word"
    assert seen.body["usage"] == {"total_tokens": 9}
    assert "y" * 500 in body["choices"][0]["message"]["content"], "the upstream's own body was changed"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_a_loop_in_the_reasoning_leaves_a_notice_and_drops_what_came_behind(key: str) -> None:
    body = answer(message(content="so", tool_calls=[call("f", "{}")]))
    body["choices"][0]["message"] = {
        "role": "assistant",
        key: "hm LOOP" + "z" * 300,
        "content": "so",
        "tool_calls": [call("f", "{}")],
    }
    seen = watched(body)
    left = seen.body["choices"][0]["message"]
    assert len(left[key]) < 60
    assert "tool_calls" not in left
    assert "in the reasoning" in left["content"]
    assert not left["content"].startswith("so")


def test_a_loop_in_the_arguments_drops_that_call_and_keeps_the_ones_before() -> None:
    calls = [call("f", '{"a":1}', 0), call("g", '{"b":"LOOP"}', 1), call("h", "{}", 2)]
    seen = watched(answer(message(content=None, tool_calls=calls, finish="tool_calls")))
    choice = seen.body["choices"][0]
    assert choice["message"]["tool_calls"] == calls[:1]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None


def test_a_rule_about_calls_hears_of_each() -> None:
    rules = WordRules(channels=(), calls=True)
    seen = watched(answer(message(content="x", tool_calls=[call("f", "{}"), call("g", '{"b":"LOOP"}', 1)])), rules)
    assert rules.watches[0].calls == [(0, "f", "{}"), (0, "g", '{"b":"LOOP"}')]
    assert [c["function"]["name"] for c in seen.body["choices"][0]["message"]["tool_calls"]] == ["f"]


def test_only_the_looping_choice_is_cut() -> None:
    body = answer(message(0, content="fine"), message(1, content="LOOP" + "x" * 200), message(2, content="fine too"))
    seen = watched(body)
    assert seen.body["choices"][0] is body["choices"][0]
    assert seen.body["choices"][2] is body["choices"][2]
    assert len(seen.body["choices"][1]["message"]["content"]) < 200


def test_the_strongest_finding_speaks() -> None:
    seen = watched(answer(message(0, content="LOOP")), WordRules(action=Action.RETRY))
    assert seen.cut is not None
    assert seen.cut.action is Action.RETRY


def test_watch_mode_and_notes_touch_nothing() -> None:
    body = answer(message(content="LOOP LOOP"))
    for rules, mode in ((WordRules(), Mode.WATCH), (WordRules(action=Action.NOTE), Mode.ON)):
        seen = watched(body, rules, mode=mode)
        assert seen.body is body
        assert len(seen.findings) == 1
        assert seen.cut is None
    assert watched(body, mode=Mode.OFF).findings == ()
    assert watch_whole(CHAT, ASK, None, body).body is body


def test_no_notice_where_json_was_asked_for() -> None:
    ask = CHAT.ask({"response_format": {"type": "json_schema"}})
    seen = watched(answer(message(content="LOOP" * 60)), ask=ask, cut=Cut(notice="always"))
    assert "repetition" not in seen.body["choices"][0]["message"]["content"]


@pytest.mark.parametrize("body", [{"error": {"message": "boom", "code": 503}}, {"object": "error", "message": "boom"}])
def test_an_error_body_is_a_failure(body: dict[str, Any]) -> None:
    seen = watched(body)
    assert isinstance(seen.failure, Failure)
    assert "boom" in seen.failure.message
    assert seen.body is body


def test_a_finish_that_means_failure_is_one() -> None:
    failure = watched(answer(message(content="x", finish="abort"))).failure
    assert failure is not None
    assert failure.kind is Kind.STREAM


def test_error_rules_know_bodies_too() -> None:
    rule = ErrorRule.model_validate(
        {"name": "mine", "providers": ["*"], "path": "/oops", "match": [{"type": "exists"}]}
    )
    failure = watched({"oops": 1}, error_rules=ErrorRules([rule])).failure
    assert failure is not None
    assert failure.rule == "mine"


@pytest.mark.parametrize("body", [{}, {"choices": 7}, {"choices": [7]}, {"choices": [{"text": "x"}]}, {"data": []}])
def test_other_bodies_are_not_known(body: dict[str, Any]) -> None:
    assert not watched(body).known


@pytest.mark.parametrize("name", ["openai_responses", "anthropic_messages", "openai_completions"])
def test_every_wire_takes_part(name: str) -> None:
    wire = wires.get(name)
    text = "so it goes LOOP" + "x" * 400
    bodies: dict[str, dict[str, Any]] = {
        "openai_responses": {
            "id": "r", "object": "response", "status": "completed", "model": "m",
            "output": [{"type": "message", "id": "i", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": text, "annotations": []}]}],
        },
        "anthropic_messages": {
            "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "max_tokens",
            "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 1, "output_tokens": 2},
        },
        "openai_completions": {
            "id": "c", "object": "text_completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "text": text, "finish_reason": "length", "logprobs": None}],
        },
    }  # fmt: skip
    seen = watch_whole(wire, wire.ask({}), WordRules(channels=(Channel.TEXT,)), bodies[name])
    assert seen.cut is not None
    assert "x" * 400 not in str(seen.body)
    assert "so it goes" in str(seen.body)


def test_a_long_body_is_looked_at_in_turns() -> None:
    text = "x" * 10 * TURN
    turns = 0
    looking = look_whole(CHAT, ASK, WordRules(), answer(message(content=text)))
    with pytest.raises(StopIteration) as end:
        while True:
            next(looking)
            turns += 1
    assert turns == 10
    assert end.value.value.cut is None


# --- calls that the answer broke off in ------------------------------------------------------------------------------
HALF = '{"command": "rm -rf build'
MESSAGES, RESPONSES = wires.get("anthropic_messages"), wires.get("openai_responses")


@pytest.mark.parametrize("mode", [Mode.ON, Mode.WATCH, Mode.OFF])
@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls", "stop"])
def test_half_a_call_is_dropped_and_the_usage_stays(reason: str, mode: Mode) -> None:
    body = answer(message(content=None, finish=reason, tool_calls=[call("bash", HALF)]), usage={"total_tokens": 9})
    seen = watched(body, mode=mode)
    choice = seen.body["choices"][0]
    assert "tool_calls" not in choice["message"]
    assert choice["message"]["content"].startswith("[streamfuse]")
    assert choice["finish_reason"] == (reason if reason in ("length", "content_filter") else "length")
    assert (seen.body["usage"], seen.body["id"], seen.failure) == ({"total_tokens": 9}, "c1", None)


def test_whole_calls_before_half_a_call_stay() -> None:
    body = answer(message(content="go", finish="length", tool_calls=[call("f", "{}"), call("bash", HALF, 1)]))
    choice = watched(body).body["choices"][0]
    assert [one["id"] for one in choice["message"]["tool_calls"]] == ["call_0"]
    assert choice["finish_reason"] == "tool_calls"


def test_a_call_without_arguments_is_whole_unless_a_limit_ended_it() -> None:
    body = answer(message(content=None, finish="tool_calls", tool_calls=[call("f", "")]))
    assert watched(body, mode=Mode.OFF).body is body
    cut = answer(message(content=None, finish="length", tool_calls=[call("f", "")]))
    assert "tool_calls" not in watched(cut).body["choices"][0]["message"]


def test_broken_json_with_matching_brackets_is_the_models_own_mistake() -> None:
    body = answer(message(content=None, finish="tool_calls", tool_calls=[call("f", '{"a": x}')]))
    assert watched(body, mode=Mode.OFF).body is body


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
@pytest.mark.parametrize("given", [{"command": "rm -rf build"}, {}, HALF])
def test_the_last_call_of_a_message_at_its_limit_is_half(reason: str, given: Any) -> None:
    use = {"type": "tool_use", "id": "t", "name": "bash", "input": given}
    whole = {**use, "id": "s", "input": {"a": 1}}
    body = {"id": "m", "type": "message", "content": [whole, use], "stop_reason": reason, "usage": {"output_tokens": 9}}
    seen = watch_whole(MESSAGES, MESSAGES.ask({}), WordRules(), body)
    assert [block.get("id") for block in seen.body["content"]] == ["s", None]
    assert (seen.body["stop_reason"], seen.body["usage"]) == (reason, {"output_tokens": 9})
    done = {**body, "stop_reason": "tool_use"}
    assert watch_whole(MESSAGES, MESSAGES.ask({}), WordRules(), done).body is done or given == HALF


@pytest.mark.parametrize(
    "item",
    [
        {
            "type": "function_call",
            "id": "fc",
            "call_id": "c",
            "name": "bash",
            "arguments": HALF,
            "status": "incomplete",
        },
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "bash", "arguments": HALF},
        {"type": "custom_tool_call", "id": "fc", "call_id": "c", "name": "patch", "input": "*** Begin"},
    ],
)
def test_half_a_call_of_a_response_is_dropped(item: dict[str, Any]) -> None:
    usage = {"input_tokens": 1, "output_tokens": 9, "total_tokens": 10}
    ended = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "usage": usage}
    body = {"id": "r", "object": "response", "model": "m", "output": [item], **ended}
    seen = watch_whole(RESPONSES, RESPONSES.ask({}), None, body)
    assert [one["type"] for one in seen.body["output"]] == ["message"]
    assert {key: seen.body[key] for key in ended} == ended
