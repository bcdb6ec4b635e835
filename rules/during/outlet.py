"""The client's side of one answer: what was forwarded, what is held back, and its legal end.

Only whole events and whole tool calls are forwarded. After `halt`, `mend` or an ending nothing more is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..detect.doubt import Doubt
from ..framing.sse import Event
from ..framing.think_tags import CLOSING, inside
from ..values.delta import Delta, Done, Finish, Head, Piece, Usage, choice_of, says
from ..values.failures import Failure
from ..values.transcript import Transcript
from ..values.verdict import Finding
from ..wires.base import Codec, Ending
from .output import Forward, Halt, Noted, Output
from .tool_call_hold import ToolCallHold


class Outlet:
    """The output of a Stream. `taken` returns it and empties the queue."""

    __slots__ = (
        "_out",
        "codec",
        "counts",
        "doubt",
        "ended",
        "finished",
        "hold",
        "over",
        "run",
        "transcript",
        "withheld",
    )

    def __init__(self, codec: Codec, transcript: Transcript, hold: ToolCallHold) -> None:
        self.codec = codec
        self.transcript = transcript
        self.hold = hold
        self.doubt = Doubt()
        """Text that waits while a rule is half convinced."""
        self.run: list[bytes] = []
        """Events to forward, collected since the last flush."""
        self.counts = False
        """They show the client content, so no later attempt may contradict it."""
        self.ended: frozenset[int] = frozenset()
        """Choices that a cut has ended, while others go on."""
        self.over = False
        """Nothing more is forwarded, but for what ends the answer."""
        self.finished = False
        """The terminal event has been forwarded."""
        self.withheld = ""
        """Text that waited in doubt and was dropped by a cut."""
        self._out: list[Output] = []

    # what goes on ----------------------------------------------------------------------------------------
    def wait(self, raw: bytes, piece: Piece, now: float) -> None:
        """Let an event of this one piece wait, because a rule doubts it; where the doubt is full, release the rest
        first."""
        if not self.doubt.takes(raw, piece, now):
            self.settle()
            if not self.doubt.takes(raw, piece, now):
                self.forward_piece(raw, piece)

    def settle(self) -> None:
        """Forward the text that waited in doubt."""
        for raw, piece in self.doubt.taken():
            self.transcript.piece(piece)
            if raw:
                self.run.append(raw)
                self.counts = True

    def forward(self, event: Event, deltas: Sequence[Delta]) -> None:
        """Forward this event now, after the text that waited in doubt, and note its deltas as shown."""
        if self.doubt.waiting:
            self.settle()
        raw = self.codec.write(event, deltas)
        note = self.transcript.note
        for delta in deltas:
            note(delta)
            self.counts = self.counts or says(delta)
        if raw:
            self.run.append(raw)

    def forward_piece(self, raw: bytes, piece: Piece) -> None:
        """Forward an event that says one piece of text and nothing else. `raw`: the event as the codec wrote it."""
        self.transcript.piece(piece)
        self.counts = True
        if raw:
            self.run.append(raw)

    def pass_on(self, raw: bytes) -> None:
        """Forward bytes as they came. Their deltas are already noted, and nothing waits."""
        if raw:
            self.run.append(raw)
            self.counts = True

    def put(self, event: Event, deltas: Sequence[Delta]) -> None:
        """Forward this event, after the held events of its choices."""
        hold = self.hold
        if not (hold.calls or hold.queue):
            self.forward(event, deltas)
            return
        choices = {choice for choice in map(choice_of, deltas) if choice is not None}
        waiting = hold.waiting()
        if waiting and (not choices or not choices.isdisjoint(waiting)):
            hold.keep(event, deltas, choices or waiting)
            self.release()
        else:
            if hold.queue:
                self.release()
            self.forward(event, deltas)

    def release(self) -> None:
        """Forward the held events that no longer have to wait."""
        for held in self.hold.released():
            self.forward(held.event, held.deltas)

    def strip(self, event: Event, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """Remove from an event what belongs to choices that have ended. `event.raw` is b"" where nothing is left."""
        event.raw = self.codec.without(event, self.ended)
        return [delta for delta in deltas if choice_of(delta) not in self.ended]

    def report(self, finding: Finding) -> None:
        """Report a finding that stops nothing, at its place among the events."""
        self.flush()
        self._out.append(Noted(finding))

    def flush(self) -> None:
        """Put the events collected so far into one Forward."""
        if self.run:
            self._out.append(Forward(b"".join(self.run), self.counts))
            self.run.clear()
        self.counts = False

    def taken(self) -> list[Output]:
        """Return the outputs so far, each once."""
        if self.run:
            self.flush()
        out, self._out = self._out, []
        return out

    # the ends --------------------------------------------------------------------------------------------
    def halt(self, cause: Finding | Failure) -> None:
        """Stop here, and drop what is held. After a finding the text in doubt is dropped, too, because it is the loop;
        after a failure it is forwarded first."""
        if isinstance(cause, Finding):
            for _, piece in self.doubt.taken(dropped=True):
                self.codec.unread()
                self.withheld += piece.text
        else:
            self.settle()
        self.flush()
        self.hold.drop()
        self.over = True
        self._out.append(Halt(cause))

    def end_choice(self, choice: int, ending: Ending) -> None:
        """End one of several choices. What was held of it is dropped; the other choices go on."""
        self.ended |= {choice}
        waited = self.doubt.taken(dropped=any(piece.block[0] == choice for _, piece in self.doubt.waiting))
        for raw, piece in waited:
            if piece.block[0] != choice:
                self.transcript.piece(piece)
                self.run.append(raw)
            else:
                self.codec.unread()
        hold = self.hold
        for block in [block for block in hold.calls if block[0] == choice]:
            hold.close(block)
        for event, deltas, _ in hold.taken():
            for delta in deltas:
                if isinstance(delta, Head | Usage):  # the identity and the usage hold even though the call is dropped
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
        """Complete an answer whose content is all there: add the missing finishes and the terminal event."""
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
        """The upstream's own terminal event was forwarded: the answer has ended."""
        self.settle()
        self.over = self.finished = True
        self.flush()

    def close(self, ending: Ending) -> bytes:
        """Bytes of a normal end, after the events that were not flushed yet."""
        self.settle()
        rest = b"".join(self.run)
        self.run.clear()
        if ending.marker and inside(self.transcript):  # an open tag would hide all that comes behind it
            ending = replace(ending, notice=CLOSING + (ending.notice or ""))
        raw = self.codec.close(self.transcript, ending)
        self._settle()
        return rest + raw

    def fail(self, failure: Failure) -> bytes:
        """Bytes of the wire's in-band error and its legal end."""
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
