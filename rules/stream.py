"""DURING an answer: bytes go in; what may be forwarded, what was found and when to stop come out.

Decode, read, watch, hold, forward. Nothing unfinished ever leaves: only whole events, only whole tool calls. After a
Halt nothing more is forwarded; `closing` or `failing` then ends what the client was shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from operator import length_hint
from typing import Final, NamedTuple, Protocol, TypeAlias

from . import classify
from .ahead import Ahead
from .brief import Brief
from .cut import Cut, Limits
from .delta import Block, Channel, Close, Delta, Done, Fault, Finish, Malformed, Open, Piece, Unknown
from .endings import UNFINISHED, ServerCut, loop_stop, marker
from .error_rules import ErrorRules
from .failures import Failure, Kind, Phase
from .hold import Held, Hold
from .notices import marked
from .patience import Patient
from .ruleset import Watch
from .seam import RESTARTED, Seam
from .sse import Decoder, Event, EventTooLarge
from .steps import finish_word
from .transcript import Shown, Transcript
from .verdict import Finding, Mode, Stutter
from .wires.base import Ask, Ending, Wire

TOOL = Channel.TOOL
TRUNCATED = Failure(Phase.STREAM, Kind.UNKNOWN, "The answer ended at its length limit.", code="streamfuse_truncated")
"""Halts a stream that another call may continue."""
TURN: Final = 512
"""What one turn may cost, in characters looked at: half a millisecond with the default pack."""
EVENT: Final = 8
"""What an event costs beside its text, in characters."""
READ: Final = 1 << 14
"""Bytes decoded at once."""
LONG: Final = 256
"""Characters that one event may say and still be looked at in one go."""
CUT = Cut()
LIMITS = Limits()
MOST_CUTS = 128
"""Ends by the server that are kept: one a choice."""
HALF = "The model's answer broke off in the middle of a tool call. The call was dropped."
BROKEN_OFF = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded", "content_filter", "refusal"}
)
"""Finish reasons, of any wire, after which half a call is no surprise."""


class Forward(NamedTuple):
    """Bytes for the client. `counts`: with them it learns something it cannot un-see."""

    raw: bytes
    counts: bool


class Told(NamedTuple):
    """A finding to report; the answer, or what is left of it, goes on."""

    finding: Finding


class Halt(NamedTuple):
    """Nothing more may be forwarded. What to do now is for `decide` to say."""

    cause: Finding | Failure


Output: TypeAlias = Forward | Told | Halt


class Watcher(Protocol):
    """What a Stream needs of `ruleset.Watch`."""

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]: ...

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]: ...

    def drain(self) -> Sequence[Finding]: ...

    def stutters(self, *, now: bool = False) -> Sequence[Stutter]: ...


class Watching(Protocol):
    """What a Stream needs of `ruleset.RuleSet`."""

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> Watcher: ...


class Stream:
    """One upstream's answer on its way to the client."""

    __slots__ = (
        "_ahead", "_ask", "_attempts", "_broad", "_codec", "_counts", "_cut", "_cuts", "_decoder", "_ended", "_errors",
        "_events", "_heads", "_hold", "_later", "_over", "_quiets", "_run", "_sample", "_scans", "_seam", "_spared",
        "_spent", "_stops_at_length", "_then", "_watch", "_wire", "begun", "busy", "events", "finding", "finished",
        "last_byte", "last_data", "malformed", "server_cuts", "transcript",
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
        seam: Seam | None = None,
        stops_at_length: bool = False,
        attempts: int = 1,
    ) -> None:
        """`mode` is the weakest of the global, the provider's and the request's. `error_rules` know events that are
        errors. `transcript`: what earlier attempts have shown; where it is not empty this answer continues it. `seam`:
        its text goes on in the middle, so what it says again of it is left out, and the eyes that saw it go on too.
        `stops_at_length`: a finish for length is not passed on but halts with TRUNCATED, for another call to go on.
        `attempts`: upstream calls so far, this one too, for what the client is told."""
        self._wire = wire
        self._ask = ask
        self._codec = wire.codec(ask)
        self._decoder = Decoder(limits.event)
        self._watch = _watch(rules, ask, mode) if rules is not None and mode is not Mode.OFF else None
        self._seam = seam if seam is not None and self._codec.strips else None
        if seam is not None and seam.watch is not None:
            self._watch = seam.watch
        self._cuts = not (isinstance(self._watch, Watch) and self._watch.by_piece)
        """A long text may be shown in parts."""
        self._cut = cut
        self._errors = error_rules or None
        self._heads = error_rules.heads if error_rules else None
        self._broad = self._heads is None
        """Some error rule asks for a member that ordinary events have: then each of them must be looked at."""
        self._hold = Hold(limits.hold)
        self._scans = not wire.closes_calls
        self._ended: frozenset[int] = frozenset()
        """Choices that a cut has ended while others go on."""
        self._over = False
        self._stops_at_length = stops_at_length
        self._attempts = attempts
        self._quiets = mode is Mode.ON
        self._run: list[bytes] = []
        self._counts = False
        self._sample = ""
        self._spared: list[Held] = []
        """Calls that were whole when another call beside them was cut: they go out with the ending."""
        self._events: Iterator[Event] = iter(())
        """Events that have come and wait for their turn."""
        self._later: deque[bytes] = deque()
        """Bytes that have come and are still to be decoded."""
        self._then: Callable[[list[Output]], None] | None = None
        """What is to be done when all of them have been looked at."""
        self._ahead: tuple[Event, Sequence[Delta], Ahead] | None = None
        """A long event that is being looked at."""
        self._spent = 0
        self.busy = False
        """There is more to do with what has come: call `more` before the next `feed` or `eof`, but let others have
        their turn first."""
        self.transcript = transcript or Transcript(keep=wire.keeps)
        self.transcript.expected = ask.choices
        if self.transcript.head or self.transcript.shown > Shown.NOTHING:
            self._codec.splice(self.transcript)
        else:
            self._codec.bind(self.transcript)
        self.begun = bool(self.transcript.head)
        """The client has been sent the beginning of this answer: heartbeats may be events."""
        self.finding: Finding | None = None
        """The finding that cut this answer, or one choice of it."""
        self.finished = False
        """The terminal event went out: end the body now."""
        self.last_byte: float | None = None
        """When anything came, comments included."""
        self.last_data: float | None = None
        """When something was said: not comments, pings, empty deltas or usage; reasoning counts."""
        self.events = 0
        """Events of this wire so far, comments and malformed ones not counted."""
        self.malformed = 0
        """Events that were dropped because they are not of this wire."""
        self.server_cuts: list[ServerCut] = []
        """Choices that the upstream ended itself because of a loop."""

    def seam(self, *, continued: bool = True) -> Seam:
        """The place where another upstream may go on. A loop that was cut is forgotten (`continued` False): its rule
        must be able to fire again."""
        return Seam(self.transcript, continued=continued, watch=self._watch if continued else None)

    @property
    def repaired(self) -> int:
        """Events whose invalid UTF-8 was replaced."""
        return self._decoder.repaired

    @property
    def holding(self) -> bool:
        """A tool call is being kept back: the client sees nothing meanwhile, so heartbeats are due."""
        return bool(self._hold.queue)

    def heartbeat(self) -> bytes:
        """Bytes that keep the client's timers quiet, b"" once the answer is over."""
        return b"" if self.finished else self._codec.heartbeat(self.begun or self.transcript.shown > Shown.NOTHING)

    def prelude(self, ident: str, created: int) -> bytes:
        """A beginning of our own, for a client that hears no comments during a long prefill (protocols §3.4b). b""
        where wire or request forbid it. Once it is sent, this transcript must go with every later attempt."""
        raw = self._codec.prelude(self.transcript, ident, created)
        self.begun = self.begun or bool(raw)
        return raw

    # the three ways in -----------------------------------------------------------------------------------
    def feed(self, chunk: bytes, now: float) -> list[Output]:
        """What these bytes lead to: one Forward per run of clean events. `now` in seconds, any steady clock."""
        self.last_byte = now
        if self._over:
            return []
        if not self._wire.reads:
            self.last_data = now
            return [Forward(chunk, True)] if chunk else []
        if self.busy or len(chunk) > READ:
            self._later += [chunk[at : at + READ] for at in range(0, len(chunk), READ)]
            chunk = b"" if self.busy else self._later.popleft()
        if chunk:
            self._decode(chunk)
        return self.more(now)

    def eof(self, now: float) -> list[Output]:
        """The upstream has ended its body cleanly. Without a finish that is a failure: passed on bare it drives agents
        into endless re-requests (real-clients §4)."""
        if self._over:
            return []
        if not self._wire.reads:
            self._over = self.finished = True
            return []
        self._then = self._tail
        return self.more(now)

    def more(self, now: float) -> list[Output]:
        """Go on with what has come; [] where there is nothing to go on with (`busy` False)."""
        out: list[Output] = []
        if self._ahead is None or (self._look_on(self._ahead, now, out) and not self._over):
            self._pass(now, out)
        while not (self._over or self.busy):
            if self._later:
                self._decode(self._later.popleft())
                self.busy = True
            elif (then := self._then) is not None:
                self._then = None
                then(out)
                self._pass(now, out)
            else:
                break
        if self._over:
            self.busy = False
        if self._run:
            self._flush(out)
        return out

    def _decode(self, chunk: bytes) -> None:
        try:
            events = self._decoder.feed(chunk)
        except EventTooLarge as large:
            events = large.events
            failure = Failure(Phase.STREAM, Kind.SERVER, str(large), code="streamfuse_event_too_large")
            self._then = lambda out: self._halt(failure, out)
            self._later.clear()
        self._events = iter(events)

    def _tail(self, out: list[Output]) -> None:
        """The end has come: what the decoder holds whole is the last event."""
        self._events = iter(self._decoder.eof())
        self._then = self._ends

    def _ends(self, out: list[Output]) -> None:
        """Everything has been looked at, and nothing more comes."""
        if self._watch is not None and (late := self._watch.drain()):
            self._judge(late, "", out)
        if not self._over:
            shown = self.transcript
            if shown.choices and not shown.unfinished and not self._hold.calls:
                self._mend(out)
            else:
                self._unsaid()
                self._halt(self._unfinished(), out)

    def _pass(self, now: float, out: list[Output]) -> None:
        codec, hold, watch, errors, heads = self._codec, self._hold, self._watch, self._errors, self._heads
        read, write, note = codec.read, codec.write, self.transcript.piece
        left = TURN
        self.busy = False
        for event in self._events:
            deltas = read(event)
            if errors is not None and (self._broad or not codec.again) and event.data is not None:
                body = event.json
                # An ordinary chunk has no member that a rule asks for.
                if body is not None and (type(body) is not dict or heads is None or not heads.isdisjoint(body)):
                    failure = errors.failure(body)
                    if failure is not None:
                        self._broken(failure, out)
                        return
                    self._broad = True
            if self._seam is not None:
                self._join(event, deltas, now, out)
                if self._over:
                    return
                continue
            if len(event.raw) > 2 * LONG and self._cuts and watch is not None and _size(deltas) > LONG:
                self._ahead = event, deltas, Ahead(watch, deltas, self._ended)
                if not self._look_on(self._ahead, now, out) or self._over:
                    return
                left = 0
            elif (
                len(deltas) == 1
                and type(deltas[0]) is Piece
                and not hold.calls
                and not hold.queue
                and not self._ended
                and deltas[0].channel is not TOOL
                and deltas[0].text
            ):
                # The usual event: one piece of text, nothing held.
                block, channel, text = piece = deltas[0]
                self.events += 1
                self.last_data = now
                left -= len(text) + EVENT
                found = watch.feed(block[0], channel, block[1], text) if watch is not None else ()
                if not found:
                    raw = write(event, deltas)
                    note(piece)
                    self._counts = True
                    if raw:
                        self._run.append(raw)
                elif not self._judge(found, text, out):
                    self._forward(event, deltas)
                if self._over:
                    return
            else:
                self._spent = 2 * EVENT
                self._take(event, deltas, now, out)
                if self._over:
                    return
                left -= self._spent
            if left <= 0 and length_hint(self._events):
                self.busy = True
                return

    def _look_on(self, ahead: tuple[Event, Sequence[Delta], Ahead], now: float, out: list[Output]) -> bool:
        """Go on with a long event; True when it has been taken."""
        event, deltas, watch = ahead
        self.busy = not watch.look(TURN)
        if self.busy:
            return False
        self._ahead = None
        seen, self._watch = self._watch, watch
        try:
            self._take(event, deltas, now, out)
        finally:
            self._watch = seen
        return True

    def _join(self, event: Event, deltas: Sequence[Delta], now: float, out: list[Output]) -> None:
        """An event at the seam: it waits until it is clear what of it is new."""
        seam = self._seam
        assert seam is not None
        if any(map(_says, deltas)):
            self.last_data = now
        ready = seam.take(self._codec, event, deltas)
        if seam.restarted:
            self._halt(RESTARTED, out)
            return
        if seam.over:
            self._seam = None
        for waiting, left in ready:
            self._take(waiting, left, now, out)
            if self._over:
                return

    # one event, any kind ---------------------------------------------------------------------------------
    def _take(self, event: Event, deltas: Sequence[Delta], now: float, out: list[Output]) -> None:
        if event.data is None:
            raw = self._codec.write(event, deltas)
            if raw:
                self._run.append(raw)
            return
        if deltas and isinstance(deltas[0], Malformed):
            self.malformed += 1
            return
        self.events += 1
        if self._ended:
            event.raw = self._codec.without(event, self._ended)
            deltas = [delta for delta in deltas if _choice(delta) not in self._ended]
            if not event.raw:
                return
        for delta in deltas:
            if isinstance(delta, Fault):
                self._broken(classify.finish(str(delta.code)) or classify.in_band(delta), out)
                return
            if isinstance(delta, Finish) and (word := loop_stop(delta.reason, delta.fields)) is not None:
                deltas = self._server_cut(event, deltas, ServerCut(delta.choice, word))
        if any(map(_says, deltas)):
            self.last_data = now
        deltas, acted = self._look(deltas, out)
        if acted:
            if self._over or not (rest := self._codec.without(event, self._ended)):
                return
            event.raw = rest
            deltas = [delta for delta in deltas if _choice(delta) not in self._ended]
        choices = {choice for choice in map(_choice, deltas) if choice is not None}
        if any(isinstance(delta, Done) for delta in deltas) and not self._complete(deltas, out):
            return
        if self._stops_at_length and self._truncated(deltas):
            self._halt(TRUNCATED, out)
            return
        waiting = self._hold.waiting() if self._hold.calls or self._hold.queue else ()
        if waiting and (not choices or not choices.isdisjoint(waiting)):
            self._hold.keep(event, deltas, choices or waiting)
            self._release()
        else:
            if self._hold.queue:
                self._release()
            self._forward(event, deltas)
        if self.transcript.done:
            self._over = self.finished = True
            self._flush(out)
        elif self.finding is not None and not self.transcript.unfinished and not self._hold.queue:
            self._halt(self.finding, out)  # the siblings of the cut choice have ended by themselves

    def _look(self, deltas: Sequence[Delta], out: list[Output]) -> tuple[Sequence[Delta], bool]:
        """Show the deltas to the watch and to the hold. (with the Close of calls that are complete, was one cut?)"""
        watch, hold = self._watch, self._hold
        closed: list[Delta] = []
        acted = False
        for delta in deltas:
            if self._ended and _choice(delta) in self._ended:
                continue
            found: Sequence[Finding] = ()
            text = ""
            # What was still to be looked at comes before a block ends or the answer does.
            late = watch.drain() if watch is not None and not isinstance(delta, Piece) else ()
            if late and self._judge(late, text, out):
                acted = True
                if self._over:
                    break
            if isinstance(delta, Piece):
                block, channel, text = delta
                self._spent += len(text)
                if watch is not None and text:
                    found = watch.feed(block[0], channel, block[1], text)
                if channel is TOOL:
                    call = hold.feed(block, text)
                    if self._scans and call is not None and call.evident:
                        closed.append(Close(block))
                        found = [*found, *self._called(block)]
            elif isinstance(delta, Open):
                if delta.channel is TOOL:
                    hold.open(delta.block, delta.name, free=bool(delta.fields.get("free")))
            elif isinstance(delta, Close):
                # A half call waits for the finish, which says why it broke off.
                if delta.block in hold.calls and not hold.calls[delta.block].half:
                    found = self._called(delta.block)
            elif isinstance(delta, Finish):
                blocks = [block for block in hold.calls if block[0] == delta.choice]
                if any(hold.calls[block].half for block in blocks):
                    self._half(delta.choice, delta.reason, out)
                    if self._over:
                        return deltas, True
                    acted = True
                    continue
                for block in blocks:
                    found = [*found, *self._called(block)]
            if found and self._judge(found, text, out):
                acted = True
                if self._over:
                    break
        return ([*deltas, *closed] if closed else deltas), acted

    def _server_cut(self, event: Event, deltas: Sequence[Delta], cut: ServerCut) -> Sequence[Delta]:
        """The upstream has cut a loop itself. Its word for that makes agents ask again for ever (gateways §2.2), so the
        client gets the wire's quiet end. Returns the deltas of the event as it is now."""
        if len(self.server_cuts) < MOST_CUTS:
            self.server_cuts.append(cut)
        if not self._quiets:
            return deltas
        quiet = self._codec.quieten(event, cut.choice, marker(cut, self._attempts))
        return [
            Finish(delta.choice, quiet) if isinstance(delta, Finish) and delta.choice == cut.choice else delta
            for delta in deltas
        ]

    def _truncated(self, deltas: Sequence[Delta]) -> bool:
        """The only choice ends for length here, with nothing said in the same event and no call anywhere."""
        if (
            self._ask.choices > 1
            or self._hold.calls
            or any(isinstance(delta, Piece) and delta.text for delta in deltas)
        ):
            return False
        if any(shape.channel is TOOL for shape in self.transcript.shapes.values()):
            return False
        return any(isinstance(delta, Finish) and finish_word(delta.reason) == "length" for delta in deltas)

    def _called(self, block: Block) -> Sequence[Finding]:
        """A call is over: it waits no more, and rules about calls hear of it where it was whole."""
        call = self._hold.close(block)
        if self._watch is None or call.loose or not call.whole:
            return ()
        return self._watch.called(block[0], call.name, call.arguments)

    def _complete(self, deltas: Sequence[Delta], out: list[Output]) -> bool:
        """The end mark has come. True: it may pass. Else the answer was mended or halted here."""
        hold, shown = self._hold, self.transcript
        finishing = {delta.choice for delta in deltas if isinstance(delta, Finish)}
        for block in [block for block, call in hold.calls.items() if call.whole]:
            found = self._called(block)
            if found and self._judge(found, "", out):
                if self._over:
                    return False
                continue
            if not hold.calls:
                self._release()
            shown.note(Close(block))
        if hold.calls or (not shown.choices and not finishing):
            self._halt(self._unfinished(), out)
            return False
        self._release()
        if finishing.issuperset(shown.unfinished):
            return True
        if shown.shown is Shown.NOTHING:
            self._halt(self._unfinished(), out)
            return False
        self._mend(out)
        return False

    def _unsaid(self) -> None:
        """A clean end without a finish, in the middle of a repetition: so Ollama's guard ends an answer."""
        for stutter in self._watch.stutters(now=True) if self._watch is not None else ():
            if all(cut.choice != stutter.choice for cut in self.server_cuts):
                self.server_cuts.append(ServerCut(stutter.choice, UNFINISHED))

    def _unfinished(self) -> Failure:
        """The answer ended without a finish; was there one at all?"""
        said = self.transcript.shown > Shown.NOTHING or self._hold.calls or self._hold.queue
        return classify.ended(self.events if said else 0)

    # outcomes --------------------------------------------------------------------------------------------
    def _forward(self, event: Event, deltas: Sequence[Delta]) -> None:
        raw = self._codec.write(event, deltas)
        note = self.transcript.note
        for delta in deltas:
            note(delta)
            self._counts = self._counts or _says(delta)
        if raw:
            self._run.append(raw)

    def _release(self) -> None:
        for held in self._hold.released():
            self._forward(held.event, held.deltas)

    def _flush(self, out: list[Output]) -> None:
        if self._run:
            out.append(Forward(b"".join(self._run), self._counts))
            self._run.clear()
        self._counts = False

    def _halt(self, cause: Finding | Failure, out: list[Output]) -> None:
        self._flush(out)
        self._hold.drop()
        self._over = True
        out.append(Halt(cause))

    def _half(self, choice: int, reason: str, out: list[Output]) -> None:
        """The upstream finished inside a call. It is never shown: some agents repair and run it (real-clients §4).
        Where the upstream says why (a limit, a filter) the rest ends so; else the attempt has failed."""
        ending = Ending(notice=marked(HALF), finish=reason)
        cut = next((cut for cut in self.server_cuts if cut.choice == choice), None) if self._quiets else None
        if cut is not None:
            ending = Ending(notice=marked(HALF), marker=marker(cut, self._attempts), finish="stop")
        elif reason not in BROKEN_OFF:
            self._halt(Failure(Phase.STREAM, Kind.STREAM, HALF, code="streamfuse_half_call"), out)
            return
        if self.transcript.choices - self.transcript.finished.keys() - {choice}:
            self._end_choice(choice, ending)
        else:
            self._mend(out, ending)

    def _mend(self, out: list[Output], ending: Ending | None = None) -> None:
        """Everything was said but the end: the finishes, where even they are missing, and the terminal event."""
        shown = self.transcript
        ending = ending or Ending()
        raw = (
            self._codec.close(shown, ending) if ending.finish or shown.unfinished else self._codec.finish_missing(shown)
        )
        self._settled(ending.finish or "stop")
        if raw:
            self._run.append(raw)
            self._counts = True
        self._flush(out)

    def _settled(self, reason: str = "stop") -> None:
        self._over = self.finished = True
        self._hold.drop()
        for choice in self.transcript.unfinished:
            self.transcript.note(Finish(choice, reason))
        self.transcript.note(Done())

    def _broken(self, failure: Failure, out: list[Output]) -> None:
        """The upstream says inside its answer that it failed."""
        shown = self.transcript
        if shown.choices and not shown.unfinished and not self._hold.calls:
            self._mend(out)  # everything had been said: what broke afterwards is no concern of the client
        else:
            self._halt(failure, out)

    def _judge(self, found: Sequence[Finding], sample: str, out: list[Output]) -> bool:
        """Report findings; True where one acts, so that its event must not pass. One cut is one finding: others that
        would have cut at the same look are not told."""
        acting: Finding | None = None
        for finding in found:
            if finding.acts and (acting is None or finding.action > acting.action):
                acting = finding
        for finding in found:
            if not finding.acts:
                self._flush(out)
                out.append(Told(finding))
        if acting is None:
            return False
        self.finding = acting
        self._sample = sample
        shown, choice = self.transcript, acting.choice
        self._spared = self._hold.spared(choice)
        others = shown.choices - shown.finished.keys() - {choice}
        half = any(s.open and s.channel is TOOL for s in shown.open_shapes(choice))
        if not others or half:
            self._halt(acting, out)
            return True
        self._end_choice(choice, self.ending())
        self._flush(out)
        out.append(Told(acting))
        return True

    def _end_choice(self, choice: int, ending: Ending) -> None:
        """One of several choices ends; what was held of it is dropped, its siblings go on."""
        self._ended |= {choice}
        hold = self._hold
        for block in [block for block in hold.calls if block[0] == choice]:
            hold.close(block)
        for event, deltas, _ in hold.taken():
            event.raw = self._codec.without(event, self._ended)
            left = [delta for delta in deltas if _choice(delta) not in self._ended]
            if event.raw:
                hold.keep(event, left, {c for c in map(_choice, left) if c is not None})
        self._release()
        raw = self._codec.close_choice(self.transcript, choice, ending)
        self.transcript.note(Finish(choice, ending.finish or "stop"))
        self._run.append(raw)
        self._counts = True

    def stutters(self) -> Sequence[Stutter]:
        """Repetitions that had come near a conviction. To be asked once, at its end."""
        return self._watch.stutters() if self._watch is not None else ()

    # the ends --------------------------------------------------------------------------------------------
    def ending(self, attempts: int = 1) -> Ending:
        """How the cut setting wants this answer's finding to be ended; a bare Ending where there is none. Asked for
        when it is clear that the answer ends: whole calls beside the loop are then let out."""
        finding = self.finding
        for held in self._spared:
            self._forward(held.event, held.deltas)
        self._spared = []
        if finding is None:
            return Ending()
        return self._cut.ending(
            finding,
            visible=self.transcript.visible(finding.choice),
            plain=not self._ask.wants_json,
            sample=self._sample,
            attempts=attempts,
        )

    def closing(self, ending: Ending | None = None) -> bytes:
        """A legal, normal end of what the client was shown; without an Ending that of the finding. b"" if it has ended.

        Where half a tool call was shown there is no safe normal end: then it is the wire's in-band error.
        """
        if self.finished:
            return b""
        ending = ending if ending is not None else self.ending()
        spared, self._run = b"".join(self._run), []
        raw = self._codec.close(self.transcript, ending)
        self._settled()
        return spared + raw

    def failing(self, failure: Failure) -> bytes:
        """The wire's in-band error, legally ended. b"" if the answer has ended."""
        if self.finished:
            return b""
        raw = self._codec.fail(self.transcript, failure)
        self._settled("error")
        return raw


def _choice(delta: Delta) -> int | None:
    """The choice that a delta belongs to."""
    if isinstance(delta, Piece | Open | Close):
        return delta.block[0]
    return delta.choice if isinstance(delta, Finish) else None


def _size(deltas: Sequence[Delta]) -> int:
    """Characters said."""
    return sum(len(delta.text) for delta in deltas if type(delta) is Piece)


def _says(delta: Delta) -> bool:
    """Does the client learn something it cannot un-see?"""
    if isinstance(delta, Piece):
        return bool(delta.text)
    if isinstance(delta, Open):
        return delta.channel is TOOL
    return isinstance(delta, Finish | Unknown | Done)


def _watch(rules: Watching, ask: Ask, mode: Mode) -> Watcher:
    """Fresh monitors for this answer, shown the text in pieces worth a look where nothing depends on the pieces."""
    watch = rules.watch(ask.brief, mode)
    if isinstance(watch, Watch) and ask.choices == 1 and not watch.by_piece:
        return Patient(watch)
    return watch
