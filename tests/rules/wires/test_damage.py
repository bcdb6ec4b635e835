"""One event of a recorded answer is damaged on its way: the client gets the same content, or hears of a failure.

Never an answer that ends as complete and has a hole. Two kinds of damage leave no trace, and no proxy can see them: an
event that is gone without a byte of it, and a changed byte after which the JSON is still JSON (inside a string).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rules import wires
from rules.during.output import Forward, Halt
from rules.during.stream import Stream
from rules.during.whole_body.sse_to_json import gathered
from rules.values.delta import Block, Close, Finish, Open, Piece
from rules.values.failures import Failure
from rules.values.transcript import Transcript
from rules.wires.base import Ask, Wire

from .play import asked as asked_for
from .play import decoded, recorded

NAMES = tuple(wire.name for wire in wires.WIRES if wire.reads)
SAID = (Open, Piece, Close, Finish)
RECORDED = [(wires.get(name), path) for name in NAMES for path in recorded(name)]


def content(wire: Wire, ask: Ask, raw: bytes) -> tuple[dict[Block, str], dict[int, str]]:
    """What a client makes of these bytes: the text of every block, the finish of every choice."""
    codec = wire.codec(ask)
    codec.bind(Transcript())
    blocks: dict[Block, str] = {}
    finishes: dict[int, str] = {}
    for event in decoded(raw, wire.framing(ask)):
        for delta in codec.read(event) if event.data is not None else ():
            if isinstance(delta, Piece) and delta.text:
                blocks[delta.block] = blocks.get(delta.block, "") + delta.text
            elif isinstance(delta, Finish):
                finishes[delta.choice] = delta.reason
    return blocks, finishes


def through(wire: Wire, ask: Ask, raw: bytes, size: int) -> tuple[bytes, bool]:
    """(what the client is sent, did the answer end as a whole one?)"""
    stream = Stream(wire, ask)
    sent = b""
    halted = False

    def take(outs: list[Any]) -> None:
        nonlocal sent, halted
        for out in outs:
            if isinstance(out, Forward):
                sent += out.raw
            halted = halted or isinstance(out, Halt)
        while stream.busy:
            take(stream.more(1.0))

    for start in range(0, len(raw), size):
        take(stream.feed(raw[start : start + size], 1.0))
    if not stream.finished:
        take(stream.eof(2.0))
    return sent, stream.finished and not halted


def asked(wire: Wire, path: Path) -> Ask:
    choices = max(1, len(content(wire, asked_for(wire, path), path.read_bytes())[1]))
    return asked_for(wire, path, n=choices, generationConfig={"candidateCount": choices}, input="i")


def is_json(data: bytes) -> bool:
    try:
        return isinstance(orjson.loads(data), dict)
    except ValueError:
        return data.strip() == b"[DONE]"


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Wire, Path, bytes, bytes]:
    """(wire, recording, its bytes, the bytes with one event damaged)"""
    wire, path = draw(st.sampled_from(RECORDED))
    raw = path.read_bytes()
    blocks = [event.raw for event in decoded(raw, wire.framing(asked_for(wire, path)))]
    which = draw(st.integers(0, len(blocks) - 1))
    start, end = blocks[which].find(b"{"), blocks[which].rfind(b"}") + 1
    assume(0 <= start < end)
    head, data, tail = blocks[which][:start], blocks[which][start:end], blocks[which][end:]
    at = draw(st.integers(0, len(data) - 1))
    kind = draw(st.sampled_from(["bit", "byte", "cut", "hole", "line", "blank", "merge"]))
    if kind == "bit":
        changed = data[:at] + bytes([data[at] ^ (1 << draw(st.integers(0, 7)))]) + data[at + 1 :]
    elif kind == "byte":
        changed = data[:at] + draw(st.binary(min_size=1, max_size=1)) + data[at + 1 :]
    elif kind == "hole":
        changed = data[:at] + data[at + draw(st.integers(1, len(data))) :]
    else:
        changed = data[:at] + {"cut": b"", "line": b"\n", "blank": b"\n\n", "merge": b""}[kind]
        changed += data[at:] if kind in ("line", "blank") else b""
    assume(changed.strip() and changed != data and not is_json(changed))
    rest = blocks[which + 1 :]
    if kind == "merge" and rest:  # the line ends are gone too: two events in one line
        tail = b""
    return wire, path, raw, b"".join([*blocks[:which], head, changed, tail, *rest])


@settings(max_examples=400, deadline=None)
@given(damaged(), st.sampled_from([1 << 20, 700, 37]))
def test_a_damaged_event_never_leaves_a_hole_in_a_whole_answer(
    given: tuple[Wire, Path, bytes, bytes], size: int
) -> None:
    wire, path, raw, bad = given
    ask = asked(wire, path)
    sent, whole = through(wire, ask, bad, size)
    if whole:
        assert content(wire, ask, sent) == content(wire, ask, through(wire, ask, raw, 1 << 20)[0])


@settings(max_examples=150, deadline=None)
@given(damaged())
def test_the_same_holds_where_a_whole_answer_was_asked_for(given: tuple[Wire, Path, bytes, bytes]) -> None:
    wire, path, raw, bad = given
    ask = asked(wire, path)
    got = gathered(wire, ask, bad, framing=wire.framing(ask))
    if got is not None and not isinstance(got, Failure):
        body = gathered(wire, ask, raw, framing=wire.framing(ask))
        assert body is not None and not isinstance(body, Failure)
        assert [d for d in wire.whole(got) if type(d) in SAID] == [d for d in wire.whole(body) if type(d) in SAID]


@pytest.mark.parametrize(("wire", "path"), RECORDED, ids=lambda value: str(getattr(value, "stem", "")))
def test_what_is_not_damaged_is_whole(wire: Wire, path: Path) -> None:
    raw = path.read_bytes()
    ask = asked(wire, path)
    sent, whole = through(wire, ask, raw, 1 << 20)
    assert whole
    if path.stem != "llamacpp_tool_cut_by_length":  # it ends inside a call, which is never shown
        assert content(wire, ask, sent) == content(wire, ask, raw)


@pytest.mark.parametrize("lost", [1, 2])
def test_damage_behind_an_early_finish_is_not_passed_over(lost: int) -> None:
    """Some models write STOP into every event, so a finish does not say that nothing was lost."""
    (wire, path) = next((wire, path) for wire, path in RECORDED if path.stem == "stop_in_every_event")
    ask = asked(wire, path)
    blocks = [event.raw for event in decoded(path.read_bytes(), wire.framing(ask))]
    blocks[lost] = blocks[lost].replace(b'"text"', b'"text', 1)
    assert not through(wire, ask, b"".join(blocks), 1 << 20)[1]
    assert isinstance(gathered(wire, ask, b"".join(blocks), framing=wire.framing(ask)), Failure)
