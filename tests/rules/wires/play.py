"""Play a recorded stream through a codec as the Stream does: calls are held until closed, what went out is noted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rules.framing.sse import Decoder, Event
from rules.values.delta import Channel, Close, Delta, Malformed, Open
from rules.values.transcript import Transcript
from rules.wires.base import Ask, Codec, Wire

STREAMS = Path(__file__).parents[2] / "streams"


def recorded(wire: str) -> list[Path]:
    """The golden streams of a wire."""
    return sorted((STREAMS / wire).glob("*.sse"))


def decoded(raw: bytes) -> list[Event]:
    decoder = Decoder()
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

    @property
    def raw(self) -> bytes:
        return b"".join(self.out)


def prefixes(wire: Wire, raw: bytes, ask: Ask | None = None) -> Iterator[Play]:
    """A play for every number of events, from none to all."""
    events = len(decoded(raw))
    for count in range(events + 1):
        play = Play(wire, ask)
        for event in decoded(raw)[:count]:
            play.feed(event)
        yield play
