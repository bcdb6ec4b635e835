"""The chunks that end a stream, asked for at odd moments."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from rules import wires
from rules.framing.sse import Decoder
from rules.values.delta import Channel, Close, Delta, Done, Finish, Head, Open, Piece
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Transcript
from rules.wires.base import Ending
from tests.rules.fakes import DONE

CHAT = wires.get("openai_chat")
ASK = CHAT.ask({"model": "asked-for"})
TEXT = Piece((0, "text"), Channel.TEXT, "x")
CALL = Open((0, "tool:0"), Channel.TOOL, "f")
DIED = Failure(Phase.STREAM, Kind.NETWORK, "gone", status=None, code="streamfuse_stream_broken")


def shown(*deltas: Delta) -> Transcript:
    transcript = Transcript()
    for delta in deltas:
        transcript.note(delta)
    return transcript


def bodies(raw: bytes) -> list[Any]:
    return [event.json for event in Decoder().feed(raw)]


def test_what_has_ended_is_not_ended_again() -> None:
    codec = CHAT.codec(ASK)
    over = shown(TEXT, Finish(0, "stop"), Done())
    assert codec.close(over, Ending()) == codec.fail(over, DIED) == codec.finish_missing(over) == b""
    assert codec.close_choice(over, 0, Ending("Cut.")) == b""


def test_when_only_the_end_mark_is_missing_it_is_all_there_is() -> None:
    codec = CHAT.codec(ASK)
    finished = shown(TEXT, Finish(0, "stop"))
    assert codec.close(finished, Ending("Cut.")) == codec.fail(finished, DIED) == codec.finish_missing(finished) == DONE


def test_before_anything_came_the_request_gives_the_name() -> None:
    role, last, done = bodies(CHAT.codec(ASK).close(Transcript(), Ending()))
    assert (role["model"], role["object"]) == ("asked-for", "chat.completion.chunk")
    assert role["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert last["choices"][0]["finish_reason"] == "stop"
    assert done is None


def test_the_first_ones_identity_is_kept() -> None:
    head = {"id": "c", "created": 5, "model": "m", "system_fingerprint": "fp", "service_tier": "flex"}
    (last, _) = bodies(CHAT.codec(ASK).close(shown(Head(head), TEXT), Ending()))
    assert {name: last[name] for name in head} == head


@pytest.mark.parametrize(
    ("deltas", "finish"),
    [
        ([TEXT], "stop"),
        ([CALL, Close(CALL.block)], "tool_calls"),
        ([Open((0, "function_call"), Channel.TOOL, "f"), Close((0, "function_call"))], "function_call"),
    ],
)
def test_the_finish_says_whether_there_is_something_to_run(deltas: list[Delta], finish: str) -> None:
    last = bodies(CHAT.codec(ASK).close(shown(*deltas), Ending()))[-2]
    assert last["choices"][0]["finish_reason"] == finish


def test_half_a_shown_call_ends_in_an_error_however_it_is_asked() -> None:
    raw = CHAT.codec(ASK).close(shown(CALL, Piece(CALL.block, Channel.TOOL, '{"a')), Ending(marker={"rule": "r"}))
    (_, last, _) = bodies(raw)
    assert last["error"]["code"] == "streamfuse_loop"
    assert last["streamfuse"] == {"rule": "r"}


def test_an_error_is_one_to_every_reader() -> None:
    (bare, last, done) = bodies(CHAT.codec(ASK).fail(shown(TEXT), DIED, {"attempts": 3}))
    assert last["error"] == {
        "message": "gone",
        "type": "server_error",
        "param": None,
        "code": "streamfuse_stream_broken",
    }
    assert last["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "error"}]
    assert last["streamfuse"] == {"attempts": 3}
    assert bare == {"error": last["error"]}
    assert done is None


def test_errors_before_the_stream_have_the_same_shape() -> None:
    status, body = CHAT.error(DIED)
    assert (status, orjson.loads(body)["error"]["message"]) == (502, "gone")


@pytest.mark.parametrize(
    "counts", [{}, {"prompt_tokens": 1}, {"prompt_tokens": 1, "completion_tokens": 2.5, "total_tokens": 3}]
)
def test_half_known_usage_is_left_out(counts: dict[str, Any]) -> None:
    transcript = shown(TEXT)
    transcript.usage = counts
    ask = CHAT.ask({"stream_options": {"include_usage": True}})
    assert all("usage" not in body for body in bodies(CHAT.codec(ask).close(transcript, Ending())) if body)
