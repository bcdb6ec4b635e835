"""The line before a provider with a limit: sessions take turns, the line has an end, whoever leaves loses nothing."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.upstream.slots import QueueFull, Slots
from tests.clock import FakeClock, settle


def slots(most: int = 1, queue: int = 10, adaptive: bool = False) -> Slots:
    return Slots(FakeClock(), most, queue, adaptive=adaptive)


async def test_sessions_take_turns() -> None:
    it, order = slots(), list[str]()

    async def one(name: str) -> None:
        await it.take(name[0])
        order.append(name)

    await it.take("x")
    waiting = [asyncio.create_task(one(name)) for name in ("a1", "a2", "a3", "b1", "c1", "b2")]
    await settle()
    assert (it.running, it.waiting) == (1, 6)
    for _ in range(6):
        it.give()
        await settle()
    await asyncio.gather(*waiting)
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]
    it.give()
    assert (it.running, it.waiting) == (0, 0)


async def test_the_line_has_an_end() -> None:
    it = slots(queue=1)
    await it.take("a")
    waiting = asyncio.create_task(it.take("b"))
    await settle()
    with pytest.raises(QueueFull):
        await it.take("c")
    it.give()
    await waiting
    assert not it.try_take()


async def test_nobody_overtakes_those_who_wait() -> None:
    it = slots(2)
    assert it.try_take() and it.try_take() and not it.try_take()
    waiting = asyncio.create_task(it.take("a"))
    await settle()
    it.give()
    assert not it.try_take(), "the free place is taken"
    await waiting


async def test_whoever_leaves_gives_up_his_own_place_only() -> None:
    it = slots()
    await it.take("x")
    first, second = (asyncio.create_task(it.take(name)) for name in "ab")
    await settle()
    first.cancel()
    await settle()
    assert it.waiting == 1
    it.give()
    await second
    it.give()
    third = asyncio.create_task(it.take("c"))
    await settle()
    assert third.done() and it.running == 1


async def test_a_place_given_to_one_who_leaves_at_that_moment_goes_to_the_next() -> None:
    it = slots()
    await it.take("x")
    first, second = (asyncio.create_task(it.take(name)) for name in "ab")
    await settle()
    it.give()
    first.cancel()
    await settle()
    assert second.done() and (it.running, it.waiting) == (1, 0)


async def test_nobody_is_let_in_while_the_provider_takes_no_calls() -> None:
    it = slots(4, adaptive=True)
    clock: FakeClock = it._clock  # type: ignore[assignment]
    it.limit("key").exhausted(0, 5)
    waiting = asyncio.create_task(it.take("a", "key"))
    await clock.advance(4.9)
    assert not waiting.done()
    await clock.advance(0.2)
    assert waiting.done() and it.running == 1


async def test_a_limit_that_one_key_has_met_holds_nobody_else() -> None:
    it = slots(4, adaptive=True)
    clock: FakeClock = it._clock  # type: ignore[assignment]
    it.limit("spent").exhausted(0, 30)
    held = asyncio.create_task(it.take("a", "spent"))
    await settle()
    assert it.try_take("other") and not held.done()
    behind = asyncio.create_task(it.take("a", "third"))
    await settle()
    assert behind.done(), "also of the same session"
    for _ in range(2):
        it.limit("small").refused(0, 0)
    assert it.allowed == 1
    assert it.try_take("small") and not it.try_take("small")
    assert it.try_take("fourth") and not it.try_take("fifth"), "four at once in all"
    await clock.advance(31)
    assert not held.done()
    it.give("small")
    await settle()
    assert held.done() and it.running == 4


async def test_the_shortest_wait_is_served_first() -> None:
    it = slots(4, adaptive=True)
    clock: FakeClock = it._clock  # type: ignore[assignment]
    for key, seconds in (("long", 60), ("short", 2)):
        it.limit(key).exhausted(0, seconds)
    waiting = [asyncio.create_task(it.take("a", key)) for key in ("long", "short")]
    await clock.advance(3)
    assert [task.done() for task in waiting] == [False, True]
    await clock.advance(60)
    assert waiting[0].done()


async def test_another_limit_lets_those_in_who_wait() -> None:
    it = slots(1)
    await it.take("x")
    waiting = [asyncio.create_task(it.take(name)) for name in "abc"]
    await settle()
    it.renew(3, 10, True)
    await settle()
    assert (it.running, it.waiting, it.allowed) == (3, 1, 3)
    it.renew(1, 10, False)
    assert it.allowed == 1
    for _ in range(3):
        it.give()
    await asyncio.gather(*waiting)
    assert (it.running, it.waiting) == (1, 0)


async def test_names_that_clients_choose_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.upstream.slots.MOST", 8)
    it = slots(4, adaptive=True)
    await it.take("a", "busy")
    it.limit("spent").exhausted(0, 30)
    for number in range(50):
        assert it.try_take(f"model-{number}")
        it.give(f"model-{number}")
    assert len(it._shares) <= 9 and it._shares["busy"].running == 1 and it.limit("spent").wait(0) == 30


async def test_the_end_of_the_process_lets_everybody_go() -> None:
    it = slots()
    await it.take("x")
    waiting = [asyncio.create_task(it.take(name)) for name in "abc"]
    await settle()
    it.close()
    await asyncio.gather(*waiting)
    assert it.waiting == 0


@given(st.integers(1, 4), st.lists(st.sampled_from(["come", "go", "leave"]), max_size=60))
def test_never_more_than_allowed_and_nothing_gets_lost(most, happened):
    async def run() -> None:
        it = slots(most, queue=8)
        tasks: list[asyncio.Task[None]] = []
        held = 0
        for number, what in enumerate(happened):
            if what == "come":
                tasks.append(asyncio.create_task(it.take(str(number % 3))))
            elif what == "leave" and tasks:
                tasks[number % len(tasks)].cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            for task in [task for task in tasks if task.done()]:
                tasks.remove(task)
                if not task.cancelled() and task.exception() is None:
                    held += 1
            if what == "go" and held:
                held -= 1
                it.give()
            assert it.running <= most and it.waiting <= 8
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        held += sum(not task.cancelled() and task.exception() is None for task in tasks)
        assert (it.running, it.waiting) == (held, 0)

    asyncio.run(run())
