"""Two upstreams in one stream, through the Stream: the client's text is exact, whatever the second one says again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rules.detect.rule import Rule
from rules.detect.ruleset import RuleSet
from rules.during.output import Forward, Halt
from rules.during.stream import Stream
from rules.framing.sse import encode
from rules.values.transcript import Transcript
from rules.values.verdict import Action, Finding
from rules.wires import anthropic_messages, openai_chat, openai_completions
from rules.wires.base import Wire
from rules.wires.overlap import LEAST_TAIL, prefill
from tests.readers import Answer
from tests.readers import anthropic_messages as messages
from tests.readers import openai_chat as chat
from tests.readers import openai_completions as completions


def event(body: Any, name: str = "") -> bytes:
    return encode(json.dumps(body).encode(), name)


def chat_events(ident: str, *pieces: str) -> list[bytes]:
    head = {"id": ident, "object": "chat.completion.chunk", "created": 1, "model": ident}

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        return event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})

    usage = {"prompt_tokens": 100, "completion_tokens": len(pieces), "total_tokens": 100 + len(pieces)}
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": piece}) for piece in pieces),
        chunk({}, "stop"),
        event({**head, "choices": [], "usage": usage}),
        encode(b"[DONE]"),
    ]


def completion_events(ident: str, *pieces: str) -> list[bytes]:
    head = {"id": ident, "object": "text_completion", "created": 1, "model": ident}

    def chunk(text: str, finish: str | None = None) -> bytes:
        return event({**head, "choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": finish}]})

    usage = {"prompt_tokens": 100, "completion_tokens": len(pieces), "total_tokens": 100 + len(pieces)}
    return [
        *map(chunk, pieces), chunk("", "stop"), event({**head, "choices": [], "usage": usage}), encode(b"[DONE]")
    ]  # fmt: skip


def message_events(ident: str, *pieces: str) -> list[bytes]:
    usage = {"input_tokens": 100 if ident == "second" else 7, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": ident, "type": "message", "role": "assistant", "model": ident, "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    bodies: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"input_tokens": 100, "output_tokens": len(pieces)},
        },
        {"type": "message_stop"},
    ]
    return [event(body, body["type"]) for body in bodies]


Events = Callable[..., list[bytes]]
STARTS: dict[Events, int] = {chat_events: 1, completion_events: 0, message_events: 3}
"""Events before the first piece."""
WIRES: list[tuple[Wire, Events, Callable[[bytes], Answer]]] = [
    (openai_chat.WIRE, chat_events, chat.read),
    (openai_completions.WIRE, completion_events, completions.read),
    (anthropic_messages.WIRE, message_events, messages.read),
]
EVERY_WIRE = pytest.mark.parametrize(("wire", "events", "read"), WIRES, ids=[wire.name for wire, _, _ in WIRES])


class Client:
    """What one client is sent by several upstreams."""

    def __init__(self, wire: Wire, rules: RuleSet | None = None) -> None:
        self.wire = wire
        self.ask = wire.ask({"model": "m", "stream": True, "stream_options": {"include_usage": True}})
        self.rules = rules
        self.transcript = Transcript(keep=True)
        self.stream = Stream(wire, self.ask, rules, transcript=self.transcript)
        self.raw = b""
        self.halts: list[Any] = []

    def feed(self, *events: bytes) -> None:
        for raw in events:
            for out in self.stream.feed(raw, 1.0):
                if isinstance(out, Forward):
                    self.raw += out.raw
                elif isinstance(out, Halt):
                    self.halts.append(out.cause)

    def again(self) -> None:
        """The upstream broke off; the next one goes on."""
        self.transcript.earlier += max(0, self.stream.events - 1)
        splice = self.stream.splice()
        self.stream = Stream(self.wire, self.ask, self.rules, transcript=self.transcript, splice=splice)


def cut(text: str, step: int) -> list[str]:
    return [text[at : at + step] for at in range(0, len(text), step)]


STORY = "Once upon a time there was a fuse between an agent and its model, and it never blew."


def broken(events: Events, *pieces: str) -> list[bytes]:
    """The beginning of an answer, up to its last piece of text."""
    return events("first", *pieces)[: len(pieces) + STARTS[events]]


@EVERY_WIRE
@pytest.mark.parametrize("said", [STORY[37:], STORY, STORY[12:]], ids=["plain", "whole", "tail"])
@pytest.mark.parametrize("step", [1, 5, 99])
def test_the_text_is_exact(wire: Wire, events: Events, read: Any, said: str, step: int) -> None:
    client = Client(wire)
    client.feed(*broken(events, STORY[:20], STORY[20:37]))
    before = client.raw
    client.again()
    client.feed(*events("second", *cut(said, step)))
    answer = read(client.raw)
    assert client.raw.startswith(before) and client.stream.finished and not client.halts
    assert (answer.text, answer.ident) == (STORY, "first")
    assert answer.text == client.transcript.text()


@EVERY_WIRE
def test_usage_is_of_both(wire: Wire, events: Events, read: Any) -> None:
    """The prompt of the first, the output of both: a second prompt holds what the first had said."""
    client = Client(wire)
    client.feed(*broken(events, STORY[:20], STORY[20:37]))
    spent = client.stream.events - 1
    client.again()
    client.feed(*events("second", STORY[37:], "!"))
    usage = read(client.raw).usage
    if wire.name == "anthropic_messages":
        assert usage == {"input_tokens": 7, "output_tokens": 2 + spent}
    else:
        assert usage == {"prompt_tokens": 100 - spent, "completion_tokens": 2 + spent, "total_tokens": 102}
    assert client.transcript.usage == usage


def test_usage_that_the_first_told_is_kept() -> None:
    client = Client(openai_chat.WIRE)
    told = {"usage": {"prompt_tokens": 50, "completion_tokens": 6, "total_tokens": 56}}
    first = json.loads(chat_events("first", STORY[:37])[1][6:])
    client.feed(event(first | told))
    client.again()
    client.feed(*chat_events("second", STORY[37:], "!"))
    usage = chat.read(client.raw).usage
    assert usage == {"prompt_tokens": 50, "completion_tokens": 8, "total_tokens": 58}


@EVERY_WIRE
def test_nothing_of_an_undecided_echo_is_shown(wire: Wire, events: Events, read: Any) -> None:
    """The second upstream dies inside its echo: the third goes on from the same text."""
    client = Client(wire)
    client.feed(*broken(events, STORY[:37]))
    text = client.transcript.text()
    client.again()
    client.feed(*broken(events, STORY[:10], STORY[10:30]))
    assert client.transcript.text() == text
    client.again()
    client.feed(*events("third", *cut(STORY, 7)))
    assert read(client.raw).text == STORY


@EVERY_WIRE
def test_an_answer_that_ends_inside_an_echo_says_it(wire: Wire, events: Events, read: Any) -> None:
    client = Client(wire)
    client.feed(*broken(events, STORY[:37]))
    client.again()
    client.feed(*events("second", "Once"))
    assert client.stream.finished and read(client.raw).text == STORY[:37] + "Once"


@EVERY_WIRE
def test_a_provider_that_begins_anew_is_halted(wire: Wire, events: Events, read: Any) -> None:
    client = Client(wire)
    client.feed(*broken(events, STORY[:40], STORY[40:80]))
    client.again()
    client.feed(*events("second", STORY[:70], "but it was another."))
    assert [cause.code for cause in client.halts] == ["streamfuse_restarted"]
    assert client.transcript.text() == STORY[:80]
    client.raw += client.stream.failing(client.halts[0])
    assert read(client.raw).error is not None


def test_a_second_answer_may_think_first_and_call_a_tool() -> None:
    """What is no text passes as it comes; a call ends the waiting."""
    client = Client(openai_chat.WIRE)
    client.feed(*broken(chat_events, STORY[:37]))
    client.again()
    events = chat_events("second", "Once upon", "x")
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    chunk = json.loads(events[1][6:])
    thought = {**chunk, "choices": [{**chunk["choices"][0], "delta": {"reasoning_content": "Hm."}}]}
    called = {**chunk, "choices": [{**chunk["choices"][0], "delta": {"tool_calls": [call]}}]}
    end = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    client.feed(events[0], event(thought), events[1], event(called), event(end), encode(b"[DONE]"))
    answer = chat.read(client.raw)
    assert (answer.reasoning, answer.text) == ("Hm.", STORY[:37] + "Once upon")
    assert answer.calls == [("f", '{"a":1}')]


def test_parts_of_text_are_shortened_too() -> None:
    """Mistral's content is a list of parts."""
    client = Client(openai_chat.WIRE)
    client.feed(*broken(chat_events, STORY[:37]))
    client.again()
    events = chat_events("second", "")
    chunk = json.loads(events[1][6:])
    parts = [{"type": "text", "text": STORY[:20]}, {"type": "text", "text": STORY[20:50]}]
    chunk["choices"][0]["delta"] = {"content": parts}
    client.feed(event(chunk), *events[2:])
    assert client.transcript.text() == STORY[:50]
    assert json.loads(client.raw.split(b"\n\n")[-5][6:])["choices"][0]["delta"] == {
        "content": [{"type": "text", "text": STORY[37:50]}]
    }


LOOP = Rule.model_validate(
    {
        "name": "period", "title": "t", "monitor": "period", "channels": ["text"], "action": "cut",
        "description": "d", "false_positives": "f", "references": ["r"],
    }
)  # fmt: skip


@EVERY_WIRE
def test_a_loop_across_the_seam_is_one_loop(wire: Wire, events: Events, read: Any) -> None:
    """The text of both upstreams together fires at the very place where it fires in one."""
    unit = "and the fuse went round and round again, "
    rules = RuleSet([LOOP])
    whole = Client(wire, rules)
    whole.feed(*events("first", *cut("Once: " + unit * 60, 9)))
    assert isinstance(whole.halts[0], Finding)
    fired = whole.halts[0].hit
    half = ("Once: " + unit * 60)[: fired.at // 2]
    client = Client(wire, rules)
    client.feed(*broken(events, *cut(half, 9)))
    assert not client.halts
    client.again()
    client.feed(*events("second", *cut(("Once: " + unit * 60)[len(half) :], 9)))
    assert client.halts[0].action is Action.CUT
    assert client.halts[0].hit.since == fired.since
    assert abs(client.halts[0].hit.at - fired.at) <= 9


@EVERY_WIRE
@given(data=st.data())
@settings(max_examples=60)
def test_any_text_cut_anywhere_with_any_echo(wire: Wire, events: Events, read: Any, data: st.DataObject) -> None:
    text = " ".join(data.draw(st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=20, max_size=80)))
    at = data.draw(st.integers(LEAST_TAIL, len(text) - 1))
    shown = text[:at]
    sent = prefill(shown)
    echo = data.draw(st.sampled_from([0, len(sent)]) | st.integers(min(LEAST_TAIL, len(sent)), len(sent)))
    half = sent[len(sent) - echo // 2 :]
    assume(not echo or sent.find(half) == len(sent) - len(half))
    said = sent[len(sent) - echo :] + text[len(sent) :] if echo else text[len(sent) :]
    assume(echo or said.strip()[:LEAST_TAIL] not in sent)
    client = Client(wire)
    client.feed(*broken(events, *cut(shown, data.draw(st.integers(3, 40)))))
    client.again()
    client.feed(*events("second", *cut(said, data.draw(st.integers(1, 40)))))
    assert read(client.raw).text == text
