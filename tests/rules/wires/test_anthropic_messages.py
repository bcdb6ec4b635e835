from __future__ import annotations

from pathlib import Path

import pytest

from rules.wires.anthropic_messages import WIRE
from rules.wires.base import Ending
from tests.readers.anthropic_messages import read

from .play import Play, decoded, prefixes, recorded

GOLDEN = recorded("anthropic_messages")


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_streams_are_legal_and_pass_unchanged(path: Path) -> None:
    raw = path.read_bytes()
    play = Play(WIRE)
    for event in decoded(raw):
        play.feed(event)
    assert play.raw == raw
    read(raw)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
@pytest.mark.parametrize("notice", [None, "The rest was cut."])
def test_a_cut_after_every_event_is_legal(path: Path, notice: str | None) -> None:
    for play in prefixes(WIRE, path.read_bytes()):
        shown = read(play.raw, unended=True)
        tail = play.codec.close(play.transcript, Ending(notice, {"rule": "loop"}))
        answer = read(play.raw + tail)
        if shown.end:
            assert tail in (b"", b'event: message_stop\ndata: {"type":"message_stop"}\n\n')
        else:
            assert answer.end == ("tool_use" if shown.calls else "end_turn")
            assert answer.marker == {"rule": "loop"}
            assert all(answer.texts[index].startswith(text) for index, text in shown.texts.items())
            assert (notice or "") in answer.text
