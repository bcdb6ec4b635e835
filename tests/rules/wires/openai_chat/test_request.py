"""What a request asks for, where a reminder goes, and how a broken answer is asked to go on."""

from __future__ import annotations

from typing import Any

import pytest

from rules import wires
from rules.values.delta import Channel, Finish, Open, Piece
from rules.values.transcript import Transcript
from rules.wires.openai_chat.request import PROMPT_LIMIT, prompt

CHAT = wires.get("openai_chat")


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "42"}


# --- reading ---------------------------------------------------------------------------------------------------------
def test_a_request_is_read() -> None:
    ask = CHAT.ask(
        {
            "model": "m",
            "stream": True,
            "n": 3,
            "tools": [{}],
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_schema"},
            "messages": [
                {"role": "system", "content": "s"},
                user("u"),
                CALL,
                RESULT,
                {"role": "assistant", "content": "a"},
            ],
        }
    )
    assert (ask.model, ask.streaming, ask.choices) == ("m", True, 3)
    assert ask.wants_usage
    assert ask.has_tools
    assert ask.wants_json
    assert ask.brief.prompt == "s\nu\n42"
    assert ask.brief.asked == "s\nu"  # a tool's result is no wish


@pytest.mark.parametrize("odd", [None, 7, "x", [], {}, True])
def test_odd_members_count_as_absent(odd: Any) -> None:
    body = {
        name: odd
        for name in ("model", "n", "stream_options", "response_format", "messages")
        if (name, odd) != ("model", "x")
    }
    ask = CHAT.ask({**body, "stream": 1})
    assert (ask.model, ask.streaming, ask.choices if odd != 7 else 1) == ("", False, 1)
    assert not ask.wants_usage
    assert not ask.wants_json
    assert ask.brief.prompt == ""


def test_the_prompt_keeps_the_newest_and_reads_parts() -> None:
    old, new = "o" * PROMPT_LIMIT, "n" * 100
    parts = [{"type": "text", "text": new}, {"type": "image_url", "image_url": {}}, 7]
    text = prompt({"messages": [user(old), 7, user(parts)]})
    assert text.endswith("\n" + new)
    assert len(text) == PROMPT_LIMIT + 1
    assert prompt({"messages": [user("first"), user(old)]}) == old


def test_chat_is_its_path() -> None:
    assert wires.for_path("/chat/completions") is CHAT
    assert not CHAT.matches("/completions")


# --- the reminder ----------------------------------------------------------------------------------------------------
def test_the_reminder_goes_into_the_last_user_message() -> None:
    body = {"model": "m", "messages": [user("one"), {"role": "assistant", "content": "x"}, user("two")]}
    told = CHAT.advise(body, "Mind.")
    assert [m["content"] for m in told["messages"]] == ["one", "x", "two\n\nMind."]
    assert body["messages"][2]["content"] == "two"  # type: ignore[index]
    assert told["model"] == "m"


def test_parts_get_a_part() -> None:
    told = CHAT.advise({"messages": [user([{"type": "text", "text": "a"}])]}, "Mind.")
    assert told["messages"][0]["content"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "Mind."}]


@pytest.mark.parametrize("content", [None, "", 7])
def test_an_empty_user_message_becomes_the_reminder(content: Any) -> None:
    assert CHAT.advise({"messages": [user(content)]}, "Mind.")["messages"] == [user("Mind.")]


def test_behind_tool_results_it_is_a_message_of_its_own() -> None:
    history = [user("do"), CALL, RESULT]
    assert CHAT.advise({"messages": history}, "Mind.")["messages"] == [*history, user("Mind.")]


def test_never_behind_an_assistant_message_that_is_to_be_continued() -> None:
    told = CHAT.advise({"messages": [user("do"), {"role": "assistant", "content": "So"}]}, "Mind.")
    assert told["messages"] == [user("do\n\nMind."), {"role": "assistant", "content": "So"}]


@pytest.mark.parametrize(
    "body", [{}, {"messages": []}, {"messages": "x"}, {"messages": [{"role": "assistant", "content": "x"}]}]
)
def test_where_there_is_no_place_the_very_body_comes_back(body: dict[str, Any]) -> None:
    assert CHAT.advise(body, "Mind.") is body


# --- going on --------------------------------------------------------------------------------------------------------
def shown(*deltas: Any, keep: bool = True) -> Transcript:
    transcript = Transcript(keep=keep)
    for delta in deltas or (Piece((0, "text"), Channel.TEXT, "Once upon"), Piece((0, "text"), Channel.TEXT, " a ")):
        transcript.note(delta)
    return transcript


@pytest.mark.parametrize(
    ("style", "member", "extra"),
    [
        ("continue_final_message", {}, {"continue_final_message": True, "add_generation_prompt": False}),
        ("llamacpp", {}, {}),
        ("prefix", {"prefix": True}, {}),
        ("prefill", {}, {}),
    ],
)
def test_every_style_goes_on_right_behind_the_shown_text(style: str, member: Any, extra: Any) -> None:
    ask = CHAT.ask({"model": "m", "stream": True, "messages": [user("tell")]})
    body = CHAT.resume(ask, shown(), style)
    answer = {"role": "assistant", "content": "Once upon a", **member}
    assert body == {"model": "m", "stream": True, "messages": [user("tell"), answer], **extra}


def test_the_thinking_is_over_where_a_template_could_begin_it_again() -> None:
    thought = shown(Piece((0, "reasoning"), Channel.REASONING, "hm"), Piece((0, "text"), Channel.TEXT, "Once"))
    ask = CHAT.ask({"messages": [user("tell")], "chat_template_kwargs": {"a": 1}})
    for style in ("llamacpp", "continue_final_message"):
        body = CHAT.resume(ask, thought, style)
        assert body is not None and body["chat_template_kwargs"] == {"a": 1, "enable_thinking": False}
    body = CHAT.resume(ask, thought, "prefix")
    assert body is not None and body["chat_template_kwargs"] == {"a": 1}


def test_a_limit_is_less_what_was_used_of_it() -> None:
    transcript = shown()
    for earlier, left in ((0, 9), (5, 4), (99, 1)):
        transcript.earlier = earlier
        body = CHAT.resume(CHAT.ask({"messages": [user("tell")], "max_tokens": 9}), transcript, "prefix")
        assert body is not None and body["max_tokens"] == left


def test_a_clients_own_prefill_is_continued() -> None:
    ask = CHAT.ask({"messages": [user("tell"), {"role": "assistant", "content": "Title: "}]})
    body = CHAT.resume(ask, shown(), "llamacpp")
    assert body is not None
    assert body["messages"][1:] == [{"role": "assistant", "content": "Title: Once upon a"}]
    assert CHAT.resume(CHAT.ask({"messages": [CALL]}), shown(), "llamacpp") is None


def test_reasoning_may_have_been_shown_but_is_not_sent_back() -> None:
    ask = CHAT.ask({"messages": [user("tell")]})
    both = shown(Piece((0, "reasoning"), Channel.REASONING, "hm"), Piece((0, "text"), Channel.TEXT, "A"))
    body = CHAT.resume(ask, both, "prefix")
    assert body is not None
    assert body["messages"][-1] == {"role": "assistant", "content": "A", "prefix": True}


@pytest.mark.parametrize(
    "deltas",
    [
        [Piece((0, "reasoning"), Channel.REASONING, "hm")],
        [Piece((0, "text"), Channel.TEXT, "A"), Open((0, "tool:0"), Channel.TOOL, "f")],
        [Piece((0, "text"), Channel.TEXT, "A"), Piece((1, "text"), Channel.TEXT, "B")],
        [Piece((0, "refusal"), Channel.REFUSAL, "No")],
        [Piece((0, "text"), Channel.TEXT, "A"), Piece((0, "audio"), Channel.TEXT, "A")],
        [Piece((0, "text"), Channel.TEXT, "A"), Finish(0, "stop")],
    ],
)
def test_what_a_second_try_could_contradict_is_not_resumed(deltas: list[Any]) -> None:
    assert CHAT.resume(CHAT.ask({"messages": [user("tell")]}), shown(*deltas), "llamacpp") is None


@pytest.mark.parametrize(
    "body",
    [
        {"n": 2},
        {"logprobs": True},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "regex"}},
        {"guided_json": {"a": 1}},
        {"grammar": "root"},
        {"messages": None},
    ],
)
def test_requests_that_cannot_be_resumed(body: dict[str, Any]) -> None:
    assert CHAT.resume(CHAT.ask({"messages": [user("tell")], **body}), shown(), "llamacpp") is None


def test_nothing_to_go_on_from() -> None:
    ask = CHAT.ask({"messages": [user("tell")]})
    assert CHAT.resume(ask, shown(keep=False), "llamacpp") is None
    assert CHAT.resume(ask, shown(), "telepathy") is None
    long = Transcript(keep=True, limit=5)
    long.note(Piece((0, "text"), Channel.TEXT, "more than five"))
    assert CHAT.resume(ask, long, "llamacpp") is None
