"""What only a shared store can do: two proxies on one budget, the store going away and coming back."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from proxy.memory.redis import SharedAccounts
from rules.after.budgets import Account
from rules.after.decision.decide import decide
from rules.after.decision.outcome import Reason, Replay, Surrender
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Shown
from tests.upstream import Upstream, whole

from ..redis_server import ABSENT, BINARY, RedisServer
from ..server.test_workers import ROOT, hear
from .test_accounts import BUDGETS, NOW, Ticks, fails

needs_redis = pytest.mark.skipif(BINARY is None, reason=ABSENT)


@pytest.fixture
async def server() -> AsyncIterator[RedisServer]:
    async with RedisServer() as running:
        yield running


@needs_redis
async def test_two_proxies_share_one_budget(server: RedisServer) -> None:
    proxies = [SharedAccounts(server.url, Ticks(), timeout=5) for _ in range(2)]
    for turn in range(4):
        decision = await fails(proxies[turn % 2].book("k"))
        assert isinstance(decision, Replay) == (turn < 2)
    both = await asyncio.gather(*(fails(proxies[i % 2].book("race")) for i in range(30)))
    assert sum(isinstance(one, Replay) for one in both) == 2
    for proxy in proxies:
        assert (await proxy.read("race", NOW)).failures == 30
        await proxy.stop()


@needs_redis
async def test_only_digests_numbers_and_times_are_kept(server: RedisServer) -> None:
    shared = SharedAccounts(server.url, Ticks(), prefix="mine:", ttl=300, timeout=5)
    secret = Failure(Phase.HEADERS, Kind.SERVER, "the prompt", status=503, code="the prompt", body=b"the prompt")
    book = shared.book("d1g3st")
    for _ in range(3):
        await book.charge(secret, lambda a: decide(secret, Shown.NOTHING, account=a, budgets=BUDGETS, now=NOW), NOW)
    redis = shared._redis
    assert await redis.keys("*") == [b"mine:account:d1g3st"]
    held = await redis.get("mine:account:d1g3st")
    assert isinstance(held, bytes) and b"prompt" not in held
    assert 0 < await redis.pttl("mine:account:d1g3st") <= 600_000
    await shared.stop()


@needs_redis
async def test_what_is_not_ours_counts_as_nothing(server: RedisServer) -> None:
    shared = SharedAccounts(server.url, Ticks(), timeout=5)
    for held in (b"junk", b"{}", b"[1]", b'{"at": "x"}', b"\xff"):
        await shared._redis.set("streamfuse:account:k", held)
        assert await shared.read("k", NOW) == Account()
        await fails(shared.book("k"))
        assert (await shared.read("k", NOW)).failures == 1
    await shared.stop()


@needs_redis
async def test_redis_goes_and_comes_back(server: RedisServer) -> None:
    clock, told = Ticks(), list[tuple[bool, str]]()
    shared = SharedAccounts(
        server.url, clock, timeout=5, changed=lambda healthy, detail: told.append((healthy, detail))
    )
    book = shared.book("k")
    await fails(book)
    await server.kill()

    assert await fails(book) == Replay(2.0, "request")  # alone, from what it knew
    assert not shared.healthy and shared.detail and "/" not in shared.detail
    last = await fails(shared.book("k"))
    assert isinstance(last, Surrender) and last.reason is Reason.RETRIES

    await server.start()
    assert (await shared.read("k", NOW)).failures == 3  # not asked again at once
    assert not shared.healthy
    clock.at += 1.0
    assert (await shared.read("k", NOW)).failures == 3  # asked, found empty, joined with what was counted here
    assert shared.healthy and shared.detail == ""
    assert isinstance(await fails(shared.book("k")), Surrender)
    other = SharedAccounts(server.url, clock, timeout=5)
    assert (await other.read("k", NOW)).failures == 4  # and handed back
    assert [healthy for healthy, _ in told] == [False, True]
    await shared.stop()
    await other.stop()


async def test_a_start_without_redis_serves_and_says_so() -> None:
    told = list[bool]()
    shared = SharedAccounts("unix:///nonexistent/s", Ticks(), changed=lambda healthy, _: told.append(healthy))
    await shared.start()
    assert (shared.healthy, told) == (False, [False])
    book = shared.book("k")
    await book.read(NOW)
    assert [type(await fails(book)) for _ in range(3)] == [Replay, Replay, Surrender]
    await book.forget(NOW)
    assert await shared.read("k", NOW) == Account()
    assert told == [False]
    await shared.stop()


@needs_redis
async def test_a_wait_that_is_cancelled_breaks_nothing(server: RedisServer) -> None:
    shared = SharedAccounts(server.url, Ticks(), timeout=5)
    await fails(shared.book("k"))
    for _ in range(5):
        task = asyncio.ensure_future(shared.read("k", NOW))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert shared.healthy
    assert (await shared.read("k", NOW)).failures == 1
    await shared.stop()


@needs_redis
async def test_two_processes_share_one_account(server: RedisServer, tmp_path: Path) -> None:
    """The whole thing, for real: two proxies, one Redis, one dead provider, one logical request."""
    async with Upstream() as up, aiohttp.ClientSession() as session:
        up.answer(*whole({"error": {"message": "down"}}, 503))
        retry = {"request": {"max_retries": 2, "initial_delay": "1ms"}}
        config = {
            "providers": {"up": {"base_url": f"{up.url}/v1"}},
            "state": {"url": server.url, "timeout": "5s"},
            "retry": retry,
            "journal": {"format": "json"},
        }
        (tmp_path / "config.yaml").write_text(json.dumps(config))
        environ = {k: v for k, v in os.environ.items() if not k.startswith("STREAMFUSE_")} | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "proxy", "serve", "--port", "0", "--log-format", "json"]
        processes = [
            await asyncio.create_subprocess_exec(*command, cwd=tmp_path, env=environ, stderr=asyncio.subprocess.PIPE)
            for _ in range(2)
        ]
        try:
            ports = [(await hear(process, "started"))["port"] for process in processes]
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
            for turn in range(6):
                address = f"http://127.0.0.1:{ports[turn % 2]}/v1/chat/completions"
                async with session.post(address, json=body, headers={"x-streamfuse-correlation-id": "r"}) as answer:
                    assert answer.status == 503 and "x-should-retry" not in answer.headers
            # Three for the first; each later one finds the budget spent by either process, and asks once.
            assert len(up.requests) == 3 + 5
        finally:
            for process in processes:
                process.terminate()
                await process.communicate()


@needs_redis
async def test_notes_are_shared_and_expire(server: RedisServer) -> None:
    one, other = (SharedAccounts(server.url, Ticks(), prefix="mine:", timeout=5) for _ in range(2))
    await one.note("cut:a", b"40", 60)
    assert await other.notes(["cut:a", "cut:b"]) == {"cut:a": b"40"}
    assert await other.notes([]) == {}
    assert 0 < await one._redis.pttl("mine:note:cut:a") <= 60_000
    await server.kill()
    assert await other.notes(["cut:a"]) == {}
    await one.note("cut:b", b"1", 60)
    for proxy in (one, other):
        await proxy.stop()
