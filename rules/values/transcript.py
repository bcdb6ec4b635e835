"""What the client has been shown of one answer. Endings, splices and retry decisions are made from it.

A delta is noted when its event is forwarded, not when it is read. Text is kept only where the wire needs it to close an
answer (`keep`), up to a limit. Over the limit `whole` turns False, and the answer can no longer be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol

from .delta import Block, Channel, Close, Delta, Done, Fault, Finish, Head, Open, Piece, Unknown, Usage


class Shown(IntEnum):
    """The strongest thing that the client has been shown, which no later attempt may contradict."""

    NOTHING = 0
    REASONING = 1
    TEXT = 2
    TOOL = 3
    FINISHED = 4


_SHOWN = tuple(
    {Channel.TOOL: Shown.TOOL, Channel.REASONING: Shown.REASONING}.get(channel, Shown.TEXT) for channel in Channel
)
"""What the client has seen after a piece of each channel, indexed by the channel's number."""


class Shape:
    """One block, as the client has it."""

    __slots__ = ("block", "channel", "chars", "fields", "name", "open", "parts")

    def __init__(self, block: Block, channel: Channel, name: str, fields: Mapping[str, Any]) -> None:
        self.block = block
        self.channel = channel
        self.name = name
        self.fields: dict[str, Any] = dict(fields)
        self.open = True
        self.chars = 0
        self.parts: list[str] = []

    @property
    def text(self) -> str:
        """The shown text, as far as it was kept."""
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""

    def __repr__(self) -> str:
        state = "open" if self.open else "closed"
        return f"<{self.channel.label} {self.block} {state} {self.chars} chars>"


class TextListener(Protocol):
    """An object that gets the visible text, for example to make a digest of it."""

    def hear(self, block: Block, text: str) -> None:
        """More of a text block."""


class Transcript:
    """The client's view of one answer, over all attempts that contributed to it."""

    __slots__ = (
        "choices", "done", "earlier", "expected", "fault", "finished", "head", "keep", "kept", "limit", "listener",
        "memory", "odd", "resent", "shapes", "shown", "usage", "whole",
    )  # fmt: skip

    def __init__(self, *, keep: bool = False, limit: int = 4 << 20) -> None:
        """`keep`: keep the text of blocks, at most `limit` characters. Needed to close a Responses answer, and to
        resume."""
        self.keep = keep
        self.limit = limit
        self.kept = 0
        self.whole = True
        self.head: dict[str, Any] = {}
        self.memory: dict[str, Any] = {}
        """The codec's own notes on what was sent (Responses: the last sequence number)."""
        self.earlier = 0
        """Output tokens of attempts that broke off, as far as counted: about one an event."""
        self.resent: int | None = None
        """How many of `earlier` the newest request holds; None = all of them."""
        self.odd = False
        """Output was shown that we do not read (audio, citations, server tools)."""
        self.shapes: dict[Block, Shape] = {}
        self.expected = 1
        """Choices that the request asked for."""
        self.choices: set[int] = set()
        self.finished: dict[int, str] = {}
        self.usage: dict[str, Any] | None = None
        self.fault = False
        self.done = False
        self.shown = Shown.NOTHING
        self.listener: TextListener | None = None
        """Gets the visible text of choice 0 as it is sent."""

    def note(self, delta: Delta) -> None:
        """Note that the client has been sent this delta."""
        kind = type(delta)
        if kind is Piece:
            self.piece(delta)  # type: ignore[arg-type]
        elif kind is Open:
            self._open(delta)  # type: ignore[arg-type]
        elif kind is Close:
            self._close(delta)  # type: ignore[arg-type]
        elif kind is Finish:
            self.choices.add(delta.choice)  # type: ignore[union-attr]
            self.finished[delta.choice] = delta.reason  # type: ignore[union-attr]
            for shape in self.shapes.values():
                if shape.block[0] == delta.choice:  # type: ignore[union-attr]
                    shape.open = False
            if len(self.finished) >= max(len(self.choices), self.expected):
                self.shown = Shown.FINISHED
            else:  # the client has seen the end of one of several choices: it must not come twice
                self._see(Shown.TEXT)
        elif kind is Head:
            for key, value in delta.fields.items():  # type: ignore[union-attr]
                self.head.setdefault(key, value)
        elif kind is Usage:
            self.usage = dict(delta.counts)  # type: ignore[union-attr]
        elif kind is Unknown:
            self.odd = True
            self._see(Shown.TEXT)
        elif kind is Done:
            self.done = True
            self.shown = Shown.FINISHED
        elif kind is Fault:
            self.fault = True

    def _see(self, shown: Shown) -> None:
        if shown > self.shown:
            self.shown = shown

    def _open(self, delta: Open) -> None:
        self.choices.add(delta.block[0])
        if "again" in delta.fields and self.finished.pop(delta.block[0], None) is not None:
            self.shown = Shown.TEXT  # that finish was not the end: the choice goes on
        if delta.fields.get("tag"):
            self._tagged(delta)
            return
        shape = self.shapes.get(delta.block)
        if shape is None:
            self.shapes[delta.block] = Shape(delta.block, delta.channel, delta.name, delta.fields)
        else:
            shape.name = shape.name or delta.name
            shape.fields.update(delta.fields)
        if delta.channel is Channel.TOOL:
            self._see(Shown.TOOL)

    def _tagged(self, delta: Open) -> None:
        """The text so far was the beginning of a tag, so it is a part of the thinking (`think_tags`)."""
        thought = self.shapes.setdefault(delta.block, Shape(delta.block, delta.channel, "", {}))
        for shape in [s for s in self.shapes.values() if s.channel is Channel.TEXT and s.block[0] == delta.block[0]]:
            thought.chars += shape.chars
            thought.parts += shape.parts
            del self.shapes[shape.block]

    def piece(self, delta: Piece) -> None:
        """`note` for a Piece, the most frequent delta."""
        block, channel, text = delta
        shape = self.shapes.get(block)
        if shape is None:
            self.choices.add(block[0])
            shape = self.shapes[block] = Shape(block, channel, "", {})
        size = len(text)
        shape.chars += size
        if self.keep and self.whole:
            self.kept = kept = self.kept + size
            if kept > self.limit:
                self.whole = False
            else:
                parts = shape.parts
                parts.append(text)
                if len(parts) > 512:
                    shape.parts = ["".join(parts)]
        if size:
            shown = _SHOWN[channel]
            if shown is Shown.REASONING and block[1] == "think":
                shown = Shown.TEXT  # it stands in the client's text
            if shown > self.shown:
                self.shown = shown
            if self.listener is not None and channel is Channel.TEXT and block[0] == 0:
                self.listener.hear(block, text)

    def _close(self, delta: Close) -> None:
        shape = self.shapes.get(delta.block)
        if shape is not None:
            shape.open = False
            shape.fields.update(delta.fields)

    @property
    def unfinished(self) -> list[int]:
        """Choices seen and not finished, ascending."""
        return sorted(self.choices - self.finished.keys())

    def open_shapes(self, choice: int | None = None) -> list[Shape]:
        """Blocks still open, in the order they began."""
        return [s for s in self.shapes.values() if s.open and (choice is None or s.block[0] == choice)]

    def text(self, choice: int = 0, *, tagged: bool = False) -> str:
        """The visible text of a choice, as far as it was kept. `tagged`: behind the thinking that stood in it."""
        thought = self.shapes.get((choice, "think")) if tagged else None
        if thought is not None:
            return thought.text + self.text(choice)
        return "".join(s.text for s in self.shapes.values() if s.channel is Channel.TEXT and s.block[0] == choice)

    def visible(self, choice: int = 0) -> bool:
        """Has this choice shown any text, refusal or tool call (reasoning alone is not visible)?"""
        return any(
            s.block[0] == choice and (s.chars > 0 or s.channel is Channel.TOOL) and s.channel is not Channel.REASONING
            for s in self.shapes.values()
        )

    def __repr__(self) -> str:
        return f"<Transcript {self.shown.name} {list(self.shapes.values())} finished={self.finished} done={self.done}>"
