"""DURING an answer: takes the upstream's bytes, returns what to forward, what was found, and when to stop.

Each event goes through five steps: decode (bytes to an Event), read (the wire's codec turns it into deltas), look (the
monitors see the deltas), hold (an unfinished tool call waits), forward. Only whole events and whole tool calls leave.

An answer is in one of these states:

| state   | what it means                                     | what moves it on                                     |
|---------|---------------------------------------------------|------------------------------------------------------|
| joining | a later attempt continues a shown text (`Splice`) | the overlap is known: passing, or over (RESTARTED)   |
| passing | events are looked at and forwarded                | a call: holding; a doubt: waiting; an end: over      |
| holding | a call is open: its choice's events wait          | the call is whole or too long: passing; an end: over |
| waiting | a rule is half convinced: text waits (`Doubt`)    | the doubt or its time ends: passing; an end: over    |
| over    | nothing more is forwarded                         | nothing                                              |

There are two ways into `over`. The wire's end mark was forwarded, or added where the answer was complete without it:
then `finished` is True, and the body can end. Or the answer was halted: a Halt names its cause (a finding that acts, or
a failure), and the caller asks `decide`. It may then start a new attempt on `transcript`, or call `closing` or
`failing`, which end what the client was shown and make `finished` True.

With several choices, a cut ends one of them (`Outlet.ended`) and the others go on in their states.

One call of `feed` or `more` does a limited amount of work (TURN), because other streams run in the same event loop.
Where work is left `busy` is True: the caller yields to the others and calls `more`. Most reads hold one event that
differs from the last one in its text alone; `feed` handles them first, without parsing (`Codec.quick`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import length_hint
from typing import Final

from ..detect.ruleset import Watch
from ..detect.watcher import Watching
from ..errors import classify
from ..errors.error_rules import ErrorRules
from ..framing.framing import Framing
from ..framing.sse import Event, EventTooLarge
from ..values.delta import Block, Channel, Delta, Done, Fault, Finish, Malformed, Piece, says
from ..values.failures import Failure, Kind, Phase
from ..values.steps import finish_word
from ..values.transcript import Shown, Transcript
from ..values.verdict import Finding, Mode, NearMiss
from ..wires.base import Ask, Ending, Wire
from ..wires.overlap import Overlap
from ..wires.server_cuts import ServerCut, loop_stop
from .batching import watch_answer
from .cut import Cut, Limits
from .judge import Judge
from .lookahead import Lookahead, weight
from .outlet import Outlet
from .output import Forward, Output
from .splice import Splice
from .tool_call_hold import ToolCallHold

TOOL = Channel.TOOL
_forward: Callable[[tuple[bytes, bool]], Forward] = partial(tuple.__new__, Forward)
"""Makes a `Forward` without calling its constructor, because one is made for every event."""
TRUNCATED = Failure(Phase.STREAM, Kind.UNKNOWN, "The answer ended at its length limit.", code="streamfuse_truncated")
"""The cause of a Halt at a length limit, where another call may continue the answer."""
TURN: Final = 768
"""The cost of one turn, in ASCII characters looked at: about half a millisecond with the default pack."""
EVENT: Final = 4
"""The cost of an event beside its text, in the same unit."""
READ: Final = 1 << 15
"""Bytes decoded at once."""
LONG: Final = 256
"""Characters of text in one event up to which it is looked at in one step; longer ones use a Lookahead."""
ALONE: Final = 3
"""Events in a row that are decoded one by one, in the hope that those behind them are like them: so many begin a
stream before its first text. Where none is, whole reads are decoded."""
_NO_RUN: tuple[list[str], list[int], Sequence[Finding]] = ([], [], ())
CUT = Cut()
LIMITS = Limits()


class Stream:
    """One upstream's answer on its way to the client."""

    __slots__ = (
        "_ahead", "_alone", "_ask", "_broad", "_cuts", "_decoder", "_errors", "_events", "_heads", "_judge", "_later",
        "_outlet", "_quick", "_splice", "_stops_at_length", "_then", "_told", "_waits", "_wire", "begun", "busy",
        "events", "last_byte", "last_data", "malformed", "transcript",
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
        self._ask = ask
        codec = wire.codec(ask)
        self._decoder = (framing or wire.framing(ask)).decoder(limits.event)
        watch = watch_answer(rules, ask, mode) if rules is not None and mode is not Mode.OFF else None
        self._splice = splice if splice is not None and codec.strips else None
        self._told = splice.told if splice is not None else None
        if splice is not None and splice.watch is not None:
            watch = splice.watch
        self._cuts = not (isinstance(watch, Watch) and watch.by_piece)
        """A long text may be shown to the monitors in parts: no monitor depends on how the text is cut."""
        self._errors = error_rules or None
        self._heads = error_rules.heads if error_rules else None
        self._broad = self._heads is None
        """An error rule asks for a member that ordinary events have, so every event must be checked against the
        rules."""
        self._stops_at_length = stops_at_length
        self._waits = waits and watch is not None
        self._events: Iterator[Event] = iter(())
        """Decoded events that wait for their turn."""
        self._later: deque[bytes] = deque()
        """Received bytes that are not decoded yet."""
        self._then: Callable[[], None] | None = None
        """What to do when all received events have been looked at."""
        self._ahead: tuple[Event, Sequence[Delta], Lookahead] | None = None
        """A long event that is looked at over several turns."""
        self._quick: Callable[[bytes], Piece | None] | None = None
        """Reads a chunk that is one event of plain text; None while anything else goes on (see `_quickly`)."""
        self._alone = ALONE
        self.busy = False
        """Work is left: let other tasks run, then call `more`, before the next `feed` or `eof`."""
        self.transcript = transcript or Transcript(keep=wire.keeps)
        self.transcript.expected = ask.choices
        if self.transcript.head or self.transcript.shown > Shown.NOTHING:
            codec.splice(self.transcript)
        else:
            codec.bind(self.transcript)
        self._outlet = Outlet(codec, self.transcript, ToolCallHold(limits.hold))
        self._judge = Judge(self._outlet, watch, ask, cut, mode, scans=not wire.closes_calls, attempts=attempts)
        self.begun = bool(self.transcript.head)
        """The client has the beginning of this answer, so heartbeats may be events."""
        self.last_byte: float | None = None
        """When the last bytes came, comments included."""
        self.last_data: float | None = None
        """When the last content came. Reasoning counts; comments, pings, empty deltas and usage do not."""
        self.events = 0
        """Events of this wire so far, without comments and malformed events."""
        self.malformed = 0
        """Events that could not be read. Noise among them was dropped; damage has halted the answer."""

    def splice(self) -> Splice:
        """The place where another upstream can continue this answer, under the same monitors."""
        return Splice(Overlap(self.transcript.text()), watch=self._judge.watch)

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
    def repaired(self) -> int:
        """Events whose broken UTF-8 was put right."""
        return self._decoder.repaired

    @property
    def holding(self) -> bool:
        """A tool call is held, or text waits in doubt. The client sees nothing meanwhile, so heartbeats are due."""
        return bool(self._outlet.hold.queue or self._outlet.doubt.waiting)

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

    # the three ways in -----------------------------------------------------------------------------------
    def feed(self, chunk: bytes, now: float) -> list[Output]:
        """Take bytes of the upstream. Returns one Forward for each run of clean events. `now`: seconds of any steady
        clock."""
        if self._quick is not None and len(chunk) <= 2 * LONG and (piece := self._quick(chunk)) is not None:
            # The usual case: the chunk is one event like the one before.
            self.last_byte = self.last_data = now
            self.events += 1
            block, channel, text = piece
            watch = self._judge.watch
            found = watch.feed(block[0], channel, block[1], text) if watch is not None else ()
            if found:
                self._caught(chunk, piece, found)
                self._quick = self._quickly()
                return self._outlet.taken()
            if self._waits and (watch.doubt or self._outlet.doubt.stirred) and self._wait(chunk, piece, now):  # type: ignore[union-attr]
                return self._outlet.taken()
            self.transcript.piece(piece)
            return [_forward((chunk, True))]
        self.last_byte = now
        if self._outlet.over:
            return []
        if not self._wire.reads:
            self.last_data = now
            return [Forward(chunk, True)] if chunk else []
        self._later += (chunk[at : at + READ] for at in range(0, len(chunk), READ))
        return self.more(now)

    def eof(self, now: float) -> list[Output]:
        """The upstream has ended its body cleanly. Without a finish reason that is a failure: an answer forwarded
        without one makes agents ask again for ever (OpenCode)."""
        if self._outlet.over:
            return []
        if not self._wire.reads:
            self._outlet.finish()
            return []
        self._then = self._tail
        return self.more(now)

    def more(self, now: float) -> list[Output]:
        """Continue with what has been received. Returns [] where nothing is left (`busy` is False then)."""
        outlet = self._outlet
        waited = self._ahead is not None or length_hint(self._events) > 0
        if self._ahead is None or (self._look_on(self._ahead, now) and not outlet.over):
            self._pass(now, TURN)
        if waited and self._later:
            self.busy = True
        while not (outlet.over or self.busy):
            if self._later:
                rest, left = self._later.popleft(), TURN
                while rest and left > 0 and not (outlet.over or self.busy):
                    rest, left = self._intake(rest, now, left)
                    if left > 0:
                        left = self._pass(now, left)
                if rest and not outlet.over:
                    self._later.appendleft(rest)
                self.busy = self.busy or bool(self._later)
            elif (then := self._then) is not None:
                self._then = None
                then()
                self._pass(now, TURN)
            else:
                break
        if outlet.over:
            self.busy = False
        self._quick = self._quickly()
        return outlet.taken()

    def _quickly(self) -> Callable[[bytes], Piece | None] | None:
        """The reader for an event that comes alone. None while anything is held, joined, left out or half received."""
        outlet = self._outlet
        quick = outlet.codec.quick
        if quick is None or self.busy or self._splice is not None or (self._broad and self._errors is not None):
            return None
        if outlet.over or outlet.ended or outlet.hold.calls or outlet.hold.queue:
            return None
        return quick if self._decoder.clear else None

    def _wait(self, raw: bytes, piece: Piece, now: float) -> bool:
        """Let this event wait in doubt, or send it behind those that waited. False: nothing waits, so the caller sends
        it."""
        outlet, watch = self._outlet, self._judge.watch
        if watch is not None and watch.doubt:
            outlet.wait(raw, piece, now)
            return True
        outlet.doubt.calm()
        if not outlet.doubt.waiting:
            return False
        outlet.settle()
        self.transcript.piece(piece)
        outlet.pass_on(raw)
        return True

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

    def rest(self) -> list[Output]:
        """The upstream broke off: forward the text that waits in doubt, because no finding came."""
        if not self._outlet.over:
            self._outlet.settle()
        return self._outlet.taken()

    def _caught(self, chunk: bytes, piece: Piece, found: Sequence[Finding]) -> None:
        """The monitors found something in an event that was read by `quick`: handle it the long way."""
        (event,) = self._decoder.feed(chunk)
        self._outlet.codec.unread()
        if not self._judge.convict(found, piece.text):
            self._outlet.forward(event, (piece,))

    def _together(self, chunk: bytes, at: int, left: int) -> tuple[list[str], list[int], Sequence[Finding]]:
        """Show the monitors the events from `at` on that differ in their text alone, all at once: one split, one decode
        and one look for the run (35 calls an event otherwise). Returns their texts, where each event ends, and what
        was found in the last one: a run ends where something is found, or doubted. None: the next event has to be read
        by itself."""
        alike, watch, doubt = self._outlet.codec.alike, self._judge.watch, self._outlet.doubt
        if alike is None or not (watch is None or type(watch) is Watch):
            return _NO_RUN
        if watch is not None and (watch.doubt or doubt.stirred):
            return _NO_RUN
        texts, ends = alike.run(chunk, at, max(1, left // EVENT))
        wide = 1 if "".join(texts).isascii() else 3
        for number, size in enumerate(map(len, texts)):
            left -= EVENT + size * wide
            if ends[number] - at > 2 * LONG:
                del texts[number:]
                break
            at = ends[number]
            if left <= 0:
                del texts[number + 1 :]
                break
        if not texts:
            return _NO_RUN
        found: Sequence[Finding] = ()
        if watch is not None:
            block, channel = alike.plain
            count, found = watch.feed_all(block[0], channel, block[1], texts)
            del texts[count:]
        return texts, ends, found

    def _noted(self, block: Block, channel: Channel, texts: list[str]) -> None:
        """Note texts that follow each other as shown, together where no limit falls among them."""
        shown, text = self.transcript, "".join(texts)
        if shown.keep and shown.kept + len(text) > shown.limit:
            for text in texts:
                shown.piece(Piece(block, channel, text))
        else:
            shown.piece(Piece(block, channel, text))

    def _intake(self, chunk: bytes, now: float, left: int) -> tuple[bytes, int]:
        """Forward the events at the beginning of the chunk that `quick` can read, decode the rest, or only the next
        event where those behind it may be like it. Returns (what is left of the chunk, of the turn)."""
        quick, outlet, watch, note = self._quickly(), self._outlet, self._judge.watch, self.transcript.piece
        mark = self._decoder.mark
        size = len(mark)
        begin = at = 0
        while quick is not None and at < len(chunk) and left > 0:
            texts, ends, found = self._together(chunk, at, left)
            if texts:
                alike = outlet.codec.alike
                assert alike is not None
                block, channel = alike.plain
                text, end = texts.pop(), ends[len(texts)]
                piece = Piece(block, channel, text)
                if texts:
                    self.events += len(texts)
                    self._alone = ALONE
                    left -= weight("".join(texts)) + EVENT * len(texts)
                    at = ends[len(texts) - 1]
                    self._noted(block, channel, texts)
            else:
                end = chunk.find(mark, at) + size
                if end < size or end - at > 2 * LONG or (read := quick(chunk[at:end])) is None:
                    break
                block, channel, text = piece = read
                found = watch.feed(block[0], channel, block[1], text) if watch is not None else ()
            self.events += 1
            if found:
                outlet.pass_on(chunk[begin:at])
                self._caught(chunk[at:end], piece, found)
                begin = end
                quick = self._quickly()
            elif self._waits and (watch.doubt or outlet.doubt.stirred):  # type: ignore[union-attr]
                outlet.pass_on(chunk[begin:at])
                if not self._wait(chunk[at:end], piece, now):
                    note(piece)
                    outlet.pass_on(chunk[at:end])
                begin = end
            else:
                note(piece)
            at = end
            left -= EVENT + weight(text)
        if at:
            self.last_data = now
            outlet.pass_on(chunk[begin:at])
        if outlet.over:
            return b"", 0
        if left <= 0 and at < len(chunk):
            return chunk[at:], 0
        rest = b""
        if at < len(chunk):
            end = chunk.find(mark, at) + size
            if self._alone and size <= end < len(chunk) and outlet.codec.alike is not None:
                self._alone -= 1
                rest = chunk[end:]
                chunk = chunk[:end]
            if not self._decode(chunk[at:]):
                rest = b""
        return rest, max(1, left)

    def _decode(self, chunk: bytes) -> bool:
        """False where an event is too large: nothing behind it is read."""
        try:
            self._events = iter(self._decoder.feed(chunk))
        except EventTooLarge as large:
            failure = Failure(Phase.STREAM, Kind.SERVER, str(large), code="streamfuse_event_too_large")
            self._then = lambda: self._outlet.halt(failure)
            self._later.clear()
            self._events = iter(large.events)
            return False
        return True

    def _tail(self) -> None:
        """Take the last event out of the decoder, where it holds a whole one without its blank line."""
        self._events = iter(self._decoder.eof())
        self._then = self._end_of_body

    def _end_of_body(self) -> None:
        for delta in self._outlet.codec.ended():
            self.transcript.note(delta)
        self._judge.ends(self.events)

    def _pass(self, now: float, left: int) -> int:
        """Look at the events that were decoded. Returns how much of the turn is left, 0 where it is over."""
        outlet, watch, errors, heads = self._outlet, self._judge.watch, self._errors, self._heads
        codec, hold = outlet.codec, outlet.hold
        read, write, note = codec.read, codec.write, self.transcript.piece
        self.busy = False
        for event in self._events:
            deltas = read(event)
            if errors is not None and (self._broad or not codec.again) and event.data is not None:
                body = event.json
                # Most events have none of the members that the rules ask for.
                if body is not None and (type(body) is not dict or heads is None or not heads.isdisjoint(body)):
                    failure = errors.failure(body)
                    if failure is not None:
                        self._judge.broken(failure)
                        return 0
                    self._broad = True
            if self._splice is not None:
                self._join(event, deltas, now)
                if outlet.over:
                    return 0
                continue
            if len(event.raw) > 2 * LONG and self._cuts and watch is not None and _size(deltas) > LONG:
                self._ahead = event, deltas, Lookahead(watch, deltas, outlet.ended)
                if not self._look_on(self._ahead, now) or outlet.over:
                    return 0
                left = 0
            elif (
                len(deltas) == 1
                and type(deltas[0]) is Piece
                and not hold.calls
                and not hold.queue
                and not outlet.ended
                and deltas[0].channel is not TOOL
                and deltas[0].text
            ):
                # The usual event: one piece of text, and nothing is held.
                block, channel, text = piece = deltas[0]
                self.events += 1
                self.last_data = now
                left -= EVENT + weight(text)
                found = watch.feed(block[0], channel, block[1], text) if watch is not None else ()
                if not found:
                    raw = write(event, deltas)
                    if not (
                        self._waits
                        and (watch.doubt or outlet.doubt.stirred)  # type: ignore[union-attr]
                        and self._wait(raw, piece, now)
                    ):
                        note(piece)
                        outlet.counts = True
                        if raw:
                            outlet.run.append(raw)
                elif not self._judge.convict(found, text):
                    outlet.forward(event, deltas)
                if outlet.over:
                    return 0
            else:
                self._judge.spent = 4 * EVENT
                self._take(event, deltas, now)
                if outlet.over:
                    return 0
                left -= self._judge.spent
            if left <= 0 and length_hint(self._events):
                self.busy = True
                return 0
        return left

    def _look_on(self, ahead: tuple[Event, Sequence[Delta], Lookahead], now: float) -> bool:
        """Continue to look at a long event. True when the whole event has been looked at and handled."""
        event, deltas, watch = ahead
        self.busy = not watch.look(TURN)
        if self.busy:
            return False
        self._ahead = None
        seen, self._judge.watch = self._judge.watch, watch
        try:
            self._take(event, deltas, now)
        finally:
            self._judge.watch = seen
        return True

    def _join(self, event: Event, deltas: Sequence[Delta], now: float) -> None:
        """Take an event at the splice: it waits until it is clear how much of its text the client already has."""
        splice = self._splice
        assert splice is not None
        if any(map(says, deltas)):
            self.last_data = now
        ready = splice.take(self._outlet.codec, event, deltas)
        if (refused := splice.refused) is not None:
            self._outlet.halt(refused)
            return
        if splice.over:
            self._splice = None
        for waiting, left in ready:
            self._take(waiting, left, now)
            if self._outlet.over:
                return

    # one event, any kind ---------------------------------------------------------------------------------
    def _take(self, event: Event, deltas: Sequence[Delta], now: float) -> None:
        outlet = self._outlet
        if event.data is None:
            raw = outlet.codec.write(event, deltas)
            if raw:
                outlet.run.append(raw)
            return
        if deltas and isinstance(deltas[0], Malformed):
            if event.data or deltas[0].torn:
                self.malformed += 1
            if deltas[0].torn:
                self._judge.unreadable()
            return
        self.events += 1
        if outlet.ended:
            deltas = outlet.strip(event, deltas)
            if not event.raw:
                return
        for delta in deltas:
            if type(delta) is Fault:
                self._judge.broken(classify.finish(str(delta.code)) or classify.in_band(delta))
                return
            if type(delta) is Finish and (word := loop_stop(delta.reason, delta.fields)) is not None:
                deltas = self._judge.server_cut(event, deltas, ServerCut(delta.choice, word))
        if any(map(says, deltas)):
            self.last_data = now
        deltas, acted = self._judge.look(deltas)
        if self._told is not None and not (acted or self.server_cuts) and any(map(_finishes, deltas)):
            outlet.codec.mark(event, self._told())
        if acted:
            if outlet.over:
                return
            deltas = outlet.strip(event, deltas)
            if not event.raw:
                return
        if Done in map(type, deltas) and not self._judge.complete(deltas, self.events):
            return
        if self._stops_at_length and self._truncated(deltas):
            outlet.halt(TRUNCATED)
            return
        outlet.put(event, deltas)
        if self.transcript.done:
            outlet.finish()
        elif self.finding is not None and not self.transcript.unfinished and not outlet.hold.queue:
            outlet.halt(self.finding)  # the other choices have ended by themselves

    def _truncated(self, deltas: Sequence[Delta]) -> bool:
        """Does the only choice end for length here, without text in the same event and without any call?"""
        if (
            self._ask.choices > 1
            or self._outlet.hold.calls
            or any(isinstance(delta, Piece) and delta.text for delta in deltas)
        ):
            return False
        if any(shape.channel is TOOL for shape in self.transcript.shapes.values()):
            return False
        return any(isinstance(delta, Finish) and finish_word(delta.reason) == "length" for delta in deltas)

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


def _size(deltas: Sequence[Delta]) -> int:
    """Characters of text in these deltas."""
    return sum(len(delta.text) for delta in deltas if type(delta) is Piece)


def _finishes(delta: Delta) -> bool:
    return isinstance(delta, Finish)
