"""The official SDKs take two attempts, spliced at any break, for one answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rules.wires import anthropic_messages, openai_responses
from rules.wires.base import Wire
from tests.readers import anthropic_messages as messages_reader
from tests.readers import openai_responses as responses_reader
from tests.rules.wires.play import STREAMS, Play, decoded

from .conftest import Wireside


def spliced(wire: Wire, first: str, second: str) -> Iterator[bytes]:
    """`first` broken after every event, and `second` behind it."""
    folder = STREAMS / wire.name
    events = decoded((folder / f"{first}.sse").read_bytes())
    rest = decoded(
        (folder / f"{second}.sse").read_bytes().replace(b"_0", b"_2").replace(b'_id":"call_', b'_id":"call_2')
    )
    for at in range(1, len(events) - 2):
        play = Play(wire)
        for event in events[:at]:
            play.feed(event)
        if play.transcript.finished or not play.transcript.head:
            continue
        play.again()
        for event in rest:
            play.feed(event)
        yield play.raw


RESPONSES = [("text", "text"), ("reasoning_calls", "reasoning_calls"), ("text", "refusal"), ("reasoning_text", "text")]
MESSAGES = [("text", "text"), ("thinking", "tools"), ("tools", "text")]


def test_openai(wireside: Wireside, openai_client: Any) -> None:
    for first, second in RESPONSES:
        for raw in spliced(openai_responses.WIRE, first, second):
            wireside.body = raw
            with openai_client.responses.stream(model="m", input="x") as stream:
                final = stream.get_final_response()
            assert final.output_text == responses_reader.read(raw).text


def test_langchain_on_responses(wireside: Wireside, langchain_openai: Any) -> None:
    model = langchain_openai(True)
    for first, second in RESPONSES:
        for raw in spliced(openai_responses.WIRE, first, second):
            wireside.body = raw
            text = "".join(chunk.text for chunk in model.stream("x"))
            assert text == responses_reader.read(raw).text


def test_anthropic(wireside: Wireside, anthropic_client: Any) -> None:
    ask: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    for first, second in MESSAGES:
        for raw in spliced(anthropic_messages.WIRE, first, second):
            wireside.body = raw
            with anthropic_client.messages.stream(**ask) as stream:
                final = stream.get_final_message()
            answer = messages_reader.read(raw)
            assert "".join(block.text for block in final.content if block.type == "text") == answer.text
            assert final.stop_reason == answer.end


def test_langchain_on_messages(wireside: Wireside, langchain_anthropic: Any) -> None:
    for first, second in MESSAGES:
        for raw in spliced(anthropic_messages.WIRE, first, second):
            wireside.body = raw
            text = "".join(chunk.text for chunk in langchain_anthropic.stream("x"))
            assert text == messages_reader.read(raw).text
