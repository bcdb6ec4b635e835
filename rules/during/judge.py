"""What an answer says, before it leaves: shown to the rules, its tool calls waited for, its end made legal.

Everything that is decided about one answer is decided here; the Outlet does it. Only what was whole is shown, and a cut
is one finding, however many rules would have made it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..detect.watcher import Watcher
from ..errors import classify
from ..framing.sse import Event
from ..values.delta import Block, Channel, Close, Delta, Finish, Open, Piece, Usage, choice_of
from ..values.failures import Failure, Kind, Phase
from ..values.notices import marked
from ..values.transcript import Shown
from ..values.verdict import Finding, Mode, NearMiss
from ..wires.base import Ask, Ending
from ..wires.server_cuts import BROKEN_OFF, UNFINISHED, ServerCut, marker
from .cut import Cut
from .lookahead import weight
from .outlet import Outlet
from .tool_call_hold import Held

TOOL = Channel.TOOL
MOST_CUTS = 128
"""Ends by the server that are kept: one a choice."""
HALF = "The model's answer broke off in the middle of a tool call. The call was dropped."
HALF_CALL = Failure(Phase.STREAM, Kind.STREAM, HALF, code="streamfuse_half_call")


class Judge:
    """Of one answer."""

    __slots__ = (
        "_ask", "_attempts", "_cut", "_quiets", "_sample", "_scans", "_spared", "finding", "outlet", "server_cuts",
        "spent", "watch",
    )  # fmt: skip

    def __init__(
        self, outlet: Outlet, watch: Watcher | None, ask: Ask, cut: Cut, mode: Mode, *, scans: bool, attempts: int
    ) -> None:
        """`scans`: the wire does not say when a call is over, so that is read off its arguments."""
        self.outlet = outlet
        self.watch = watch
        """None: nobody looks."""
        self._ask = ask
        self._cut = cut
        self._quiets = mode is Mode.ON
        self._scans = scans
        self._attempts = attempts
        self._sample = ""
        self._spared: list[Held] = []
        """Calls that were whole when another call beside them was cut: they go out with the ending."""
        self.spent = 0
        """What was looked at, in the measure of a turn; whoever counts sets it."""
        self.finding: Finding | None = None
        """The finding that cut this answer, or one choice of it."""
        self.server_cuts: list[ServerCut] = []
        """Choices that the upstream ended itself because of a loop."""

    def look(self, deltas: Sequence[Delta]) -> tuple[Sequence[Delta], bool]:
        """Show the deltas to the watch and to the hold. (with the Close of calls that are complete, was one cut?)"""
        watch, hold = self.watch, self.outlet.hold
        closed: list[Delta] = []
        acted = False
        for delta in deltas:
            if self.outlet.ended and choice_of(delta) in self.outlet.ended:
                continue
            found: Sequence[Finding] = ()
            text = ""
            # What was still to be looked at comes before a block ends or the answer does.
            late = watch.drain() if watch is not None and not isinstance(delta, Piece) else ()
            if late and self.convict(late, text):
                acted = True
                if self.outlet.over:
                    break
            if isinstance(delta, Piece):
                block, channel, text = delta
                self.spent += weight(text)
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
                # A half call waits for the finish, which says why it broke off; so does one without any arguments.
                call = hold.calls.get(delta.block)
                if call is not None and not delta.fields.get("half") and not call.half and (call.free or call.begun):
                    found = self._called(delta.block)
            elif isinstance(delta, Finish):
                blocks = [block for block in hold.calls if block[0] == delta.choice]
                if any(hold.calls[block].cut_by(delta.reason) for block in blocks):
                    self._counted(deltas)
                    self._half(delta.choice, delta.reason)
                    if self.outlet.over:
                        return deltas, True
                    acted = True
                    continue
                for block in blocks:
                    found = [*found, *self._called(block)]
            if found and self.convict(found, text):
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
        """A call is over: it waits no more, and rules about calls hear of it where it was whole."""
        call = self.outlet.hold.close(block)
        if self.watch is None or call.loose or not call.whole:
            return ()
        return self.watch.called(block[0], call.name, call.arguments)

    def complete(self, deltas: Sequence[Delta], events: int) -> bool:
        """The end mark has come. True: it may pass. Else the answer was mended or halted here."""
        hold, shown = self.outlet.hold, self.outlet.transcript
        finishing = {delta.choice for delta in deltas if isinstance(delta, Finish)}
        for block in [block for block, call in hold.calls.items() if call.whole]:
            found = self._called(block)
            if found and self.convict(found, ""):
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
            # One choice more than were asked for, and it never ended: the number of a piece was damaged.
            self.outlet.halt(classify.unreadable())
        else:
            self.outlet.mend()
        return False

    def _unsaid(self) -> None:
        """A clean end without a finish, in the middle of a repetition: so Ollama's guard ends an answer."""
        for near_miss in self.watch.near_misses(now=True) if self.watch is not None else ():
            if all(cut.choice != near_miss.choice for cut in self.server_cuts):
                self.server_cuts.append(ServerCut(near_miss.choice, UNFINISHED))

    def _unfinished(self, events: int) -> Failure:
        """The answer ended without a finish; was there one at all?"""
        said = self.outlet.transcript.shown > Shown.NOTHING or self.outlet.hold.calls or self.outlet.hold.queue
        return classify.ended(events if said else 0)

    def _half(self, choice: int, reason: str) -> None:
        """The upstream finished inside a call. It is never shown: some agents repair and run it (docs/sources.md).
        Where the upstream says why (a limit, a filter) the rest ends so; else the attempt has failed."""
        ending = Ending(notice=marked(HALF), finish=reason)
        cut = next((cut for cut in self.server_cuts if cut.choice == choice), None) if self._quiets else None
        if cut is not None:
            ending = Ending(notice=marked(HALF), marker=marker(cut, self._attempts), finish="stop")
        elif reason not in BROKEN_OFF:
            self.outlet.halt(HALF_CALL)
            return
        # Where the usage may still come, behind the finish, the stream goes on to it.
        others = self.outlet.transcript.choices - self.outlet.transcript.finished.keys() - {choice}
        if others or self._scans:
            self.outlet.end_choice(choice, ending)
        else:
            self.outlet.mend(ending)

    def _counted(self, deltas: Sequence[Delta]) -> None:
        """The event that ends the answer may say what it cost: that is so, whatever of it is shown."""
        for delta in deltas:
            if isinstance(delta, Usage):
                self.outlet.transcript.note(delta)

    def broken(self, failure: Failure) -> None:
        """The upstream says inside its answer that it failed."""
        shown = self.outlet.transcript
        if shown.choices and not shown.unfinished and not self.outlet.hold.calls:
            self.outlet.mend()  # everything had been said: what broke afterwards is no concern of the client
        else:
            self.outlet.halt(failure)

    def unreadable(self) -> None:
        """An event that cannot be read, and that may have carried something. After the end it is nobody's loss."""
        hold = self.outlet.hold
        if self.outlet.transcript.shown is not Shown.FINISHED or hold.calls or hold.queue:
            self.outlet.halt(classify.unreadable())

    def convict(self, found: Sequence[Finding], sample: str) -> bool:
        """Report findings; True where one acts, so that its event must not pass. One cut is one finding: others that
        would have cut at the same look are not told."""
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
        self._sample = sample
        shown, choice = self.outlet.transcript, acting.choice
        if self._scans:  # where events are numbered, none can be left out between others
            self._spared = self.outlet.hold.spared(choice)
        others = shown.choices - shown.finished.keys() - {choice}
        half = any(s.open and s.channel is TOOL for s in shown.open_shapes(choice))
        if not others or half:
            self.outlet.halt(acting)
            return True
        self.outlet.end_choice(choice, self.ending())
        self.outlet.report(acting)
        return True

    def near_misses(self) -> Sequence[NearMiss]:
        """Repetitions that had come near a conviction. To be asked once, at its end."""
        return self.watch.near_misses() if self.watch is not None else ()

    def ends(self, events: int) -> None:
        """Everything has been looked at, and nothing more comes."""
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
        """How the cut setting wants this answer's finding to be ended; a bare Ending where there is none. Asked for
        when it is clear that the answer ends: whole calls beside the loop are then let out."""
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
            sample=self._sample,
            attempts=attempts,
        )
