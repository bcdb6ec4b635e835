"""What is true of every wire: chunking, garbage, failures, silence after the end, whole bodies."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import wires
from rules.framing.sse import Event
from rules.values.delta import Channel, Done, Fault, Finish, Malformed, Open, Piece
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Shown, Transcript
from rules.wires.anthropic_messages import codec
from rules.wires.base import Ending, Wire
from rules.wires.openai_responses import grammar, reading
from tests.readers import Answer
from tests.readers import openai_responses as responses_reader

from .play import Play, asked, decoded, prefixes, recorded

ON_ITS_OWN = {"openai_chat": "openai_chat/test_openai_chat.py"}
"""Wires whose answers are mended on the way (an end mark, roles, numbers), so that these properties hold only after
the mending: their own file tests them."""

UNMARKED = {"gemini"}
"""Wires without an end mark: the end of the body ends an answer that has its finish."""

WIRES: tuple[Wire, ...] = tuple(wire for wire in wires.WIRES if wire.reads and wire.name not in ON_ITS_OWN)
"""Every other wire of the table. A new one is here by being in the table."""


def reader(wire: Wire) -> Callable[[bytes], Answer]:
    """The strict reader of a wire: `read` in tests/readers/NAME.py."""
    try:
        module = importlib.import_module(f"tests.readers.{wire.name}")
    except ModuleNotFoundError:
        pytest.fail(
            f"tests/readers/{wire.name}.py is missing: a strict reader `read(raw)`, written from the specification"
        )
    return cast("Callable[[bytes], Answer]", module.read)


GOLDEN = [(wire, path) for wire in WIRES for path in recorded(wire.name)]
DIED = Failure(Phase.STREAM, Kind.NETWORK, "The upstream went away.")


def name(value: object) -> str:
    return str(getattr(value, "stem", getattr(value, "name", "")))


def test_wires_that_are_tested_on_their_own_are_tested() -> None:
    for wire, file in ON_ITS_OWN.items():
        assert wire in {w.name for w in wires.WIRES} and (Path(__file__).parent / file).exists()


@pytest.mark.parametrize("wire", WIRES, ids=name)
def test_a_wire_brings_what_its_tests_need(wire: Wire) -> None:
    assert recorded(wire.name), f"tests/streams/{wire.name}/ has no recording: add a stream as the server sends it"
    assert callable(reader(wire))


each_wire = pytest.mark.parametrize("wire", WIRES, ids=name)
each_stream = pytest.mark.parametrize(("wire", "path"), GOLDEN, ids=name)


def read(wire: Wire, path: Path, raw: bytes) -> Answer:
    if wire.name == "openai_responses":
        return responses_reader.read(raw, lean=path.stem.startswith("llama"))
    return reader(wire)(raw)


def played(wire: Wire, path: Path, count: int | None = None) -> Play:
    """A client that got so many events of a recording."""
    play = Play(wire, asked(wire, path))
    for event in decoded(path.read_bytes(), wire.framing(play.ask))[:count]:
        play.feed(event)
    if count is None:
        play.end()
    return play


def events_of(wire: Wire, path: Path) -> list[Event]:
    return decoded(path.read_bytes(), wire.framing(asked(wire, path)))


def finish_at(wire: Wire, path: Path) -> int:
    """How many events come before the first finish."""
    codec = wire.codec(asked(wire, path))
    codec.bind(Transcript())
    for count, event in enumerate(events_of(wire, path)):
        if any(type(delta) is Finish for delta in codec.read(event)):
            return count
    assert codec.ended(), f"{path} has no finish"
    return count


def parsed(arguments: str) -> Any:
    """Arguments as a value; custom tool input, which need not be JSON, as it is."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


@each_stream
def test_any_chunking_gives_the_same_deltas_and_bytes(wire: Wire, path: Path) -> None:
    raw = path.read_bytes()
    whole = played(wire, path)
    for size in (1, 2, 3, 7, 64, 1000):
        play = Play(wire, whole.ask)
        decoder = wire.framing(play.ask).decoder(1 << 20)
        for start in range(0, len(raw), size):
            for event in decoder.feed(raw[start : start + size]):
                play.feed(event)
        for event in decoder.eof():
            play.feed(event)
        play.end()
        assert play.read == whole.read
        assert play.raw == whole.raw == raw


@each_stream
def test_text_is_read_as_the_strict_reader_reads_it(wire: Wire, path: Path) -> None:
    play = played(wire, path)
    answer = read(wire, path, play.raw)
    heard = dict.fromkeys(Channel, "")
    for delta in play.read:
        if type(delta) is Piece:
            heard[delta.channel] += delta.text
    assert sorted(heard[Channel.TEXT]) == sorted(answer.text)
    assert heard[Channel.REASONING] == answer.reasoning
    assert heard[Channel.REFUSAL] == answer.refusal
    assert heard[Channel.TOOL] == "".join(arguments for _, arguments in answer.calls)
    assert [d.name for d in play.read if type(d) is Open and d.channel is Channel.TOOL] == [n for n, _ in answer.calls]
    assert not any(type(delta) in (Malformed, Fault) for delta in play.read)
    ended = type(play.read[-1]) is Done or wire.name in UNMARKED
    assert ended, f"{path.name} ends without the wire's end mark: cut it later, or name a wire without one in UNMARKED"
    assert play.transcript.shown is Shown.FINISHED
    assert not play.transcript.open_shapes()


@each_stream
def test_a_failure_after_every_event_is_told_once(wire: Wire, path: Path) -> None:
    for play in prefixes(wire, path.read_bytes(), asked(wire, path)):
        told = play.codec.fail(play.transcript, DIED, {"attempts": 3})
        if play.transcript.done:
            assert told == b""
            continue
        if wire.name in UNMARKED and play.transcript.finished and not play.transcript.unfinished:
            assert read(wire, path, play.raw + told).error is None  # the answer was whole
            continue
        answer = read(wire, path, play.raw + told)
        assert answer.error is not None
        assert answer.error["message"] == "The upstream went away."
        assert answer.marker is not None
        assert answer.marker["attempts"] == 3


@each_stream
def test_an_ended_answer_is_not_ended_again(wire: Wire, path: Path) -> None:
    play = played(wire, path)
    assert play.codec.close(play.transcript, Ending("cut")) == b""
    assert play.codec.fail(play.transcript, DIED) == b""
    assert play.codec.finish_missing(play.transcript) == b""


def marked(wire: Wire, path: Path) -> bool:
    """Does another event follow the finish? It says nothing else than that the answer has ended."""
    last = wire.codec(asked(wire, path)).read(events_of(wire, path)[-1])
    return finish_at(wire, path) < len(events_of(wire, path)) - 1 and any(type(delta) is Done for delta in last)


@pytest.mark.parametrize(("wire", "path"), [golden for golden in GOLDEN if marked(*golden)], ids=name)
def test_a_missing_last_event_is_made_up(wire: Wire, path: Path) -> None:
    """Not on wires where the finish is the last event."""
    raw = path.read_bytes()
    play = played(wire, path, -1)
    assert (play.raw + play.codec.finish_missing(play.transcript)).split() == raw.split()
    assert play.codec.close(play.transcript, Ending()) == play.codec.finish_missing(play.transcript)


@each_wire
def test_a_half_call_that_was_let_out_is_ended_with_an_error(wire: Wire) -> None:
    for path in recorded(wire.name):
        for count in range(len(events_of(wire, path))):
            play = played(wire, path, count)
            play.release()
            if any(shape.channel is Channel.TOOL for shape in play.transcript.open_shapes()):
                answer = read(wire, path, play.raw + play.codec.close(play.transcript, Ending("cut")))
                assert answer.error is not None
                assert answer.end in ("failed", "error")


@each_stream
def test_a_whole_body_is_the_stream_gathered(wire: Wire, path: Path) -> None:
    """SSE to JSON and back: the same texts, calls and end."""
    raw = path.read_bytes()
    ask = asked(wire, path, stream_options={"include_usage": True})
    body = wire.gather(ask, events_of(wire, path))
    assert body is not None
    first = read(wire, path, raw)
    again = read(wire, Path("official"), wire.to_events(ask, body))
    assert (again.texts, again.reasoning, again.refusal, again.end) == (
        first.texts, first.reasoning, first.refusal, first.end,
    )  # fmt: skip
    assert [(n, parsed(a)) for n, a in again.calls] == [(n, parsed(a)) for n, a in first.calls]
    heard = "".join(d.text for d in wire.whole(body) if type(d) is Piece and d.channel is Channel.TEXT)
    assert heard == first.text
    assert any(type(delta) is Finish for delta in wire.whole(body))


@each_stream
def test_half_a_stream_gathers_to_nothing(wire: Wire, path: Path) -> None:
    events = events_of(wire, path)
    for count in range(finish_at(wire, path)):
        if wire.name in UNMARKED and b"STOP" in b"".join(event.raw for event in events[:count]):
            continue  # a finish that came too early: only more events show that it was none
        assert wire.gather(wire.ask({}), events[:count]) is None


@each_stream
def test_a_trimmed_body_is_legal_and_holds_what_is_kept(wire: Wire, path: Path) -> None:
    """Every block once cut to nothing and once to three characters, named calls dropped."""
    ask = asked(wire, path)
    body = wire.gather(ask, events_of(wire, path))
    assert body is not None
    blocks = {delta.block: delta.channel for delta in wire.whole(body) if type(delta) is Piece}
    for block, channel in blocks.items():
        for chars in (0, 3):
            for notice in (None, "cut"):
                cut = wire.trim(body, {block: chars}, Ending(notice, {"rule": "loop"}))
                assert cut["streamfuse"] == {"rule": "loop"}
                whole = {d.block: d for d in wire.whole(cut) if type(d) is Piece}
                kept = "".join(d.text for d in whole.values())
                if channel is Channel.TOOL:
                    assert len([1 for d in whole.values() if d.channel is Channel.TOOL]) == (
                        len([1 for c in blocks.values() if c is Channel.TOOL]) - 1
                    )
                assert (notice or "") in kept
                read(wire, Path("official"), wire.to_events(ask, cut))
    assert wire.trim(body, {}, Ending()).keys() >= {"modelVersion" if wire.name == "gemini" else "model"}


@each_wire
def test_an_error_body_is_a_fault(wire: Wire) -> None:
    for body in ({"error": {"message": "no", "type": "x", "code": "y"}}, {"error": "no"}):
        (fault,) = wire.whole(body)
        assert type(fault) is Fault
        assert fault.message == "no"
    assert type(next(iter(wire.whole({"hello": 1})))) is Malformed


@each_wire
def test_a_chat_style_error_event_is_a_fault(wire: Wire) -> None:
    body = {"error": {"message": "The request queue is full.", "type": "SERVICE_UNAVAILABLE", "code": 503}}
    (fault,) = wire.codec(wire.ask({})).read(Event(b"", "", orjson.dumps(body)))
    assert type(fault) is Fault
    assert fault.message == "The request queue is full."


@each_wire
def test_errors_before_the_first_byte_have_the_wires_shape(wire: Wire) -> None:
    failure = Failure(Phase.CONNECT, Kind.NETWORK, "No route.", code="streamfuse_upstream_unreachable")
    status, body = wire.error(failure)
    told: Any = json.loads(body)
    assert status == 502
    if wire.name == "ollama":
        assert told == {"error": "No route.", "code": "streamfuse_upstream_unreachable"}
        return
    assert told["error"]["message"] == "No route."
    if wire.name == "gemini":
        assert told["error"]["code"] == status
        assert told["error"]["details"][0]["reason"] == "streamfuse_upstream_unreachable"
        return
    assert told["error"]["code"] == "streamfuse_upstream_unreachable"
    assert told.get("type") == ("error" if wire.name == "anthropic_messages" else None)


@each_wire
def test_the_upstreams_own_error_body_is_kept(wire: Wire) -> None:
    own = b'{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"req_1"}'
    failure = Failure(Phase.HEADERS, Kind.RATE_LIMIT, "slow down", status=429, body=own)
    assert wire.error(failure) == (429, own)


@each_wire
def test_odd_requests_give_defaults(wire: Wire) -> None:
    for body in ({}, {"model": 7, "input": 3, "messages": "x", "prompt": {}, "stream": "yes", "tools": None}):
        ask = wire.ask(body)
        assert ask.streaming == (wire.name == "ollama")  # where a stream is the default
        assert ask.choices == 1
        assert isinstance(ask.brief.prompt, str)
        assert wire.clean(body) is body
        assert wire.resume(ask, Transcript(keep=True), "prefill") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = (
    "type", "delta", "index", "item", "item_id", "output_index", "content_index", "part", "response", "error",
    "message", "content_block", "usage", "choices", "text", "arguments",
    "candidates", "content", "parts", "finishReason", "functionCall", "functionResponse", "thought", "promptFeedback",
    "done", "done_reason", "thinking", "tool_calls", "function", "args", "contents", "role", "usageMetadata",
)  # fmt: skip
TYPES = (
    *reading.READERS, *grammar.DELTAS, *grammar.DONES, *codec.READERS,
    "content_block_delta", "text_delta", "thinking_delta", "message", "reasoning", "function_call", "output_text",
    "summary_text", "refusal", "tool_use", "text", "thinking", "web_search_call", "signature_delta",
)  # fmt: skip
EVENTS = st.dictionaries(
    st.sampled_from(MEMBERS),
    JSON
    | st.sampled_from(TYPES)
    | st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional=dict.fromkeys(MEMBERS[1:], JSON)),
    max_size=7,
)


@each_wire
@settings(max_examples=80, deadline=None)
@given(events=st.lists(EVENTS | JSON, max_size=8), spliced=st.booleans())
def test_no_garbage_raises_and_whatever_was_shown_can_be_ended(wire: Wire, events: list[Any], spliced: bool) -> None:
    play = Play(wire)
    for number, value in enumerate(events):
        play.feed(Event(b"data: x\n\n", "", orjson.dumps(value)))
        if spliced and number == 3:
            play.again()
    play.codec.close(play.transcript, Ending("cut"))
    play.codec.fail(play.transcript, DIED)
    if events and isinstance(events[0], dict):
        wire.whole(events[0])
        ask = wire.ask(events[0])
        assert ask.brief.prompt is not None
        wire.clean(events[0])
        wire.advise(events[0], "x")
        wire.gather(ask, [Event(b"", "", orjson.dumps(value)) for value in events])
