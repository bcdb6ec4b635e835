"""openai-python and LangChain take a cut of /chat/completions as a normal end, run no half call, and see failures.

The streams come out of a `Stream`, tool hold and all, so what is judged here is what a client gets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rules.during.output import Forward
from rules.during.stream import Stream
from rules.values.failures import Failure, Kind, Phase
from rules.wires.base import Ending
from rules.wires.openai_chat import WIRE
from tests.readers.openai_chat import read
from tests.rules.wires.play import recorded

from .conftest import Wireside
from .cuts import golden

DIED = Failure(Phase.STREAM, Kind.NETWORK, "The upstream went away.")
TOOLS: Any = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
LENGTH = ("llamacpp_text", "llamacpp_reasoning", "llamacpp_tool_cut_by_length", "finish_on_last_piece")
ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

HELPER_CANNOT = ("openai_custom_tool", "openai_choices_in_turn", "openai_function_call", *LENGTH)
"""What openai-python's helper raises on with or without us: tools of another kind, and `length` where tools were
given. A list as content (Mistral) breaks it too, and LangChain reads neither that nor custom tools."""


def but(*stems: str) -> pytest.MarkDecorator:
    """Parametrize `path` with the recordings that a client can read at all."""
    paths = [path for path in recorded(WIRE.name) if path.stem not in stems]
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)


def cuts(path: Path, *, fails: bool = False) -> Iterator[bytes]:
    """The recording cut after every event (every third one of the long), as a client gets it."""
    events = [block + b"\n\n" for block in path.read_bytes().split(b"\n\n")[:-1]]
    for at in range(0, len(events), 1 if len(events) < 12 else 3):
        stream = Stream(WIRE, WIRE.ask({"model": "m", "stream": True, "stream_options": {"include_usage": True}}))
        out = stream.feed(b"".join(events[:at]), 1.0)
        open_ = stream.transcript.unfinished or not stream.transcript.choices
        tail = stream.failing(DIED) if fails else stream.closing(Ending("The rest was cut.", {"rule": "loop"}))
        if open_ or not fails:
            yield b"".join(o.raw for o in out if isinstance(o, Forward)) + tail


@golden(WIRE)
def test_openai_iterates_to_a_finish_of_every_choice(path: Path, wireside: Wireside, openai_client: Any) -> None:
    for raw in cuts(path):
        wireside.body = raw
        text = ""
        finished: dict[Any, Any] = {}
        for chunk in openai_client.chat.completions.create(**ASKED, stream=True):
            for choice in chunk.choices:
                finished[choice.index] = choice.finish_reason or finished.get(choice.index)
                if isinstance(choice.delta.content, str):
                    text += choice.delta.content
        assert finished
        assert set(finished.values()) <= {"stop", "length", "tool_calls", "function_call"}
        if "mistral" not in path.stem and "choices" not in path.stem:
            assert text == read(raw).text


@but("mistral_thinking", *HELPER_CANNOT)
def test_openai_stream_helper_builds_the_answer(path: Path, wireside: Wireside, openai_client: Any) -> None:
    for raw in cuts(path):
        wireside.body = raw
        with openai_client.chat.completions.stream(**ASKED, tools=TOOLS) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion()
        expected = read(raw)
        calls = [
            (call.function.name, call.function.arguments)
            for choice in final.choices
            for call in choice.message.tool_calls or ()
        ]
        assert calls == expected.calls
        assert [choice.message.content or "" for choice in final.choices] == [
            expected.texts[index] for index in sorted(expected.texts)
        ]


@golden(WIRE)
def test_openai_raises_on_a_failure(path: Path, wireside: Wireside, openai_client: Any) -> None:
    import openai

    for raw in cuts(path, fails=True):
        wireside.body = raw
        with pytest.raises(openai.APIError, match=re.escape(DIED.message)):
            list(openai_client.chat.completions.create(**ASKED, stream=True))


@but("mistral_thinking", "openai_custom_tool")
def test_langchain_runs_no_call_that_was_not_whole(path: Path, wireside: Wireside, langchain_openai: Any) -> None:
    """It repairs half a call and runs it whatever the finish: there must be none."""
    model = langchain_openai(False)
    whole = {name for name, _ in read(path.read_bytes()).calls}
    for raw in cuts(path):
        wireside.body = raw
        answer = None
        for chunk in model.stream("hi"):
            answer = chunk if answer is None else answer + chunk
        assert answer is not None
        expected = read(raw)
        if "custom" not in path.stem and "function_call" not in path.stem:
            assert [call["name"] for call in answer.tool_calls] == [name for name, _ in expected.calls]
        assert {call["name"] for call in answer.tool_calls} <= whole
        assert answer.invalid_tool_calls == []
