"""What only a shared store can do: two proxies on one budget, the store going away and coming back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from proxy.redis_state import Shared
from rules.budgets import Account
from rules.decide import Reason, Replay, Surrender, decide
from rules.failures import Failure, Kind, Phase
from rules.transcript import Shown

from .redis_server import ABSENT, BINARY, RedisServer
from .test_state import BUDGETS, NOW, Ticks, fails

needs_redis = pytest.mark.skipif(BINARY is None, reason=ABSENT)


@pytest.fixture
async def server() -> AsyncIterator[RedisServer]:
    async with RedisServer() as running:
        yield running


@needs_redis
async def test_two_proxies_share_one_budget(server: RedisServer) -> None:
    proxies = [Shared(server.url, Ticks(), timeout=5) for _ in range(2)]
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
    shared = Shared(server.url, Ticks(), prefix="mine:", ttl=300, timeout=5)
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
    shared = Shared(server.url, Ticks(), timeout=5)
    for held in (b"junk", b"{}", b"[1]", b'{"at": "x"}', b"\xff"):
        await shared._redis.set("streamfuse:account:k", held)
        assert await shared.read("k", NOW) == Account()
        await fails(shared.book("k"))
        assert (await shared.read("k", NOW)).failures == 1
    await shared.stop()


@needs_redis
async def test_redis_goes_and_comes_back(server: RedisServer) -> None:
    clock, told = Ticks(), list[tuple[bool, str]]()
    shared = Shared(server.url, clock, timeout=5, changed=lambda healthy, detail: told.append((healthy, detail)))
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
    other = Shared(server.url, clock, timeout=5)
    assert (await other.read("k", NOW)).failures == 4  # and handed back
    assert [healthy for healthy, _ in told] == [False, True]
    await shared.stop()
    await other.stop()


async def test_a_start_without_redis_serves_and_says_so() -> None:
    told = list[bool]()
    shared = Shared("unix:///nonexistent/s", Ticks(), changed=lambda healthy, _: told.append(healthy))
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
    shared = Shared(server.url, Ticks(), timeout=5)
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
