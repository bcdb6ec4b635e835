"""What a watch keeps of one answer: the monitors of each choice, and of each block of text the part that some of them
have not seen.
"""

from __future__ import annotations

from typing import TypeAlias

from ..values.delta import Channel
from .due import Due
from .monitors.base import StreamMonitor

ScopeKey: TypeAlias = tuple[int, int, str]
"""(rule's place, channel or -1 for a whole choice, tool call's key or "")."""


class MonitorSlot:
    """Monitors that see the same text, and the part of the text that some of them have not seen. A monitor need not
    look while it cannot fire. One look at more text is cheaper than several, because the processor's caches are cold
    after each event of a stream."""

    __slots__ = ("acting", "call", "doubt", "due", "kept", "left", "monitors", "need", "past", "plain", "shown")

    def __init__(self, call: str, due: tuple[Due, ...], need: int, plain: int) -> None:
        """`call`: the tool call that is watched, else "". `due`: the rules on this channel. `need`, `plain`: when the
        first of them is due."""
        self.call = call
        self.due = due
        """Rules whose monitors are not made yet, in order. Those of an answer that stays short never are (240 calls of
        20 events). Until all are made, all text stays in `kept`."""
        self.monitors: tuple[StreamMonitor, ...] = ()
        self.acting: tuple[StreamMonitor, ...] = ()
        """Those of them whose finding would change what the client gets."""
        self.doubt = False
        """One of these was at least half convinced when it last looked."""
        self.shown: list[int] = []
        """For each monitor, how many characters of `kept` it has seen."""
        self.kept = ""
        self.need, self.plain = need, plain
        """The length of `kept` at which a monitor must see the rest: `need` for any text, `plain` for ASCII."""
        self.past = self.left = 0
        """Characters before `kept`; characters of the other slots when this one stopped."""


class Watched:
    """The monitors of one choice."""

    __slots__ = ("calls", "fired", "gone", "live", "missed", "slots", "speaking")

    def __init__(self) -> None:
        self.live: dict[ScopeKey, StreamMonitor] = {}
        self.fired: frozenset[ScopeKey] = frozenset()
        self.slots: dict[tuple[Channel, str], MonitorSlot] = {}
        """By channel, and by key where a tool call is meant."""
        self.calls: list[str] = []
        self.speaking: MonitorSlot | None = None
        """Whose text came last."""
        self.gone = 0
        """Characters of slots that were freed."""
        self.missed: dict[ScopeKey, float] = {}
        """The highest suspicion of monitors that were freed, where it was a near miss."""

    def others(self, slot: MonitorSlot) -> int:
        """Characters of all slots but this one."""
        return self.gone + sum(one.past + len(one.kept) for one in self.slots.values() if one is not slot)
