"""A call that streamfuse does not read: bytes pass both ways as they come, nothing is asked again.

What could be retried without harm is not: the body may have been streamed away, and what the call does is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from rules import Failure, Watchdog

from ..intake import routing
from ..intake.order import Order
from ..upstream.client import UpstreamRequest, UpstreamResponse
from .context import Context
from .reply import Reply


class Passthrough:
    """One call handed through."""

    def __init__(self, fuse: Context, order: Order, reply: Reply, trace: Mapping[str, str] | None = None) -> None:
        """`trace`: headers that take the client's trace to the provider."""
        self._headers = order.headers
        if trace:
            self._headers = order.headers.copy()
            self._headers.update(trace)
        self._fuse = fuse
        self._order = order
        self._reply = reply
        self._now = fuse.clock.now
        self.watchdog = Watchdog(order.engine.timeouts, self._now())
        self.status: int | None = None
        self.bytes_in = 0

    async def run(self, own: Mapping[str, str]) -> Failure | None:
        """Carry it through; `own`: our headers for the reply. A Failure: the reply is not complete, or not begun.
        Raises ClientGone."""
        order, now, watchdog = self._order, self._now, self.watchdog
        call = UpstreamRequest(
            order.method,
            order.url,
            self._headers,
            order.body,
            raw=True,
            on_connected=lambda: watchdog.connected(now()),
            transport=self._fuse.transports[order.name],
        )
        answer = await self._fuse.upstream.open(call)
        if isinstance(answer, Failure):
            return answer
        watchdog.opened(now())
        self._fuse.ring.answered(order.name, answer.headers)
        self.status = answer.status
        try:
            return await self._carry(answer, own)
        finally:
            answer.close()

    async def _carry(self, answer: UpstreamResponse, own: Mapping[str, str]) -> Failure | None:
        headers = routing.incoming(answer.headers, untouched=True)
        headers.update(own)
        if answer.content_type == "text/event-stream":
            headers["X-Accel-Buffering"] = "no"
            headers.setdefault("Cache-Control", "no-cache, no-transform")
        await self._reply.begin(answer.status, headers, close=self._fuse.draining)
        while (data := await answer.read()) is not None:
            if isinstance(data, Failure):
                return data
            self.bytes_in += len(data)
            self.watchdog.heard(self._now(), True)
            await self._reply.write(data)
        await self._reply.finish()
        return None
