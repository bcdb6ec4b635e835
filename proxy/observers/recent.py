"""The newest exchanges, in memory, for the page and /-/recent: bounded by count.

Numbers and names only, and with `privacy.show_excerpts` a few characters of what repeated.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ..settings.load import Settings
from .reports import (
    Attempted,
    Ended,
    FellBack,
    FollowedUp,
    FromMemory,
    LoopFound,
    Queued,
    Report,
    Retrying,
    Rewritten,
    safe_code,
)

MOST_STORIES = 10_000
"""Requests under way of which more than their beginning is kept."""
MOST_STEPS = 50
"""Steps of one request's story; the first ones are kept."""


class RecentObserver:
    """A ring of the last exchanges, newest first when read."""

    def __init__(self, size: int, clock: Callable[[], float]) -> None:
        """`size` exchanges, 0 = none are kept; `clock` gives seconds since the epoch."""
        self._ring: deque[tuple[float, Ended, tuple[dict[str, Any], ...]]] = deque(maxlen=size)
        self._clock = clock
        self._stories: dict[str, list[dict[str, Any]]] = {}
        """What happened to requests that are under way, where something did."""
        self.hears: dict[type, Callable[[Any], None]] = {
            Ended: self._ended,
            Attempted: self._attempted,
            Retrying: lambda report: self._step(report, what="retry", wait=report.wait, resume=report.resume),
            FellBack: lambda report: self._step(report, what="fallback", provider=report.provider, model=report.model),
            FromMemory: lambda report: self._step(report, what="memory", reason=report.reason),
            Queued: lambda report: self._step(report, what="queued", seconds=round(report.seconds, 1)),
            FollowedUp: lambda report: self._step(report, what="follow_up", name=report.name),
            Rewritten: lambda report: self._step(report, what="rewritten"),
        }
        self.count = 0
        """Exchanges that were ever told of: whoever shows them sees whether there is news."""

    def hear(self, report: Report) -> None:
        """Keep an exchange that is over, and what happened on its way."""
        hear = self.hears.get(type(report))
        if hear is not None:
            hear(report)

    def _ended(self, report: Ended) -> None:
        self.count += 1
        story = self._stories.pop(report.call.request_id, ()) if self._stories else ()
        self._ring.append((self._clock(), report, tuple(story)))

    def _attempted(self, report: Attempted) -> None:
        failure = report.failure
        if failure is not None:
            self._step(
                report,
                what="failed",
                seconds=round(report.seconds, 1),
                kind=failure.kind.value,
                phase=failure.phase.value,
                status=failure.status,
                code=safe_code(failure.code),
                **{"try": report.number},
            )

    def _step(self, report: Any, **facts: Any) -> None:
        ident = report.call.request_id
        if ident not in self._stories and len(self._stories) >= MOST_STORIES:
            return
        story = self._stories.setdefault(ident, [])
        if len(story) < MOST_STEPS:
            story.append(facts)

    def story(self, ident: str) -> list[dict[str, Any]]:
        """What has happened so far to a request that is under way."""
        return list(self._stories.get(ident, ()))

    def one(self, ident: str) -> dict[str, Any] | None:
        """The row of one exchange, None where it is not kept (any more)."""
        for at, ended, story in reversed(self._ring):
            if ended.call.request_id == ident:
                return self._row(at, ended, story)
        return None

    def renew(self, settings: Settings) -> None:
        """Another config is in force."""
        if settings.recent.exchanges != self._ring.maxlen:
            self._ring = deque(self._ring, maxlen=settings.recent.exchanges)

    def newest(self, count: int | None = None) -> list[dict[str, Any]]:
        """The newest exchanges, newest first, as plain data for JSON."""
        rows = list(reversed(self._ring))[:count]
        return [self._row(*row) for row in rows]

    @staticmethod
    def _row(at: float, ended: Ended, story: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
        return {
            "at": round(at, 3),
            "request_id": ended.call.request_id,
            "session": ended.call.session,
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
            "bytes_out": ended.bytes_out,
            "tokens": ended.tokens._asdict() if ended.tokens is not None else None,
            "code": safe_code(ended.code) or None,
            "story": list(story),
            "findings": [_finding(found) for found in ended.findings],
            "server_cuts": [cut.reason for cut in ended.server_cuts],
            "heal": ended.heal.numbers if ended.heal is not None else None,
            "looped_characters": ended.saved.looped if ended.saved is not None else 0,
            "saved_tokens_estimate": ended.saved.tokens if ended.saved is not None else 0,
            "stutters": [near_miss.numbers for near_miss in ended.near_misses],
        }


def _finding(found: LoopFound) -> dict[str, Any]:
    return found.numbers | ({"excerpt": found.excerpt} if found.excerpt else {})


def observer(settings: Settings) -> RecentObserver:
    """The sink as configured."""
    return RecentObserver(settings.recent.exchanges, time.time)
