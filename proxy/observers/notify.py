"""A webhook: one signed POST when a run is refused, a loop is cut, or a provider's breaker opens or closes.

A thread of its own sends, one after the other, so that nothing waits for a receiver that is slow or away. What does not
fit into the queue is dropped, a delivery that fails is not tried again; both are lines of the journal, at most one a
minute. Names and numbers only.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading
import time
from collections.abc import Callable
from queue import Empty, Full, Queue
from typing import Any

import aiohttp
import orjson
from pydantic import SecretStr

from ..settings.load import Settings
from ..settings.service.notify import Notify
from .reports import BreakerChanged, Ended, EndReason, Outcome, Report, Stage

QUEUE = 100
"""Deliveries that may wait."""
PATIENCE = 5.0
"""Seconds for a receiver to answer."""
MOST_DOWN = 1000
"""Breakers that are remembered as open."""
IDLE = 30.0
"""Seconds without anything to send after which the thread ends."""
TOLD_EVERY = 60.0
"""Seconds between two lines about deliveries that failed."""


async def _deliver(url: str, headers: dict[str, str], body: bytes) -> int:
    """The receiver's status, within PATIENCE, however it dawdles. A redirect is not followed: it would go where nobody
    has configured."""
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE), trust_env=True) as http,
        http.post(url, data=body, headers=headers, allow_redirects=False) as answer,
    ):
        return answer.status


class NotifyObserver:
    """Sends what the config asks for; without an address it hears nothing."""

    def __init__(self, settings: Notify, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._queue: Queue[tuple[str, dict[str, str], bytes]] = Queue(QUEUE)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._told_at = float("-inf")
        self._down: set[tuple[str, str]] = set()
        """(provider, model) of which it was told that they are down."""
        self.told: Callable[[Stage], None] = lambda stage: None
        """Who hears of deliveries that failed; called from any thread."""
        self.counted: Callable[[str], None] = lambda result: None
        """Who counts deliveries: sent, failed, dropped; called from any thread."""
        self._set(settings)
        # The fan-out asks for `hears` once for each class of record; what is not wanted is sorted out in `hear`.
        self.hears: dict[type, Callable[[Any], None]] = {Ended: self.hear, BreakerChanged: self.hear}

    def _set(self, settings: Notify) -> None:
        self._url: SecretStr | None = settings.url
        self._key = settings.secret.get_secret_value().encode() if settings.secret is not None else None
        self._on = frozenset(settings.on) if settings.url is not None else frozenset()

    def renew(self, settings: Settings) -> None:
        """Another config is in force."""
        self._set(settings.notify)

    def hear(self, report: Report) -> None:
        """Queue what is wanted."""
        if not self._on:
            return
        if isinstance(report, Ended):
            if report.outcome is Outcome.REFUSED:
                self._put("refused", self._run(report))
            elif report.outcome is Outcome.CUT and report.reason is EndReason.CUT:
                self._put("cut", self._run(report))
        elif isinstance(report, BreakerChanged):
            key = (report.provider, report.model)
            if report.open == (key in self._down):
                return  # a probe has failed: the provider is as down as before
            if report.open and len(self._down) < MOST_DOWN:
                self._down.add(key)
            self._down = self._down if report.open else self._down - {key}
            if report.forgotten:
                return  # nobody knows whether it is up
            facts = {"provider": report.provider, "model": report.model, "kind": report.failure.kind.value}
            self._put(
                "provider_down" if report.open else "provider_up", {**facts, "upstream_status": report.failure.status}
            )

    @staticmethod
    def _run(report: Ended) -> dict[str, Any]:
        call = report.call
        acting = [found.numbers for found in report.findings if found.acted][-1:]
        return {
            "request_id": call.request_id,
            "session": call.session,
            "provider": call.provider,
            "model": call.model,
            "attempts": report.attempts,
            "seconds": round(report.seconds, 1),
            "finding": acting[0] if acting else None,
        }

    def _put(self, event: str, facts: dict[str, Any]) -> None:
        if event not in self._on or self._url is None:
            return
        body = orjson.dumps({"event": event, "at": round(self._clock(), 3), **facts})
        headers = {"Content-Type": "application/json", "User-Agent": "streamfuse"}
        if self._key is not None:
            headers["X-Streamfuse-Signature"] = f"sha256={hmac.new(self._key, body, hashlib.sha256).hexdigest()}"
        try:
            self._queue.put_nowait((self._url.get_secret_value(), headers, body))
        except Full:
            self.counted("dropped")
            self._failed("Full")
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._send_all, name="streamfuse-notify", daemon=True)
                self._thread.start()

    def _send_all(self) -> None:
        while True:
            try:
                url, headers, body = self._queue.get(timeout=IDLE)
            except Empty:
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            try:
                status = asyncio.run(_deliver(url, headers, body))
            except Exception as error:  # whatever a receiver does, the next delivery may have more luck
                self.counted("failed")
                self._failed(type(error).__name__)
                continue
            self.counted("sent" if status < 300 else "failed")
            if status >= 300:
                self._failed(f"HTTP{status}")

    def _failed(self, error: str) -> None:
        """By class only: an exception's text may hold the address, and the address a token."""
        now = time.monotonic()
        if now - self._told_at >= TOLD_EVERY:
            self._told_at = now
            self.told(Stage("notify_failed", {"error": error}, wrong=True))


def observer(settings: Settings) -> NotifyObserver:
    """The sink as configured."""
    return NotifyObserver(settings.notify)
