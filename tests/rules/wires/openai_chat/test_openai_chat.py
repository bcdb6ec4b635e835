"""Recordings in the shapes of many vendors: untouched when clean, legal when cut anywhere, no half call ever."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import wires
from rules.during.cut import Limits
from rules.during.output import Forward, Halt
from rules.during.stream import Stream
from rules.framing.sse import Decoder
from rules.values.failures import Failure, Kind, Phase
from rules.wires.base import Ending
from tests.readers.openai_chat import read
from tests.rules.fakes import WordRules

CHAT = wires.get("openai_chat")
RECORDINGS = sorted((Path(__file__).parents[3] / "streams" / "openai_chat").glob("*.sse"))
each = pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
BROKEN_OFF = [path for path in RECORDINGS if path.stem == "llamacpp_tool_cut_by_length"]
"""The model's token limit came in the middle of a call: the one thing that does not come out as it is."""
UNTOUCHED = [path for path in RECORDINGS if path not in BROKEN_OFF]
DIED = Failure(Phase.STREAM, Kind.NETWORK, "The upstream went away.")


def fresh(path: Path, hold: int = 4 << 20, **body: object) -> Stream:
    choices = 2 if "choices" in path.stem else 1
    ask = CHAT.ask({"model": "m", "stream": True, "n": choices, "messages": [], **body})
    return Stream(CHAT, ask, WordRules(word="\0never\0", calls=True), limits=Limits(hold=hold))


def pieces(path: Path) -> list[bytes]:
    return [block + b"\n\n" for block in path.read_bytes().split(b"\n\n")[:-1]]


def lean(raw: bytes) -> bytes:
    """A comment's blank line goes: it breaks openai-py once an id was seen."""
    return re.sub(rb"(?m)^(:.*\n)\n", rb"\1", raw)


def send(stream: Stream, *chunks: bytes) -> bytes:
    return b"".join(out.raw for chunk in chunks for out in stream.feed(chunk, 1.0) if isinstance(out, Forward))


@pytest.mark.parametrize("path", UNTOUCHED, ids=lambda path: path.stem)
def test_a_recording_is_legal_and_comes_out_as_it_is(path: Path) -> None:
    raw = path.read_bytes()
    stream = fresh(path)
    assert send(stream, raw) == lean(raw)
    assert stream.finished
    assert stream.malformed == 0
    read(raw)


@pytest.mark.parametrize("path", BROKEN_OFF, ids=lambda path: path.stem)
def test_a_call_that_the_token_limit_broke_off_is_left_out(path: Path) -> None:
    stream = fresh(path)
    answer = read(send(stream, path.read_bytes()))
    assert stream.finished
    assert answer.end == "0:length"
    assert answer.calls == []


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(UNTOUCHED), st.lists(st.integers(0, 1 << 20), max_size=30))
def test_a_recording_comes_out_as_it_is_however_it_is_cut(path: Path, cuts: list[int]) -> None:
    raw = path.read_bytes()
    edges = sorted({0, len(raw), *(cut % len(raw) for cut in cuts)})
    stream = fresh(path)
    assert send(stream, *(raw[a:b] for a, b in itertools.pairwise(edges))) == lean(raw)
    assert stream.finished


@each
@pytest.mark.parametrize("notice", [None, "The rest was cut."])
@pytest.mark.parametrize("hold", [4 << 20, 0])
def test_a_cut_after_any_event_is_legal(path: Path, notice: str | None, hold: int) -> None:
    events = pieces(path)
    whole = read(path.read_bytes())
    for at in range(len(events)):
        stream = fresh(path, hold, stream_options={"include_usage": True})
        shown = send(stream, *events[:at])
        tail = stream.closing(Ending(notice, {"rule": "word"}))
        answer = read(shown + tail)
        before = read(shown, unended=True)
        assert all(answer.texts[index].startswith(text) for index, text in before.texts.items())
        assert answer.reasoning == before.reasoning
        assert answer.calls == before.calls
        if answer.error is None and "length" not in whole.end:
            assert set(answer.calls) <= set(whole.calls)
        if hold:
            assert answer.error is None
        if tail and "finish_reason" in tail.decode():
            assert answer.marker == {"rule": "word"}
            if notice and not answer.error and ("choices" not in path.stem or not all(before.texts.values())):
                assert any(notice in text for text in answer.texts.values())
        assert stream.finished


@each
def test_a_failure_after_any_event_is_told_in_the_stream(path: Path) -> None:
    events = pieces(path)
    for at in range(len(events)):
        stream = fresh(path)
        shown = send(stream, *events[:at])
        unfinished = stream.transcript.unfinished or not stream.transcript.choices
        answer = read(shown + stream.failing(DIED))
        if unfinished:
            assert answer.error is not None
            assert answer.error["message"] == "The upstream went away."
        else:
            assert answer.error is None


@each
def test_an_end_of_the_body_after_any_event_is_mended_or_a_failure(path: Path) -> None:
    events = pieces(path)
    for at in range(len(events)):
        stream = fresh(path)
        shown = send(stream, *events[:at])
        out = stream.eof(2.0)
        if stream.finished:
            shown += b"".join(o.raw for o in out if isinstance(o, Forward))
            assert read(shown).error is None
        else:
            assert isinstance(out[-1], Halt)
            assert isinstance(out[-1].cause, Failure)
            read(shown, unended=True)


CALLS = [path for path in RECORDINGS if "tool" in path.stem or "function" in path.stem or "ollama" in path.stem]


@pytest.mark.parametrize("path", CALLS, ids=lambda path: path.stem)
def test_a_cut_at_any_byte_never_shows_half_a_call(path: Path) -> None:
    raw = path.read_bytes()
    whole = read(raw).calls
    for at in range(0, len(raw), 7):
        stream = fresh(path)
        shown = send(stream, raw[:at])
        assert read(shown, unended=True).calls == whole[: len(read(shown, unended=True).calls)]
        shown += b"".join(out.raw for out in stream.eof(2.0) if isinstance(out, Forward))
        answer = read(shown + stream.closing(Ending()))
        assert answer.calls == whole[: len(answer.calls)]
        assert answer.error is None


@each
def test_the_stream_makes_a_body_and_the_body_a_stream(path: Path) -> None:
    decoder = Decoder()
    ask = CHAT.ask({"stream": True, "stream_options": {"include_usage": True}})
    body = CHAT.gather(ask, decoder.feed(path.read_bytes()))
    assert body is not None
    assert body["object"] == "chat.completion"
    whole = read(path.read_bytes())
    again = read(CHAT.to_events(ask, body))
    assert (again.texts, again.reasoning, again.refusal, again.calls, again.end) == (
        whole.texts,
        whole.reasoning,
        whole.refusal,
        whole.calls,
        whole.end,
    )
    assert again.usage == whole.usage
    assert b'"tool_calls":[]' not in orjson.dumps(body)
