"""Play a recorded stream through a codec as the Stream does: calls are held until closed, what went out is noted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rules.framing.framing import SSE, Framing
from rules.framing.sse import Event
from rules.values.delta import Channel, Close, Delta, Malformed, Open
from rules.values.transcript import Transcript
from rules.wires.base import Ask, Codec, Wire

STREAMS = Path(__file__).parents[2] / "streams"


CALLS = {
    ("gemini", ".sse"): "/models/m:streamGenerateContent?alt=sse",
    ("gemini", ".json"): "/models/m:streamGenerateContent",
    ("ollama", ".ndjson"): "/api/chat",
}
"""The request whose answer is framed like such a recording, for wires on which the request says it."""


def recorded(wire: str) -> list[Path]:
    """The golden streams of a wire; none where it has brought none."""
    return sorted(path for path in (STREAMS / wire).glob("*") if path.suffix in (".sse", ".ndjson", ".json"))


def asked(wire: Wire, path: Path, **body: Any) -> Ask:
    """A request that is answered with this recording."""
    call = CALLS.get((wire.name, path.suffix), "")
    if path.stem.startswith("generate"):
        call = "/api/generate"
    return wire.ask({"model": "m", "stream": True, **body}, call)


def decoded(raw: bytes, framing: Framing = SSE) -> list[Event]:
    decoder = framing.decoder(16 << 20)
    return [*decoder.feed(raw), *decoder.eof()]


class Play:
    """One client, fed by one or several upstream attempts."""

    def __init__(self, wire: Wire, ask: Ask | None = None) -> None:
        self.wire = wire
        self.ask = ask or Ask("m", True)
        self.transcript = Transcript(keep=True)
        self.codec: Codec = wire.codec(self.ask)
        self.codec.bind(self.transcript)
        self.out: list[bytes] = []
        self.read: list[Delta] = []
        self._held: list[tuple[Event, list[Delta]]] = []
        self._open: set[object] = set()

    def feed(self, event: Event) -> None:
        deltas = list(self.codec.read(event))
        self.read += deltas
        if any(type(delta) is Malformed for delta in deltas):
            return
        for delta in deltas:
            if type(delta) is Open and delta.channel is Channel.TOOL:
                self._open.add(delta.block)
            elif type(delta) is Close:
                self._open.discard(delta.block)
        self._held.append((event, deltas))
        if not self._open:
            self.release()

    def release(self) -> None:
        """Let out what is held, whole or not."""
        for event, deltas in self._held:
            self.out.append(self.codec.write(event, deltas))
            for delta in deltas:
                self.transcript.note(delta)
        self._held.clear()

    def again(self) -> None:
        """The upstream died: what was held is lost, another attempt continues."""
        self._held.clear()
        self._open.clear()
        self.codec = self.wire.codec(self.ask)
        self.codec.splice(self.transcript)

    def end(self) -> None:
        """The body has ended cleanly."""
        for delta in self.codec.ended():
            self.read.append(delta)
            self.transcript.note(delta)

    @property
    def raw(self) -> bytes:
        return b"".join(self.out)


def prefixes(wire: Wire, raw: bytes, ask: Ask | None = None) -> Iterator[Play]:
    """A play for every number of events, from none to all."""
    framing = wire.framing(ask or Ask("m", True))
    events = len(decoded(raw, framing))
    for count in range(events + 1):
        play = Play(wire, ask)
        for event in decoded(raw, framing)[:count]:
            play.feed(event)
        yield play
