"""A scripted provider, and the proxy in front of it on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from proxy.observers.reports import Report, Reports
from proxy.server.app import Server
from proxy.settings.load import Settings
from proxy.upstream.client import Upstream as Calls
from tests.clock import FakeClock
from tests.upstream import Upstream


class Heard(list[Report]):
    """A sink that keeps what it hears."""

    def __init__(self) -> None:
        self._news = asyncio.Event()

    def hear(self, report: Report) -> None:
        self.append(report)
        self._news.set()

    async def until(self, kind: type[Any]) -> Any:
        """The first report of a kind, waited for."""
        async with asyncio.timeout(5):
            while not self.of(kind):
                self._news.clear()
                await self._news.wait()
        return self.of(kind)[0]

    def of(self, kind: type[Any]) -> list[Any]:
        return [report for report in self if isinstance(report, kind)]


@pytest.fixture
async def up() -> AsyncIterator[Upstream]:
    async with Upstream() as it:
        yield it


@pytest.fixture
async def other() -> AsyncIterator[Upstream]:
    """Another provider."""
    async with Upstream() as it:
        yield it


@pytest.fixture
async def upstream() -> AsyncIterator[Calls]:
    """Our side of the connections to providers, without a proxy before it."""
    it = Calls()
    await it.start()
    yield it
    await it.stop()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


Start = Callable[..., Awaitable[Server]]


@pytest.fixture
async def start(up: Upstream, heard: Heard) -> AsyncIterator[Start]:
    """Starts a proxy in front of `up`: keyword arguments are settings; `clock` a clock that the test moves."""
    running: list[Server] = []

    async def starter(clock: FakeClock | None = None, provider: dict[str, Any] | None = None, **more: Any) -> Server:
        tree: dict[str, Any] = {
            "listen": {"port": 0},
            "providers": {"up": {"base_url": f"{up.url}/v1", **(provider or {})}},
            **more,
        }
        server = Server(Settings.model_validate(tree), reports=Reports([heard]), clock=clock)
        await server.start()
        running.append(server)
        return server

    yield starter
    for server in running:
        await server.stop()


@pytest.fixture
async def proxy(start: Start) -> Server:
    return await start()


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False, max_field_size=64 << 10) as it:
        yield it
