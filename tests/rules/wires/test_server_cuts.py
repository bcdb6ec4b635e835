"""Loops that servers cut themselves: known by their words, counted, and ended quietly on every wire."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rules import wires
from rules.detect import packs
from rules.detect.ruleset import RuleSet
from rules.during.output import Forward, Halt
from rules.during.stream import Stream
from rules.during.whole_body.whole_json import JudgedBody, watch_whole
from rules.framing.sse import Decoder
from rules.values.failures import Failure
from rules.values.verdict import Mode
from rules.wires.server_cuts import ServerCut, details, loop_stop
from tests.readers import anthropic_messages, openai_chat, openai_completions

from ..fakes import DONE, chunk, finish, role, says, tool

CHAT = wires.get("openai_chat")
STREAMS = Path(__file__).parents[2] / "streams"


@pytest.mark.parametrize(
    ("reason", "fields", "word"),
    [
        ("repetition", None, "repetition"),
        ("REPETITION", {}, "repetition"),
        ("repetition_truncation", None, "repetition_truncation"),
        ("length", {"finish_details": {"type": "repetition"}}, "repetition"),
        ("length", {"stop_reason": "repetition_detected"}, "repetition_detected"),
        ("length", {"stop_reason": "repetition of 12 tokens"}, "repetition"),
        ("stop", {"stop_reason": "loop"}, None),  # the client's own stop sequence
        ("length", {"stop_reason": 128001}, None),
        ("length", {"finish_details": {"type": "max_tokens"}}, None),
        ("length", {"finish_details": {"type": 7}}, None),
        ("stop", None, None),
        (None, None, None),
    ],
)
def test_reasons(reason: str | None, fields: dict[str, Any] | None, word: str | None) -> None:
    assert loop_stop(reason, fields) == word


def test_only_what_is_looked_at_is_kept_of_a_choice() -> None:
    assert details({"text": "x", "stop_reason": "repetition", "stop_details": None}) == {"stop_reason": "repetition"}


# --- streams ---------------------------------------------------------------------------------------------------------
def played(raw: bytes, wire: str = "openai_chat", mode: Mode = Mode.ON, **body: Any) -> tuple[Stream, bytes, Any]:
    """(the stream afterwards, what the client got, what halted it)."""
    it = wires.get(wire)
    stream = Stream(it, it.ask({"model": "m", "stream": True, **body}), RuleSet(), mode=mode, attempts=2)
    out = [*stream.feed(raw, 1.0), *stream.eof(2.0)]
    sent = b"".join(one.raw for one in out if isinstance(one, Forward))
    return stream, sent, next((one.cause for one in out if isinstance(one, Halt)), None)


def bodies(sent: bytes) -> list[Any]:
    return [event.json for event in Decoder().feed(sent) if event.json is not None]


def recorded(wire: str, name: str, old: str, new: str) -> bytes:
    raw = (STREAMS / wire / f"{name}.sse").read_bytes()
    assert raw.count(old.encode()) >= 1
    return raw.replace(old.encode(), new.encode())


MARK = {"action": "server", "reason": "repetition", "choice": 0, "attempts": 2}


def test_chat_ends_quietly_and_names_the_servers_own_word() -> None:
    stream, sent, halted = played(role() + says("ha ha ha") + finish("repetition") + DONE)
    last = bodies(sent)[-1]
    assert halted is None and stream.finished
    assert (last["choices"][0]["finish_reason"], last["streamfuse"]) == ("stop", MARK)
    assert stream.server_cuts == [ServerCut(0, "repetition")]
    assert stream.transcript.finished == {0: "stop"}
    assert sent.startswith(role() + says("ha ha ha")) and sent.endswith(DONE)


@pytest.mark.parametrize("mode", [Mode.WATCH, Mode.OFF])
def test_it_is_counted_but_not_touched_where_nothing_may_be(mode: Mode) -> None:
    raw = role() + says("ha ha ha") + finish("repetition_truncation") + DONE
    stream, sent, _ = played(raw, mode=mode)
    assert sent == raw
    assert stream.server_cuts == [ServerCut(0, "repetition_truncation")]


def test_a_word_beside_the_finish_goes_too() -> None:
    last = chunk({"index": 0, "delta": {}, "finish_reason": "length", "stop_reason": "repetition_detected"})
    _, sent, _ = played(role() + says("ha") + last + DONE)
    assert bodies(sent)[-1]["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]


def test_other_finishes_pass_as_they_are() -> None:
    for reason in ("stop", "length", "content_filter"):
        raw = role() + says("ha") + finish(reason) + DONE
        stream, sent, _ = played(raw)
        assert sent == raw and stream.server_cuts == []


def test_one_of_two_choices() -> None:
    raw = role() + role(1) + says("ha ha") + says("fine", 1) + finish("repetition") + finish("length", 1) + DONE
    stream, sent, _ = played(raw, n=2)
    ends = [c["finish_reason"] for body in bodies(sent) for c in body["choices"] if c["finish_reason"]]
    assert ends == ["stop", "length"] and stream.server_cuts == [ServerCut(0, "repetition")]


def test_whole_calls_are_there_to_be_run() -> None:
    _, sent, halted = played(role() + tool(0, '{"a":1}', "f") + finish("repetition") + DONE)
    assert halted is None
    assert bodies(sent)[-1]["choices"][0]["finish_reason"] == "tool_calls"
    _, sent, _ = played(role() + says(function_call={"name": "f", "arguments": "{}"}) + finish("repetition") + DONE)
    assert bodies(sent)[-1]["choices"][0]["finish_reason"] == "function_call"


def test_half_a_call_is_dropped_and_the_answer_ends_quietly() -> None:
    stream, sent, halted = played(role() + says("see") + tool(0, '{"a":"xxxx', "f") + finish("repetition") + DONE)
    last = bodies(sent)[-1]
    assert halted is None and stream.finished and b"tool_calls" not in sent
    assert last["choices"][0]["finish_reason"] == "stop" and last["streamfuse"] == MARK
    assert b"broke off in the middle of a tool call" in sent


def test_completions() -> None:
    raw = recorded("openai_completions", "text", '"finish_reason":"stop"', '"finish_reason":"repetition"')
    stream, sent, _ = played(raw, "openai_completions")
    ends = [body for body in bodies(sent) if body.get("choices") and body["choices"][0]["finish_reason"]]
    assert [body["choices"][0]["finish_reason"] for body in ends] == ["stop"]
    assert ends[0]["streamfuse"] == MARK and stream.server_cuts == [ServerCut(0, "repetition")]


@pytest.mark.parametrize(
    ("name", "old", "quiet"), [("max_tokens", "max_tokens", "end_turn"), ("tools", "tool_use", "tool_use")]
)
def test_messages(name: str, old: str, quiet: str) -> None:
    raw = recorded("anthropic_messages", name, f'"stop_reason":"{old}"', '"stop_reason":"repetition"')
    stream, sent, halted = played(raw, "anthropic_messages")
    last = next(body for body in bodies(sent) if body["type"] == "message_delta")
    assert halted is None and stream.finished
    assert last["delta"] == {"stop_reason": quiet, "stop_sequence": None}
    assert last["streamfuse"] == MARK and stream.server_cuts == [ServerCut(0, "repetition")]
    watched = played(raw, "anthropic_messages", Mode.WATCH)
    assert watched[1] == raw


def test_responses_complete() -> None:
    raw = recorded("openai_responses", "incomplete", '"reason":"max_output_tokens"', '"reason":"repetition"')
    stream, sent, halted = played(raw, "openai_responses")
    last = bodies(sent)[-1]
    assert halted is None and stream.finished
    assert b"event: response.completed\n" in sent and b"response.incomplete" not in sent
    assert (last["type"], last["response"]["status"], last["response"]["incomplete_details"]) == (
        "response.completed",
        "completed",
        None,
    )
    assert last["streamfuse"] == MARK and stream.server_cuts == [ServerCut(0, "repetition")]
    assert played(raw, "openai_responses", Mode.WATCH)[1] == raw


READERS = {
    "openai_chat": openai_chat, "openai_completions": openai_completions, "anthropic_messages": anthropic_messages,
}  # fmt: skip
ENDED = [path for wire in READERS for path in sorted((STREAMS / wire).glob("*.sse"))]
REASON = re.compile(rb'"(finish_reason|stop_reason)":( ?)"[a-z_]+"')


@pytest.mark.parametrize("path", ENDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_whatever_was_said_before_it_the_quiet_end_is_legal(path: Path) -> None:
    wire = path.parent.name
    raw, count = REASON.subn(rb'"\1":\2"repetition"', path.read_bytes())
    stream, sent, halted = played(raw, wire)
    assert count and halted is None and stream.finished
    assert not re.search(rb'_reason": ?"repetition"', sent)
    answer = READERS[wire].read(sent)
    assert answer.marker is not None and answer.marker["reason"] == "repetition"


def test_a_continued_answer_ends_quietly_under_its_first_identity() -> None:
    first, _, _ = played(role() + says("Once upon "))
    ask = CHAT.ask({"model": "m", "stream": True})
    second = Stream(CHAT, ask, RuleSet(), transcript=first.transcript, splice=first.splice(), attempts=3)
    other = (role() + says("a time ha ha ha") + finish("repetition") + DONE).replace(b"chatcmpl-1", b"chatcmpl-2")
    out = [*second.feed(other, 3.0), *second.eof(4.0)]
    last = bodies(b"".join(one.raw for one in out if isinstance(one, Forward)))[-1]
    assert (last["id"], last["choices"][0]["finish_reason"]) == ("chatcmpl-1", "stop")
    assert last["streamfuse"] == {**MARK, "attempts": 3}


def test_a_clean_end_without_a_finish_in_the_middle_of_a_repetition() -> None:
    rules = packs.assemble(["default"])
    half = "spam and eggs, " * 9
    healed = half + "and so on: this is the end of the list that the waiter read out to the two of us."
    for text, cuts in (("The sea is calm.", []), (half, [ServerCut(0, "unfinished")]), (healed, [])):
        stream = Stream(CHAT, CHAT.ask({"model": "m", "stream": True}), rules)
        out = [*stream.feed(role() + says(text), 1.0), *stream.eof(2.0)]
        assert isinstance(out[-1], Halt) and isinstance(out[-1].cause, Failure), "it stays a failure, to be retried"
        assert stream.server_cuts == cuts


# --- whole answers ---------------------------------------------------------------------------------------------------
def whole(body: Any, wire: str = "openai_chat", mode: Mode = Mode.ON) -> JudgedBody:
    it = wires.get(wire)
    return watch_whole(it, it.ask({"model": "m"}), RuleSet(), body, mode=mode, attempts=2)


def chat(finish_reason: str = "repetition", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def test_a_whole_answer() -> None:
    body = chat(content="ha ha ha")
    seen = whole(body)
    assert seen.cut is None and seen.server_cuts == (ServerCut(0, "repetition"),)
    assert seen.body["choices"][0]["finish_reason"] == "stop" and seen.body["streamfuse"] == MARK
    assert seen.body["choices"][0]["message"] == body["choices"][0]["message"]
    for mode in (Mode.WATCH, Mode.OFF):
        assert whole(body, mode=mode).body is body
        assert whole(body, mode=mode).server_cuts == (ServerCut(0, "repetition"),)
    assert whole(fine := chat("length", content="ha")).body is fine


def test_a_whole_answer_loses_the_call_it_was_cut_in() -> None:
    def call(n: int, arguments: str) -> dict[str, Any]:
        return {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": arguments}}

    seen = whole(chat(content=None, tool_calls=[call(0, '{"a":1}'), call(1, '{"a":"xxx')]))
    choice = seen.body["choices"][0]
    assert [c["id"] for c in choice["message"]["tool_calls"]] == ["c0"]
    assert choice["finish_reason"] == "tool_calls"
    assert "broke off" in choice["message"]["content"]


@pytest.mark.parametrize(
    ("wire", "body", "end"),
    [
        (
            "openai_completions",
            {"id": "c", "choices": [{"index": 0, "text": "ha ha", "finish_reason": "repetition", "logprobs": None}]},
            ("choices", 0, "finish_reason", "stop"),
        ),
        (
            "anthropic_messages",
            {
                "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "repetition",
                "content": [{"type": "text", "text": "ha ha"}], "usage": {"input_tokens": 1, "output_tokens": 2},
            },
            ("stop_reason", "end_turn"),
        ),
        (
            "openai_responses",
            {
                "id": "r", "object": "response", "status": "incomplete", "model": "m",
                "incomplete_details": {"reason": "repetition"},
                "output": [{"id": "i", "type": "message", "role": "assistant", "status": "completed",
                            "content": [{"type": "output_text", "text": "ha ha", "annotations": []}]}],
            },
            ("status", "completed"),
        ),
    ],
)  # fmt: skip
def test_whole_answers_of_the_other_wires(wire: str, body: dict[str, Any], end: tuple[Any, ...]) -> None:
    seen = whole(body, wire)
    assert seen.server_cuts == (ServerCut(0, "repetition"),)
    at: Any = seen.body
    for step in end[:-1]:
        at = at[step]
    assert at == end[-1]
    assert seen.body["streamfuse"] == MARK
    assert "ha ha" in json.dumps(seen.body) and "[streamfuse]" not in json.dumps(seen.body)
    assert whole(body, wire, Mode.WATCH).body is body
