"""The client's end of one answer: what has left, what is held back, and how it all ends legally.

Only whole events leave, and only whole tool calls. After `halt`, `mend` or an ending nothing more does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..detect.doubt import Doubt
from ..framing.sse import Event
from ..values.delta import Delta, Done, Finish, Head, Piece, Usage, choice_of, says
from ..values.failures import Failure
from ..values.transcript import Transcript
from ..values.verdict import Finding
from ..wires.base import Codec, Ending
from .output import Forward, Halt, Noted, Output
from .tool_call_hold import ToolCallHold


class Outlet:
    """Filled by a Stream; `taken` empties it."""

    __slots__ = ("_out", "codec", "counts", "doubt", "ended", "finished", "hold", "over", "run", "transcript")

    def __init__(self, codec: Codec, transcript: Transcript, hold: ToolCallHold) -> None:
        self.codec = codec
        self.transcript = transcript
        self.hold = hold
        self.doubt = Doubt()
        """Text that waits until a rule has made up its mind."""
        self.run: list[bytes] = []
        """Clean events since the last flush."""
        self.counts = False
        """With them the client learns something it cannot un-see."""
        self.ended: frozenset[int] = frozenset()
        """Choices that a cut has ended while others go on."""
        self.over = False
        """Nothing more leaves, unless it ends the answer."""
        self.finished = False
        """The terminal event has left."""
        self._out: list[Output] = []

    # what goes on ----------------------------------------------------------------------------------------
    def wait(self, raw: bytes, piece: Piece, now: float) -> None:
        """An event that says this and nothing else, and that a rule doubts: it waits as long as it may."""
        if not self.doubt.takes(raw, piece, now):
            self.settle()
            if not self.doubt.takes(raw, piece, now):
                self.transcript.piece(piece)
                self.pass_on(raw)

    def settle(self) -> None:
        """What waited in doubt may pass."""
        for raw, piece in self.doubt.taken():
            self.transcript.piece(piece)
            if raw:
                self.run.append(raw)
                self.counts = True

    def forward(self, event: Event, deltas: Sequence[Delta]) -> None:
        """This event may pass, behind what waited in doubt."""
        if self.doubt.waiting:
            self.settle()
        raw = self.codec.write(event, deltas)
        note = self.transcript.note
        for delta in deltas:
            note(delta)
            self.counts = self.counts or says(delta)
        if raw:
            self.run.append(raw)

    def pass_on(self, raw: bytes) -> None:
        """Text as it came, already noted; nothing waits."""
        if raw:
            self.run.append(raw)
            self.counts = True

    def put(self, event: Event, deltas: Sequence[Delta]) -> None:
        """This event may pass, behind what is held of its choices."""
        hold = self.hold
        choices = {choice for choice in map(choice_of, deltas) if choice is not None}
        waiting = hold.waiting() if hold.calls or hold.queue else ()
        if waiting and (not choices or not choices.isdisjoint(waiting)):
            hold.keep(event, deltas, choices or waiting)
            self.release()
        else:
            if hold.queue:
                self.release()
            self.forward(event, deltas)

    def release(self) -> None:
        """Let out what need not wait any longer."""
        for held in self.hold.released():
            self.forward(held.event, held.deltas)

    def strip(self, event: Event, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """Leave out of an event what belongs to choices that have ended. Its raw bytes may be b"" then."""
        event.raw = self.codec.without(event, self.ended)
        return [delta for delta in deltas if choice_of(delta) not in self.ended]

    def report(self, finding: Finding) -> None:
        """A finding that stops nothing, told where it was made."""
        self.flush()
        self._out.append(Noted(finding))

    def flush(self) -> None:
        """The events so far go out together."""
        if self.run:
            self._out.append(Forward(b"".join(self.run), self.counts))
            self.run.clear()
        self.counts = False

    def taken(self) -> list[Output]:
        """All of it, once."""
        if self.run:
            self.flush()
        out, self._out = self._out, []
        return out

    # the ends --------------------------------------------------------------------------------------------
    def halt(self, cause: Finding | Failure) -> None:
        """Stop here; what is held is dropped, and after a finding what waited in doubt: it is the loop."""
        if isinstance(cause, Finding):
            for _ in self.doubt.taken():
                self.codec.unread()
        else:
            self.settle()
        self.flush()
        self.hold.drop()
        self.over = True
        self._out.append(Halt(cause))

    def end_choice(self, choice: int, ending: Ending) -> None:
        """One of several choices ends; what was held of it is dropped, its siblings go on."""
        self.ended |= {choice}
        waited = self.doubt.taken()
        for raw, piece in waited:
            if piece.block[0] != choice:
                self.transcript.piece(piece)
                self.run.append(raw)
        hold = self.hold
        for block in [block for block in hold.calls if block[0] == choice]:
            hold.close(block)
        for event, deltas, _ in hold.taken():
            for delta in deltas:
                if isinstance(delta, Head | Usage):  # whose answer it is, and what it cost, outlive the call
                    self.transcript.note(delta)
            left = self.strip(event, deltas)
            if event.raw:
                hold.keep(event, left, {c for c in map(choice_of, left) if c is not None})
        self.release()
        raw = self.codec.close_choice(self.transcript, choice, ending)
        self.transcript.note(Finish(choice, ending.finish or "stop"))
        self.run.append(raw)
        self.counts = True

    def mend(self, ending: Ending | None = None) -> None:
        """Everything was said but the end: the finishes, where even they are missing, and the terminal event."""
        self.settle()
        shown = self.transcript
        ending = ending or Ending()
        raw = self.codec.close(shown, ending) if ending.finish or shown.unfinished else self.codec.finish_missing(shown)
        self._settle(ending.finish or "stop")
        if raw:
            self.run.append(raw)
            self.counts = True
        self.flush()

    def finish(self) -> None:
        """The upstream's own terminal event was the last."""
        self.settle()
        self.over = self.finished = True
        self.flush()

    def close(self, ending: Ending) -> bytes:
        """A normal end of what the client was shown, behind what was still to leave."""
        self.settle()
        rest = b"".join(self.run)
        self.run.clear()
        raw = self.codec.close(self.transcript, ending)
        self._settle()
        return rest + raw

    def fail(self, failure: Failure) -> bytes:
        """The wire's in-band error, legally ended."""
        self.settle()
        rest = b"".join(self.run)
        self.run.clear()
        raw = self.codec.fail(self.transcript, failure)
        self._settle("error")
        return rest + raw

    def _settle(self, reason: str = "stop") -> None:
        self.over = self.finished = True
        self.hold.drop()
        for choice in self.transcript.unfinished:
            self.transcript.note(Finish(choice, reason))
        self.transcript.note(Done())
