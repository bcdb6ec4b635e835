"""Thinking that stands in the text itself, between `<think>` and `</think>`, at the beginning of an answer.

Servers without a reasoning parser send it this way (DeepSeek's and Qwen's models, older builds of Ollama). A loop in it
is judged by the bars of thinking. A cut closes the tag, because clients would show no answer otherwise. A heal goes on
behind the tag. Its pieces become pieces of reasoning in a block of their own; the bytes stay as they are.

The second answer of a heal may bring thinking of its own. It goes on inside the client's tag where that is still open,
and is not shown otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from ..values.delta import Block, Channel, Close, Delta, Open, Piece
from ..values.transcript import Transcript
from .sse import Event

BEGIN: Final = "<think>"
END: Final = "</think>"
CLOSING: Final = f"\n{END}\n\n"
"""What closes the tag in the client's text."""
THINK: Final[Block] = (0, "think")
HIDDEN: Final[Block] = (0, "hidden thinking")


class Stripping(Protocol):
    """What is needed of the codec of a second answer."""

    shown: Transcript | None

    def strip(self, event: Event, deltas: Sequence[Delta], chars: int) -> Sequence[Delta]:
        """Remove the first characters of visible text from an event."""


def inside(transcript: Transcript) -> bool:
    """Does what the client was shown end inside the tag?"""
    shape = transcript.shapes.get(THINK)
    if shape is None or not shape.open:
        return False
    return not any(one.channel is Channel.TEXT and one.chars for one in transcript.shapes.values())


class ThinkTags:
    """Looks for the tag in the only choice of an answer."""

    __slots__ = ("_begun", "_block", "_later", "_tail", "over")

    def __init__(self, later: Stripping | None = None) -> None:
        """`later`: the codec of a second answer, whose tag the client must not see."""
        self._later = later
        self._block = THINK
        self._begun = False
        self._tail = ""
        self.over = False
        """No more thinking comes: the tag is closed, or the text began without one."""

    @property
    def ended(self) -> bool:
        """The tag was closed behind the client's own."""
        return self._begun and self.over and self._block is THINK

    @property
    def inside(self) -> bool:
        """The text is inside the tag."""
        return self._begun and not self.over

    def marked(self, event: Event, deltas: Sequence[Delta]) -> Sequence[Delta]:
        """The deltas of an event, with what stands inside the tag as reasoning."""
        for delta in deltas:
            if _visible(delta):
                break
        else:
            return deltas
        hidden = 0
        said: list[Delta] = []
        for delta in deltas:
            if self.over or not _visible(delta):
                said.append(delta)
                continue
            if type(delta) is not Piece or delta.channel is not Channel.TEXT or delta.block[0] != 0:
                self.over = self.over or not self._begun
                said.append(delta)
                continue
            text, tag = delta.text, 0
            if not self._begun:
                bare = text.lstrip()
                if not bare.startswith(BEGIN):
                    self.over = True
                    said.append(delta)
                    continue
                self._begin()
                tag = len(text) - len(bare) + len(BEGIN)
            size = self._end(text, tag)
            if self._later is not None:
                hidden += size if self._block is HIDDEN else tag
            said.append(Piece(self._block, Channel.REASONING, text[:size]))
            if self.over:
                said.append(Close(self._block))
                if text[size:]:
                    said.append(delta._replace(text=text[size:]))
        if hidden and self._later is not None:
            self._later.strip(event, deltas, hidden)
        return said

    def _begin(self) -> None:
        self._begun = True
        shown = self._later.shown if self._later is not None else None
        if shown is None or not shown.shapes:
            self._later = None
        elif not inside(shown):
            self._block = HIDDEN

    def _end(self, text: str, begin: int) -> int:
        """How many characters of this piece are inside the tag, itself included."""
        heard = self._tail + text[begin:]
        at = heard.find(END)
        if at < 0:
            self._tail = heard[1 - len(END) :]
            return len(text)
        self.over = True
        return at + len(END) - len(self._tail) + begin


def _visible(delta: Delta) -> bool:
    """Text or a call: before anything of them the tag may still come."""
    if type(delta) is Piece:
        return bool(delta.text) and delta.channel is not Channel.REASONING
    return type(delta) is Open and delta.channel is Channel.TOOL


def marked_whole(deltas: Sequence[Delta]) -> tuple[Sequence[Delta], Block | None, int]:
    """(the deltas of a whole answer, the block that the thinking stands in, how many characters of that it is). The
    very same deltas where there is none."""
    first = next((delta for delta in deltas if _visible(delta)), None)
    if type(first) is not Piece or first.channel is not Channel.TEXT or not first.text.lstrip().startswith(BEGIN):
        return deltas, None, 0
    size = first.text.find(END)
    size = len(first.text) if size < 0 else size + len(END)
    out: list[Delta] = []
    for delta in deltas:
        if delta is not first:
            out.append(delta)
            continue
        out.append(Piece((first.block[0], THINK[1]), Channel.REASONING, first.text[:size]))
        if first.text[size:]:
            out.append(first._replace(text=first.text[size:]))
    return out, first.block, size
