"""Every cut of every golden stream, in the ways a stream can end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rules.values.failures import Failure, Kind, Phase
from rules.wires.base import Ending, Wire
from tests.rules.wires.play import Play, asked, prefixes, recorded

DIED = Failure(Phase.STREAM, Kind.NETWORK, "The upstream went away.")


@dataclass
class Cut:
    """One ended stream: what was shown, and the whole as the client gets it."""

    play: Play
    shown: bytes
    raw: bytes
    at: int


def cuts(wire: Wire, path: Path, *, notice: str | None = None, fails: bool = False) -> Iterator[Cut]:
    """The stream cut after every event; only real cuts, not the whole stream."""
    for at, play in enumerate(prefixes(wire, path.read_bytes(), asked(wire, path))):
        shown = play.raw
        if fails:
            tail = play.codec.fail(play.transcript, DIED, {"attempts": 2})
        else:
            tail = play.codec.close(play.transcript, Ending(notice, {"rule": "loop", "copies": 9.5}))
        if tail:
            yield Cut(play, shown, shown + tail, at)


def golden(wire: Wire, *, but: str = "") -> pytest.MarkDecorator:
    """Parametrize `path` with the recordings of a wire, but for those that start so."""
    paths = [path for path in recorded(wire.name) if not (but and path.stem.startswith(but))]
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.stem)
