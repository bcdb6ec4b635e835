"""What is done with one event of an answer: look at it, judge it, then hold it, forward it or stop.

Most events say one piece of text while nothing is held, joined or left out. For those, `calm` asks the monitors. Where
they are calm the caller notes the piece and forwards the event, and that is all; where they are not, `convict_piece`
and `wait` decide. Every other event takes the long way through `handle`.

The handler does not know how events were read. The `Reader` brings them, in order, one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..detect.watch import Watch
from ..detect.watcher import Feed
from ..errors import classify
from ..errors.error_rules import ErrorRules
from ..framing.sse import Event
from ..framing.think_tags import ThinkTags
from ..values.delta import Block, Channel, Delta, Done, Fault, Finish, Malformed, Piece, choice_of, says
from ..values.failures import Failure, Kind, Phase
from ..values.steps import finish_word
from ..values.verdict import Finding
from ..wires.base import Ask
from ..wires.server_cuts import ServerCut, loop_stop
from .judge import FoundAt, Judge
from .outlet import Outlet
from .splice import Splice

TOOL = Channel.TOOL
TRUNCATED = Failure(Phase.STREAM, Kind.UNKNOWN, "The answer ended at its length limit.", code="streamfuse_truncated")
"""The cause of a Halt at a length limit, where another call may continue the answer."""


class EventHandler:
    """The events of one answer, one after the other."""

    __slots__ = (
        "_ask",
        "_broad",
        "_doubt",
        "_errors",
        "_heads",
        "_judge",
        "_one",
        "_outlet",
        "_stops_at_length",
        "_told",
        "_waits",
        "events",
        "found",
        "last_data",
        "malformed",
        "splice",
        "tags",
        "watch",
    )  # fmt: skip

    def __init__(
        self,
        outlet: Outlet,
        judge: Judge,
        ask: Ask,
        *,
        splice: Splice | None,
        error_rules: ErrorRules | None,
        stops_at_length: bool,
        waits: bool,
        tags: ThinkTags | None = None,
    ) -> None:
        """The arguments are those of `Stream`."""
        self._outlet = outlet
        self._doubt = outlet.doubt
        self._judge = judge
        self._ask = ask
        self.watch = judge.watch
        """The monitors; None where none run."""
        self.splice = splice if splice is not None and outlet.codec.strips else None
        """The place where this answer joins an earlier one, until the overlap is known."""
        self._told = splice.told if splice is not None else None
        self._one = splice is not None and ask.choices == 1
        """The answer goes on in one choice: what a later upstream says in others is left out."""
        self._errors = error_rules or None
        self._heads = error_rules.heads if error_rules else None
        self._broad = bool(error_rules) and self._heads is None
        """An error rule asks for a member that ordinary events have, so every event must be checked against the
        rules."""
        self._stops_at_length = stops_at_length
        self.tags = tags
        """Looks for thinking inside the text, while there may be some."""
        self._waits = waits and judge.watch is not None
        self.found: Sequence[Finding] = ()
        """What the monitors found in the piece that `calm` was asked about last."""
        self.last_data: float | None = None
        """When the last content came. Reasoning counts; comments, pings, empty deltas and usage do not."""
        self.events = 0
        """Events of this wire so far, without comments and malformed events."""
        self.malformed = 0
        """Events that could not be read. Noise among them was dropped; damage has halted the answer."""

    def told_apart(self, event: Event, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """The deltas of an event, with the thinking that stands in its text as reasoning."""
        tags = self.tags
        if tags is None:
            return deltas
        deltas = tags.marked(event, deltas)
        if tags.over:
            self.tags = None
            if self.splice is not None and tags.ended:
                self.splice.thought()
        return deltas

    # an event of one piece of text -------------------------------------------------------------------------
    @property
    def usual(self) -> bool:
        """Nothing is held, joined, left out or checked, so an event of one piece of text needs no more than a look."""
        outlet = self._outlet
        hold = outlet.hold
        return not (self._broad or outlet.over or outlet.ended or hold.calls or hold.queue or self.splice is not None)

    def calm(self, piece: Piece) -> bool:
        """Show one piece of text to the monitors. True: they found nothing and doubt nothing."""
        watch = self.watch
        if watch is None:
            return True
        block, channel, text = piece
        self.found = found = watch.feed(block[0], channel, block[1], text)
        return not (found or (self._waits and (watch.doubt or self._doubt.stirred)))

    @property
    def takes_runs(self) -> bool:
        """`calm_run` may be asked: the monitors take several pieces at once, and doubt nothing."""
        watch = self.watch
        return watch is None or (type(watch) is Watch and not (watch.doubt or self._doubt.stirred))

    def calm_run(self, block: Block, channel: Channel, texts: list[str]) -> bool:
        """As `calm`, for several pieces of one block at once. Texts behind the first one that the monitors are not calm
        about are taken off the list, and the monitors have not seen them."""
        watch = self.watch
        if type(watch) is not Watch:
            return True
        count, self.found = watch.feed_all(block[0], channel, block[1], texts)
        del texts[count:]
        return not (self.found or (self._waits and watch.doubt))

    def convict_piece(self, event: Event, piece: Piece) -> None:
        """Judge an event of one piece in which something was found. It is forwarded unless the finding acts."""
        said = (piece,)
        if not self._judge.convict(self.found, piece.text, FoundAt(event, said, 0, ())):
            self._outlet.forward(event, said)

    def wait(self, raw: bytes, piece: Piece, now: float) -> None:
        """Let an event of one piece wait while the monitors doubt it; else forward it, behind all that waited."""
        outlet = self._outlet
        if self.watch is not None and self.watch.doubt:
            outlet.wait(raw, piece, now)
            return
        self._doubt.calm()
        self._doubt.now = now
        outlet.settle()
        outlet.forward_piece(raw, piece)

    # any event -----------------------------------------------------------------------------------------------
    def error(self, event: Event) -> bool:
        """Is this event an error by the provider's error rules? Then the answer has ended or halted."""
        errors, heads = self._errors, self._heads
        if errors is None or event.data is None or (self._outlet.codec.again and not self._broad):
            return False
        body = event.json
        # Most events have none of the members that the rules ask for.
        if body is None or (type(body) is dict and heads is not None and heads.isdisjoint(body)):
            return False
        failure = errors.failure(body)
        if failure is None:
            self._broad = True
            return False
        self._judge.broken(failure)
        return True

    def handle(self, event: Event, deltas: Sequence[Delta], now: float, feed: Feed | None = None) -> None:
        """Handle an event of any kind. `feed`: shows a text to the monitors, where not the watch itself does."""
        if self.splice is not None:
            self._join(self.splice, event, deltas, now)
        else:
            self._take(event, deltas, now, feed)

    def _join(self, splice: Splice, event: Event, deltas: Sequence[Delta], now: float) -> None:
        """Take an event at the splice: it waits until it is clear how much of its text the client already has."""
        if any(map(says, deltas)):
            self.last_data = now
        self._joined(splice, splice.take(self._outlet.codec, event, deltas), now)

    def _joined(self, splice: Splice, ready: Sequence[tuple[Event, Sequence[Delta]]], now: float) -> None:
        """Take the events that may go on at the splice."""
        if (refused := splice.refused) is not None:
            self._outlet.halt(refused)
            return
        if splice.over:
            self.splice = None
        for waiting, left in ready:
            self._take(waiting, left, now)
            if self._outlet.over:
                return

    def _take(self, event: Event, deltas: Sequence[Delta], now: float, feed: Feed | None = None) -> None:
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
        if self._one:
            outlet.ended |= {choice for choice in map(choice_of, deltas) if choice}
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
        deltas, acted = self._judge.look(event, deltas, feed)
        if not (acted or self._judge.server_cuts) and (told := self._told_of(deltas)) is not None:
            if isinstance(told, Failure):
                outlet.halt(told)
                return
            outlet.codec.mark(event, told)
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
        if outlet.transcript.done:
            outlet.finish()
        elif (cut := self._judge.finding) is not None and not outlet.transcript.unfinished and not outlet.hold.queue:
            outlet.halt(cut)  # the other choices have ended by themselves

    def _told_of(self, deltas: Sequence[Delta]) -> Mapping[str, Any] | Failure | None:
        """What is told of the end of a healed answer; None where this is no end, or no healed answer."""
        if self._told is None:
            return None
        finish = next((delta for delta in deltas if type(delta) is Finish), None)
        return self._told(finish.reason) if finish is not None else None

    def _truncated(self, deltas: Sequence[Delta]) -> bool:
        """Does the only choice end for length here, without text in the same event and without any call?"""
        outlet = self._outlet
        if self._ask.choices > 1 or outlet.hold.calls:
            return False
        if any(isinstance(delta, Piece) and delta.text for delta in deltas):
            return False
        if any(shape.channel is TOOL for shape in outlet.transcript.shapes.values()):
            return False
        return any(isinstance(delta, Finish) and finish_word(delta.reason) == "length" for delta in deltas)

    def end_of_body(self) -> None:
        """The body has ended cleanly, and all its events were handled."""
        outlet = self._outlet
        ends = outlet.codec.ended()
        if ends and self.splice is not None:
            self._joined(self.splice, self.splice.rest(outlet.codec), self.last_data or 0.0)
            if outlet.over:
                return
        if isinstance(told := self._told_of(ends), Failure):
            outlet.halt(told)
            return
        if told is not None:
            outlet.codec.mark_end(told)
        for delta in ends:
            outlet.transcript.note(delta)
        self._judge.ends(self.events)
