"""Histories: the shapes real agents send, read into steps, and rewritten without harming a pairing."""

from __future__ import annotations

from typing import Any

import pytest

from rules import histories, wires
from rules.before.hygiene import Crop, crop_streaks, tidy
from rules.histories import HISTORIES, get

CHAT, MESSAGES, RESPONSES = (HISTORIES[n] for n in ("openai_chat", "anthropic_messages", "openai_responses"))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_a_wire_without_history_has_none() -> None:
    assert get("opaque") is None and get("openai_chat") is CHAT


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"thinking": "hm"},
        {
            "reasoning_details": [
                {"type": "reasoning.text", "text": "h"},
                {"text": "m"},
                {"type": "reasoning.encrypted"},
            ]
        },
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "x"},
            ]
        },
    ],
)
def test_chat_reasoning_in_all_its_vendor_fields(message: dict[str, Any]) -> None:
    (turn,) = CHAT.turns([{"role": "assistant", **message}])
    assert turn.step().reasoning == "hm"


def test_chat_content_as_a_list_images_and_custom_tools() -> None:
    items = [
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
         "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}, None, {"id": "c2"}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "out"}, {"type": "image"}]},
    ]  # fmt: skip
    (turn,) = CHAT.turns(items)
    step = turn.step()
    assert step.text == "a\n\nb" and step.nudge == "see" and step.at == (1, 2)
    assert [(c.name, c.arguments, c.result) for c in step.calls] == [("sh", "ls", "out image")]


def test_chat_legacy_function_call() -> None:
    items = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "42"},
    ]
    assert CHAT.turns(items)[0].step().calls[0].result == "42"


def test_the_same_id_twice_is_paired_in_order() -> None:
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    items = [
        {"role": "assistant", "tool_calls": [call, call]},
        {"role": "tool", "tool_call_id": "x", "content": "1"},
        {"role": "tool", "tool_call_id": "x", "content": "2"},
        {"role": "tool", "tool_call_id": "x", "content": "nobody asked"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": "3"},
    ]
    first, second = (turn.step() for turn in CHAT.turns(items))
    assert [c.result for c in first.calls] == ["1", "2"] and second.calls[0].result == "3"


def test_messages_reminders_beside_results_are_no_user_message() -> None:
    def answer(*more: dict[str, Any]) -> dict[str, Any]:
        result = {"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": True}
        return {"role": "user", "content": [result, *more]}

    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    aside = {"type": "text", "text": "<system-reminder>be brief</system-reminder>"}
    run = MESSAGES.run({"messages": [user("Go."), use, answer(aside)]})
    assert len(run.steps) == 1 and run.asked == "Go." and run.steps[0].calls[0].failed is True
    run = MESSAGES.run({"messages": [user("Go."), use, answer({"type": "text", "text": "Stop that."})]})
    assert run.steps == () and run.asked == "Stop that."
    image = {"role": "user", "content": [{"type": "image", "source": {}}]}
    assert MESSAGES.run({"messages": [user("Go."), use, image]}).asked == ""


def test_messages_drop_only_the_results_of_dropped_calls() -> None:
    def use(ident: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": ident, "name": "f", "input": {}}

    def result(ident: str) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": ident, "content": ident}

    items = [
        user("Go."),
        {"role": "assistant", "content": [use("a")]},
        {"role": "user", "content": [result("a"), {"type": "text", "text": "and this"}]},
        {"role": "assistant", "content": [use("b")]},
        {"role": "user", "content": [result("b")]},
    ]
    assert MESSAGES.without(items, frozenset({1})) == [
        user("Go."), {"role": "user", "content": [{"type": "text", "text": "and this"}]}, items[3], items[4],
    ]  # fmt: skip
    assert MESSAGES.without(items, frozenset({3, 4})) == items[:3]


def test_responses_items_make_steps() -> None:
    items = [
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "…"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "d", "name": "patch", "input": "***"},
        {"type": "function_call_output", "call_id": "c", "output": "one"},
        {"type": "custom_tool_call_output", "call_id": "d", "output": [{"type": "input_text", "text": "two"}]},
        {"type": "local_shell_call", "call_id": "e", "action": {"command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "e", "output": "three"},
        {"type": "web_search_call", "id": "w", "status": "completed"},
    ]
    run = RESPONSES.run({"input": items})
    assert [(s.text, s.reasoning, [(c.name, c.result) for c in s.calls]) for s in run.steps] == [
        ("I look.", "hm", [("f", "one"), ("patch", "two")]),
        ("", "", [("local_shell_call", "three")]),
        ("", "", [("web_search_call", None)]),
    ]
    assert run.asked == "Go." and RESPONSES.run({"input": "Go."}).steps == ()


@pytest.mark.parametrize("wire", list(HISTORIES))
def test_what_a_history_says_it_can_read_back(wire: str) -> None:
    history = HISTORIES[wire]
    assert history.said(history.user("hello")) == "hello" and not history.is_step(history.user("hello"))
    mine = history.assistant("done")
    assert history.text(mine) == "done" and history.is_step(mine) and history.said(mine) is None
    assert history.text(history.with_text(mine, "d")) == "d" and history.with_text(mine, "") is None


ODD: list[Any] = [None, 5, True, 1.5, "", [], {}, ["x"], {"a": 1}]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("name", sorted(HISTORIES))
def test_types_and_contents_of_any_kind_pass_unharmed(name: str, odd: Any) -> None:
    history = HISTORIES[name]
    parts = [{"type": odd, "text": "hi"}, {"type": "text", "text": odd}, odd]
    items = [
        {"role": "user", "content": odd},
        {"role": "assistant", "content": parts, "tool_calls": odd, "function_call": odd, "reasoning_details": odd},
        {"type": odd, "role": "assistant", "content": parts, "call_id": odd},
        {"role": "tool", "tool_call_id": odd, "content": odd},
        {"type": "function_call_output", "call_id": odd, "output": odd},
        {"role": odd, "content": parts},
        odd,
        {"role": "user", "content": parts},
    ]
    for given in (items, [*items, {"role": "user", "content": odd}], [], odd):
        body = {"model": "m", history.member: given}
        wire = wires.get(name)
        history.run(body)
        assert tidy(history, body, {}) is body
        crop_streaks(history, body, Crop(enabled=True, trigger=2))
        wire.clean(body)
        wire.advise(body, "[streamfuse] do something else")


def test_a_result_answers_the_newest_call_of_its_id_first() -> None:
    def called(*idents: str) -> dict[str, Any]:
        calls = [{"id": i, "function": {"name": "f", "arguments": str(n)}} for n, i in enumerate(idents)]
        return {"role": "assistant", "tool_calls": calls}

    def result(ident: str, text: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": ident, "content": text}

    items = [
        called("a", "a"),
        called("a"),
        *(result("a", t) for t in ("one", "two", "three", "four")),
        result("b", "x"),
    ]
    first, second = CHAT.turns(items)
    assert [call.result for call in first.calls] == ["two", "three"] and first.at == [0, 3, 4]
    assert [call.result for call in second.calls] == ["one"] and second.at == [1, 2]


def test_a_result_goes_with_the_call_it_answers_though_its_id_comes_again() -> None:
    def calls(n: int) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"n": n}}
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"r{n}"}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    items = [user("go"), *calls(1), *calls(2), *calls(3)]
    assert MESSAGES.without(items, frozenset({3, 4})) == [user("go"), *calls(1), *calls(3)]


@pytest.mark.parametrize(
    ("body", "wire"),
    [
        ({}, None),
        ({"messages": "no"}, None),
        ({"prompt": "x"}, None),
        ({"input": "text"}, None),
        ({"input": []}, "openai_responses"),
        ({"messages": []}, "openai_chat"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}, "openai_chat"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}, "anthropic_messages"),
        ({"messages": [], "system": "be brief"}, "anthropic_messages"),
        ({"messages": [None, {"content": [3]}]}, "openai_chat"),
    ],
)
def test_a_body_without_a_path_is_known_by_its_shape(body: dict[str, Any], wire: str | None) -> None:
    assert histories.of_body(body) == wire
