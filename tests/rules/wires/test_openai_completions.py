from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rules.values.delta import Fault, Head, Malformed, Piece
from rules.wires.base import Ending
from rules.wires.openai_completions import WIRE
from tests.readers.openai_completions import read

from .play import STREAMS, Play, decoded, prefixes, recorded

GOLDEN = recorded("openai_completions")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_streams_are_legal_and_pass_unchanged(path: Path) -> None:
    raw = path.read_bytes()
    play = Play(WIRE)
    for event in decoded(raw):
        play.feed(event)
    assert play.raw == raw
    read(raw)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
@pytest.mark.parametrize("notice", [None, "The rest was cut."])
def test_a_cut_after_every_event_is_legal(path: Path, notice: str | None) -> None:
    for play in prefixes(WIRE, path.read_bytes()):
        shown = read(play.raw, unended=True)
        tail = play.codec.close(play.transcript, Ending(notice, {"rule": "loop"}))
        answer = read(play.raw + tail)
        if not tail.startswith(b"data: [DONE]") and tail:
            assert answer.marker == {"rule": "loop"}
            assert "stop" in answer.end
            assert all(answer.texts[index].startswith(text) for index, text in shown.texts.items())
            assert any((notice or "") in text for text in answer.texts.values())


def played(name: str, count: int = 99) -> Play:
    play = Play(WIRE)
    for event in decoded((STREAMS / WIRE.name / f"{name}.sse").read_bytes())[:count]:
        play.feed(event)
    return play


def test_one_choice_is_ended_and_the_others_go_on() -> None:
    events = decoded((STREAMS / WIRE.name / "choices.sse").read_bytes())
    play = Play(WIRE)
    for event in events[:2]:
        play.feed(event)
    out = [play.raw, play.codec.close_choice(play.transcript, 0, Ending(marker={"rule": "loop"}))]
    out += [play.codec.without(event, frozenset({0})) for event in events[2:]]
    answer = read(b"".join(out))
    assert answer.end == "0:stop,1:stop"
    assert answer.texts == {0: "left ", 1: "right foot"}


def test_an_event_of_several_choices_loses_only_the_ended_ones() -> None:
    chunk = {"object": "text_completion", "choices": [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]}
    (event,) = decoded(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    left = WIRE.codec(WIRE.ask({})).without(event, frozenset({0}))
    assert json.loads(left.removeprefix(b"data: "))["choices"] == [{"index": 1, "text": "b"}]
    assert WIRE.codec(WIRE.ask({})).without(event, frozenset({7})) == event.raw


def test_names_of_events_are_stripped() -> None:
    codec = WIRE.codec(WIRE.ask({}))
    chunk = {"object": "text_completion", "choices": [{"index": 0, "text": "a"}]}
    for data in (json.dumps(chunk).encode(),) * 3 + (b"[DONE]",):
        (event,) = decoded(b"event: message\ndata: " + data + b"\n\n")
        codec.read(event)
        assert event.raw == b"data: " + data + b"\n\n"


def test_an_error_event_is_an_error_whatever_it_holds() -> None:
    (event,) = decoded(b'event: error\ndata: {"message": "over", "code": "full"}\n\n')
    (fault,) = WIRE.codec(WIRE.ask({})).read(event)
    assert isinstance(fault, Fault) and (fault.code, fault.message) == ("full", "over")


@pytest.mark.parametrize(
    ("body", "choices"),
    [
        ({"prompt": "x"}, 1),
        ({"prompt": "x", "n": 3}, 3),
        ({"prompt": ["x", "y"], "n": 2}, 4),
        ({"prompt": [1, 2, 3]}, 1),
        ({"prompt": [[1, 2], [3]]}, 2),
        ({}, 1),
        ({"prompt": []}, 1),
    ],
)
def test_prompts_multiply_the_choices(body: dict[str, Any], choices: int) -> None:
    assert WIRE.ask(body).choices == choices


def test_an_answer_is_resumed_behind_its_prompt() -> None:
    play = played("text", 2)
    ask = WIRE.ask({"model": "m", "prompt": "How to make tea? ", "max_tokens": 99})
    body = WIRE.resume(ask, play.transcript, "continue")
    assert body == {"model": "m", "prompt": "How to make tea? Put the kettle", "max_tokens": 99}


@pytest.mark.parametrize(
    "more",
    [{"n": 2}, {"echo": True}, {"suffix": "."}, {"logprobs": 1}, {"best_of": 2}, {"prompt": ["a"]}, {"prompt": [1]},
     {"response_format": {"type": "json_object"}}],
)  # fmt: skip
def test_nothing_is_resumed_that_could_not_go_on_exactly(more: dict[str, Any]) -> None:
    play = played("text", 2)
    assert WIRE.resume(WIRE.ask({"prompt": "x", **more}), play.transcript, "continue") is None


def test_usage_goes_out_only_where_it_was_asked_for() -> None:
    body = {"id": "c", "choices": [{"index": 0, "text": "x", "finish_reason": "stop"}], "usage": {"total_tokens": 1}}
    assert read(WIRE.to_events(WIRE.ask({}), body)).usage is None
    ask = WIRE.ask({"stream_options": {"include_usage": True}})
    assert read(WIRE.to_events(ask, body)).usage == {"total_tokens": 1}


@pytest.mark.parametrize("word", ["", "null", "None"])
def test_a_word_for_none_is_no_finish(word: str) -> None:
    chunk = {"object": "text_completion", "choices": [{"index": 0, "text": "a", "finish_reason": word}]}
    (event,) = decoded(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    read = WIRE.codec(WIRE.ask({})).read(event)
    assert [type(delta) for delta in read] == [Head, Piece]


@pytest.mark.parametrize(
    "choice", [7, {"index": "0", "text": "a"}, {"index": 0, "text": 7}, {"index": 0, "text": ["a"]}]
)
def test_a_choice_that_no_client_could_read_is_torn(choice: Any) -> None:
    (event,) = decoded(b"data: " + json.dumps({"object": "text_completion", "choices": [choice]}).encode() + b"\n\n")
    assert [delta.torn for delta in WIRE.codec(WIRE.ask({})).read(event) if isinstance(delta, Malformed)] == [True]
