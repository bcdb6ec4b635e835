"""The place where a later upstream continues the client's answer.

Models often begin a continuation by saying the last words again. The first events wait until it is clear how much of
their text the client already has (the overlap); that text is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from ..framing.think_tags import HIDDEN, THINK, undecided
from ..values.delta import Channel, Close, Delta, Done, Fault, Finish, Malformed, Open, Piece
from ..values.failures import Failure, Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..detect.watcher import Watcher
    from ..framing.sse import Event
    from ..wires.base import Codec

RESTARTED: Final = Failure(
    Phase.STREAM,
    Kind.TERMINAL,
    "The provider began its answer anew instead of continuing it; check this provider's `resume` setting.",
    code="streamfuse_restarted",
)

AGAIN: Final = Failure(
    Phase.STREAM, Kind.LOOP, "The second answer fell back into the loop of the first.", code="streamfuse_looped_again"
)

Ready: TypeAlias = list[tuple["Event", Sequence[Delta]]]


class Joint(Protocol):
    """What finds how much of a later answer the client has already: `Overlap`, and `Seam` after a loop."""

    restarted: bool
    """The answer began again from its beginning, and then differed."""
    again: bool
    """It fell back into the loop of the first answer."""
    tag: str
    """What closes the tag that the client's thinking stands in, where it is open."""
    lead: str
    """Text to send in front of what is new."""

    def feed(self, piece: str) -> int | None:
        """Take the next text. Returns how many characters so far to drop; None: not yet known."""

    def end(self) -> int:
        """No more text comes. Returns how many characters to drop."""


class Splice:
    """One place where two upstreams meet. The queue is bounded by the shown text: an overlap cannot be longer."""

    __slots__ = ("_begins", "_overlap", "_queue", "over", "told", "watch")

    def __init__(
        self,
        overlap: Joint,
        *,
        watch: Watcher | None = None,
        told: Callable[[str], Mapping[str, Any] | Failure] | None = None,
    ) -> None:
        """`overlap`: finds what the client has already. `watch`: the monitors of the later answer; those that saw the
        text so far, where a loop across the splice is one loop. `told`: asked with the finish reason when
        the answer ends by itself: the facts for the extra object, or why this end is of no use to the client. None:
        every end is passed on as it is."""
        self._overlap = overlap
        self._queue: Ready = []
        self._begins: str | None = None if told is None else ""
        """Text that waits because it may become the opening tag of thinking. None: it is known whether it does."""
        self.watch = watch
        self.told = told
        self.over = False
        """The overlap is known: everything that comes now is new."""

    @property
    def refused(self) -> Failure | None:
        """Why the later answer cannot follow what the client has: it began anew, or fell back into its loop."""
        if not self.over:
            return None
        if self._overlap.restarted:
            return RESTARTED
        return AGAIN if self._overlap.again else None

    def thought(self) -> None:
        """The later answer has closed the tag that the client's thinking stands in."""
        self._overlap.tag = ""

    def take(self, codec: Codec, event: Event, deltas: Sequence[Delta]) -> Ready:
        """The events that may go on now, in order, without what the client has already."""
        tag = next((d for d in deltas if type(d) is Open and "tag" in d.fields), None)
        if tag is not None:  # what waits was the beginning of the tag
            thought = self._thought(codec, tag)
            return [*thought, *self.take(codec, event, [d for d in deltas if d is not tag])]
        text = "".join(d.text for d in deltas if type(d) is Piece and d.channel is Channel.TEXT)
        ends = any(map(_ends, deltas)) or (bool(text or self._queue) and any(map(_closes, deltas)))
        if text and self._begins is not None:
            self._begins += text
            if undecided(self._begins) and not ends:
                event.rest()
                self._queue.append((event, deltas))
                return []
        if text:
            drop = self._overlap.feed(self._begins or text)
            self._begins = None
            if drop is None and ends:
                drop = self._overlap.end()
            event.rest()
            self._queue.append((event, deltas))
            return [] if drop is None else self._open(codec, drop)
        if deltas and isinstance(deltas[0], Malformed | Fault):
            return [(event, deltas)]
        if ends:
            ready = self._open(codec, self._end())
            calls = any(isinstance(d, Piece | Open) and d.channel is Channel.TOOL for d in deltas)
            if calls and self._overlap.tag and self._overlap.tag not in self._overlap.lead:
                deltas = codec.lead_in(event, deltas, self._overlap.tag)  # an open tag would hide the call's answer
            return [*ready, (event, deltas)]
        if not self._queue or not deltas:
            return [(event, deltas)]
        self._queue.append((event, deltas))
        return []

    def rest(self, codec: Codec) -> Ready:
        """The body has ended, and no event said so before: the events that still wait, without what the client has."""
        return self._open(codec, self._end())

    def _end(self) -> int:
        """No more text comes: how many characters of it to drop."""
        if self._begins:
            self._overlap.feed(self._begins)
        self._begins = None
        return self._overlap.end()

    def _thought(self, codec: Codec, tag: Open) -> Ready:
        """The events that waited, whose text is thinking. It is left out where the client must not see the tag."""
        ready: Ready = []
        for event, deltas in self._queue:
            said: list[Delta] = []
            size = 0
            for delta in deltas:
                if type(delta) is Piece and delta.channel is Channel.TEXT:
                    size += len(delta.text)
                    delta = Piece(tag.block, tag.channel, delta.text)
                said.append(delta)
            if not tag.fields["tag"]:
                codec.strip(event, deltas, size)
            ready.append((event, said))
        self._queue, self._begins = [], None
        return ready

    def _open(self, codec: Codec, drop: int) -> Ready:
        self.over = True
        ready: Ready = []
        lead = self._overlap.lead
        for event, deltas in self._queue:
            size = sum(len(d.text) for d in deltas if type(d) is Piece and d.channel is Channel.TEXT)
            here = min(drop, size)
            drop -= here
            first = lead if size > here else ""
            if first:
                lead = ""
            ready.append((event, codec.strip(event, deltas, here, first) if here or first else deltas))
        self._queue = []
        return ready


def _closes(delta: Delta) -> bool:
    """Does this delta end the text that waits? What comes behind it names the whole text, so it must be known then."""
    if type(delta) is Close:
        return delta.block not in (THINK, HIDDEN)
    return type(delta) is Open and bool(delta.fields.get("said"))


def _ends(delta: Delta) -> bool:
    """Does this delta show that no overlap follows?"""
    if isinstance(delta, Piece | Open):
        return delta.channel in (Channel.TOOL, Channel.REFUSAL)
    return isinstance(delta, Finish | Done)
