"""The contract of a monitor: text goes in piece by piece, a Hit comes out when it has seen enough.

Parameters are a frozen pydantic model shared by all answers; state is one object per answer and scope. A monitor
costs amortised O(1) per character, keeps bounded state, and gives the same verdict at the same character
however the text is cut into pieces. Each file of this folder but this one exports exactly one `MONITOR`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit


class Params(BaseModel):
    """Base of every monitor's parameters: frozen, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


SHOWN: Final = 256
"""The most ASCII characters that a watch collects before the monitors see them. Of other text, with up to four bytes a
character, it collects an eighth of that."""


class StreamMonitor(ABC):
    """One look at one answer. Subclasses keep their state in slots."""

    __slots__ = ()

    quiet: int = 0
    """How many more characters cannot make it fire. A watch may collect so many and show them together. Read after
    every `feed`. Default: each piece may matter."""
    plain: int = 0
    """The same for text that is all ASCII. Values above SHOWN mean the same as SHOWN."""

    def feed(self, text: str, channel: Channel) -> Hit | None:
        """More text. Called with non-empty text only; never called again after it returned a Hit."""
        return None

    def called(self, name: str, arguments: str) -> Hit | None:
        """A tool call of this answer is complete; arguments as the JSON text sent. Only for scope CHOICE."""
        return None

    def suspicion(self) -> float:
        """0 calm … 1 about to fire. A shell may begin to hold text back at 0.5. Default: always calm."""
        return 0.0

    def peak(self) -> float:
        """The highest suspicion so far, as far as it is remembered. Asked once, when an answer has ended. Default: the
        present suspicion."""
        return self.suspicion()


class BlockMonitor(StreamMonitor):
    """Reads in blocks of one size, wherever the text was cut, and so gives the same verdict at the same character."""

    __slots__ = ("part", "plain", "quiet")
    size: ClassVar[int]
    """Characters of a block."""

    def __init__(self) -> None:
        self.part = ""
        """The beginning of the next block."""
        self.quiet = self.plain = self.size

    def feed(self, text: str, channel: Channel) -> Hit | None:
        part, at, size = self.part + text, 0, self.size
        while len(part) - at >= size:
            hit = self._block(part[at : at + size], channel)
            if hit:
                return hit
            at += size
        self.part = part[at:] if at else part
        self._wait()
        return None

    @abstractmethod
    def _block(self, block: str, channel: Channel) -> Hit | None:
        """Read the next block."""

    def _wait(self) -> None:
        """Set `quiet` and `plain` after a block was read. Default: the rest of the next block."""
        self.quiet = self.plain = self.size - len(self.part)


def _unknown(_params: Any) -> int:
    """Each character may matter."""
    return 0


class MonitorScope(StrEnum):
    """What one monitor object is fed with."""

    CHOICE = "choice"
    """All the rule's channels of one choice, in arrival order, in one object."""
    CHANNEL = "channel"
    """One object per channel of a choice; on the tool channel one per tool call."""


@dataclass(frozen=True, slots=True)
class MonitorKind:
    """What a monitor file exports as MONITOR."""

    name: str
    title: str
    params: type[Params]
    start: Callable[[Params, Brief], StreamMonitor]
    scope: MonitorScope = MonitorScope.CHANNEL
    by_piece: bool = False
    """It depends on how the text is cut into pieces, so pieces must not be joined."""
    gathers: bool = False
    """Its `quiet` says when it must see more text, so the watch collects text for it."""
    calm: Callable[[Any], int] = _unknown
    """By its parameters: a new one that has seen so many characters, or fewer, has neither fired nor any suspicion
    worth telling. A watch makes none for a text that stays so short. No lambda: a kind goes to other processes."""
    calm_ascii: Callable[[Any], int] | None = None
    """The same for text that is all ASCII, outside of tool arguments (there, escapes may stand for any character).
    None: as `calm`."""

    def needless(self, params: Params, channel: Channel) -> tuple[int, int]:
        """(characters of any text, characters of ASCII text) of this channel that need no monitor, fewer than SHOWN."""
        if self.scope is MonitorScope.CHOICE:  # it is fed with other channels, too
            return 0, 0
        calm = min(SHOWN - 1, self.calm(params))
        if self.calm_ascii is None or channel is Channel.TOOL:
            return calm, calm
        return calm, min(SHOWN - 1, self.calm_ascii(params))
