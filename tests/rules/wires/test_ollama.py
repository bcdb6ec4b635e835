"""Ollama's own API: requests, lines, whole answers, ends, and how an answer goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rules.framing.ndjson import Line
from rules.values.delta import Channel, Close, Done, Fault, Finish, Malformed, Open, Piece, Unknown, Usage
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Transcript
from rules.wires.base import Change, Ending
from rules.wires.ollama import WIRE
from rules.wires.ollama.codec import TEXT
from tests.readers.ollama import read

from .play import STREAMS, Play, decoded

USER = {"role": "user", "content": "Tea?"}


def line(**body: Any) -> Line:
    data = json.dumps({"model": "m", "created_at": "2026-11-30T10:00:00Z", "done": False, **body}).encode()
    return Line(data + b"\n", data)


def chat(**message: Any) -> Line:
    return line(message={"role": "assistant", "content": "", **message})


def played(*lines: Line, call: str = "/api/chat", **body: Any) -> Play:
    play = Play(WIRE, WIRE.ask({"model": "m", "messages": [USER], **body}, call))
    for one in lines:
        play.feed(one)
    return play


def test_a_stream_is_the_default() -> None:
    assert WIRE.ask({}).streaming and not WIRE.ask({"stream": False}).streaming
    asked = WIRE.ask({"model": "m", "format": "json", "tools": [{}], "messages": [USER]}, "/api/chat")
    assert (asked.model, asked.wants_json, asked.has_tools, asked.brief.prompt) == ("m", True, True, "Tea?")
    asked = WIRE.ask({"system": "Be brief.", "prompt": "Tea?"}, "/api/generate")
    assert asked.brief.prompt == "Be brief.\nTea?" and "Tea?" in asked.brief.asked


def test_only_a_request_with_a_model_is_ollamas() -> None:
    assert WIRE.matches("/api/chat") and WIRE.matches("/api/generate") and not WIRE.matches("/api/tags")
    assert WIRE.speaks({"model": "m"}) and not WIRE.speaks({"messages": []})


def test_tool_calls_come_whole() -> None:
    call = {"function": {"name": "read", "arguments": {"path": "a"}}}
    play = played(chat(tool_calls=[call, {"function": {"name": "list"}}]), chat(tool_calls=[call]))
    calls = [delta for delta in play.read if isinstance(delta, Open | Close) or type(delta) is Piece]
    assert [delta.block[1] for delta in calls if type(delta) is Close] == ["tool:0", "tool:1", "tool:2"]
    assert [d.text for d in calls if type(d) is Piece] == ['{"path":"a"}', "{}", '{"path":"a"}']


@pytest.mark.parametrize(
    "body",
    [
        {"message": 5},
        {"message": {"content": 5}},
        {"message": {"content": "", "thinking": [1]}},
        {"message": {"content": "", "tool_calls": {"a": 1}}},
        {"message": {"content": "", "tool_calls": [{"function": None}]}},
        {"message": {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}},
        {"response": 5},
        {},
    ],
)
def test_a_value_of_another_type_is_damage(body: dict[str, Any]) -> None:
    (found,) = played(line(**body)).read
    assert type(found) is Malformed and found.torn


def test_other_objects_are_no_damage_and_new_members_pass() -> None:
    data = b'{"status":"pulling"}'
    assert played(Line(data + b"\n", data)).read == [Unknown("line")]
    assert Unknown("images") in played(chat(images=["aGk="])).read


def test_how_far_an_image_has_come_is_no_damage() -> None:
    data = b'{"model":"m","created_at":"x","completed":1,"total":4,"done":false}'
    assert played(Line(data + b"\n", data)).read == [Piece(TEXT, Channel.TEXT, "")]
    assert Unknown("image") in played(line(response="", done=True, image="aGk=")).read


def test_errors_in_all_their_shapes() -> None:
    for error in ("model runner has unexpectedly stopped", {"message": "model runner has unexpectedly stopped"}):
        (fault,) = played(line(error=error)).read
        assert type(fault) is Fault and fault.message == "model runner has unexpectedly stopped"
        assert fault.code == 500 or isinstance(error, dict)
    (fault,) = played(line(error="busy", StatusCode=503)).read
    assert type(fault) is Fault and fault.code == 503


def test_the_finish_is_the_last_line() -> None:
    play = played(line(message={"role": "assistant", "content": "x"}, done=True, done_reason="length", eval_count=3))
    assert play.read[-3:] == [Usage({"eval_count": 3}), Finish(0, "length"), Done()]
    assert play.codec.close(play.transcript, Ending()) == b""


def test_a_cut_says_the_facts_and_keeps_the_model() -> None:
    play = played(chat(content="Loop loop"))
    raw = play.raw + play.codec.close(play.transcript, Ending("Cut.", {"rule": "exact"}))
    answer = read(raw)
    assert (answer.text, answer.end, answer.marker) == ("Loop loop\n\nCut.", "stop", {"rule": "exact"})
    assert json.loads(raw.splitlines()[-1])["created_at"] == "2026-11-30T10:00:00Z"
    play = played(line(response="Loop"), call="/api/generate")
    assert read(play.raw + play.codec.close(play.transcript, Ending())).text == "Loop"
    play = played(call="/api/generate", prompt="x")  # before its first line the request says which of the two it is
    assert "response" in json.loads(play.codec.close(play.transcript, Ending("Cut.")))


def test_the_upstreams_own_error_line_is_told() -> None:
    play = played(chat(content="x"))
    body = b'{"error":"runner stopped","hint":"pull again"}'
    failure = Failure(Phase.STREAM, Kind.SERVER, "runner stopped", body=body)
    assert json.loads(play.codec.fail(play.transcript, failure)) == {"error": "runner stopped"}
    assert WIRE.error(Failure(Phase.HEADERS, Kind.SERVER, "x", status=500, body=b'{"error":"y"}')) == (
        500,
        b'{"error":"y"}',
    )


def test_lines_like_the_one_before_are_read_without_a_parser() -> None:
    codec = WIRE.codec(WIRE.ask({}))
    codec.bind(Transcript())
    first, second, third = decoded((STREAMS / "ollama/chat.ndjson").read_bytes(), WIRE.framing(WIRE.ask({})))[:3]
    codec.read(first)
    codec.read(second)
    assert codec.quick is not None
    assert codec.quick(third.raw) == Piece((0, "text"), Channel.TEXT, "kettle")


def test_a_whole_answer_is_trimmed_and_forgets_its_tokens() -> None:
    call = {"function": {"name": "read", "arguments": {}}}
    message = {"role": "assistant", "content": "abcdef", "thinking": "uvwxyz", "tool_calls": [call, call]}
    body = {"model": "m", "message": message, "done": True, "done_reason": "length"}
    cut = WIRE.trim(body, {(0, "text"): 2, (0, "thinking"): 3, (0, "tool:0"): 0}, Ending("Cut.", {"rule": "r"}))
    assert cut["message"] == {**message, "content": "ab\n\nCut.", "thinking": "uvw", "tool_calls": [call]}
    assert (cut["done_reason"], cut["streamfuse"]) == ("stop", {"rule": "r"})
    whole = {"model": "m", "response": "abcdef", "context": [1, 2], "done": True}
    assert WIRE.trim(whole, {(0, "text"): 2}, Ending()) == {
        "model": "m", "response": "ab", "done": True, "done_reason": "stop",
    }  # fmt: skip


def resumed(*lines: Line, style: str = "prefill", **body: Any) -> Any:
    play = played(*lines, **body)
    return WIRE.resume(play.ask, play.transcript, style)


def healed(change: Change, call: str = "/api/chat", **body: Any) -> Any:
    return WIRE.heal(WIRE.ask({"model": "m", "messages": [USER], **body}, call), change)


def test_a_loop_is_healed_by_warmer_options_and_without_thinking() -> None:
    body, changed = healed(Change(thinking="effort", hottest=1.0), options={"temperature": 0, "seed": 3, "num_ctx": 9})
    assert body["think"] is False and body["options"] == {"temperature": 1.0, "num_ctx": 9}
    assert sorted(changed) == ["seed", "temperature", "think"]
    body, changed = healed(Change(kept="Put the", style="prefill"))
    assert body["messages"] == [USER, {"role": "assistant", "content": "Put the"}] and changed == []
    body, _ = healed(Change(kept="Put the", note="Do not repeat."))
    assert [message["content"] for message in body["messages"]] == ["Tea?", "Put the", "Do not repeat."]
    body, _ = healed(Change(spent=100), options={"num_predict": 200})
    assert body["options"] == {"num_predict": 100}
    assert healed(Change(spent=100), options={"num_predict": -1})[0]["options"] == {"num_predict": -1}


def test_what_cannot_be_healed_is_not() -> None:
    assert healed(Change(), format="json") is None
    assert healed(Change(spent=100), options={"num_predict": 120}) is None
    assert healed(Change(kept="x", style="llamacpp")) is None
    assert healed(Change(kept="x", style="prefill"), "/api/generate", prompt="p", messages=None) is None
    body, changed = healed(Change(thinking="flag"), "/api/generate", prompt="p", messages=None)
    assert body["think"] is False and changed == ["think"]


def test_a_healed_whole_answer_tells_the_tokens_of_both() -> None:
    first, second = (
        {"eval_count": 5, "prompt_eval_count": 3},
        {"response": "x", "eval_count": 2, "prompt_eval_count": 9},
    )
    told = WIRE.healed(first, second, {"action": "heal"})
    assert told == {"response": "x", "eval_count": 7, "prompt_eval_count": 3, "streamfuse": {"action": "heal"}}
    assert WIRE.healed({}, {"response": "x"}, {}) == {"response": "x", "streamfuse": {}}


def test_an_answer_goes_on_behind_its_text() -> None:
    said = [chat(thinking="hm"), chat(content="Put the ")]
    body = resumed(*said, options={"num_predict": 100, "seed": 1})
    assert body["messages"] == [USER, {"role": "assistant", "content": "Put the"}]
    assert (body["think"], body["options"]) == (False, {"num_predict": 100, "seed": 1})
    mine = {"role": "assistant", "content": "Well, "}
    assert resumed(chat(content="now"), messages=[USER, mine])["messages"][-1]["content"] == "Well, now"


def test_what_cannot_go_on_does_not() -> None:
    said = chat(content="Put the ")
    assert resumed(said, style="none") is None and resumed(said, format="json") is None
    assert resumed(said, chat(tool_calls=[{"function": {"name": "f"}}])) is None
    assert resumed(said, messages=[{"role": "assistant", "content": [1]}]) is None
    assert resumed(line(response="x"), call="/api/generate", prompt="p", messages=None) is None
    raw = resumed(line(response="x "), call="/api/generate", prompt="p", raw=True, messages=None)
    assert raw["prompt"] == "px"


def test_the_second_answer_follows_with_the_tokens_of_both() -> None:
    play = played(chat(content="Put the "))
    play.transcript.earlier = 2
    play.again()
    play.feed(chat(content="kettle on."))
    play.feed(line(message={"role": "assistant", "content": ""}, done=True, eval_count=3))
    answer = read(play.raw)
    assert answer.text == "Put the kettle on." and answer.usage == {"eval_count": 5}
