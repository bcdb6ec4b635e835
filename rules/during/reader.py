"""From an upstream's bytes to handled events. `Reader.run` is the life of one answer, read from top to bottom.

It is a generator, as a parser that can be resumed (the model is `parse` in the websockets library): where it needs more
bytes, or has used up its turn, it yields and later goes on in the same line. Three kinds of events are told apart:

1. Events that differ from the last one in their text alone. `_quickly` reads them without parsing: runs of them at
   once where the wire can (`Codec.alike`), else one by one (`Codec.quick`).
2. One event with a long text. It is looked at over several turns (`Lookahead`).
3. Any other event: it is decoded, read by the wire's codec, and given to the `EventHandler`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Final

from ..detect.watch import Watch
from ..framing.framing import EventDecoder
from ..framing.sse import Event, EventTooLarge
from ..values.delta import Block, Channel, Delta, Piece
from ..values.failures import Failure, Kind, Phase
from .event_handler import EventHandler
from .lookahead import Lookahead, weight
from .outlet import Outlet

TOOL = Channel.TOOL
TURN: Final = 768
"""The cost of one turn, in ASCII characters looked at: about half a millisecond with the default pack."""
EVENT: Final = 4
"""The cost of an event beside its text, in the same unit."""
PARSED: Final = 16
"""The same for an event that takes the long way."""
READ: Final = 1 << 15
"""Bytes decoded at once."""
LONG: Final = 256
"""Characters of text in one event up to which it is looked at in one step; longer ones use a Lookahead."""
ALONE: Final = 3
"""Events in a row that are decoded one by one, in the hope that those behind them are like them: so many begin a
stream before its first text. Where none is, whole reads are decoded."""
FEW: Final = 4
"""So many events, or fewer, are decoded together: mostly the last ones of an answer (30 calls of a stream of 20)."""

Looked = tuple[int, int, Piece, bool]
"""(first byte of an event, first byte behind it, its piece, were the monitors calm)."""


class Reader:
    """Reads one answer."""

    __slots__ = ("_alone", "_cuts", "_decoder", "_handler", "_left", "_now", "_outlet", "_received", "ended")

    def __init__(self, decoder: EventDecoder, handler: EventHandler, outlet: Outlet) -> None:
        self._decoder = decoder
        self._handler = handler
        self._outlet = outlet
        watch = handler.watch
        self._cuts = watch is not None and not (isinstance(watch, Watch) and watch.by_piece)
        """A long text may be shown to the monitors in parts: no monitor depends on how the text is cut."""
        self._alone = ALONE
        self._received: deque[bytes] = deque()
        """Bytes that are not decoded yet."""
        self.ended = False
        """The upstream has ended its body: when all that was received is read, so is the answer."""
        self._now = 0.0
        """When this turn began, in seconds of the caller's clock."""
        self._left = TURN
        """What is left of this turn, in the unit of TURN."""

    def receive(self, chunk: bytes) -> None:
        """Take bytes of the upstream, for `run` to read."""
        if len(chunk) <= READ:
            if chunk:
                self._received.append(chunk)
        else:
            self._received += (chunk[at : at + READ] for at in range(0, len(chunk), READ))

    def begin_turn(self, now: float) -> None:
        """A new turn begins. To be called before `run` is resumed, and before `uneasy`."""
        self._now = now
        self._left = TURN

    def run(self) -> Generator[bool, None, None]:
        """Read the answer to its end. Yields False where it needs more bytes, True where its turn is used up.

        It ends by itself when nothing more may be forwarded (`Outlet.over`)."""
        decoder, outlet, received = self._decoder, self._outlet, self._received
        while received or not self.ended:
            if not received:
                yield False
                continue
            chunk = received.popleft()
            while chunk:
                if self._left <= 0:
                    yield True
                chunk = chunk[self._quickly(chunk) :]
                if outlet.over:
                    return
                if not chunk or self._left <= 0:
                    continue
                chunk, behind = self._first(chunk)
                try:
                    events = decoder.feed(chunk)
                except EventTooLarge as large:
                    yield from self._events(large.events)
                    if not outlet.over:
                        outlet.halt(_too_large(large))
                    return
                yield from self._events(events)
                if outlet.over:
                    return
                chunk = behind
            if received:
                yield True  # decoding costs, too: what comes next has a turn of its own
        # The last event may stand in the decoder without its blank line.
        yield from self._events(decoder.eof())
        if not outlet.over:
            self._handler.end_of_body()

    def _events(self, events: Iterable[Event]) -> Generator[bool, None, None]:
        """Read and handle decoded events. Ends early where nothing more may be forwarded."""
        outlet, handler = self._outlet, self._handler
        codec, hold, watch = outlet.codec, outlet.hold, handler.watch
        read, write = codec.read, codec.write
        for event in events:
            if self._left <= 0:
                yield True
            deltas = read(event)
            if handler.tags is not None:
                deltas = handler.told_apart(event, deltas)
            if handler.error(event):
                return
            if self._cuts and len(event.raw) > 2 * LONG and handler.splice is None and _size(deltas) > LONG:
                assert watch is not None
                ahead = Lookahead(watch, deltas, outlet.ended)
                for cost in ahead.steps:
                    self._left -= cost
                    if self._left <= 0:
                        yield True
                handler.handle(event, deltas, self._now, ahead.feed)
                self._left = 0
            elif (
                len(deltas) == 1
                and type(deltas[0]) is Piece
                and not hold.calls
                and not hold.queue
                and not outlet.ended
                and deltas[0].channel is not TOOL
                and deltas[0].text
                and handler.splice is None
            ):
                # The usual event: one piece of text, and nothing is held.
                piece = deltas[0]
                handler.events += 1
                handler.last_data = self._now
                self._left -= EVENT + weight(piece.text)
                if handler.calm(piece):
                    outlet.forward_piece(write(event, deltas), piece)
                elif handler.found:
                    handler.convict_piece(event, piece)
                else:
                    handler.wait(write(event, deltas), piece, self._now)
            else:
                handler.handle(event, deltas, self._now)
                self._left -= PARSED
                for delta in deltas:
                    if type(delta) is Piece:
                        self._left -= weight(delta.text)
            if outlet.over:
                return

    # events that differ from the last one in their text alone ------------------------------------------------
    def quick(self) -> Callable[[bytes], Piece | None] | None:
        """The codec's reader for such an event. None while anything is held, joined, left out or half received."""
        quick = self._outlet.codec.quick
        if quick is None or not self._handler.usual or not self._decoder.clear:
            return None
        tags = self._handler.tags
        return quick if tags is None or not tags.watching else None

    def uneasy(self, raw: bytes, piece: Piece) -> None:
        """Handle such an event where the monitors are not calm about it."""
        if self._handler.found:
            (event,) = self._decoder.feed(raw)
            self._outlet.codec.unread()
            self._handler.convict_piece(event, piece)
        else:
            self._handler.wait(raw, piece, self._now)

    def _quickly(self, chunk: bytes) -> int:
        """Handle such events at the beginning of these bytes, until the turn is used up. Returns their size in bytes.
        Calm events go on together: `begin` is the first byte that was not forwarded."""
        quick, outlet, handler, note = self.quick(), self._outlet, self._handler, self._outlet.transcript.piece
        begin = at = 0
        alike = outlet.codec.alike  # where there is one, `quick` is its `match`
        while quick is not None and at < len(chunk) and self._left > 0:
            if alike is not None and not alike.begins(chunk, at):
                break  # neither finds anything then
            looked = self._look_at_run(chunk, at) or self._look_at_one(chunk, at, quick)
            if looked is None:
                break
            start, at, piece, calm = looked
            handler.events += 1
            self._left -= EVENT + weight(piece.text)
            if calm:
                note(piece)
            else:
                outlet.pass_on(chunk[begin:start])
                self.uneasy(chunk[start:at], piece)
                begin = at
                quick = self.quick()
        if at:
            handler.last_data = self._now
            outlet.pass_on(chunk[begin:at])
        return at

    def _look_at_one(self, chunk: bytes, at: int, quick: Callable[[bytes], Piece | None]) -> Looked | None:
        """Look at the event from `at` on; None where it has to be decoded."""
        mark = self._decoder.mark
        end = chunk.find(mark, at) + len(mark)
        if end < len(mark) or end - at > 2 * LONG or (piece := quick(chunk[at:end])) is None:
            return None
        return at, end, piece, self._handler.calm(piece)

    def _look_at_run(self, chunk: bytes, at: int) -> Looked | None:
        """Look at a run of events from `at` on, all at once: one split, one decode and one look (35 calls an event
        otherwise). A run ends where the monitors are not calm. All events but the last are noted here; the last one is
        returned. None: there is no run."""
        alike = self._outlet.codec.alike
        if alike is None or not self._handler.takes_runs:
            return None
        texts, ends = alike.run(chunk, at, max(1, self._left // EVENT))
        if not texts:
            return None
        left = self._left
        wide = 1 if "".join(texts).isascii() else 3
        begin = at
        for number, size in enumerate(map(len, texts)):
            left -= EVENT + size * wide
            if ends[number] - begin > 2 * LONG:
                del texts[number:]
                break
            begin = ends[number]
            if left <= 0:
                del texts[number + 1 :]
                break
        if not texts:  # the first one is long
            return None
        block, channel = alike.plain
        calm = self._handler.calm_run(block, channel, texts)
        text, end = texts.pop(), ends[len(texts)]
        if texts:
            self._alone = ALONE
            self._left -= weight("".join(texts)) + EVENT * len(texts)
            self._handler.events += len(texts)
            self._note(block, channel, texts)
            at = ends[len(texts) - 1]
        return at, end, Piece(block, channel, text), calm

    def _note(self, block: Block, channel: Channel, texts: list[str]) -> None:
        """Note texts that follow each other as shown, together where no limit falls among them."""
        shown, text = self._outlet.transcript, "".join(texts)
        if shown.keep and shown.kept + len(text) > shown.limit:
            for text in texts:
                shown.piece(Piece(block, channel, text))
        else:
            shown.piece(Piece(block, channel, text))

    def _first(self, chunk: bytes) -> tuple[bytes, bytes]:
        """(the bytes to decode now, those behind them): only one event, where some behind it may be like it."""
        if self._alone and self._outlet.codec.alike is not None:
            mark = self._decoder.mark
            end = chunk.find(mark) + len(mark)
            if len(mark) <= end and FEW * end < len(chunk):
                self._alone -= 1
                return chunk[:end], chunk[end:]
        return chunk, b""


def _size(deltas: Sequence[Delta]) -> int:
    """Characters of text in these deltas."""
    return sum(len(delta.text) for delta in deltas if type(delta) is Piece)


def _too_large(large: EventTooLarge) -> Failure:
    return Failure(Phase.STREAM, Kind.SERVER, str(large), code="streamfuse_event_too_large")
