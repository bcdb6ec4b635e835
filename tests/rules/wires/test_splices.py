"""A second upstream goes on in the client's open stream: one head, one identity, indices and numbers that run on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rules.wires import anthropic_messages, openai_completions, openai_responses
from rules.wires.base import Ending, Wire
from tests.readers import Answer
from tests.readers import anthropic_messages as messages_reader
from tests.readers import openai_completions as completions_reader
from tests.readers import openai_responses as responses_reader

from .play import STREAMS, Play, decoded, prefixes, recorded

SPLICES = [
    (wire, first)
    for wire in (openai_responses.WIRE, anthropic_messages.WIRE, openai_completions.WIRE)
    for first in recorded(wire.name)
    if not first.stem.startswith("llama")
]


def read(wire: Wire, raw: bytes) -> Answer:
    if wire.name == "openai_responses":
        return responses_reader.read(raw)
    if wire.name == "anthropic_messages":
        return messages_reader.read(raw)
    return completions_reader.read(raw)


def other(raw: bytes, digit: bytes) -> bytes:
    """The same stream as another generation: with item ids of its own."""
    return raw.replace(b"_0", b"_" + digit)


def golden(wire: Wire, name: str) -> bytes:
    return (STREAMS / wire.name / f"{name}.sse").read_bytes()


@pytest.mark.parametrize(("wire", "first"), SPLICES, ids=lambda v: getattr(v, "stem", getattr(v, "name", "")))
def test_any_break_can_be_gone_on_from(wire: Wire, first: Path) -> None:
    """Legal for the strict reader at every break, with every golden stream as the second attempt, and with a third."""
    for play in prefixes(wire, first.read_bytes()):
        if play.transcript.finished or not play.transcript.head:
            continue  # nothing to go on with; a choice that has ended is not asked for again
        before = play.raw
        ident = play.transcript.head["id"]
        for second in recorded(wire.name):
            again = Play(wire)
            for event in decoded(before):
                again.feed(event)
            again.release()
            if second.stem.startswith("llama") and wire.name == "openai_responses":
                continue
            again.again()
            for event in decoded(other(second.read_bytes(), b"2"))[:7]:
                again.feed(event)
            if again.transcript.finished and again.transcript.unfinished:
                continue
            if not again.transcript.finished:
                again.again()
                for event in decoded(other(second.read_bytes(), b"3")):
                    again.feed(event)
            elif not again.transcript.done:
                again.out.append(again.codec.finish_missing(again.transcript))
            assert again.raw.startswith(before)
            assert read(wire, again.raw).ident == ident


def test_the_text_goes_on_in_the_open_block() -> None:
    for wire, name in ((openai_responses.WIRE, "text"), (anthropic_messages.WIRE, "text")):
        raw = golden(wire, name)
        play = Play(wire)
        for event in decoded(raw):
            play.feed(event)
            if play.transcript.shown == 2:  # the first piece of text is out
                break
        play.again()
        for event in decoded(other(raw, b"2")):
            play.feed(event)
        answer = read(wire, play.raw)
        assert answer.text == "Put Put the kettle on, wait — then pour. ☕"
        assert len(answer.texts) == 1


def test_responses_final_output_holds_what_both_attempts_showed() -> None:
    wire = openai_responses.WIRE
    play = Play(wire)
    for event in decoded(golden(wire, "reasoning_calls"))[:18]:
        play.feed(event)
    play.again()
    for event in decoded(golden(wire, "refusal")):
        play.feed(event)
    answer = read(wire, play.raw)
    assert [item["type"] for item in answer.items] == ["reasoning", "message"]
    assert [part["type"] for part in answer.items[1]["content"]] == ["output_text", "refusal"]
    assert answer.text == "I will read both."


def test_reasoning_left_open_is_closed_before_the_next_attempt() -> None:
    wire = anthropic_messages.WIRE
    play = Play(wire)
    for event in decoded(golden(wire, "thinking"))[:4]:
        play.feed(event)
    play.again()
    for event in decoded(golden(wire, "text")):
        play.feed(event)
    answer = read(wire, play.raw)
    assert [item["type"] for item in answer.items] == ["thinking", "text"]
    assert not answer.items[0]["signed"]
    assert answer.usage == {"output_tokens": 16}  # 1 of the first, 15 of the second


@pytest.mark.parametrize("wire", [openai_responses.WIRE, anthropic_messages.WIRE], ids=lambda w: w.name)
def test_a_spliced_answer_can_be_cut_anywhere(wire: Wire) -> None:
    first, second = decoded(golden(wire, "text"))[:6], decoded(other(golden(wire, "text"), b"2"))
    for count in range(len(second)):
        for notice in (None, "cut"):
            play = Play(wire)
            for event in first:
                play.feed(event)
            play.again()
            for event in second[:count]:
                play.feed(event)
            tail = play.codec.close(play.transcript, Ending(notice))
            answer = read(wire, play.raw + tail)
            assert answer.end in ("completed", "end_turn")


def test_a_prelude_is_the_answers_head() -> None:
    wire = openai_responses.WIRE
    ask = wire.ask({"model": "m", "stream": True, "store": False, "input": "x", "metadata": {"a": "b"}})
    for path in recorded(wire.name):
        if path.stem.startswith("llama"):
            continue
        play = Play(wire, ask)
        prelude = play.codec.prelude(play.transcript, "abc", 1764450000)
        play.out.append(prelude)
        play.out.append(play.codec.heartbeat(True))
        for event in decoded(path.read_bytes()):
            play.feed(event)
        answer = responses_reader.read(play.raw)
        assert answer.ident == "resp_abc"
        head: Any = json.loads(prelude.split(b"data: ")[1])
        assert head["response"]["metadata"] == {"a": "b"}


@pytest.mark.parametrize(
    "body",
    [{"model": "m"}, {"model": "m", "store": True}, {"model": "m", "store": False, "previous_response_id": "resp_1"}],
)
def test_no_prelude_where_somebody_may_chain_on_its_id(body: dict[str, Any]) -> None:
    wire = openai_responses.WIRE
    play = Play(wire, wire.ask(body))
    assert play.codec.prelude(play.transcript, "abc", 0) == b""
    assert not play.transcript.head


def test_a_prelude_outlives_a_failed_attempt() -> None:
    wire = openai_responses.WIRE
    play = Play(wire, wire.ask({"model": "m", "store": False}))
    play.out.append(play.codec.prelude(play.transcript, "abc", 1))
    play.again()
    for event in decoded(golden(wire, "text")):
        play.feed(event)
    assert responses_reader.read(play.raw).ident == "resp_abc"


def test_other_wires_have_no_prelude() -> None:
    for wire in (anthropic_messages.WIRE, openai_completions.WIRE):
        play = Play(wire)
        assert play.codec.prelude(play.transcript, "abc", 0) == b""
