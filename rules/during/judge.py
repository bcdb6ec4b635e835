"""Decides about one answer: shows its deltas to the monitors, opens and closes held calls, acts on findings.

The Judge decides and the Outlet carries it out. Only complete calls are shown to rules about calls. One cut is reported
as one finding, even where several rules would have made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..detect.watcher import Feed, Watcher
from ..errors import classify
from ..framing.sse import Event
from ..values.delta import Block, Channel, Close, Delta, Finish, Open, Piece, Usage, choice_of
from ..values.failures import Failure, Kind, Phase
from ..values.notices import HALF, marked
from ..values.transcript import Shown
from ..values.verdict import Finding, Mode, NearMiss
from ..wires.base import Ask, Ending
from ..wires.server_cuts import BROKEN_OFF, UNFINISHED, ServerCut, marker
from .cut import Cut
from .outlet import Outlet
from .tool_call_hold import CutEvent, Held

TOOL = Channel.TOOL
MOST_CUTS = 128
"""Cuts by the server that are kept, one a choice: a bound on memory."""
LEAST_LOOP = 64
"""Characters of a piece from which on a loop may begin and be found in it."""
HALF_CALL = Failure(Phase.STREAM, Kind.STREAM, HALF, code="streamfuse_half_call")


class FoundAt(NamedTuple):
    """Where in an event something was found."""

    event: Event
    deltas: Sequence[Delta]
    at: int
    """The delta that was looked at."""
    closed: Sequence[Close]
    """Calls that turned out to be complete before it."""
    looped: Block | None = None
    """The call that looped, where it was closed."""


class Judge:
    """The decisions about one answer."""

    __slots__ = (
        "_ask", "_attempts", "_cut", "_halves", "_quiets", "_scans", "_spared", "finding", "outlet", "sample",
        "server_cuts", "watch",
    )  # fmt: skip

    def __init__(
        self,
        outlet: Outlet,
        watch: Watcher | None,
        ask: Ask,
        cut: Cut,
        mode: Mode,
        *,
        scans: bool,
        attempts: int,
        halves: bool = True,
    ) -> None:
        """`scans`: the wire does not say when a call is complete, so the brackets of its arguments do. `halves`: an
        answer that ends inside a call for a reason of its own (a limit) ends so for the client; else it halts."""
        self.outlet = outlet
        self.watch = watch
        """None: no monitor runs."""
        self._ask = ask
        self._cut = cut
        self._quiets = mode is Mode.ON
        self._scans = scans
        self._halves = halves
        self._attempts = attempts
        self.sample = ""
        """Text of the event that the cut was made at."""
        self._spared: list[Held] = []
        """Calls that were complete when another call was cut; they are released with the ending."""
        self.finding: Finding | None = None
        """The finding that cut this answer, or one choice of it."""
        self.server_cuts: list[ServerCut] = []
        """Choices that the upstream ended itself because of a loop."""

    def look(self, event: Event, deltas: Sequence[Delta], feed: Feed | None = None) -> tuple[Sequence[Delta], bool]:
        """Show the deltas of an event to the monitors and the hold. Returns (deltas, with a Close for each call that is
        now complete; True where a choice was cut or halted). `feed` stands for the watch's where texts were looked at
        before (`Lookahead`)."""
        watch, hold = self.watch, self.outlet.hold
        if feed is None and watch is not None:
            feed = watch.feed
        closed: list[Close] = []
        acted = False
        for at, delta in enumerate(deltas):
            if self.outlet.ended and choice_of(delta) in self.outlet.ended:
                continue
            found: Sequence[Finding] = ()
            text = ""
            looped: Block | None = None
            # Look at text that waits to be looked at (`Batch`) before the block closes or the answer ends.
            late = watch.drain() if watch is not None and type(delta) is not Piece else ()
            if late and self.convict(late, text, FoundAt(event, deltas, at, closed)):
                acted = True
                if self.outlet.over:
                    break
            if type(delta) is Piece:
                block, channel, text = delta
                if feed is not None and text:
                    found = feed(block[0], channel, block[1], text)
                if channel is TOOL:
                    call = hold.feed(block, text)
                    if self._scans and call is not None and call.evident:
                        closed.append(Close(block))
                        found = [*found, *self._called(block)]
                        looped = block
            elif type(delta) is Open:
                if delta.channel is TOOL:
                    hold.open(delta.block, delta.name, free=bool(delta.fields.get("free")))
            elif type(delta) is Close:
                # A half call, or one without arguments, waits for the finish, which says why it broke off.
                call = hold.calls.get(delta.block)
                if call is not None and not delta.fields.get("half") and not call.half and (call.free or call.begun):
                    found = self._called(delta.block)
                    looped = delta.block
            elif type(delta) is Finish:
                blocks = [block for block in hold.calls if block[0] == delta.choice]
                if any(hold.calls[block].cut_by(delta.reason) for block in blocks):
                    self._counted(deltas)
                    self._half(delta.choice, delta.reason, FoundAt(event, deltas, at, closed))
                    if self.outlet.over:
                        return deltas, True
                    acted = True
                    continue
                for block in blocks:
                    found = [*found, *self._called(block)]
                    looped = looped or (block if found else None)
            if found and self.convict(found, text, FoundAt(event, deltas, at, closed, looped)):
                acted = True
                if self.outlet.over:
                    break
        return ([*deltas, *closed] if closed else deltas), acted

    def server_cut(self, event: Event, deltas: Sequence[Delta], cut: ServerCut) -> Sequence[Delta]:
        """The upstream has cut a loop itself. Agents that read its word for that ask again for ever, so the client gets
        the wire's quiet end. Returns the deltas of the event as it is now."""
        if len(self.server_cuts) < MOST_CUTS:
            self.server_cuts.append(cut)
        if not self._quiets:
            return deltas
        quiet = self.outlet.codec.quieten(event, cut.choice, marker(cut, self._attempts))
        return [
            Finish(delta.choice, quiet) if isinstance(delta, Finish) and delta.choice == cut.choice else delta
            for delta in deltas
        ]

    def _called(self, block: Block) -> Sequence[Finding]:
        """Close a held call. Rules about calls see it only where it was complete."""
        call = self.outlet.hold.close(block)
        if self.watch is None or call.loose or not call.whole:
            return ()
        return self.watch.called(block[0], call.name, call.arguments)

    def complete(self, deltas: Sequence[Delta], events: int) -> bool:
        """The end mark has come. True: forward it. False: the answer was completed or halted here."""
        hold, shown = self.outlet.hold, self.outlet.transcript
        finishing = {delta.choice for delta in deltas if isinstance(delta, Finish)}
        for block in [block for block, call in hold.calls.items() if call.whole]:
            found = self._called(block)
            if found and self.convict(found, "", looped=block):
                if self.outlet.over:
                    return False
                continue
            if not hold.calls:
                self.outlet.release()
            shown.note(Close(block))
        if hold.calls or (not shown.choices and not finishing):
            self.outlet.halt(self._unfinished(events))
            return False
        self.outlet.release()
        if finishing.issuperset(shown.unfinished):
            return True
        if shown.shown is Shown.NOTHING:
            self.outlet.halt(self._unfinished(events))
        elif len(shown.choices) > shown.expected and (shown.finished or finishing):
            # More choices than the request asked for, and one never ended: the index in a chunk was damaged.
            self.outlet.halt(classify.unreadable())
        else:
            self.outlet.mend()
        return False

    def _unsaid(self) -> None:
        """Record a cut by the server where the body ends cleanly, without a finish, inside a repetition: that is how
        Ollama's own guard ends an answer."""
        for near_miss in self.watch.near_misses(now=True) if self.watch is not None else ():
            if all(cut.choice != near_miss.choice for cut in self.server_cuts):
                self.server_cuts.append(ServerCut(near_miss.choice, UNFINISHED))

    def _unfinished(self, events: int) -> Failure:
        """The failure of an answer that ended without a finish, by whether anything was said."""
        said = self.outlet.transcript.shown > Shown.NOTHING or self.outlet.hold.calls or self.outlet.hold.queue
        return classify.ended(events if said else 0)

    def _half(self, choice: int, reason: str, place: FoundAt) -> None:
        """The upstream finished inside a call. The call is never shown, because some agents repair and run it
        (docs/sources.md). Where the upstream gives a reason (a limit, a filter) the answer ends with it; otherwise the
        attempt has failed."""
        ending = Ending(notice=marked(HALF), finish=reason)
        cut = next((cut for cut in self.server_cuts if cut.choice == choice), None) if self._quiets else None
        if cut is not None:
            ending = Ending(notice=marked(HALF), marker=marker(cut, self._attempts), finish="stop")
        elif reason not in BROKEN_OFF or not self._halves:
            self.outlet.halt(HALF_CALL)
            return
        event, deltas, at, closed, _ = place
        kept = [delta if number < at else None for number, delta in enumerate(deltas)]
        cut_event = CutEvent(event, deltas, kept, {close.block for close in closed})
        for held in self.outlet.hold.spared(choice, self.outlet.codec, cut_event):
            self.outlet.forward(held.event, held.deltas)
        # Go on with the stream where the usage may still follow the finish.
        others = self.outlet.transcript.choices - self.outlet.transcript.finished.keys() - {choice}
        if others or self._scans:
            self.outlet.end_choice(choice, ending)
        else:
            self.outlet.mend(ending)

    def _counted(self, deltas: Sequence[Delta]) -> None:
        """Note the usage in the event that ends the answer: it holds, however much of the event is shown."""
        for delta in deltas:
            if isinstance(delta, Usage):
                self.outlet.transcript.note(delta)

    def broken(self, failure: Failure) -> None:
        """The upstream reports an error inside its answer."""
        shown = self.outlet.transcript
        if shown.choices and not shown.unfinished and not self.outlet.hold.calls:
            self.outlet.mend()  # the answer was complete: an error after it does not concern the client
        else:
            self.outlet.halt(failure)

    def unreadable(self) -> None:
        """An event that may have carried content cannot be read: halt, unless the answer had already ended."""
        hold, shown = self.outlet.hold, self.outlet.transcript
        ended = shown.shown is Shown.FINISHED and (shown.done or self.outlet.codec.final_finish)
        if not ended or hold.calls or hold.queue:
            self.outlet.halt(classify.unreadable())

    def convict(
        self, found: Sequence[Finding], sample: str, place: FoundAt | None = None, looped: Block | None = None
    ) -> bool:
        """Report findings. True where one acts: what its event says from there on must not be forwarded, while what it
        and held events said before goes on. Of several findings that would cut at the same point only the strongest is
        reported. `looped`: the call that looped, where it is closed and no `place` says it."""
        acting: Finding | None = None
        for finding in found:
            if finding.acts and (acting is None or finding.action > acting.action):
                acting = finding
        for finding in found:
            if not finding.acts:
                self.outlet.report(finding)
        if acting is None:
            return False
        self.finding = acting
        self.sample = sample
        shown, choice = self.outlet.transcript, acting.choice
        self._spare(acting, place, looped if place is None else place.looped)
        others = shown.choices - shown.finished.keys() - {choice}
        half = any(s.open and s.channel is TOOL for s in shown.open_shapes(choice))
        if not others or half:
            if place is not None:
                self._counted(place.deltas)
            self.outlet.halt(acting)
            return True
        self.outlet.end_choice(choice, self.ending())
        self.outlet.report(acting)
        return True

    def _spare(self, acting: Finding, place: FoundAt | None, looped: Block | None) -> None:
        """What was said before the loop, in its event and in held ones, goes on: calls with the ending, because an
        answer that showed a call cannot be healed, and text at once."""
        outlet = self.outlet
        waiting = outlet.doubt.waiting
        if waiting and waiting[0][1].channel is acting.channel:
            return  # the text that waits is the loop, and all of this comes behind it
        if waiting:
            outlet.settle()
        cut = None if place is None else self._before(acting, place)
        spared = outlet.hold.spared(acting.choice, outlet.codec, cut, looped)
        if any(type(delta) is Open and delta.channel is TOOL for held in spared for delta in held.deltas):
            self._spared = spared
            return
        for held in spared:
            outlet.forward(held.event, held.deltas)

    def _before(self, acting: Finding, place: FoundAt) -> CutEvent:
        """What the event says before the loop."""
        event, deltas, at, closed, _ = place
        delta, first, shorter = deltas[at], at, None
        if acting.channel is not TOOL:
            if type(delta) is Piece and delta.channel is acting.channel:
                shorter = self._shorter(acting, delta, deltas[:at])
                self.sample = delta.text[len(shorter.text) if shorter is not None else 0 :]
            else:  # the text was looked at late: it is the text before this
                while first and (one := deltas[first - 1]) and type(one) is Piece and one.channel is acting.channel:
                    first -= 1
        rest: list[Delta | None] = [delta if type(delta) is Usage else None for delta in deltas[first:]]
        if shorter is not None:
            rest[0] = shorter
        return CutEvent(event, deltas, [*deltas[:first], *rest], {close.block for close in closed})

    def _shorter(self, acting: Finding, piece: Piece, before: Sequence[Delta]) -> Piece | None:
        """The piece up to the end of the loop's first copy, where the loop begins in it; else None."""
        if len(piece.text) < LEAST_LOOP:
            return None
        hit = acting.hit
        shape = self.outlet.transcript.shapes.get(piece.block)
        begin = shape.chars if shape is not None else 0
        begin += sum(len(one.text) for one in before if type(one) is Piece and one.block == piece.block)
        if not begin < hit.at <= begin + len(piece.text):
            return None  # the rule has counted other text, too
        chars = min(hit.since + (hit.period or 0), hit.at) - begin
        return piece._replace(text=piece.text[:chars]) if 0 < chars < len(piece.text) else None

    @property
    def spares(self) -> bool:
        """Complete calls are released with the ending."""
        return bool(self._spared)

    def near_misses(self) -> Sequence[NearMiss]:
        """See `Stream.near_misses`."""
        return self.watch.near_misses() if self.watch is not None else ()

    def ends(self, events: int) -> None:
        """The body has ended and everything has been looked at."""
        if self.watch is not None and (late := self.watch.drain()):
            self.convict(late, "")
        if not self.outlet.over:
            shown = self.outlet.transcript
            if shown.choices and not shown.unfinished and not self.outlet.hold.calls:
                self.outlet.mend()
            else:
                self._unsaid()
                self.outlet.halt(self._unfinished(events))

    def ending(self, attempts: int = 1) -> Ending:
        """See `Stream.ending`."""
        finding = self.finding
        for held in self._spared:
            self.outlet.forward(held.event, held.deltas)
        self._spared = []
        if finding is None:
            return Ending()
        return self._cut.ending(
            finding,
            visible=self.outlet.transcript.visible(finding.choice),
            plain=not self._ask.wants_json,
            sample=self.sample,
            attempts=attempts,
        )
