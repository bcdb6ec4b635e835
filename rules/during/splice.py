"""The place where a later upstream continues the client's answer.

Models often begin a continuation by saying the last words again. The first events wait until it is clear how much of
their text the client already has (the overlap); that text is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ..values.delta import Channel, Delta, Done, Fault, Finish, Malformed, Open, Piece
from ..values.failures import Failure, Kind, Phase
from ..wires.overlap import Overlap

if TYPE_CHECKING:
    from ..detect.watcher import Watcher
    from ..framing.sse import Event
    from ..values.transcript import Transcript
    from ..wires.base import Codec

RESTARTED: Final = Failure(
    Phase.STREAM,
    Kind.TERMINAL,
    "The provider began its answer anew instead of continuing it; check this provider's `resume` setting.",
    code="streamfuse_restarted",
)

Ready: TypeAlias = list[tuple["Event", Sequence[Delta]]]


class Splice:
    """One place where two upstreams meet. The queue is bounded by the shown text: an overlap cannot be longer."""

    __slots__ = ("_overlap", "_queue", "over", "watch")

    def __init__(self, transcript: Transcript, *, continued: bool = True, watch: Watcher | None = None) -> None:
        """`continued`: the shown text was sent as a prefill; False: as a turn of its own, with advice behind it.
        `watch`: the monitors that saw the text so far; a loop across the splice is then one loop."""
        self._overlap = Overlap(transcript.text(), continued=continued)
        self._queue: Ready = []
        self.watch = watch
        self.over = False
        """The overlap is known: everything that comes now is new."""

    @property
    def restarted(self) -> bool:
        """The provider began anew, so its answer cannot follow what the client has."""
        return self.over and self._overlap.restarted

    def take(self, codec: Codec, event: Event, deltas: Sequence[Delta]) -> Ready:
        """The events that may go on now, in order, without what the client has already."""
        text = "".join(d.text for d in deltas if type(d) is Piece and d.channel is Channel.TEXT)
        ends = any(map(_ends, deltas))
        if text:
            drop = self._overlap.feed(text)
            if drop is None and ends:
                drop = self._overlap.end()
            event.rest()
            self._queue.append((event, deltas))
            return [] if drop is None else self._open(codec, drop)
        if deltas and isinstance(deltas[0], Malformed | Fault):
            return [(event, deltas)]
        if ends:
            return [*self._open(codec, self._overlap.end()), (event, deltas)]
        if not self._queue or not deltas:
            return [(event, deltas)]
        self._queue.append((event, deltas))
        return []

    def _open(self, codec: Codec, drop: int) -> Ready:
        self.over = True
        ready: Ready = []
        for event, deltas in self._queue:
            size = sum(len(d.text) for d in deltas if type(d) is Piece and d.channel is Channel.TEXT)
            here = min(drop, size)
            drop -= here
            ready.append((event, codec.strip(event, deltas, here) if here else deltas))
        self._queue = []
        return ready


def _ends(delta: Delta) -> bool:
    """Does this delta show that no overlap follows?"""
    if isinstance(delta, Piece | Open):
        return delta.channel in (Channel.TOOL, Channel.REFUSAL)
    return isinstance(delta, Finish | Done)
