"""Nobody's agent ends because we stand in between: clients and a provider that fails for a while, by a clock that only
the test moves."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from proxy.server.app import Server
from tests.clock import FakeClock
from tests.proxy.conftest import Start
from tests.upstream import Upstream, chunk, hang, head, role, talk, text, wait, whole

ASK = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
WHOLE = {**ASK, "stream": False}
SDK: dict[str, Any] = {"x-stainless-retry-count": "0", "x-stainless-read-timeout": "600"}
OVERLOADED = {"error": {"type": "overloaded_error", "message": "Overloaded"}}
DOWN = whole(OVERLOADED, status=529)


class Client:
    """One request on its way."""

    def __init__(self, server: Server, http: aiohttp.ClientSession, body: Any = ASK, **headers: str) -> None:
        self.status: int | None = None
        self.headers: Any = {}
        self.body = b""
        self.task = asyncio.create_task(self._ask(server, http, body, headers))

    async def _ask(self, server: Server, http: aiohttp.ClientSession, body: Any, headers: Any) -> None:
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        async with http.post(url, json=body, headers=headers) as answer:
            self.status, self.headers = answer.status, answer.headers
            async for data in answer.content.iter_any():
                self.body += data

    @property
    def error(self) -> Any:
        return json.loads(self.body)


async def passes(clock: FakeClock, seconds: float, step: float = 0.5) -> None:
    """Time, in steps between which loopback sockets get their turns."""
    for _ in range(int(seconds / step)):
        await clock.advance(step)
        await asyncio.sleep(0.005)


async def ended(*clients: Client) -> None:
    async with asyncio.timeout(10):
        await asyncio.gather(*(client.task for client in clients))


# --- one client ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("down", [DOWN, whole(OVERLOADED, status=500), whole(OVERLOADED, status=504)])
@pytest.mark.parametrize("body", [ASK, WHOLE], ids=["stream", "whole"])
async def test_an_outage_shorter_than_the_client_s_patience_is_never_seen(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, body: Any, down: Any
) -> None:
    server = await start(clock=clock)
    up.answer(*down)
    asking = Client(server, client, body, **SDK)
    await passes(clock, 60)
    assert asking.status is None
    up.answer(*talk("hello"))
    await passes(clock, 40)
    await ended(asking)
    assert asking.status == 200 and b"hello" in asking.body
    assert len(up.requests) <= 9


async def test_a_client_with_tries_of_its_own_is_told_with_a_status(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, retry={"server": {"max_retries": 100}})
    up.answer(*DOWN)
    asking = Client(server, client, **SDK)
    await passes(clock, 239, step=1)
    assert asking.status is None
    await passes(clock, 3, step=1)
    await ended(asking)
    assert (asking.status, asking.error) == (529, OVERLOADED)
    assert "x-should-retry" not in asking.headers and 1 <= int(asking.headers["Retry-After"]) <= 5


async def test_a_client_that_names_a_short_time_out_is_told_before_it(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(*DOWN)
    asking = Client(server, client, **{**SDK, "x-stainless-read-timeout": "20"})
    await passes(clock, 15)
    assert asking.status is None
    await passes(clock, 2)
    await ended(asking)
    assert asking.status == 529


async def test_a_stream_of_an_unknown_client_begins_and_hears_heartbeats(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(*DOWN)
    asking = Client(server, client)
    await passes(clock, 29)
    assert asking.status is None
    await passes(clock, 33)
    assert asking.status == 200 and b":" in asking.body
    up.answer(*talk("hello"))
    await passes(clock, 40)
    await ended(asking)
    assert b"hello" in asking.body and b"[DONE]" in asking.body


async def test_a_whole_answer_for_an_unknown_client_fails_before_its_time_out(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(*DOWN)
    asking = Client(server, client, WHOLE)
    await passes(clock, 31)
    await ended(asking)
    assert (asking.status, asking.error) == (529, OVERLOADED)


async def test_a_provider_that_answers_slowly_begins_for_everybody(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(head(), role(), hang())
    asking = Client(server, client, **SDK)
    await up.until(lambda: len(up.requests) == 1)
    await asyncio.sleep(0.02)
    await passes(clock, 32)
    assert asking.status == 200
    asking.task.cancel()


async def test_a_silent_provider_does_not_take_the_status_from_a_client_that_asks_again(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(wait("late"), *whole(OVERLOADED, status=504))
    asking = Client(server, client, **SDK)
    await up.until(lambda: len(up.requests) == 1)
    await passes(clock, 100, step=1)
    assert asking.status is None
    up.go("late")
    await ended(asking)
    assert asking.status == 504 and len(up.requests) == 1, "the gateway waited long: the client says whether to go on"


async def test_a_silence_is_told_by_when_the_client_would_have_given_up(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, heartbeat={"every": "5s"})
    up.answer(head(), role(), text("half"), hang())
    asking = Client(server, client, **{**SDK, "x-stainless-read-timeout": "60"})
    await up.until(lambda: len(up.requests) == 1)
    await asyncio.sleep(0.02)
    await passes(clock, 58, step=1)
    assert asking.status == 200 and b"error" not in asking.body
    await passes(clock, 4, step=1)
    await ended(asking)
    assert b"error" in asking.body


async def test_a_provider_that_pings_keeps_its_thinking_model(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    pings = [step for n in range(4) for step in (wait(f"p{n}"), chunk(b": ping\n\n"))]
    up.answer(head(), role(), text("hm"), *pings, wait("end"), *talk(" yes")[1:])
    asking = Client(server, client, **SDK)
    await up.until(lambda: len(up.requests) == 1)
    for n in range(4):
        await asyncio.sleep(0.02)
        await passes(clock, 200, step=10)
        up.go(f"p{n}")
    await asyncio.sleep(0.02)
    up.go("end")
    await ended(asking)
    assert b" yes" in asking.body and b"error" not in asking.body


async def test_a_wait_that_the_provider_named_is_kept_over_the_client_s_own_tries(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(*whole(OVERLOADED, status=503, retry_after="40"))
    one = {"x-streamfuse-correlation-id": "r", **SDK}
    first = Client(server, client, **one)
    await ended(first)
    assert (first.status, first.headers["Retry-After"]) == (503, "40")
    up.answer(*talk("hello"))
    early = Client(server, client, **one)
    await passes(clock, 39, step=1)
    assert early.status is None and len(up.requests) == 1
    await passes(clock, 2, step=1)
    await ended(early)
    assert early.status == 200


# --- many clients ----------------------------------------------------------------------------------------------------
async def test_fifty_agents_live_through_an_outage_with_little_more_than_a_call_a_second(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(*DOWN)
    agents = [Client(server, client, **SDK) for _ in range(50)]
    await up.until(lambda: len(up.requests) == 50)
    await passes(clock, 3)
    early = len(up.requests)
    await passes(clock, 27)
    assert len(up.requests) - early <= 2 * 27
    up.answer(*talk("hello"))
    for _ in range(30):
        if all(agent.task.done() for agent in agents):
            break
        await passes(clock, 4)
    await ended(*agents)
    assert [agent.status for agent in agents] == [200] * 50
    assert len(up.requests) <= 50 + 2 * 30 + 50


async def test_when_the_provider_is_back_nobody_waits_for_the_reserve(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, reserve={"ratio": 0, "floor": 0.2, "window": "10s"})
    up.answer(*DOWN)
    agents = [Client(server, client, **SDK) for _ in range(12)]
    await up.until(lambda: len(up.requests) == 12)
    up.answer(*talk("hello"))
    for _ in range(20):
        if all(agent.task.done() for agent in agents):
            break
        await passes(clock, 1)
    await ended(*agents)
    assert clock.now() <= 20, "two retries in ten seconds would be a minute"


async def test_who_waits_in_vain_is_told_what_the_provider_said(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(*DOWN)
    agents = [Client(server, client, **SDK) for _ in range(40)]
    await up.until(lambda: len(up.requests) == 40)
    await passes(clock, 2)
    late = Client(server, client, WHOLE)  # nothing is known of it: 30 s at most, and 40 stand before it
    await passes(clock, 32)
    await ended(late)
    assert (late.status, late.error) == (529, OVERLOADED)
    assert "x-should-retry" not in late.headers and int(late.headers["Retry-After"]) >= 1
    for agent in agents:
        agent.task.cancel()


async def test_one_request_that_always_fails_delays_nobody(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(*whole(OVERLOADED, status=500))
    poison = Client(server, client, **SDK)
    await passes(clock, 20)
    up.answer(*talk("hello"))
    well = [Client(server, client, **SDK) for _ in range(3)]
    await passes(clock, 3)
    await ended(*well)
    assert [one.status for one in well] == [200] * 3
    poison.task.cancel()


async def test_a_limit_of_one_key_is_not_that_of_another(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(*whole({"error": {"message": "slow down"}}, status=429))
    crowd = [Client(server, client, **SDK, Authorization="Bearer one") for _ in range(8)]
    await up.until(lambda: len(up.requests) == 8)
    await passes(clock, 1)
    up.answer(*talk("hello"))
    other = Client(server, client, **SDK, Authorization="Bearer two")
    await ended(other)
    assert other.status == 200
    for one in crowd:
        one.task.cancel()


async def test_a_process_that_ends_lets_nobody_wait_for_a_turn(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, drain={"grace": "1s"})
    up.answer(*DOWN)
    agents = [Client(server, client, **SDK) for _ in range(5)]
    await up.until(lambda: len(up.requests) == 5)
    await passes(clock, 1)
    newcomer = Client(server, client, **SDK)
    await passes(clock, 0.5)
    stopping = asyncio.create_task(server.stop())
    await passes(clock, 5)
    async with asyncio.timeout(10):
        await asyncio.gather(stopping, newcomer.task, *(agent.task for agent in agents), return_exceptions=True)
    assert newcomer.status in (503, None)
