from __future__ import annotations

from pathlib import Path

import pytest

from rules.wires.base import Ending
from rules.wires.openai_completions import WIRE
from tests.readers.openai_completions import read

from .play import Play, decoded, prefixes, recorded

GOLDEN = recorded("openai_completions")


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
        if not tail.startswith(b"data: [DONE]") and tail:
            assert answer.marker == {"rule": "loop"}
            assert "stop" in answer.end
            assert all(answer.texts[index].startswith(text) for index, text in shown.texts.items())
            assert any((notice or "") in text for text in answer.texts.values())
