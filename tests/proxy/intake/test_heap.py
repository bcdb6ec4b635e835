"""When memory is given back: after large bodies, at once where none is in use, else not too often."""

from __future__ import annotations

import io
import json

import aiohttp

from proxy.intake.heap import OFTEN, WORTH, Heap, keep_apart
from tests.clock import FakeClock
from tests.proxy.conftest import Start
from tests.upstream import Upstream, talk


def test_small_bodies_are_not_worth_it():
    heap = Heap()
    heap.came(WORTH - 1)
    assert not heap.due(0.0, 0)
    heap.came(1)
    assert heap.due(1.0, 0)
    assert not heap.due(2.0, 0), "asked once"


def test_while_bodies_are_in_use_it_is_asked_now_and_then():
    heap = Heap()
    heap.came(WORTH)
    assert heap.due(100.0, 1)
    heap.came(WORTH)
    assert not heap.due(100.0 + OFTEN - 1, 1)
    assert heap.due(100.0 + OFTEN, 1)


def test_what_came_while_others_were_in_use_is_given_back_once_none_is():
    heap = Heap()
    heap.came(WORTH)
    assert heap.due(100.0, 1)
    heap.came(1)
    assert not heap.due(101.0, 1)
    assert heap.due(102.0, 0), "the last one was still there when it was asked"
    assert not heap.due(103.0, 0)


def test_a_library_without_such_a_call(monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda _name: object())
    Heap().trim()
    keep_apart()


async def test_after_large_bodies_the_process_asks(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
):
    up.answer(*talk("hi"))
    server = await start(clock=clock)
    asked: list[float] = []
    server.fuse.heap.trim = lambda: asked.append(clock.now())
    ask = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x" * (WORTH // 2)}]}
    for _ in range(2):
        async with client.post(
            f"http://127.0.0.1:{server.port}/v1/chat/completions", data=io.BytesIO(json.dumps(ask).encode())
        ) as answer:
            assert b"[DONE]" in await answer.read()
    assert not asked
    await clock.advance(1.0)
    await clock.advance(1.0)
    assert len(asked) == 1
    assert [got.json for got in up.requests] == [ask, ask], "sent in pieces, and whole"
    assert all(got.header("content-length") == str(len(got.body)) for got in up.requests)
