"""A long prefill on the Responses wire: the answer begins early, so that keep-alives can be events."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from proxy.server.app import Server
from tests.clock import FakeClock
from tests.proxy.conftest import Start
from tests.readers.openai_responses import read
from tests.rules.wires.play import STREAMS
from tests.upstream import Step, Upstream, chunk, end, head, wait, whole

GOLDEN = (STREAMS / "openai_responses" / "text.sse").read_bytes()
ASK = {"model": "m", "stream": True, "store": False, "input": "hi"}
EARLY = {"every": "5s", "prelude": "20s"}


async def asked(server: Server, client: aiohttp.ClientSession, body: Any = ASK) -> aiohttp.ClientResponse:
    return await client.post(f"http://127.0.0.1:{server.port}/v1/responses", json=body)


async def seconds(clock: FakeClock, count: int) -> None:
    for _ in range(count):
        await clock.advance(1.0)
        await asyncio.sleep(0.002)


def answer(raw: bytes = GOLDEN) -> tuple[Step, ...]:
    return head(), chunk(raw), end()


def names(body: bytes) -> list[str]:
    return [line[7:].decode() for line in body.split(b"\n") if line.startswith(b"event: ")]


async def test_ours_comes_first_and_keep_alives_follow(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, heartbeat=EARLY, replay={"hold_time": "10s"})
    up.answer(wait("late"), *answer())
    asking = asyncio.create_task(asked(server, client))
    await up.until(lambda: len(up.requests) == 1)
    await seconds(clock, 40)
    reply = await asking
    up.go("late")
    body = await reply.read()
    assert body.startswith(b": hb\n")
    assert names(body)[:3] == ["response.created", "keepalive", "keepalive"]
    told = read(body)
    assert told.text == "Put the kettle on, wait — then pour. ☕"
    assert told.ident.startswith("resp_")
    assert told.ident != "resp_01text"


async def test_the_upstreams_own_beginning_is_let_out_where_it_is_there(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, heartbeat=EARLY)
    begun, rest = GOLDEN.split(b"event: response.output_item.added", 1)
    up.answer(head(), chunk(begun), wait("late"), chunk(b"event: response.output_item.added" + rest), end())
    asking = asyncio.create_task(asked(server, client, {**ASK, "store": True}))
    await up.until(lambda: len(up.requests) == 1)
    await seconds(clock, 45)
    reply = await asking
    up.go("late")
    body = await reply.read()
    assert names(body)[:3] == ["response.created", "response.in_progress", "keepalive"]
    assert read(body).ident == "resp_01text"


async def test_a_failure_after_it_is_asked_again_unseen(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, heartbeat=EARLY)
    up.answer(wait("late"), *whole({"error": {"message": "busy"}}, status=503))
    up.answer(*answer())
    asking = asyncio.create_task(asked(server, client))
    await up.until(lambda: len(up.requests) == 1)
    await seconds(clock, 40)
    reply = await asking
    up.go("late")
    for _ in range(40):
        await seconds(clock, 1)
        if len(up.requests) == 2:
            break
    body = await reply.read()
    assert names(body).count("response.created") == 1
    assert read(body).end == "completed"


async def test_a_last_failure_after_it_is_told_in_the_stream(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    none = {"max_retries": 0}
    server = await start(clock=clock, heartbeat=EARLY, retry={"request": none, "server": none})
    up.answer(wait("late"), *whole({"error": {"message": "busy"}}, status=503))
    asking = asyncio.create_task(asked(server, client))
    await up.until(lambda: len(up.requests) == 1)
    await seconds(clock, 40)
    reply = await asking
    up.go("late")
    told = read(await reply.read())
    assert told.end == "failed"
    assert told.error is not None
    assert told.error["message"] == "busy"


@pytest.mark.parametrize("body", [{**ASK, "store": True}, {**ASK, "previous_response_id": "resp_1"}])
async def test_none_of_ours_where_its_id_could_be_chained_on(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, body: dict[str, Any]
) -> None:
    server = await start(clock=clock, heartbeat=EARLY)
    up.answer(wait("late"), *answer())
    asking = asyncio.create_task(asked(server, client, body))
    await up.until(lambda: len(up.requests) == 1)
    await seconds(clock, 45)
    reply = await asking
    up.go("late")
    sent = await reply.read()
    assert sent.replace(b": hb\n", b"") == GOLDEN
