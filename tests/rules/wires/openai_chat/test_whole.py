"""The JSON form: read, cut by editing, streamed and gathered."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from rules import wires
from rules.framing.sse import Decoder
from rules.values.delta import Channel, Close, Done, Fault, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from rules.wires.base import Ending
from tests.readers.openai_chat import read
from tests.rules.fakes import DONE, chunk, finish, role, says

CHAT = wires.get("openai_chat")
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
ENDING = Ending(marker={"rule": "word"})


def answer(message: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "length", **choice}],
    }


def trimmed(body: dict[str, Any], keep: dict[str, int], ending: Ending = ENDING) -> Any:
    before = orjson.dumps(body)
    out = CHAT.trim(body, {(0, key): chars for key, chars in keep.items()}, ending)
    assert orjson.dumps(body) == before, "the upstream's own body was changed"
    return out["choices"][0]


def test_a_body_is_read_as_if_streamed() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {**answer({"content": "Hi", "reasoning": "hm", "tool_calls": [CALL]}), "usage": usage}
    deltas = CHAT.whole(body)
    assert [type(delta) for delta in deltas] == [Head, Open, Piece, Piece, Open, Piece, Close, Finish, Usage, Done]
    assert deltas[5] == Piece((0, "tool:0"), Channel.TOOL, '{"a":1}')


def test_a_body_without_indices_is_read_too() -> None:
    body = answer({"content": "Hi"})
    del body["choices"][0]["index"]
    assert Piece((0, "text"), Channel.TEXT, "Hi") in CHAT.whole(body)
    assert CHAT.trim(body, {(0, "text"): 1}, ENDING)["choices"][0]["message"]["content"] == "H"


@pytest.mark.parametrize("body", [{"error": {"message": "m"}}, {"error": "m", "choices": [7]}, {"message": "m"}])
def test_an_error_is_a_fault(body: dict[str, Any]) -> None:
    (fault,) = CHAT.whole(body)
    assert isinstance(fault, Fault)


@pytest.mark.parametrize(
    "body", [{}, {"usage": {}}, {"choices": [7]}, {"choices": [{"index": 999, "message": {"content": "x"}}]}]
)
def test_what_is_no_answer_is_malformed(body: dict[str, Any]) -> None:
    (delta,) = CHAT.whole(body)
    assert isinstance(delta, Malformed)


def test_a_text_is_shortened_and_ends_with_stop() -> None:
    choice = trimmed(answer({"content": "abcdef"}, logprobs={"content": []} | {"refusal": None}), {"text": 3})
    assert (choice["message"]["content"], choice["finish_reason"], choice["logprobs"]) == ("abc", "stop", None)


def test_another_finish_is_taken() -> None:
    assert trimmed(answer({"content": "abc"}), {"text": 1}, Ending(finish="length"))["finish_reason"] == "length"


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content", "thinking"])
def test_reasoning_is_shortened_under_every_name(key: str) -> None:
    message = trimmed(answer({key: "abcdef", "reasoning_details": [{"text": "abcdef"}]}), {"reasoning": 2})["message"]
    assert message[key] == "ab"
    assert "reasoning_details" not in message


def test_a_refusal_is_shortened() -> None:
    assert trimmed(answer({"refusal": "No, no, no"}), {"refusal": 2})["message"]["refusal"] == "No"


def test_parts_are_shortened_across_their_borders() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]},
        {"type": "thinking", "thinking": "more"},
        {"type": "text", "text": "abc"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "def"},
        {"type": "text", "text": "ghi"},
    ]
    kept = trimmed(answer({"content": parts}), {"text": 4, "reasoning": 2})["message"]["content"]
    assert kept == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "abc"},
        {"type": "image_url", "image_url": {}},
        {"type": "text", "text": "d"},
    ]
    untouched = trimmed(answer({"content": parts}), {"refusal": 0})["message"]["content"]
    assert untouched == parts


def test_a_notice_behind_text_parts_and_nothing() -> None:
    ending = Ending(notice="Cut.")
    assert trimmed(answer({"content": "abc"}), {"text": 2}, ending)["message"]["content"] == "ab\n\nCut."
    assert (
        trimmed(answer({"content": None, "reasoning": "x"}), {"reasoning": 1}, ending)["message"]["content"] == "Cut."
    )
    parts = [{"type": "text", "text": "abc"}]
    left = trimmed(answer({"content": parts}), {"text": 0}, ending)["message"]["content"]
    assert left == [{"type": "text", "text": "Cut."}]


def test_named_calls_go_and_the_others_are_there_to_be_run() -> None:
    two = answer({"content": None, "tool_calls": [CALL, {**CALL, "id": "d"}]})
    choice = trimmed(two, {"tool:1": 0})
    assert choice["message"]["tool_calls"] == [CALL]
    assert choice["finish_reason"] == "tool_calls"
    none = trimmed(two, {"tool:0": 0, "tool:1": 0})
    assert "tool_calls" not in none["message"]
    assert none["finish_reason"] == "stop"


def test_the_old_function_call() -> None:
    body = answer({"content": "abc", "function_call": {"name": "f", "arguments": "{}"}})
    assert trimmed(body, {"text": 1})["finish_reason"] == "function_call"
    assert "function_call" not in trimmed(body, {"function_call": 0})["message"]
    assert Close((0, "function_call")) in CHAT.whole(body)


@pytest.mark.parametrize("body", [{}, {"choices": [7]}, {"choices": None}])
def test_what_is_no_answer_makes_no_stream(body: dict[str, Any]) -> None:
    assert CHAT.to_events(CHAT.ask({}), body) == b""


def test_a_body_as_a_stream_has_usage_only_where_it_was_asked_for() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {**answer({"content": "Hi"}, finish_reason=None), "usage": usage}
    quiet = read(CHAT.to_events(CHAT.ask({}), body))
    assert (quiet.text, quiet.end, quiet.usage) == ("Hi", "0:stop", None)
    asked = CHAT.ask({"stream_options": {"include_usage": True}})
    assert read(CHAT.to_events(asked, body)).usage == usage


def gathered(*raws: bytes) -> Any:
    return CHAT.gather(CHAT.ask({}), Decoder().feed(b"".join(raws)))


@pytest.mark.parametrize("word", [None, "", "null"])
def test_an_end_mark_without_a_finish_is_mended_as_in_a_stream(word: str | None) -> None:
    said = chunk({"index": 0, "delta": {"role": "assistant", "content": "x"}, "finish_reason": word})
    assert gathered(said, DONE)["choices"][0]["finish_reason"] == "stop"
    assert gathered(said) is None


def test_a_stream_that_is_no_whole_answer_makes_no_body() -> None:
    assert gathered(role(), says("x")) is None
    assert gathered(role(), chunk(error={"message": "m"})) is None
    assert gathered(DONE) is None
    assert gathered() is None


def test_logprobs_and_mixed_parts_are_gathered() -> None:
    one = {"index": 0, "delta": {"content": "a"}, "logprobs": {"content": [{"token": "a"}]}, "finish_reason": None}
    two = {"index": 0, "delta": {"content": [{"type": "text", "text": "b"}]}, "logprobs": {"content": [{"token": "b"}]}}
    body = gathered(role(), b"data: {broken\n\n", chunk(one), chunk(two), says("c"), finish(), DONE)
    (choice,) = body["choices"]
    assert choice["logprobs"]["content"] == [{"token": "a"}, {"token": "b"}]
    assert "".join(part["text"] for part in choice["message"]["content"]) == "abc"
    assert body["object"] == "chat.completion"


def test_unknown_members_survive_both_ways() -> None:
    body = gathered(role(), says(annotations=[{"url": "u"}], content="x"), finish(), DONE)
    assert body["choices"][0]["message"]["annotations"] == [{"url": "u"}]
    assert Unknown("annotations") in CHAT.whole(body)
