"""Every golden stream through the real Stream, however it is read, wherever it is cut or goes away."""

from __future__ import annotations

from pathlib import Path

import pytest

from rules.during.output import Forward, Halt, Output
from rules.during.stream import Stream
from rules.values.failures import Failure
from rules.wires.base import Ending, Wire

from .play import asked
from .test_properties import DIED, UNMARKED, each_stream, events_of, read


def sent(outputs: list[Output]) -> bytes:
    return b"".join(output.raw for output in outputs if type(output) is Forward)


def stream(wire: Wire, path: Path) -> Stream:
    return Stream(wire, asked(wire, path))


@each_stream
@pytest.mark.parametrize("size", [1, 5, 100, 1 << 20])
def test_a_clean_answer_passes_byte_for_byte(wire: Wire, path: Path, size: int) -> None:
    raw = path.read_bytes()
    one = stream(wire, path)
    out: list[Output] = []
    for start in range(0, len(raw), size):
        out += one.feed(raw[start : start + size], 0.0)
    out += one.eof(1.0)
    assert sent(out) == raw
    assert one.finished
    assert one.malformed == 0


@each_stream
def test_every_cut_and_every_failure_is_legal(wire: Wire, path: Path) -> None:
    events = events_of(wire, path)
    for count in range(len(events) + 1):
        for end in ("close", "notice", "fail"):
            one = stream(wire, path)
            shown = b"".join(sent(one.feed(event.raw, 0.0)) for event in events[:count])
            ended = one.finished
            whole = bool(one.transcript.finished) and not one.transcript.unfinished
            tail = one.failing(DIED) if end == "fail" else one.closing(Ending("cut" if end == "notice" else None))
            if wire.name in UNMARKED:
                ended = ended or whole
            else:
                assert ended == (tail == b"")
            answer = read(wire, path, shown + tail)
            held = {name for name, _ in answer.calls}
            assert held <= {"read", "apply", "note", "list", "executableCode"}
            assert (answer.error is not None) == (end == "fail" and not ended)


@each_stream
def test_a_clean_end_without_a_finish_is_a_failure(wire: Wire, path: Path) -> None:
    events = events_of(wire, path)
    for count in range(len(events)):
        one = stream(wire, path)
        out = [output for event in events[:count] for output in one.feed(event.raw, 0.0)]
        out += one.eof(1.0)
        if one.finished:  # only the end mark was missing
            read(wire, path, sent(out))
        else:
            assert type(out[-1]) is Halt
            assert isinstance(out[-1].cause, Failure)
