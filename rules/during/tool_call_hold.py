"""Keeps the events of a tool call back until the call is complete.

The reason: a client that is shown half a call may complete its JSON and run it (pi, Qwen Code, LangChain; see
docs/sources.md). A call that was never shown cannot be run, so the answer can still be cut, retried or failed.

A call is in one of three states:

- *held*: it is open, and its events wait in the queue. The later events of its choice wait too, which keeps the order
  within the choice; events of other choices pass. Meanwhile the client may be sent heartbeats, and nothing else of
  this choice.
- *loose*: the queue has outgrown `limit`, so the call is forwarded piece by piece. After that it can no longer be taken
  back: an answer that breaks off here ends with an error, not with a normal finish. `limit` 0 makes every call loose.
- *closed*: it is complete, and its events may leave. The wire says so (`Close`), or, on wires that never say it, its
  arguments are complete JSON. A choice that ends inside a call closes it as a half call, whose events are dropped.

The hold knows only which blocks and choices an event belongs to, not the protocol.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile
from operator import is_
from typing import NamedTuple, TypeGuard

from ..framing.sse import Event
from ..values.delta import Block, Channel, Close, Delta, Finish, Head, Open, Piece, Usage, says
from ..values.json import is_json
from ..wires.base import Codec
from ..wires.server_cuts import BROKEN_OFF

_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')
_NEVER = -1 << 40
"""A bracket depth that can never return to 0."""


def broken_off(arguments: str, reason: str) -> bool:
    """Are these arguments incomplete, in a whole answer that ended for this reason?"""
    call = HeldCall("", loose=False)
    call.feed(arguments)
    return call.cut_by(reason)


class Brackets:
    """Tracks the brackets of JSON text as it comes, at an amortised cost of O(1) a character. `whole`: the outermost
    bracket has closed, and only white space came after it."""

    __slots__ = ("_depth", "_escaped", "_inside", "whole")

    def __init__(self) -> None:
        self._depth = 0
        self._inside = False
        self._escaped = False
        self.whole = False

    @property
    def open(self) -> bool:
        """Does the text end inside a bracket or a string?"""
        return self._depth > 0 or (self._inside and self._depth == 0)

    def feed(self, text: str) -> None:
        """Take more of the text."""
        at = 0
        if self._escaped and text:
            self._escaped = False
            at = 1
        if (self.whole or self._depth == 0) and text[at:].strip():
            if self.whole or text[at:].lstrip()[0] not in "{[":
                self._depth = _NEVER  # not JSON, or more text after its end: only the wire can close this call now
            self.whole = False
        while True:
            found = (_INSIDE if self._inside else _OUTSIDE).search(text, at)
            if found is None:
                return
            at = found.end()
            mark = found[0]
            if mark == '"':
                self._inside = not self._inside
            elif mark == "\\":
                at += 1
                self._escaped = at > len(text)
            elif mark in "{[":
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth == 0:
                    self.whole = not text[at:].strip()
                    if not self.whole:
                        self._depth = _NEVER


class HeldCall:
    """A tool call that is not complete yet."""

    __slots__ = ("brackets", "free", "loose", "name", "parts")

    def __init__(self, name: str, loose: bool) -> None:
        self.name = name
        self.free = False
        """Its input is text, not JSON, so only the wire can say when it is complete."""
        self.loose = loose
        """It is forwarded piece by piece."""
        self.parts: list[str] = []
        self.brackets = Brackets()

    def feed(self, text: str) -> None:
        """Take more of its arguments."""
        self.brackets.feed(text)
        if not self.loose:
            self.parts.append(text)

    @property
    def arguments(self) -> str:
        """All arguments so far; "" once the call is loose."""
        return "".join(self.parts)

    @property
    def begun(self) -> bool:
        """Has any argument come?"""
        return self.loose or any(part.strip() for part in self.parts)

    @property
    def whole(self) -> bool:
        """Are the arguments complete JSON?"""
        return not self.free and self.brackets.whole and (self.loose or is_json(self.arguments))

    @property
    def half(self) -> bool:
        """Do the arguments end inside a bracket or a string? Broken JSON with matching brackets is a mistake of the
        model, not half a call: the agent reports it to the model."""
        return not self.free and not self.loose and self.brackets.open

    def cut_by(self, reason: str) -> bool:
        """Is the call incomplete, where the answer has ended for this reason? A limit or a filter ends an answer
        anywhere, so then a call is complete only if it is whole JSON or the wire has closed it."""
        return not self.loose and (self.half or (reason in BROKEN_OFF and not self.whole))

    @property
    def evident(self) -> bool:
        """Is the call certainly complete? An empty object is not: some servers send it first as a place holder."""
        return self.whole and (self.loose or self.arguments.strip() != "{}")


class Held(NamedTuple):
    """An event in the queue, with the choices that it belongs to."""

    event: Event
    deltas: Sequence[Delta]
    choices: frozenset[int]


class CutEvent(NamedTuple):
    """The event that a loop was found in."""

    event: Event
    deltas: Sequence[Delta]
    kept: Sequence[Delta | None]
    """For each delta what may go on of it, where the calls allow it: itself, a shorter piece, or nothing."""
    closed: Collection[Block]
    """Calls that turned out to be complete in it."""

    @property
    def says(self) -> bool:
        """May anything go on that the client would see?"""
        return any(delta is not None and says(delta) for delta in self.kept)


class ToolCallHold:
    """The open calls of one answer, and the queue of events that wait for them."""

    __slots__ = ("_queued", "_stirred", "calls", "limit", "over", "queue", "size")

    def __init__(self, limit: int) -> None:
        """`limit`: bytes of events in the queue, at most. 0 = nothing is held."""
        self.limit = limit
        self.calls: dict[Block, HeldCall] = {}
        self.over: set[Block] = set()
        """Calls that are closed."""
        self.queue: list[Held] = []
        self.size = 0
        self._queued: set[int] = set()
        """Choices that have an event in the queue."""
        self._stirred = False
        """Something happened that may release events. Without it the queue of a long call would be searched for each
        fragment."""

    def open(self, block: Block, name: str = "", *, free: bool = False) -> HeldCall:
        """Return the open call of this block; begin one where there is none. `free`: its input is text, not JSON."""
        call = self.calls.get(block)
        if call is None:
            call = self.calls[block] = HeldCall(name, loose=self.limit == 0)
        elif name and not call.name:
            call.name = name
        call.free |= free
        return call

    def feed(self, block: Block, text: str) -> HeldCall | None:
        """Take more arguments of a call. None where the call is closed and the text is only white space."""
        if block in self.over and not text.strip():
            return None
        call = self.open(block)
        call.feed(text)
        return call

    def close(self, block: Block) -> HeldCall:
        """Close this call: it is complete, or the wire has ended it."""
        self.over.add(block)
        self._stirred = True
        return self.calls.pop(block)

    def waiting(self) -> set[int]:
        """Choices whose events must wait, because they have a held call or an event in the queue."""
        return self._held() | self._queued

    def _held(self) -> set[int]:
        return {block[0] for block, call in self.calls.items() if not call.loose}

    def keep(self, event: Event, deltas: Sequence[Delta], choices: Iterable[int]) -> None:
        """Add an event to the queue. Over the limit all open calls become loose."""
        event.rest()
        held = Held(event, deltas, frozenset(choices))
        self.queue.append(held)
        self._queued |= held.choices
        self._stirred = self._stirred or held.choices.isdisjoint(self._held())
        self.size += len(event.raw)
        if self.size > self.limit:
            self._stirred = True
            for call in self.calls.values():
                call.loose = True
                call.parts.clear()

    def released(self) -> list[Held]:
        """Remove and return the events that no longer have to wait, in order."""
        if not self._stirred:
            return []
        closed = self._held()
        self._stirred = False
        out, left = [], []
        for held in self.queue:
            if held.choices & closed:
                closed |= held.choices
                left.append(held)
            else:
                out.append(held)
                self.size -= len(held.event.raw)
        self.queue = left
        self._queued = set().union(*(held.choices for held in left))
        return out

    def taken(self) -> list[Held]:
        """Remove and return every event of the queue, in order."""
        out, self.queue, self.size = self.queue, [], 0
        self._queued.clear()
        return out

    def spared(self, choice: int, codec: Codec, cut: CutEvent | None = None, looped: Block | None = None) -> list[Held]:
        """What this choice said before a loop, as events of their own, in order. Nothing is taken out of the queue.

        A call leaves whole or not at all, and none behind one that does not leave, because clients number calls without
        gaps. Text leaves as far as it stands before the first call that does not. `cut`: the event that the loop was
        found in. `looped`: the call that looped, where it is closed."""
        if (self.queue and not codec.divides) or not (self.queue or (cut is not None and cut.says)):
            return []
        parts: list[tuple[Event, Sequence[Delta], Sequence[Delta | None]]]
        parts = [(held.event, held.deltas, held.deltas) for held in self.queue if choice in held.choices]
        closed: set[Block] = set()
        if cut is not None:
            parts.append((cut.event, cut.deltas, cut.kept))
            closed = set(cut.closed)
        told = [delta for _, _, kept in parts for delta in kept if delta is not None]
        closed |= {delta.block for delta in told if type(delta) is Close}
        whole = closed - self.calls.keys() - {looped}
        calls = dict.fromkeys(delta.block for _, deltas, _ in parts for delta in deltas if _of_call(delta, choice))
        leaving = set(takewhile(whole.__contains__, calls))
        out: list[Held] = []
        past = False
        for event, deltas, kept in parts:
            wanted: list[Delta | None] = []
            for delta in kept:
                block = delta.block if isinstance(delta, Open | Piece | Close) else None
                if block in calls:
                    past = past or block not in leaving
                    goes = block in leaving
                elif isinstance(delta, Head | Usage):
                    goes = True
                else:
                    goes = not past and type(delta) is not Finish and (block is None or block[0] == choice)
                wanted.append(delta if goes else None)
            left = [delta for delta in wanted if delta is not None]
            if len(left) == len(deltas) and all(map(is_, left, deltas)):
                out.append(Held(event, left, frozenset({choice})))
            elif any(map(says, left)):
                made = codec.only(event, deltas, wanted)
                if made is None:
                    return []
                out.append(Held(made, left, frozenset({choice})))
        if cut is not None and out and (ends := [Close(block) for block in cut.closed if block in leaving]):
            out[-1] = out[-1]._replace(deltas=[*out[-1].deltas, *ends])
        return out

    def drop(self) -> None:
        """Forget all calls and events: what was held is never shown."""
        self.calls.clear()
        self.taken()


def _of_call(delta: Delta, choice: int) -> TypeGuard[Open | Piece]:
    return isinstance(delta, Open | Piece) and delta.channel is Channel.TOOL and delta.block[0] == choice
