"""Bodies of all requests together: how many bytes they may take, and whose turn it is."""

from __future__ import annotations

import asyncio
import itertools
import json

import aiohttp
import pytest

from proxy.intake.room import LARGE, PIECES, SEATS, Full, Room
from proxy.observers.reports import Ended, Outcome
from proxy.server.app import Server
from tests.proxy.conftest import Heard, Start
from tests.upstream import Upstream, done, finish, head, role, talk, text, wait


def test_what_is_held_is_bounded():
    room = Room(100)
    room.take(60)
    with pytest.raises(Full):
        room.take(41)
    assert room.held == 60
    room.take(40)
    room.give(100)
    room.take(100)


def test_no_limit():
    Room(0).take(1 << 60)


async def test_large_bodies_take_turns_and_others_go_between():
    room = Room(0)
    seen: list[str] = []
    running = True

    async def large(name: str) -> None:
        await room.turn(LARGE)
        seen.append(name)

    async def other() -> None:
        while running:
            seen.append(".")
            await asyncio.sleep(0)

    watching = asyncio.create_task(other())
    await asyncio.gather(*(large(name) for name in "abcde"))
    running = False
    await watching
    assert [name for name in seen if name != "."] == list("abcde"), "in the order of their asking"
    for one, two in itertools.pairwise(seen):
        assert "." in (one, two), "never two large ones in one turn"


async def test_a_small_body_does_not_wait():
    room = Room(0)
    async with room._line:
        await room.turn(LARGE - 1)


async def test_few_are_parsed_and_not_yet_reviewed():
    room = Room(0)
    size = SEATS // 2
    assert not await room.sit(LARGE - 1)
    assert await room.sit(size) and await room.sit(size)
    third = asyncio.create_task(room.sit(4 * SEATS))
    fourth = asyncio.create_task(room.sit(LARGE))
    left = asyncio.create_task(room.sit(LARGE))
    await asyncio.sleep(0)
    left.cancel()
    room.rise(size)
    await asyncio.sleep(0)
    assert not third.done(), "one that is larger than all seats sits alone"
    room.rise(size)
    assert await third
    await asyncio.sleep(0)
    assert not fourth.done(), "in the order of their asking"
    room.rise(4 * SEATS)
    assert await fourth
    room.rise(LARGE)
    assert room._seated == 0


async def test_a_turn_of_the_loop_takes_so_many_bytes():
    room = Room(0)
    turns: list[int] = []
    turn = 0

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    async def upload() -> None:
        await room.piece(PIECES // 4)
        turns.append(turn)

    counting = asyncio.create_task(count())
    await asyncio.gather(*(upload() for _ in range(16)))
    counting.cancel()
    assert turns == sorted(turns)
    assert max(turns.count(turn) for turn in turns) == 4


async def test_one_that_leaves_its_place_does_not_stop_the_others():
    room = Room(0)
    tasks = [asyncio.create_task(room.turn(LARGE)) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[1].cancel()
    await tasks[2]


async def test_a_body_that_finds_no_room_is_refused_and_the_room_comes_back(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
):
    up.answer(head(), role(), text("hi"), wait("more"), finish(), done())
    up.answer(*talk("hi"))
    server: Server = await start(limits={"memory": "1MB"})
    url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
    ask = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x" * 600_000}]}
    first = await client.post(url, data=json.dumps(ask))
    async with client.post(url, data=json.dumps(ask)) as second:
        assert second.status == 503 and second.headers["Retry-After"] == "1"
        assert (await second.json(content_type=None))["error"]["code"] == "streamfuse_busy"
    async with client.post(url, data=json.dumps({**ask, "messages": []})) as small:
        assert small.status == 200
        await small.read()
    up.go("more")
    assert b"[DONE]" in await first.read()
    async with client.post(url, data=json.dumps(ask)) as third:
        assert third.status == 200
        await third.read()
    assert server.fuse.room.held == 0
    assert sorted(ended.outcome for ended in heard.of(Ended)) == [Outcome.OK, Outcome.OK, Outcome.OK, Outcome.REJECTED]
    assert len(up.requests) == 3


async def test_one_large_body_at_a_time_is_compared_and_small_ones_do_not_wait() -> None:
    room = Room(0)
    async with room.alone(LARGE):
        async with asyncio.timeout(1), room.alone(LARGE - 1):
            pass
        second = asyncio.create_task(room.alone(LARGE).__aenter__())
        await asyncio.sleep(0)
        assert not second.done()
    await second


async def test_pieces_are_taken_in_turn_and_nobody_else_is_woken() -> None:
    room, took = Room(0), list[int]()

    async def takes(number: int) -> None:
        await room.piece(PIECES // 2)
        took.append(number)

    tasks = [asyncio.ensure_future(takes(number)) for number in range(9)]
    steps = list[int]()
    while not all(task.done() for task in tasks):
        before = len(took)
        await asyncio.sleep(0)
        steps.append(len(took) - before)
    assert took == list(range(9)) and max(steps) <= 2


async def test_a_client_that_leaves_while_it_waits_for_its_piece_holds_nobody_up() -> None:
    room = Room(0)
    first, leaves, *others = [asyncio.ensure_future(room.piece(PIECES)) for _ in range(4)]
    await asyncio.sleep(0)
    assert first.done() and not leaves.done()
    leaves.cancel()
    await asyncio.wait_for(asyncio.gather(*others), 5)
    await asyncio.wait_for(room.piece(1), 5)
    assert leaves.cancelled()
