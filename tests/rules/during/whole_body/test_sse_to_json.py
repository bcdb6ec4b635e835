"""Events in answer to a request for a whole answer: the body, or what the stream says is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rules.during.whole_body.sse_to_json import Gathering, gathered, unwrapped
from rules.errors.error_rules import ErrorRule, ErrorRules
from rules.values.failures import Failure, Kind
from rules.wires import WIRES
from rules.wires.base import Wire
from tests.upstream import chat

CHAT = next(wire for wire in WIRES if wire.name == "openai_chat")
DONE = b"data: [DONE]\n\n"
STREAMS = Path(__file__).parents[2] / "streams"


def event(body: Any) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\n\n"


ROLE, HI, STOP = event(chat("", role="assistant")), event(chat("hi")), event(chat(finish="stop"))


def read(*raws: bytes, **more: Any) -> Any:
    return gathered(CHAT, CHAT.ask({"model": "m"}), b"".join(raws), **more)


def said(body: Any) -> str:
    return str(body["choices"][0]["message"]["content"])


def test_nothing_after_the_end_mark_is_part_of_the_answer() -> None:
    assert said(read(ROLE, HI, STOP, DONE, HI, HI, DONE)) == "hi"


def test_an_error_after_the_finish_is_ignored_as_on_a_stream() -> None:
    assert said(read(ROLE, HI, STOP, event({"error": {"message": "late"}}), DONE)) == "hi"


def test_an_error_inside_is_told_in_its_own_words() -> None:
    error = {"error": {"message": "no money left", "type": "insufficient_quota", "code": "insufficient_quota"}}
    for before in ((), (ROLE,), (ROLE, HI)):
        failure = read(*before, event(error), DONE)
        assert isinstance(failure, Failure)
        assert (failure.message, failure.code, failure.kind) == ("no money left", "insufficient_quota", Kind.TERMINAL)


def test_a_finish_that_is_an_error() -> None:
    failure = read(ROLE, HI, event(chat(finish="abort")), DONE)
    assert isinstance(failure, Failure) and failure.code == "streamfuse_finish_abort"


def test_an_error_that_a_rule_knows() -> None:
    rules = ErrorRules([ErrorRule.model_validate({"name": "odd", "path": "/odd", "match": {"type": "exists"}})])
    failure = read(ROLE, event({**chat("x"), "odd": 1}), STOP, DONE, error_rules=rules)
    assert isinstance(failure, Failure) and failure.rule == "odd"


@pytest.mark.parametrize(
    ("raws", "code"),
    [
        ((), "streamfuse_empty_stream"),
        ((b": hi\n\n",), "streamfuse_empty_stream"),
        ((ROLE, HI), "streamfuse_truncated"),
        ((ROLE, HI, event(chat("x"))[:-9]), "streamfuse_truncated"),
    ],
)
def test_half_an_answer(raws: tuple[bytes, ...], code: str) -> None:
    failure = read(*raws)
    assert isinstance(failure, Failure) and failure.code == code


def test_an_event_over_the_limit() -> None:
    failure = read(ROLE, event(chat("x" * 5000)), STOP, DONE, limit=4096)
    assert isinstance(failure, Failure) and failure.code == "streamfuse_event_too_large"


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b'data: {"error":{"message":"m"}}\n\ndata: [DONE]\n\n', b'{"error":{"message":"m"}}'),
        (b': hi\n\nevent: error\ndata: null\n\ndata: {"a":1}', b'{"a":1}'),
        (b"data: x\n\n", b"data: x\n\n"),
        (b'data: {"a":', b'data: {"a":'),
        (b"", b""),
    ],
)
def test_an_error_said_as_an_event(raw: bytes, body: bytes) -> None:
    assert unwrapped(raw) == body


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
def test_recorded_answers_gather_to_what_their_wire_makes_of_them(wire: Wire) -> None:
    from rules.framing.sse import Decoder

    for path in sorted((STREAMS / wire.name).glob("*.sse")):
        raw, ask = path.read_bytes(), wire.ask({"model": "m"})
        decoder = Decoder()
        alone = wire.gather(ask, [*decoder.feed(raw), *decoder.eof()])
        got = gathered(wire, ask, raw)
        assert got == alone or (alone is None and (got is None or isinstance(got, Failure))), path.name


def test_long_texts_of_every_kind_are_joined_in_order() -> None:
    words = [f"w{n} " for n in range(500)]
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
    body = read(
        ROLE,
        *(event(chat(reasoning_content=word)) for word in words),
        *(event(chat(word)) for word in words),
        event(chat(tool_calls=[call])),
        *(event(chat(tool_calls=[{"index": 0, "function": {"arguments": word}}])) for word in words),
        event(chat(finish="tool_calls")),
        DONE,
    )
    message = body["choices"][0]["message"]
    (made,) = message["tool_calls"]
    assert message["content"] == message["reasoning_content"] == made["function"]["arguments"] == "".join(words)
    assert json.loads(json.dumps(body)) == body


def test_an_answer_that_is_over_is_whole_whatever_comes_behind_it() -> None:
    gathering = Gathering(CHAT, CHAT.ask({"model": "m"}))
    gathering.feed(ROLE + HI)
    assert (gathering.finished, gathering.over) == (False, False)
    gathering.feed(STOP)
    assert (gathering.finished, gathering.over) == (True, False)
    gathering.feed(DONE + b"data: {broken")
    assert (gathering.finished, gathering.over) == (True, True)
    gathering.feed(b"\xff\xff garbage \n\n")
    assert said(gathering.result()) == "hi"


@pytest.mark.parametrize("bad", [b"data: {broken\n\n", b'data: {"choices":[{"index":0,"delta":{"content":5}}]}\n\n'])
def test_an_event_that_cannot_be_read_fails_the_answer_before_its_finish_only(bad: bytes) -> None:
    assert read(ROLE, HI, bad, HI, STOP, DONE).code == "streamfuse_unreadable"
    assert said(read(ROLE, HI, STOP, bad, DONE)) == "hi"
