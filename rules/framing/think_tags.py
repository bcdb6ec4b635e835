"""Thinking that stands in the text itself, between `<think>` and `</think>`, at the beginning of an answer.

Servers without a reasoning parser send it this way (DeepSeek's and Qwen's models, older builds of Ollama). A loop in it
is judged by the bars of thinking. A cut closes the tag, because clients would show no answer otherwise. A heal goes on
behind the tag. Its pieces become pieces of reasoning in a block of their own; the bytes stay as they are.

The opening tag may come in several pieces. Until it is whole, its pieces count as text; then they become a part of the
thinking. Some templates put the opening tag into the prompt, so that the answer has the closing one alone. Where the
request itself opens the tag, it shows that; a whole answer shows it by a closing tag at the end of a line. A stream of
which nothing is known shows it too late: until the closing tag comes, its thinking is text like any other.

The second answer of a heal may bring thinking of its own. It goes on inside the client's tag where that is still open,
and is not shown otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from ..values.delta import Block, Channel, Close, Delta, Open, Piece
from ..values.json import newest
from ..values.transcript import Transcript
from .sse import Event

BEGIN: Final = "<think>"
END: Final = "</think>"
CLOSING: Final = f"\n{END}\n\n"
"""What closes the tag in the client's text."""
LONGEST_LEAD: Final = 64
"""Characters that may come before it is known whether an answer begins with the tag. More is white space."""
THINK: Final[Block] = (0, "think")
HIDDEN: Final[Block] = (0, "hidden thinking")


class Stripping(Protocol):
    """What is needed of the codec of a second answer."""

    shown: Transcript | None

    def strip(self, event: Event, deltas: Sequence[Delta], chars: int) -> Sequence[Delta]:
        """Remove the first characters of visible text from an event."""


_ALONE = re.compile(rf"\n\s*{END}\s*(?:\n|\Z)|{END}\s*\n")
"""A closing tag that does not stand in a sentence."""


def begun(body: Mapping[str, Any]) -> bool:
    """Does this request begin the thinking itself: a prompt that ends with the tag, or a beginning of the answer that
    has opened it and not closed it? Never raises."""
    prompt = newest(body, "prompt") if "prompt" in body else None
    if type(prompt) is str and prompt[-LONGEST_LEAD:].rstrip().endswith(BEGIN):
        return True
    last = newest(body, "messages")
    if type(last) is not dict or last.get("role") != "assistant" or type(text := last.get("content")) is not str:
        return False
    return text.lstrip().startswith(BEGIN) and END not in text


def undecided(text: str) -> bool:
    """May more text turn this into the beginning of a tag?"""
    return len(text) <= LONGEST_LEAD and BEGIN.startswith(text.lstrip()) and BEGIN not in text


def inside(transcript: Transcript) -> bool:
    """Does what the client was shown end inside the tag?"""
    shape = transcript.shapes.get(THINK)
    if shape is None or not shape.open:
        return False
    return not any(one.channel is Channel.TEXT and one.chars for one in transcript.shapes.values())


class ThinkTags:
    """Looks for the tag in the only choice of an answer."""

    __slots__ = ("_begun", "_block", "_later", "_lead", "_tail", "over")

    def __init__(self, later: Stripping | None = None, *, opened: bool = False) -> None:
        """`later`: the codec of a second answer, whose tag the client must not see. `opened`: the request has begun
        the thinking, so the answer begins inside the tag."""
        self._later = later
        self._block = THINK
        self._begun = opened
        self._lead = ""
        """Text so far that may become the tag."""
        self._tail = ""
        self.over = False
        """No more thinking comes: the tag is closed, or the text began without one."""

    @property
    def ended(self) -> bool:
        """The tag was closed behind the client's own."""
        return self._begun and self.over and self._block is THINK

    @property
    def watching(self) -> bool:
        """The text is inside the tag, or may become the tag: every piece of it must be looked at."""
        return (self._begun or bool(self._lead)) and not self.over

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
                heard = self._lead + text
                bare = heard.lstrip()
                if not bare.startswith(BEGIN):
                    self.over = not undecided(heard)
                    self._lead = "" if self.over else heard
                    said.append(delta)
                    continue
                self._begin()
                tag = len(heard) - len(bare) + len(BEGIN) - len(self._lead)
                if self._lead:
                    said.append(Open(self._block, Channel.REASONING, "", {"tag": self._later is None}))
                    self._lead = ""
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


def marked_whole(deltas: Sequence[Delta], *, opened: bool = False) -> tuple[Sequence[Delta], Block | None, int]:
    """(the deltas of a whole answer, the block that the thinking stands in, how many characters of that it is). The
    very same deltas where there is none. `opened`: the request has begun the thinking."""
    first = next((delta for delta in deltas if _visible(delta)), None)
    if type(first) is not Piece or first.channel is not Channel.TEXT:
        return deltas, None, 0
    begun = opened or first.text.lstrip().startswith(BEGIN)
    if not begun and (BEGIN in first.text or first.text.count(END) != 1 or _ALONE.search(first.text) is None):
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
