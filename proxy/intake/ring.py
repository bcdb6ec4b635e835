"""A request that comes back to us: found by what upstreams answer, so that a real provider is shown nothing.

Every answer of a streamfuse carries `x-streamfuse-request-id`. An upstream that has answered once is known by it: a
real provider, of which nothing more is asked, or another streamfuse, which from then on is sent `x-streamfuse-via` with
the marks of the proxies that a request has passed; whoever finds its own mark there answers 508 (Loop Detected, RFC
5842).

Only a provider that has never answered is still unknown, and in a ring none ever answers. There the same request comes
in again while it is still being asked upstream: from the third time on the provider is asked for a path that every
streamfuse answers itself, once, before more requests go there. A program's own repetitions look different: what a
streamfuse sends has its Accept-Encoding, or no Connection header where it passes a call unread.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ..upstream.coding import ACCEPTED

if TYPE_CHECKING:
    from .order import Order

VIA = "x-streamfuse-via"
ANSWERED = "x-streamfuse-request-id"
SAME = 2
"""Equal requests on their way from which the next one is suspicious."""
HOPS = 16
"""Most proxies that a request may have passed."""
AGAIN = 10.0
"""Seconds until a provider that did not answer the question is asked it again."""
PIECE = 64 << 10
"""Bytes from the beginning and the end of a body that tell it from others."""

Same: TypeAlias = tuple[str, str, str, int, int]
"""Provider, method, address, length and digest of the body: what makes two requests equal."""


class Ring:
    """What one process knows of its providers."""

    def __init__(self, now: Callable[[], float], ask: Callable[[str], Awaitable[bool | None]]) -> None:
        """`ask`: is the provider of this name a streamfuse? None = no answer. `now`: seconds, monotonic."""
        self.mark = uuid.uuid4().hex[:16]
        self._now = now
        self._ask = ask
        self._fuses: dict[str, bool] = {}
        self._waiting: Counter[Same] = Counter()
        self._asking: dict[str, asyncio.Lock] = {}
        self._asked: dict[str, float] = {}

    def came_back(self, headers: Mapping[str, str]) -> bool:
        """Has this request passed here before, or so many proxies that it must be going round?"""
        via = headers.get(VIA)
        if via is None:
            return False
        marks = [mark.strip() for mark in via.split(",")]
        return self.mark in marks or len(marks) >= HOPS

    def answered(self, name: str, headers: Mapping[str, str]) -> None:
        """A provider has answered with these headers."""
        if name not in self._fuses:
            self._fuses[name] = ANSWERED in headers

    def forget(self, name: str) -> None:
        """This provider is another one now, or gone."""
        self._fuses.pop(name, None)
        self._asked.pop(name, None)

    async def enter(self, order: Order, headers: Mapping[str, str]) -> Same | None:
        """Before an order goes upstream; `headers` as they came. What is returned must be given to `leave`."""
        same = None
        if order.name not in self._fuses:
            same = _same(order)
            suspicious = self._waiting[same] >= SAME and _like_ours(order, headers)
            self._waiting[same] += 1
            if suspicious:
                try:
                    await self._find_out(order.name)
                except BaseException:
                    self.leave(same)
                    raise
        if self._fuses.get(order.name):
            via = headers.get(VIA)
            order.headers[VIA] = f"{via}, {self.mark}" if via else self.mark
        return same

    def leave(self, same: Same | None) -> None:
        """The order is over."""
        if same is not None:
            self._waiting[same] -= 1
            if self._waiting[same] <= 0:
                del self._waiting[same]

    async def _find_out(self, name: str) -> None:
        async with self._asking.setdefault(name, asyncio.Lock()):
            if name in self._fuses or self._now() - self._asked.get(name, -AGAIN) < AGAIN:
                return
            self._asked[name] = self._now()
            said = await self._ask(name)
            if said is not None:
                self._fuses.setdefault(name, said)


def _same(order: Order) -> Same:
    body = order.body if isinstance(order.body, bytes) else b""
    return (order.name, order.method, order.url, len(body), hash(body[:PIECE] + body[-PIECE:]))


def _like_ours(order: Order, headers: Mapping[str, str]) -> bool:
    """Could a streamfuse have sent this?"""
    if order.ask is not None:
        return headers.get("Accept-Encoding") == ACCEPTED
    return "Connection" not in headers
