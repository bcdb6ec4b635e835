"""Deltas: the neutral form of an event, which every wire produces and every monitor reads.

A wire turns one event into a list of deltas; nothing here knows a protocol. They are named tuples, not dataclasses,
because one or two are made for every event of every stream (0.25 µs against 1 µs, measured).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias


class Channel(IntEnum):
    """The kind of output that a piece of text belongs to."""

    TEXT = 0
    REASONING = 1
    TOOL = 2
    REFUSAL = 3
    STEPS = 4
    """Not output: the steps of the history in a request."""

    @property
    def label(self) -> str:
        """The word used in metrics, the journal and config: text, reasoning, tool, refusal, steps."""
        return self.name.lower()


Block: TypeAlias = tuple[int, str]
"""(choice, key): one run of output. The key is the wire's own, unique within one answer."""


class Head(NamedTuple):
    """Identity of the answer (id, model, created, role, …); the first value of each field counts."""

    fields: Mapping[str, Any]


class Open(NamedTuple):
    """A block begins. `name` is the tool's name where there is one; `fields` holds the wire's own data about the block.

    `free` in the fields, where true: the tool's input is text, not JSON. `again`: the choice goes on behind a finish.

    A second Open of the same block only adds to its fields (a late name, an annotation).
    """

    block: Block
    channel: Channel
    name: str = ""
    fields: Mapping[str, Any] = {}


class Piece(NamedTuple):
    """More text of a block. A wire without explicit block starts may send Piece without Open.

    Empty text only ties the event to its block, so that it is held with it; no monitor sees it.
    """

    block: Block
    channel: Channel
    text: str


class Close(NamedTuple):
    """A block is complete: the upstream said so, or the grammar implies it."""

    block: Block
    fields: Mapping[str, Any] = {}


class Finish(NamedTuple):
    """A choice has ended with the wire's own reason (stop, end_turn, tool_calls, …)."""

    choice: int
    reason: str
    fields: Mapping[str, Any] = {}


class Usage(NamedTuple):
    """Token counts, in the wire's own keys."""

    counts: Mapping[str, Any]


class Fault(NamedTuple):
    """The upstream reports an error inside the stream. `body` is the whole parsed event."""

    code: str | int | None
    message: str
    body: Mapping[str, Any]


class Done(NamedTuple):
    """The terminal event of the wire ([DONE], message_stop, response.completed): nothing may follow."""


class Unknown(NamedTuple):
    """An event of this wire with content that we do not read. It is forwarded and counts as shown."""

    kind: str


class Malformed(NamedTuple):
    """An event that is not of this wire (a word, a bare list, an empty object). It is dropped and counted."""

    why: str
    torn: bool = False
    """It may have carried content that is now lost, so the upstream's answer has failed."""


Delta: TypeAlias = Head | Open | Piece | Close | Finish | Usage | Fault | Done | Unknown | Malformed


def choice_of(delta: Delta) -> int | None:
    """The choice that a delta belongs to."""
    kind = type(delta)
    if kind is Piece or kind is Open or kind is Close:
        return delta.block[0]  # type: ignore[union-attr]
    return delta.choice if kind is Finish else None  # type: ignore[union-attr]


def says(delta: Delta) -> bool:
    """Does the client see content here, which a later attempt must not contradict?"""
    kind = type(delta)
    if kind is Piece:
        return bool(delta.text)  # type: ignore[union-attr]
    if kind is Open:
        return delta.channel is Channel.TOOL  # type: ignore[union-attr]
    return kind is Finish or kind is Unknown or kind is Done
