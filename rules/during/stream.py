"""DURING an answer: takes the upstream's bytes, returns what to forward, what was found, and when to stop.

Each event goes through five steps: decode (bytes to an Event), read (the wire's codec turns it into deltas), look (the
monitors see the deltas), hold (an unfinished tool call waits), forward. Only whole events and whole tool calls leave.

An answer is in one StreamState, and MOVES says which can follow:

| state   | what it means                                     | what moves it on                                     |
|---------|---------------------------------------------------|------------------------------------------------------|
| JOINING | a later attempt continues a shown text (`Splice`) | the overlap is known, or the answer began anew       |
| PASSING | events are looked at and forwarded                | a call begins; a rule doubts; the answer ends        |
| HOLDING | a call is open: its choice's events wait          | the call is whole or too long; the answer ends       |
| WAITING | a rule is half convinced: text waits (`Doubt`)    | the doubt or its time ends; a call; the answer ends  |
| OVER    | nothing more is forwarded                         | nothing                                              |

There are two ways into OVER. The wire's end mark was forwarded, or added where the answer was complete without it:
then `finished` is True, and the body can end. Or the answer was halted: a Halt names its cause (a finding that acts, or
a failure), and the caller asks `decide`. It may then start a new attempt on `transcript`, or call `closing` or
`failing`, which end what the client was shown and make `finished` True.

With several choices, a cut ends one of them (`Outlet.ended`) and the others go on in their states.

The work is divided among four objects. The `Reader` turns bytes into events, from top to bottom; the `EventHandler`
takes one event through its steps; the `Judge` asks the monitors and decides; the `Outlet` knows the client's side. One
call of `feed` or `more` does a limited amount of work (`reader.TURN`), because other streams run in the same event
loop. Where work is left, `busy` is True: the caller yields to the others and calls `more`. Most reads hold one event
that differs from the last one in its text alone; `feed` handles them first, without parsing (`Codec.quick`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from typing import Final

from ..detect.doubt import TextWait
from ..detect.watcher import Watching
from ..errors.error_rules import ErrorRules
from ..framing.framing import Framing
from ..framing.think_tags import ThinkTags, begun
from ..values.delta import Piece
from ..values.failures import Failure
from ..values.transcript import Shown, Transcript
from ..values.verdict import Finding, Mode, NearMiss
from ..wires.base import Ask, Codec, Ending, Wire
from ..wires.overlap import Overlap
from ..wires.server_cuts import ServerCut
from .batching import watch_answer
from .cut import CUT, LIMITS, Cut, Limits
from .event_handler import EventHandler
from .judge import Judge
from .outlet import Outlet
from .output import Forward, Output
from .reader import LONG, Reader
from .splice import Splice
from .tool_call_hold import ToolCallHold


class StreamState(Enum):
    """Where an answer is: see the table at the top of this file."""

    JOINING = auto()
    PASSING = auto()
    HOLDING = auto()
    WAITING = auto()
    OVER = auto()


MOVES: Final[Mapping[StreamState, frozenset[StreamState]]] = {
    StreamState.JOINING: frozenset({StreamState.PASSING, StreamState.HOLDING, StreamState.OVER}),
    StreamState.PASSING: frozenset({StreamState.HOLDING, StreamState.WAITING, StreamState.OVER}),
    StreamState.HOLDING: frozenset({StreamState.PASSING, StreamState.OVER}),
    StreamState.WAITING: frozenset({StreamState.PASSING, StreamState.HOLDING, StreamState.OVER}),
    StreamState.OVER: frozenset(),
}
"""What one event can lead to. A read of several events makes several moves."""

_forward: Final[Callable[[tuple[bytes, bool]], Forward]] = partial(tuple.__new__, Forward)
"""Makes a `Forward` without calling its constructor, because one is made for every event."""


class Stream:
    """One upstream's answer on its way to the client."""

    __slots__ = (
        "_handler", "_judge", "_outlet", "_quick", "_reader", "_reading", "_wire", "begun", "busy",
        "transcript",
    )  # fmt: skip

    def __init__(
        self,
        wire: Wire,
        ask: Ask,
        rules: Watching | None = None,
        *,
        mode: Mode = Mode.ON,
        cut: Cut = CUT,
        limits: Limits = LIMITS,
        error_rules: ErrorRules | None = None,
        transcript: Transcript | None = None,
        splice: Splice | None = None,
        stops_at_length: bool = False,
        attempts: int = 1,
        waits: bool = True,
        framing: Framing | None = None,
    ) -> None:
        """`mode` is the weakest of the global, the provider's and the request's mode. `error_rules` recognise events
        that are errors. `transcript`: what earlier attempts have shown; where it is not empty this answer continues it.
        `splice`: this answer goes on in the middle of the shown text: text that it says again is left out, and the
        monitors of the earlier attempt go on too. `stops_at_length`: a finish for length is not passed on; it halts
        with TRUNCATED, so that another call can go on. `attempts`: upstream calls so far, this one included, as
        reported to the client. `waits`: text waits while a rule is half convinced (`detect.doubt`). `framing`: of
        what comes, where it is not the one that the request asked for."""
        self._wire = wire
        codec = wire.codec(ask)
        self.transcript = transcript or Transcript(keep=wire.keeps)
        self.transcript.expected = ask.choices
        if self.transcript.head or self.transcript.shown > Shown.NOTHING:
            codec.splice(self.transcript)
        else:
            codec.bind(self.transcript)
        watch = watch_answer(rules, ask, mode) if rules is not None and mode is not Mode.OFF else None
        if splice is not None and splice.watch is not None:
            watch = splice.watch
        self._outlet = Outlet(codec, self.transcript, ToolCallHold(limits.hold))
        self._judge = Judge(
            self._outlet,
            watch,
            ask,
            cut,
            mode,
            scans=not wire.closes_calls,
            attempts=attempts,
            halves=splice is None or splice.told is None,
        )
        self._handler = EventHandler(
            self._outlet,
            self._judge,
            ask,
            splice=splice,
            error_rules=error_rules,
            stops_at_length=stops_at_length,
            waits=waits,
            tags=self._tags(codec, splice, ask) if watch is not None and wire.thinks_in_text else None,
        )
        decoder = (framing or wire.framing(ask)).decoder(limits.event)
        self._reader = Reader(decoder, self._handler, self._outlet)
        self._reading = self._reader.run()
        """The generator that reads the answer. It stands here and not in the Reader, so that no circle of references
        keeps the memory of an answer that was given up."""
        self._quick: Callable[[bytes], Piece | None] | None = None
        """Reads a chunk that is one event of plain text; None while anything else goes on (see `Reader.quick`)."""
        self.busy = False
        """Work is left: let other tasks run, then call `more`, before the next `feed` or `eof`."""
        self.begun = bool(self.transcript.head)
        """The client has the beginning of this answer, so heartbeats may be events."""

    @staticmethod
    def _tags(codec: Codec, splice: Splice | None, ask: Ask) -> ThinkTags | None:
        """None where an answer that broke off is gone on with: its text continues the shown one, tag or not."""
        if ask.choices > 1 or (splice is not None and splice.told is None):
            return None
        if splice is None:
            return ThinkTags(opened=begun(ask.body))
        return ThinkTags(codec if codec.strips else None)

    # the three ways in -----------------------------------------------------------------------------------
    def feed(self, chunk: bytes, now: float) -> list[Output]:
        """Take bytes of the upstream. Returns one Forward for each run of clean events. `now`: seconds of any steady
        clock."""
        outlet, handler = self._outlet, self._handler
        if self._quick is not None and len(chunk) <= 2 * LONG and (piece := self._quick(chunk)) is not None:
            # The usual case: the chunk is one event like the one before.
            handler.last_data = now
            handler.events += 1
            if handler.calm(piece):
                self.transcript.piece(piece)
                return [_forward((chunk, True))]
            self._reader.begin_turn(now)
            self._reader.uneasy(chunk, piece)
            self._quick = self._reader.quick()
            return outlet.taken()
        if outlet.over:
            return []
        if not self._wire.reads:
            handler.last_data = now
            return [Forward(chunk, True)] if chunk else []
        self._reader.receive(chunk)
        return self.more(now)

    def eof(self, now: float) -> list[Output]:
        """The upstream has ended its body cleanly. Without a finish reason that is a failure: an answer forwarded
        without one makes agents ask again for ever (OpenCode)."""
        if self._outlet.over:
            return []
        if not self._wire.reads:
            self._outlet.finish()
            return []
        self._reader.ended = True
        return self.more(now)

    def more(self, now: float) -> list[Output]:
        """Continue with what has been received. Returns [] where nothing is left (`busy` is False then)."""
        outlet, reader = self._outlet, self._reader
        if not outlet.over:
            reader.begin_turn(now)
            self.busy = next(self._reading, False)
        if outlet.over:
            self.busy = False
        self._quick = None if self.busy else reader.quick()
        return outlet.taken()

    def overdue(self, now: float) -> bytes:
        """Text whose time in doubt is up, to be sent now; b"" where there is none."""
        outlet = self._outlet
        if outlet.over or outlet.run or not outlet.doubt.overdue(now):
            return b""
        outlet.doubt.tire()
        outlet.settle()
        raw = b"".join(outlet.run)
        outlet.run.clear()
        outlet.counts = False
        return raw

    @property
    def waits(self) -> Sequence[TextWait]:
        """Text that waited in doubt, and what became of it."""
        return self._outlet.doubt.waits

    def rest(self) -> list[Output]:
        """The upstream broke off: forward the text that waits in doubt, because no finding came."""
        if not self._outlet.over:
            self._outlet.settle()
        return self._outlet.taken()

    # what is known of the answer -----------------------------------------------------------------------------
    @property
    def events(self) -> int:
        """Events of this wire so far, without comments and malformed events."""
        return self._handler.events

    @property
    def malformed(self) -> int:
        """Events that could not be read. Noise among them was dropped; damage has halted the answer."""
        return self._handler.malformed

    @property
    def last_data(self) -> float | None:
        """When the last content came. Reasoning counts; comments, pings, empty deltas and usage do not."""
        return self._handler.last_data

    @property
    def withheld(self) -> str:
        """Text of the block that looped which the client was not sent: what waited in doubt, and the last event."""
        return self._outlet.withheld + self._judge.sample

    @property
    def spares(self) -> bool:
        """Complete calls beside the loop are released with the ending."""
        return self._judge.spares

    @property
    def finding(self) -> Finding | None:
        """The finding that cut this answer, or one choice of it."""
        return self._judge.finding

    @property
    def server_cuts(self) -> list[ServerCut]:
        """Choices that the upstream ended itself because of a loop."""
        return self._judge.server_cuts

    @property
    def finished(self) -> bool:
        """The terminal event has been forwarded: end the body now."""
        return self._outlet.finished

    @property
    def state(self) -> StreamState:
        """Where the answer is. In HOLDING and WAITING the client is sent nothing, so heartbeats are due."""
        outlet = self._outlet
        if outlet.over:
            return StreamState.OVER
        if self._handler.splice is not None:
            return StreamState.JOINING
        if outlet.hold.queue:
            return StreamState.HOLDING
        return StreamState.WAITING if outlet.doubt.waiting else StreamState.PASSING

    def heartbeat(self) -> bytes:
        """Bytes that reset the client's idle timer; b"" when the answer has ended."""
        return (
            b"" if self.finished else self._outlet.codec.heartbeat(self.begun or self.transcript.shown > Shown.NOTHING)
        )

    def prelude(self, ident: str, created: int) -> bytes:
        """Make a first event of our own, for a client whose timer ignores comments during a long prefill (Codex).
        Returns b"" where the wire or the request forbids it. After it is sent, every later attempt must use this
        transcript."""
        raw = self._outlet.codec.prelude(self.transcript, ident, created)
        self.begun = self.begun or bool(raw)
        return raw

    def splice(self) -> Splice:
        """The place where another upstream can continue this answer, under the same monitors."""
        return Splice(Overlap(self.transcript.text(tagged=True)), watch=self._judge.watch)

    # the ends --------------------------------------------------------------------------------------------
    def near_misses(self) -> Sequence[NearMiss]:
        """Repetitions that came near a bar but ended by themselves. Ask once, at the end of the answer."""
        return self._judge.near_misses()

    def ending(self, attempts: int = 1) -> Ending:
        """The Ending that the `cut` settings give for this answer's finding; an empty Ending where there is none.

        Ask only when it is certain that the answer ends: complete calls beside the loop are released here."""
        return self._judge.ending(attempts)

    def closing(self, ending: Ending | None = None) -> bytes:
        """End what the client was shown, legally and normally; `ending` None: as `ending()` says. b"" if it has ended.

        Where half a tool call was shown, no normal end is safe (clients may repair and run the call), so these bytes
        are the wire's in-band error.
        """
        if self.finished:
            return b""
        self._quick = None
        return self._outlet.close(ending if ending is not None else self.ending())

    def failing(self, failure: Failure) -> bytes:
        """End what the client was shown with the wire's in-band error. b"" if the answer has ended."""
        if self.finished:
            return b""
        self._quick = None
        return self._outlet.fail(failure)
