"""Feeds a Watch in larger pieces: the same verdict at the same character, for a fraction of the cost of one token at a
time.

The verdict of a monitor does not depend on how the text is cut, so pieces are collected until there are ENOUGH
characters. They are shown earlier when another block speaks, a call is complete or the answer ends.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..detect.watch import Watch
from ..detect.watcher import Watcher, Watching
from ..values.delta import Channel
from ..values.verdict import Finding, Mode, NearMiss
from ..wires.base import Ask

ENOUGH = 32
"""Characters in a batch, about eight tokens. A cut can come this many characters late, never more."""


class Batch:
    """A Watch that batches its text. Only for answers of one choice: with several, a finding could belong to another
    choice than the event at hand."""

    __slots__ = ("_block", "_parts", "_size", "_watch")

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._block: tuple[int, Channel, str] | None = None
        self._parts: list[str] = []
        self._size = 0

    @property
    def doubt(self) -> bool:
        """As Watch.doubt."""
        return self._watch.doubt

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]:
        """As Watch.feed, but findings may come some pieces later."""
        block = (choice, channel, key)
        if block == self._block:
            self._parts.append(text)
            self._size += len(text)
            return self.drain() if self._size >= ENOUGH else ()
        found = self.drain()
        self._block = block
        self._parts.append(text)
        self._size = len(text)
        return [*found, *self.drain()] if self._size >= ENOUGH else found

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]:
        """As Watch.called."""
        found = self.drain()
        more = self._watch.called(choice, name, arguments)
        return [*found, *more] if found else more

    def drain(self) -> Sequence[Finding]:
        """Show the pending text to the Watch now."""
        if not self._parts or self._block is None:
            return ()
        choice, channel, key = self._block
        text = "".join(self._parts) if len(self._parts) > 1 else self._parts[0]
        self._parts.clear()
        self._size = 0
        return self._watch.feed(choice, channel, key, text)

    def near_misses(self, *, now: bool = False) -> Sequence[NearMiss]:
        """As Watch.near_misses, for the text that was looked at: call `drain` first."""
        return self._watch.near_misses(now=now)


def watch_answer(rules: Watching, ask: Ask, mode: Mode) -> Watcher:
    """Fresh monitors for one answer, fed in larger pieces where no monitor depends on the pieces."""
    watch = rules.watch(ask.brief, mode)
    if isinstance(watch, Watch) and ask.choices == 1 and not (watch.by_piece or watch.gathers):
        return Batch(watch)
    return watch
