"""The newest exchanges, in memory, for the page and /-/recent: bounded by count.

Numbers and names only, and with `privacy.show_excerpts` a few characters of what repeated.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ..settings.load import Settings
from .reports import Ended, LoopFound, Report


class RecentObserver:
    """A ring of the last exchanges, newest first when read."""

    def __init__(self, size: int, clock: Callable[[], float]) -> None:
        """`size` exchanges, 0 = none are kept; `clock` gives seconds since the epoch."""
        self._ring: deque[tuple[float, Ended]] = deque(maxlen=size)
        self._clock = clock
        self.hears = {Ended: self._ended}

    def hear(self, report: Report) -> None:
        """Keep an exchange that is over."""
        if isinstance(report, Ended):
            self._ended(report)

    def _ended(self, report: Ended) -> None:
        self._ring.append((self._clock(), report))

    def renew(self, settings: Settings) -> None:
        """Another config is in force."""
        if settings.recent.exchanges != self._ring.maxlen:
            self._ring = deque(self._ring, maxlen=settings.recent.exchanges)

    def newest(self, count: int | None = None) -> list[dict[str, Any]]:
        """The newest exchanges, newest first, as plain data for JSON."""
        rows = list(reversed(self._ring))[:count]
        return [self._row(at, ended) for at, ended in rows]

    @staticmethod
    def _row(at: float, ended: Ended) -> dict[str, Any]:
        return {
            "at": round(at, 3),
            "request_id": ended.call.request_id,
            "provider": ended.call.provider,
            "wire": ended.call.wire,
            "model": ended.call.model,
            "stream": ended.call.streaming,
            "outcome": ended.outcome.value,
            "end": ended.reason.value if ended.reason else None,
            "status": ended.status,
            "seconds": round(ended.seconds, 3),
            "first_event": round(ended.first_event, 3) if ended.first_event is not None else None,
            "attempts": ended.attempts,
            "events": ended.events,
            "findings": [_finding(found) for found in ended.findings],
            "server_cuts": [cut.reason for cut in ended.server_cuts],
            "heal": ended.heal.numbers if ended.heal is not None else None,
            "stutters": [near_miss.numbers for near_miss in ended.near_misses],
        }


def _finding(found: LoopFound) -> dict[str, Any]:
    return found.numbers | ({"excerpt": found.excerpt} if found.excerpt else {})


def observer(settings: Settings) -> RecentObserver:
    """The sink as configured."""
    return RecentObserver(settings.recent.exchanges, time.time)
