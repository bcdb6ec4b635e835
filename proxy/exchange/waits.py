"""The waits of one exchange, and what ends them before their time.

No wait has a timer of its own: the process's ticker looks in once a second. A timer that rang cancels the wait and
leaves its Failure here, so that it is decided about like any other; a client that takes or sends nothing is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from aiohttp import web

from rules import Failure, Kind, Phase, Watchdog

from .reply import Reply

T = TypeVar("T")

WRITE_TIMEOUT = 120.0
"""Seconds that a client may take nothing of what is written to it: longer than any idle limit of a proxy between
(60 to 100 s, docs/sources.md), so whoever is that slow has gone without saying so."""

UPLOAD_TIMEOUT = 60.0
"""Seconds without a byte of a request's body: nginx's client_body_timeout."""

IMPATIENT = Failure(Phase.CONNECT, Kind.SERVER, "The provider is failing; others are asking it already.", status=503)
"""Ends a wait for one's turn that has lasted as long as the client will bear."""


class Waits:
    """From `begin` to `end`, in the exchange's own task."""

    __slots__ = ("_reply", "_request", "_rung", "_task", "_upload", "until", "waiting", "watchdog")

    def __init__(self, request: web.Request, reply: Reply) -> None:
        self._request = request
        self._reply = reply
        self._task: asyncio.Task[object] | None = None
        self._upload: tuple[float, int] | None = None
        """While the body is read: since when nothing of it has come, and how much had."""
        self._rung: Failure | None = None
        self.waiting = False
        """For an upstream, or for the time to ask it again."""
        self.watchdog: Watchdog | None = None
        """The timers of the call that runs."""
        self.until: float | None = None
        """When a wait for the provider's turn is of no more use to the client; None = it has no end."""

    def begin(self) -> None:
        """The exchange runs in this task."""
        self._task = asyncio.current_task()

    def end(self) -> None:
        """It is over: nothing can be ended early any more."""
        self._task = None

    def uploading(self, now: float) -> None:
        """The request's body is being read."""
        self._upload = (now, 0)

    def uploaded(self) -> None:
        """It has been read."""
        self._upload = None

    async def wait(self, awaitable: Awaitable[T]) -> T | Failure:
        """Wait, unless something rings first: then the Failure it left."""
        self.waiting = True
        try:
            return await awaitable
        except asyncio.CancelledError:
            rung, self._rung = self._rung, None
            if rung is None or self._task is None or self._task.uncancel() > 0:
                raise
            return rung
        finally:
            self.waiting = False

    def ring(self, failure: Failure) -> None:
        """End the wait with this; nothing where there is none."""
        if self.waiting and self._rung is None and self._task is not None:
            self._rung = failure
            self._task.cancel()

    def look(self, now: float) -> bool:
        """Time has passed: has a timer rung, is the client stuck? True where the exchange goes on undisturbed."""
        reply, watchdog = self._reply, self.watchdog
        if self._upload is not None:
            since, before = self._upload
            if (got := self._request.content.total_bytes) != before:
                self._upload = (now, got)
            elif now - since >= UPLOAD_TIMEOUT:
                reply.abort()
            return False
        if reply.stuck_since is not None:
            if now - reply.stuck_since >= WRITE_TIMEOUT:
                reply.abort()
            elif watchdog is not None:
                # Nothing is read while the client takes nothing: the upstream's silence is ours.
                watchdog.heard(now, True)
            return False
        if reply.ended:
            return False
        if watchdog is not None and (failure := watchdog.expired(now)) is not None:
            self.ring(failure)
            return False
        if self.until is not None and now >= self.until:
            self.ring(IMPATIENT)
            return False
        return True
