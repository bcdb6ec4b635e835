"""The queue before a failing provider, by a clock that only the test moves."""

from __future__ import annotations

import asyncio

import pytest

from proxy.upstream import gates
from proxy.upstream.gates import Gates, Key
from rules.after.health import PACE, SICK
from rules.values.failures import Failure, Kind, Phase
from tests.clock import FakeClock, settle

KEY = ("up", "m", "key")
DOWN = Failure(Phase.HEADERS, Kind.SERVER, "boom", status=529)
LIMITED = Failure(Phase.HEADERS, Kind.RATE_LIMIT, "slow down", status=429)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def all_gates(clock: FakeClock) -> Gates:
    return Gates(clock)


def fails(them: Gates, key: Key = KEY, failure: Failure = DOWN, times: int = SICK) -> None:
    for _ in range(times):
        them.failed(key, failure, 1e9, streaming=False)


async def test_a_provider_that_is_well_has_no_gate(all_gates: Gates) -> None:
    assert all_gates.before(KEY) == []
    all_gates.opened(KEY)
    all_gates.answered(KEY)
    assert len(all_gates) == 0


async def test_turns_come_in_the_order_of_those_who_wait(all_gates: Gates, clock: FakeClock) -> None:
    fails(all_gates)
    (gate,) = all_gates.before(KEY)
    came: list[int] = []

    async def waits(number: int) -> None:
        await gate.turn()
        came.append(number)

    tasks = [asyncio.ensure_future(waits(number)) for number in range(4)]
    await settle()
    assert came == []
    for count in range(1, 5):
        await clock.advance(PACE)
        assert came == list(range(count))
    await asyncio.gather(*tasks)


async def test_a_new_request_goes_before_the_retries_of_others(all_gates: Gates, clock: FakeClock) -> None:
    fails(all_gates)
    (gate,) = all_gates.before(KEY)
    came: list[str] = []

    async def waits(name: str, retry: bool) -> None:
        await gate.turn(retry)
        came.append(name)

    tasks = [asyncio.ensure_future(waits(f"retry {number}", True)) for number in range(3)]
    await settle()
    tasks.append(asyncio.ensure_future(waits("new", False)))
    await settle()
    assert gate.waiting == 4
    for _ in range(4):
        await clock.advance(PACE)
    assert came == ["new", "retry 0", "retry 1", "retry 2"]
    await asyncio.gather(*tasks)


ODD = [
    Failure(Phase.STREAM, Kind.SERVER, "a web page", code="streamfuse_not_an_answer"),
    Failure(Phase.STREAM, Kind.STREAM, "nothing", code="streamfuse_empty_stream"),
    Failure(Phase.STREAM, Kind.UNKNOWN, "an error that no table knows"),
    Failure(Phase.HEADERS, Kind.SERVER, "no HTTP", code="streamfuse_upstream_invalid"),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.message)
async def test_no_new_request_waits_because_of_a_200_that_is_no_answer(
    all_gates: Gates, clock: FakeClock, odd: Failure
) -> None:
    for _ in range(100):
        all_gates.failed(KEY, odd, clock.now(), streaming=True)
    (gate,) = all_gates.before(KEY)
    assert gate.last is odd
    for _ in range(3):
        await gate.turn()  # at once
    retries = [asyncio.ensure_future(gate.turn(True)) for _ in range(2)]
    await settle()
    assert not any(retry.done() for retry in retries), "what the first of them gets will tell the others"
    await gate.turn()
    await clock.advance(PACE)
    assert [retry.done() for retry in retries] == [True, False]
    await clock.advance(PACE)
    await asyncio.gather(*retries)
    for _ in range(6):
        all_gates.answered(KEY)
    assert len(all_gates) == 0


async def test_odd_answers_and_an_outage_are_counted_apart(all_gates: Gates, clock: FakeClock) -> None:
    for _ in range(SICK - 1):
        all_gates.failed(KEY, DOWN, clock.now(), streaming=False)
        all_gates.failed(KEY, ODD[0], clock.now(), streaming=True)
    (gate,) = all_gates.before(KEY)
    await gate.turn(True)  # neither of the two is an illness yet
    fails(all_gates)
    waiting = asyncio.ensure_future(gate.turn())
    await settle()
    assert not waiting.done()
    await clock.advance(PACE)
    await waiting


async def test_an_overload_told_in_a_200_is_an_outage(all_gates: Gates) -> None:
    fails(all_gates, failure=Failure(Phase.STREAM, Kind.SERVER, "overloaded", code="overloaded_error"))
    (gate,) = all_gates.before(KEY)
    waiting = asyncio.ensure_future(gate.turn())
    await settle()
    assert not waiting.done()
    all_gates.close()
    await waiting


async def test_odd_answers_count_for_a_breaker_that_the_config_asks_for(all_gates: Gates) -> None:
    for number in range(3):
        all_gates.failed(KEY, ODD[0], 1e9, streaming=True, request=str(number), breaker=(3, 5.0))
    assert all_gates.refuses(KEY) is not None


async def test_who_leaves_gives_its_turn_to_the_next(all_gates: Gates, clock: FakeClock) -> None:
    fails(all_gates)
    (gate,) = all_gates.before(KEY)
    first, second = asyncio.ensure_future(gate.turn()), asyncio.ensure_future(gate.turn())
    await settle()
    first.cancel()
    await clock.advance(PACE)
    assert first.cancelled() and second.done()


async def test_answers_let_everybody_through_and_the_gate_is_gone(all_gates: Gates, clock: FakeClock) -> None:
    fails(all_gates)
    (gate,) = all_gates.before(KEY)
    tasks = [asyncio.ensure_future(gate.turn()) for _ in range(20)]
    await clock.advance(PACE)
    for _ in range(8):
        all_gates.answered(KEY)
    await clock.advance(PACE)
    assert all(task.done() for task in tasks)
    all_gates.answered(KEY)
    assert len(all_gates) == 0


async def test_a_rate_limit_is_one_key_s_a_failure_is_everybody_s(all_gates: Gates) -> None:
    other = ("up", "m", "other key")
    fails(all_gates, failure=LIMITED)
    assert all_gates.before(other) == []
    fails(all_gates)
    assert len(all_gates.before(other)) == 1 and len(all_gates.before(KEY)) == 2
    assert all_gates.before(("up", "another model", "key")) == []


async def test_an_error_of_the_request_is_an_answer_of_the_provider(all_gates: Gates) -> None:
    fails(all_gates)
    refused = Failure(Phase.HEADERS, Kind.TERMINAL, "no", status=400)
    for _ in range(8):
        all_gates.failed(KEY, refused, 0.0, streaming=False)
    assert len(all_gates) == 0


async def test_what_was_said_last_is_kept(all_gates: Gates) -> None:
    fails(all_gates, times=1)
    (gate,) = all_gates.before(KEY)
    assert gate.last is DOWN


async def test_there_are_never_more_gates_than_are_kept(
    all_gates: Gates, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "MOST", 3)
    fails(all_gates)
    (gate,) = all_gates.before(KEY)
    waiting = asyncio.ensure_future(gate.turn())
    await settle()
    for number in range(5):
        fails(all_gates, ("up", f"m{number}", ""))
    assert len(all_gates) == 3
    await settle()
    assert waiting.done() and waiting.exception() is None, "whoever waited at a gate that is gone goes on"


async def test_at_the_end_nobody_waits(all_gates: Gates) -> None:
    fails(all_gates)
    (gate,) = all_gates.before(KEY)
    waiting = asyncio.ensure_future(gate.turn())
    await settle()
    all_gates.close()
    await settle()
    assert waiting.done() and len(all_gates) == 0
