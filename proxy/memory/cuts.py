"""Which answers we cut, by digest: how many characters of each are worth sending back upstream.

It holds digests and numbers only. They are kept for a day, because a conversation goes on long after its requests are
forgotten. The number of entries is bounded, and the oldest are forgotten first. An answer that is forgotten here goes
upstream as the client sends it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

KEPT_S = 24 * 3600.0
MOST = 20_000
"""About 3 MB."""


class Cuts:
    """The cuts of one process."""

    def __init__(self, now: Callable[[], float], *, keep_s: float = KEPT_S, most: int = MOST) -> None:
        self._now = now
        self._keep_s = keep_s
        self._most = most
        self._known: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def remember(self, key: str, keep: int) -> None:
        """This answer was cut; its first `keep` characters are its start and one copy."""
        self._known[key] = (self._now(), keep)
        self._known.move_to_end(key)
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def look_up(self, keys: Iterable[str]) -> dict[str, int]:
        """Those of the keys that are known, with what to keep. Looking one up keeps it for longer."""
        now = self._now()
        found = {}
        for key in keys:
            entry = self._known.get(key)
            if entry is None:
                continue
            if now - entry[0] > self._keep_s:
                del self._known[key]
                continue
            found[key] = entry[1]
            self._known[key] = (now, entry[1])
            self._known.move_to_end(key)
        return found

    def __len__(self) -> int:
        return len(self._known)
