"""Accounts between tries: the same stories over memory and over a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from proxy.memory.accounts import AccountBook, Accounts, MemoryAccounts, joined
from proxy.memory.redis import SharedAccounts
from rules.after.budgets import Account, Budget, Budgets
from rules.after.decision.come_back import resting
from rules.after.decision.decide import decide
from rules.after.decision.outcome import Decision, Reason, Replay, Surrender
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Shown

from ..redis_server import ABSENT, BINARY, RedisServer

needs_redis = pytest.mark.skipif(BINARY is None, reason=ABSENT)
DOWN = Failure(Phase.HEADERS, Kind.SERVER, "boom", status=503)
BUDGETS = Budgets(request=Budget(max_retries=2, jitter_ratio=0, initial_delay=1), explicit=frozenset({"request"}))
NOW = 1_000_000.0


class Ticks:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture(params=["memory", pytest.param("redis", marks=needs_redis)])
async def accounts(request: pytest.FixtureRequest) -> AsyncIterator[Accounts]:
    if request.param == "memory":
        yield MemoryAccounts(ttl=300)
        return
    async with RedisServer() as running:
        shared = SharedAccounts(running.url, Ticks(), ttl=300, timeout=5)
        await shared.start()
        assert shared.healthy, shared.detail
        yield shared
        await shared.stop()


def look(now: float) -> Callable[[Account], Decision]:
    return lambda account: decide(DOWN, Shown.NOTHING, account=account, budgets=BUDGETS, now=now)


async def fails(book: AccountBook, now: float = NOW) -> Decision:
    return await book.charge(DOWN, look(now), now)


# --- the same over both ----------------------------------------------------------------------------------------------
async def test_a_client_that_comes_again_draws_on_the_same_account(accounts: Accounts) -> None:
    first = accounts.book("k")
    assert await first.read(NOW) == Account()
    assert await fails(first) == Replay(1.0, "request")
    again = accounts.book("k")
    assert (await again.read(NOW)).failures == 1
    assert await fails(again) == Replay(2.0, "request")
    last = await fails(again)
    assert isinstance(last, Surrender) and last.reason is Reason.RETRIES
    late = accounts.book("k")
    assert resting(await late.read(NOW + 10), NOW + 10) == 0, "the provider named no wait"
    limited = Failure(Phase.HEADERS, Kind.RATE_LIMIT, "boom", status=429, retry_after=60.0)
    await late.charge(limited, lambda a: decide(limited, Shown.NOTHING, account=a, budgets=BUDGETS, now=NOW), NOW)
    assert resting(await accounts.book("k").read(NOW + 10), NOW + 10) == 50


async def test_keys_do_not_meet(accounts: Accounts) -> None:
    await fails(accounts.book("k"))
    assert await accounts.book("other").read(NOW) == Account()


async def test_an_account_survives_the_trip_whole(accounts: Accounts) -> None:
    whole = Account(
        failures=3,
        since=NOW - 1.25,
        spent={"request": 2, "free": 1},
        hits={"rule:x /y": 1},
        rounds={"lines": 2},
        closed_until=NOW + 30.5,
        closed_as=("rate_limit", None, "streamfuse_budget_exhausted"),
    )
    await accounts.change("k", Account(), lambda _: whole, NOW)
    assert await accounts.read("k", NOW) == whole


async def test_success_ends_an_account(accounts: Accounts) -> None:
    book = accounts.book("k")
    await fails(book)
    await book.forget(NOW)
    assert book.account == Account() == await accounts.book("k").read(NOW)


async def test_a_terminal_failure_ends_an_account(accounts: Accounts) -> None:
    book = accounts.book("k")
    await fails(book)
    refused = Failure(Phase.HEADERS, Kind.TERMINAL, "no", status=401)
    await book.charge(refused, lambda a: decide(refused, Shown.NOTHING, account=a, budgets=BUDGETS, now=NOW), NOW)
    assert await accounts.read("k", NOW) == Account()


async def test_five_minutes_without_a_change_end_an_account(accounts: Accounts) -> None:
    await fails(accounts.book("k"))
    assert (await accounts.read("k", NOW + 300)).failures == 1
    assert await accounts.read("k", NOW + 300.1) == Account()


async def test_an_exchange_whose_calls_take_longer_than_that_still_counts_them(accounts: Accounts) -> None:
    book = accounts.book("k")
    await book.read(NOW)
    assert [type(await fails(book, NOW + 400 * number)) for number in range(3)] == [Replay, Replay, Surrender]


async def test_a_change_keeps_it_for_longer(accounts: Accounts) -> None:
    await fails(accounts.book("k"), NOW)
    await fails(accounts.book("k"), NOW + 200)
    assert (await accounts.read("k", NOW + 450)).failures == 2


async def test_without_a_key_nothing_is_kept(accounts: Accounts) -> None:
    book = accounts.book(None)
    assert await book.read(NOW) == Account()
    assert await fails(book) == Replay(1.0, "request")
    assert await fails(book) == Replay(2.0, "request")
    assert await accounts.book(None).read(NOW) == Account()
    await book.forget(NOW)


async def test_many_at_once_never_exceed_the_budget(accounts: Accounts) -> None:
    books = [accounts.book("k") for _ in range(20)]
    for book in books:
        await book.read(NOW)
    decisions = await asyncio.gather(*(fails(book) for book in books))
    assert sum(isinstance(one, Replay) for one in decisions) == 2
    assert (await accounts.read("k", NOW)).failures == 20


async def test_a_surrogate_in_a_key_or_a_strange_key_is_borne(accounts: Accounts) -> None:
    for key in ("", "x" * 1000, "k\r\n$1"):
        await fails(accounts.book(key))
        assert (await accounts.read(key, NOW)).failures == 1


# --- memory ----------------------------------------------------------------------------------------------------------
async def test_memory_is_bounded_and_forgets_the_longest_untouched() -> None:
    memory = MemoryAccounts(most=2)
    for key in ("a", "b"):
        await fails(memory.book(key))
    await fails(memory.book("a"))
    await fails(memory.book("c"))
    assert len(memory) == 2
    assert await memory.read("b", NOW) == Account()
    assert (await memory.read("a", NOW)).failures == 2
    assert memory.healthy and memory.detail == ""


def test_joining_takes_the_larger_of_each() -> None:
    one = Account(2, 50.0, {"a": 1}, {"h": 3}, {}, 10.0, ("server", 503, "x"))
    other = Account(3, None, {"a": 2, "b": 1}, {}, {"r": 1}, 20.0, ("network", None, "y"))
    both = Account(3, 50.0, {"a": 2, "b": 1}, {"h": 3}, {"r": 1}, 20.0, ("network", None, "y"))
    assert joined(one, other) == joined(other, one) == both
