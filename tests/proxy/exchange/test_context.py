"""What all exchanges of a process share: it ends only when what must not be lost is done."""

from __future__ import annotations

import asyncio

from proxy.exchange.context import Context
from proxy.settings.load import Settings
from tests.clock import FakeClock


async def test_it_stops_when_what_must_not_be_lost_is_done() -> None:
    """An account that a redis is told of, say, while the last exchange has ended already."""
    context = Context(Settings.model_validate({"providers": {"up": {"base_url": "http://127.0.0.1:1"}}}), FakeClock())
    await context.start()
    told = []

    async def work() -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        told.append("account")

    context.later(work())
    await context.stop()
    assert told == ["account"]
