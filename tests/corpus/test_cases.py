"""Public reports of loops and of false alarms, by their ids: each its right answer, or a reason in TODO."""

from __future__ import annotations

import json

import pytest

from rules import wires
from rules.detect import packs
from rules.during.output import Forward, Halt
from rules.during.stream import Stream
from rules.framing.sse import encode
from rules.values.delta import Channel
from rules.values.verdict import Finding

from .cases import CASES, TODO
from .shapes import HEALTHY, LOOPS, Shape, shapes
from .test_shapes import judge

SHAPES = {shape.name: shape for shape in shapes(2)}
ROW = "| north | 12 | 4.5 | open |\n"
TABLE = "| region | orders | share | state |\n|---|---|---|---|\n" + ROW * 40


@pytest.mark.parametrize("case", CASES)
def test_a_case_gets_its_right_answer(case: str) -> None:
    for name in CASES[case]:
        shape, hit = SHAPES[name], judge(SHAPES[name])
        assert shape.loop is (case[0] == "L")
        if case not in TODO:
            assert (hit is not None) is shape.loop, (name, hit)


def test_every_shape_of_a_case_is_in_the_corpus() -> None:
    assert {name for names in CASES.values() for name in names} <= {*LOOPS, *HEALTHY}
    assert all(reason for reason in TODO.values())


def test_equal_rows_are_right_where_the_request_says_so() -> None:
    """G43, as far as it can be told from a loop."""
    asked = "Show me the orders by region."
    assert judge(Shape("rows", False, Channel.TEXT, "", TABLE, asked)) is not None  # the TODO
    assert judge(Shape("rows", False, Channel.TEXT, "", TABLE, asked + " All 40 rows.")) is None
    assert judge(Shape("rows", False, Channel.TEXT, "", TABLE, asked + "\n" + ROW * 40)) is None


def _chunk(delta: dict[str, object]) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return encode(json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}).encode())


def _stream() -> Stream:
    wire = wires.get("openai_chat")
    ask = wire.ask({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Edit both files."}]})
    return Stream(wire, ask, packs.assemble(["default"]))


def _cause(stream: Stream, pieces: list[bytes]) -> tuple[Finding | None, bytes]:
    """What halted the stream, and what the client got until then."""
    sent = b""
    for n, piece in enumerate(pieces):
        out = stream.feed(piece, float(n))
        sent += b"".join(one.raw for one in out if isinstance(one, Forward))
        halts = [one for one in out if isinstance(one, Halt)]
        if halts:
            assert isinstance(halts[0].cause, Finding)
            return halts[0].cause, sent
    return None, sent


def _call(index: int, arguments: str, name: str | None = None) -> bytes:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    head = {"id": f"call_{index}", "type": "function"} if name else {}
    return _chunk({"tool_calls": [{"index": index, **head, "function": function}]})


def _arguments(sent: bytes, index: int) -> list[str]:
    """The pieces of one call's arguments, as the client got them."""
    chunks = [json.loads(line[6:]) for line in sent.splitlines() if line.startswith(b"data: {")]
    calls = [call for chunk in chunks for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", ())]
    return [call["function"]["arguments"] for call in calls if call["index"] == index]


@pytest.mark.parametrize("in_turn", [False, True])
def test_of_two_parallel_calls_the_one_that_loops_is_cut(in_turn: bool) -> None:
    """L59: the arguments of the first call are whole, the second is one edit without end; never half a call."""
    good = json.dumps({"path": "notes.md", "lines": [3, 14, 15]})
    bad = SHAPES["one edit again and again"].body
    first = [_call(0, "", "read"), *(_call(0, good[at : at + 12]) for at in range(0, len(good), 12))]
    second = [_call(1, "", "edit"), *(_call(1, bad[at : at + 12]) for at in range(0, len(bad), 12))]
    pieces = [*first, *second]
    if in_turn:
        turns = [one for pair in zip(first, second, strict=False) for one in pair]
        pieces = [*turns, *second[len(first) :]]
    stream = _stream()
    cause, sent = _cause(stream, pieces)
    assert cause is not None
    assert cause.acts
    assert (cause.channel, cause.hit.at < 2_000) == (Channel.TOOL, True)
    whole = sent + stream.closing(stream.ending())
    assert b"call_1" not in whole
    assert whole.endswith(b"data: [DONE]\n\n")
    assert good == "".join(_arguments(whole, 0))
    assert b'"finish_reason":"tool_calls"' in whole


@pytest.mark.parametrize("name", ["an ideograph sentence", "one emoji", "short ideograph lines"])
def test_characters_cut_by_the_transport_are_whole_again(name: str) -> None:
    """L60: five bytes at a time, through the middle of characters; same verdict at the same character."""
    shape = SHAPES[name]
    kind = "reasoning_content" if shape.channel is Channel.REASONING else "content"
    text = (shape.lead + shape.body)[:3000]
    raw = b"".join(_chunk({kind: text[at : at + 9]}) for at in range(0, len(text), 9))
    as_utf8 = b"".join(
        encode(json.dumps({"choices": [{"index": 0, "delta": {kind: text[at : at + 9]}}]}, ensure_ascii=False).encode())
        for at in range(0, len(text), 9)
    )
    causes = [
        _cause(_stream(), [data[at : at + size] for at in range(0, len(data), size)])[0]
        for data, size in ((raw, 4096), (raw, 5), (as_utf8, 5))
    ]
    assert causes[0] is not None
    assert causes[0] == causes[1] == causes[2]
