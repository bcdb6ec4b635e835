"""Remembers two things between the requests of a conversation, by a digest: the steps that its client does not resend,
and the times of the requests of a repetition. They are kept in this process's memory, bounded, for an hour after the
last use. Another worker does not know them and judges a request by its own history alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

KEPT_S = 3600.0
MOST = 2_000
"""About 15 KB each at most."""


T = TypeVar("T")


class Kept(Generic[T]):
    """Values by digest, the one longest untouched forgotten first."""

    def __init__(self, now: Callable[[], float], *, keep_s: float = KEPT_S, most: int = MOST) -> None:
        self._now = now
        self._keep_s = keep_s
        self._most = most
        self._known: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def keep(self, key: str, value: T) -> None:
        """Remember a value."""
        self._known[key] = (self._now(), value)
        self._known.move_to_end(key)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def get(self, key: str) -> T | None:
        """The value, if it is known and not too old."""
        entry = self._known.get(key)
        if entry is None:
            return None
        if self._now() - entry[0] > self._keep_s:
            del self._known[key]
            return None
        return entry[1]

    def __len__(self) -> int:
        return len(self._known)


class Threads(Kept[Mapping[str, Any]]):
    """The threads of one process, each as `rules.threads.remember` gave it."""
