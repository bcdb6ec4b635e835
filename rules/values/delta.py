"""The neutral words that every wire speaks and every monitor hears.

A wire turns one event into a list of these; nothing here knows a protocol. They are named tuples, not
dataclasses, because one or two are made for every event of every stream (0.25 µs against 1 µs, measured).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias


class Channel(IntEnum):
    """What kind of output a piece of text is."""

    TEXT = 0
    REASONING = 1
    TOOL = 2
    REFUSAL = 3
    STEPS = 4
    """Not output at all: the steps of the history in a request."""

    @property
    def label(self) -> str:
        """The word used in metrics, the journal and config: text, reasoning, tool, refusal, steps."""
        return self.name.lower()


Block: TypeAlias = tuple[int, str]
"""(choice, key): one run of output. The key is the wire's own, unique within one answer."""


class Head(NamedTuple):
    """Identity of the answer (id, model, created, role, …); the first one seen wins."""

    fields: Mapping[str, Any]


class Open(NamedTuple):
    """A block begins. `name` is the tool's name where there is one; `fields` is the wire's own memory of it.

    A true `free` among them: the tool's input is text, not JSON.

    Said again of a block that is there, it only adds to its fields (a late name, an annotation).
    """

    block: Block
    channel: Channel
    name: str = ""
    fields: Mapping[str, Any] = {}


class Piece(NamedTuple):
    """More text of a block. A wire without explicit block starts may send Piece without Open.

    Empty text only ties the event to its block (it is held with it); no monitor hears it.
    """

    block: Block
    channel: Channel
    text: str


class Close(NamedTuple):
    """A block is complete, as the upstream said itself or as the grammar implies."""

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
    """An event of this wire that carries something we do not read; it passes, and the client has seen it."""

    kind: str


class Malformed(NamedTuple):
    """An event that is not of this wire at all (a word, a bare list, an empty object): dropped and counted."""

    why: str
    torn: bool = False
    """It may have carried something that the client now misses: the upstream's answer has failed."""


Delta: TypeAlias = Head | Open | Piece | Close | Finish | Usage | Fault | Done | Unknown | Malformed


def choice_of(delta: Delta) -> int | None:
    """The choice that a delta belongs to."""
    if isinstance(delta, Piece | Open | Close):
        return delta.block[0]
    return delta.choice if isinstance(delta, Finish) else None


def says(delta: Delta) -> bool:
    """Does the client learn something it cannot un-see?"""
    if isinstance(delta, Piece):
        return bool(delta.text)
    if isinstance(delta, Open):
        return delta.channel is Channel.TOOL
    return isinstance(delta, Finish | Unknown | Done)
