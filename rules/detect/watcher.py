"""The interface of a watch over one answer: `watch.Watch`, and the objects that wrap it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from ..values.brief import Brief
from ..values.delta import Channel
from ..values.verdict import Finding, Mode, NearMiss

Feed: TypeAlias = Callable[[int, Channel, str, str], Sequence[Finding]]
"""More text of a block (choice, channel, key, text): what is found in it."""


class Watcher(Protocol):
    """What a Stream needs of `watch.Watch`."""

    @property
    def doubt(self) -> bool: ...

    def feed(self, choice: int, channel: Channel, key: str, text: str) -> Sequence[Finding]: ...

    def called(self, choice: int, name: str, arguments: str) -> Sequence[Finding]: ...

    def drain(self) -> Sequence[Finding]: ...

    def near_misses(self, *, now: bool = False) -> Sequence[NearMiss]: ...


class Watching(Protocol):
    """What a Stream needs of `ruleset.RuleSet`."""

    def watch(self, brief: Brief | None = None, mode: Mode = Mode.ON) -> Watcher: ...
