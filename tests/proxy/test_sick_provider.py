"""A sick provider: its calls are limited, it is answered for from memory, and others are asked instead. All is off by
default, and nothing that the client has seen is ever contradicted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import aiohttp
import pytest

from proxy.observers.reports import BreakerChanged, Ended, FellBack, FromMemory, Outcome, Queued
from proxy.server.app import Server
from proxy.settings.load import Settings
from tests.clock import FakeClock
from tests.proxy.conftest import Heard, Start
from tests.proxy.redis_server import ABSENT, BINARY, RedisServer
from tests.proxy.test_patience import ASK, DOWN, SDK, WHOLE, Client, ended, passes
from tests.upstream import Step, Upstream, close, end, event, hang, head, reset, role, text, wait, whole

NONE = {"mode": "bounded", "max_retries": 0}
ONE_TRY: dict[str, Any] = {"server": NONE, "network": NONE, "stream": NONE}
DONE = {"id": "c", "object": "chat.completion", "model": "m", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}]}  # fmt: skip
GOOD = (head(), role(), text("fine"), event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        event(b"[DONE]"), end())  # fmt: skip


async def begin(
    start: Start, up: Upstream, other: Upstream, first: dict[str, Any], second: dict[str, Any], **more: Any
) -> Any:
    clock = FakeClock()
    providers = {
        "up": {"base_url": f"{up.url}/v1", "retry": ONE_TRY, **first},
        "other": {"base_url": f"{other.url}/v1", "retry": ONE_TRY, **second},
    }
    return await start(clock, providers=providers, default_provider="up", **more), clock


async def until(there: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not there():  # noqa: ASYNC110  (what it waits for has no event)
            await asyncio.sleep(0.001)


# --- the limit of concurrent calls -----------------------------------------------------------------------------------
async def test_no_more_calls_than_allowed_and_all_are_answered(up: Upstream, start: Start, heard: Heard) -> None:
    clock = FakeClock()
    server = await start(clock, {"concurrency": {"limit": 2}})
    up.answer(head(), wait("go"), *GOOD[1:])
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        clients = [Client(server, http) for _ in range(6)]
        await up.until(lambda: len(up.requests) == 2)
        await passes(clock, 2)
        assert len(up.requests) == 2
        up.go("go")
        await ended(*clients)
    assert all(client.status == 200 and b"fine" in client.body for client in clients)
    assert len(up.requests) == 6 and len(heard.of(Queued)) == 4
    assert server.fuse.slots["up"].running == 0


async def test_a_full_line_and_a_long_wait_are_told_at_once(up: Upstream, start: Start, heard: Heard) -> None:
    clock = FakeClock()
    server = await start(clock, {"concurrency": {"limit": 1, "queue": 1, "wait": "5s"}})
    up.answer(head(), wait("go"), *GOOD[1:])
    async with aiohttp.ClientSession() as http:
        first = Client(server, http)
        await up.until(lambda: len(up.requests) == 1)
        second = Client(server, http, **SDK)
        await until(lambda: server.fuse.slots["up"].waiting)
        third = Client(server, http)
        await ended(third)
        assert third.status == 503 and third.error["error"]["code"] == "streamfuse_queue_full"
        assert int(third.headers["Retry-After"]) >= 1
        await passes(clock, 7)
        await ended(second)
        assert second.status == 503 and second.headers.get("x-should-retry") != "false"
        up.go("go")
        await ended(first)
    assert first.status == 200 and len(up.requests) == 1
    assert [report.reason for report in heard.of(FromMemory)] == ["queue", "queue"]


async def test_a_streaming_client_in_line_hears_heartbeats(up: Upstream, start: Start) -> None:
    clock = FakeClock()
    server = await start(
        clock, {"concurrency": {"limit": 1, "wait": "60s"}}, heartbeat={"every": "1s"}, replay={"hold_time": "3s"}
    )
    up.answer(head(), wait("go"), *GOOD[1:])
    async with aiohttp.ClientSession() as http:
        first = Client(server, http)
        await up.until(lambda: len(up.requests) == 1)
        second = Client(server, http)
        await passes(clock, 8)
        assert second.status == 200 and second.body.startswith(b":")
        up.go("go")
        await ended(first, second)
    assert b"fine" in second.body and len(up.requests) == 2


async def test_a_client_that_leaves_the_line_or_its_call_frees_its_place(up: Upstream, start: Start) -> None:
    server = await start(None, {"concurrency": {"limit": 1}})
    up.answer(head(), role(), wait("never"), end())
    async with aiohttp.ClientSession() as http:
        first = Client(server, http)
        await up.until(lambda: len(up.requests) == 1)
        second = Client(server, http)
        await until(lambda: server.fuse.slots["up"].waiting)
        second.task.cancel()
        first.task.cancel()
        await asyncio.gather(first.task, second.task, return_exceptions=True)
        await until(lambda: not (server.fuse.slots["up"].running or server.fuse.slots["up"].waiting))
        up.answer(*GOOD)
        third = Client(server, http)
        await ended(third)
    assert third.status == 200 and len(up.requests) == 2


ADAPTIVE = {"concurrency": {"limit": 8, "adaptive": True}, "retry": {"rate_limit": {"max_retries": 0}}}


def spent(reset: str) -> tuple[Step, ...]:
    """A 429 that says that no request is left until `reset` has passed."""
    headers = {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": reset}
    return whole({"error": {"message": "slow down"}}, status=429, **headers)


async def test_an_adaptive_limit_follows_the_provider(up: Upstream, start: Start) -> None:
    clock = FakeClock()
    server = await start(clock, ADAPTIVE)
    up.answer(*spent("20s"))
    async with aiohttp.ClientSession() as http:
        await ended(first := Client(server, http, WHOLE))
        ((_, share),) = server.fuse.slots["up"]._shares.items()
        limit = share.limit
        assert first.status == 429 and limit.now_allowed == 4
        assert 18 < limit.wait(clock.now()) <= 20
        await passes(clock, 21, 1.0)
        up.answer(*whole(DONE))
        for _ in range(20):
            await ended(Client(server, http, WHOLE))
    assert limit.now_allowed > 4


async def test_a_key_that_has_spent_its_limit_holds_nobody_else(up: Upstream, start: Start) -> None:
    clock = FakeClock()
    server = await start(clock, ADAPTIVE)
    up.answer(*spent("60s"))
    up.answer(*whole(DONE))
    async with aiohttp.ClientSession() as http:
        await ended(Client(server, http, WHOLE, Authorization="Bearer spent"))
        await ended(other := Client(server, http, WHOLE, Authorization="Bearer other"))
    assert other.status == 200 and len(up.requests) == 2


async def test_keys_take_turns_also_where_the_provider_has_a_key_of_its_own(up: Upstream, start: Start) -> None:
    server = await start(None, {"api_key": "k", "concurrency": {"limit": 1}}, auth={"keys": ["one", "two"]})
    up.answer(head(), role(), wait("go"), *GOOD[2:])
    up.answer(*GOOD)
    order: list[str] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        clients = [Client(server, http, Authorization="Bearer one")]
        await up.until(lambda: len(up.requests) == 1)
        for number, key in enumerate(["one", "one", "one", "two"]):
            clients.append(Client(server, http, Authorization=f"Bearer {key}"))
            clients[-1].task.add_done_callback(lambda _, key=key: order.append(key))  # type: ignore[misc]
            await until(lambda number=number: server.fuse.slots["up"].waiting == number + 1)  # type: ignore[misc]
        up.go("go")
        await ended(*clients)
    assert order == ["one", "two", "one", "one"]


async def test_whose_wait_is_over_after_heartbeats_is_told_in_the_stream(up: Upstream, start: Start) -> None:
    clock = FakeClock()
    server = await start(
        clock, {"concurrency": {"limit": 1, "wait": "10s"}}, heartbeat={"every": "1s"}, replay={"hold_time": "3s"}
    )
    up.answer(head(), wait("go"), *GOOD[1:])
    async with aiohttp.ClientSession() as http:
        first = Client(server, http)
        await up.until(lambda: len(up.requests) == 1)
        second = Client(server, http)
        await passes(clock, 12, 1.0)
        await ended(second)
        up.go("go")
        await ended(first)
    assert second.status == 200 and b"streamfuse_queue_full" in second.body


# --- the breaker -----------------------------------------------------------------------------------------------------
async def test_a_breaker_answers_from_memory_sends_one_probe_and_closes(
    up: Upstream, start: Start, heard: Heard
) -> None:
    clock = FakeClock()
    server = await start(clock, {"breaker": {"failures": 2, "pause": "10s"}, "retry": ONE_TRY})
    up.answer(*DOWN)
    async with aiohttp.ClientSession() as http:
        for _ in range(2):
            await ended(down := Client(server, http, WHOLE))
            assert down.status == 529
        await ended(refused := Client(server, http, WHOLE))
        assert refused.status == 529 and refused.error["error"]["type"] == "overloaded_error", "as the provider said it"
        assert refused.headers["Retry-After"] == "10" and refused.headers.get("x-should-retry") != "false"
        assert len(up.requests) == 2
        await passes(clock, 10, 1.0)
        up.answer(wait("probed"), *whole(DONE))
        probe = Client(server, http, WHOLE)
        await up.until(lambda: len(up.requests) == 3)
        await ended(meanwhile := Client(server, http, WHOLE))
        assert meanwhile.status == 529, "one probe at a time"
        up.go("probed")
        await ended(probe)
        await ended(after := Client(server, http, WHOLE))
    assert [change.open for change in heard.of(BreakerChanged)] == [True, False]
    assert probe.status == after.status == 200
    assert [report.reason for report in heard.of(FromMemory)] == ["breaker", "breaker"]


async def test_a_probe_whose_client_leaves_is_given_to_the_next(up: Upstream, start: Start) -> None:
    clock = FakeClock()
    server = await start(clock, {"breaker": {"failures": 1, "pause": "60s"}, "retry": ONE_TRY})
    up.answer(*DOWN)
    up.answer(wait("never"))
    up.answer(*whole(DONE))
    async with aiohttp.ClientSession() as http:
        await ended(Client(server, http, WHOLE))
        await passes(clock, 61, 20.0)
        probe = Client(server, http, WHOLE)
        await up.until(lambda: len(up.requests) == 2)
        probe.task.cancel()
        await up.until(lambda: up.gone > 0)
        await until(lambda: not server.fuse.open)
        await ended(client := Client(server, http, WHOLE))
    assert client.status == 200


async def test_an_error_of_a_request_neither_opens_nor_closes_it(up: Upstream, start: Start, heard: Heard) -> None:
    clock = FakeClock()
    server = await start(clock, {"breaker": {"failures": 2, "pause": "60s"}, "retry": ONE_TRY})
    wrong = whole({"error": {"message": "no such key"}}, status=401)
    for answer in (wrong, wrong, wrong, DOWN, wrong, DOWN, wrong):
        up.answer(*answer)
    up.answer(*whole(DONE))
    async with aiohttp.ClientSession() as http:
        for _ in range(6):
            await ended(client := Client(server, http, WHOLE))
            assert client.status in (401, 529)
        await ended(refused := Client(server, http, WHOLE))
        assert refused.status == 529 and len(up.requests) == 6, "open, whatever wrong keys met in between"
        await passes(clock, 61, 20.0)
        await ended(probe := Client(server, http, WHOLE))
        assert probe.status == 401, "it has told nothing of the provider: the next one is a probe, too"
        await ended(client := Client(server, http, WHOLE))
    assert client.status == 200
    assert [change.open for change in heard.of(BreakerChanged)] == [True, False]


async def test_a_breaker_that_nobody_asks_is_not_told_as_open_for_ever(
    up: Upstream, start: Start, heard: Heard
) -> None:
    clock = FakeClock()
    server = await start(clock, {"breaker": {"failures": 1, "pause": "10s"}, "retry": ONE_TRY})
    up.answer(*DOWN)
    async with aiohttp.ClientSession() as http:
        await ended(Client(server, http, WHOLE))
    await passes(clock, 75, 1.0)
    assert [(change.open, change.forgotten) for change in heard.of(BreakerChanged)] == [(True, False), (False, True)]
    assert not len(server.fuse.gates)


async def test_another_address_begins_with_a_clean_record(
    up: Upstream, other: Upstream, start: Start, heard: Heard
) -> None:
    clock = FakeClock()
    breaker = {"breaker": {"failures": 1, "pause": "60s"}, "retry": ONE_TRY}
    server = await start(clock, breaker)
    up.answer(*DOWN)
    other.answer(*whole(DONE))
    async with aiohttp.ClientSession() as http:
        await ended(Client(server, http, WHOLE))
        tree = {"listen": {"port": 0}, "providers": {"up": {"base_url": f"{other.url}/v1", **breaker}}}
        server.fuse = server.fuse.renewed(Settings.model_validate(tree))
        server.fuse.take()
        await ended(client := Client(server, http, WHOLE))
    assert client.status == 200
    assert [change.open for change in heard.of(BreakerChanged)] == [True, False]


@pytest.mark.skipif(BINARY is None, reason=ABSENT)
async def test_workers_share_a_breaker_until_their_redis_dies(up: Upstream, start: Start, heard: Heard) -> None:
    async with RedisServer() as shared:
        one, two = [
            await start(
                clock := FakeClock(),  # in the end the second one
                {"breaker": {"failures": 1, "pause": "60s"}, "retry": ONE_TRY},
                state=shared.url,
                heartbeat={"every": "0s"},
            )
            for _ in range(2)
        ]
        up.answer(*DOWN)
        up.answer(*whole(DONE))
        async with aiohttp.ClientSession() as http:

            async def asked(server: Server) -> int | None:
                await ended(client := Client(server, http, WHOLE))
                await asyncio.gather(*server.fuse.process._tasks)
                return client.status

            assert await asked(one) == 529
            assert await asked(two) == 529 and len(up.requests) == 1, "the other has been told"
            await passes(clock, 61, 20.0)  # of the second one only: the first would not probe yet
            assert await asked(two) == 200
            assert await asked(one) == 200, "closed in all"
            up.answer(*DOWN)
            assert await asked(one) == 529
            await shared.kill()
            assert await asked(one) == 529 and await asked(two) == 529
        assert len(up.requests) == 5, "without Redis each has its own"
    changes = [(change.open, change.forgotten) for change in heard.of(BreakerChanged)]
    assert changes[:3] == [(True, False), (False, False), (False, True)]


async def test_without_a_breaker_every_request_goes_to_the_provider(up: Upstream, start: Start) -> None:
    clock = FakeClock()
    server = await start(clock, {"retry": ONE_TRY})
    up.answer(*DOWN)
    async with aiohttp.ClientSession() as http:
        for _ in range(4):
            client = Client(server, http, WHOLE)
            await passes(clock, 2, 1.0)
            await ended(client)
    assert len(up.requests) == 4


# --- the fallback ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("body", [ASK, WHOLE], ids=["stream", "whole"])
@pytest.mark.parametrize(
    "failing",
    [DOWN, (close(),), whole({"error": {"message": "no such key"}}, status=401), (head(), reset())],
    ids=["overloaded", "closed", "wrong-key", "no-output"],
)
async def test_another_provider_answers_unseen(
    up: Upstream, other: Upstream, start: Start, heard: Heard, body: Any, failing: Any
) -> None:
    server, clock = await begin(
        start, up, other, {"fallback": [{"provider": "other", "model": "m2"}]}, {"api_key": "other-key"}
    )
    up.answer(*failing)
    other.answer(*(GOOD if body is ASK else whole(DONE)))
    async with aiohttp.ClientSession() as http:
        client = Client(server, http, body, Authorization="Bearer client-key", Cookie="a=b")
        await passes(clock, 3, 0.5)
        await ended(client)
    assert client.status == 200 and b"fine" in client.body
    assert client.headers["x-streamfuse-provider"] == "other"
    got = other.requests[0]
    assert (got.header("authorization"), got.header("cookie")) == ("Bearer other-key", None)
    assert got.json["model"] == "m2" and got.json["messages"] == body["messages"]
    fell, over = heard.of(FellBack)[0], heard.of(Ended)[-1]
    assert (fell.call.provider, fell.provider, fell.model) == ("up", "other", "m2")
    assert (over.outcome, over.call.provider) == (Outcome.OK, "other")


async def test_a_credential_is_never_sent_to_another_host(up: Upstream, other: Upstream, start: Start) -> None:
    server, clock = await begin(start, up, other, {"fallback": [{"provider": "other"}]}, {})
    up.answer(*DOWN)
    other.answer(*whole(DONE))
    keys = {
        "Authorization": "Bearer client-key",
        "x-api-key": "client-key",
        "api-key": "client-key",
        "OpenAI-Organization": "org",
    }
    async with aiohttp.ClientSession() as http:
        client = Client(server, http, WHOLE, **keys)
        await passes(clock, 2)
        await ended(client)
    assert client.status == 200
    assert not any("client-key" in value or value == "org" for _, value in other.requests[0].headers)


async def test_what_the_client_has_seen_is_not_begun_again_elsewhere(
    up: Upstream, other: Upstream, start: Start
) -> None:
    server, clock = await begin(start, up, other, {"fallback": [{"provider": "other"}]}, {"api_key": "k"})
    up.answer(head(), role(), text("The first "), reset())
    async with aiohttp.ClientSession() as http:
        client = Client(server, http)
        await passes(clock, 2)
        await ended(client)
    assert b"The first" in client.body and b"streamfuse_stream" in client.body
    assert not other.requests


@pytest.mark.parametrize(
    ("path", "more", "goes"),
    [
        ("completions", {"prompt": "hi"}, True),
        ("completions", {"prompt": ["hi", "ho"]}, True),
        ("responses", {"input": "hi"}, True),
        ("responses", {"input": "hi", "prompt": {"id": "pmpt_1"}}, False),
        ("responses", {"input": "hi", "conversation": "conv_1"}, False),
    ],
)
async def test_only_what_the_first_provider_has_stored_stays_there(
    up: Upstream, other: Upstream, start: Start, path: str, more: Any, goes: bool
) -> None:
    server, clock = await begin(start, up, other, {"fallback": [{"provider": "other"}]}, {"api_key": "k"})
    up.answer(*DOWN)
    other.answer(*DOWN)
    async with aiohttp.ClientSession() as http:
        url = f"http://127.0.0.1:{server.port}/v1/{path}"
        asked = asyncio.create_task(http.post(url, json={"model": "m", **more}))
        await passes(clock, 2)
        await (await asked).read()
    assert bool(other.requests) is goes


async def test_what_comes_again_in_the_same_bytes_is_asked_of_another(
    up: Upstream, other: Upstream, start: Start
) -> None:
    server, clock = await begin(start, up, other, {"fallback": [{"provider": "other"}], "retry": {}}, {"api_key": "k"})
    up.answer(head(), end())
    other.answer(*GOOD)
    async with aiohttp.ClientSession() as http:
        client = Client(server, http)
        await passes(clock, 6)
        await ended(client)
    assert client.status == 200 and b"fine" in client.body and len(up.requests) == 2


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_request_that_is_wrong_goes_nowhere_else(
    up: Upstream, other: Upstream, start: Start, status: int
) -> None:
    server, _ = await begin(start, up, other, {"fallback": [{"provider": "other"}]}, {"api_key": "k"})
    up.answer(*whole({"error": {"message": "bad"}}, status=status))
    async with aiohttp.ClientSession() as http:
        await ended(client := Client(server, http, WHOLE))
    assert client.status == status and not other.requests


async def test_where_none_answers_the_first_failure_is_told(
    up: Upstream, other: Upstream, start: Start, heard: Heard
) -> None:
    server, clock = await begin(
        start, up, other, {"fallback": [{"provider": "other"}, {"model": "m3"}]}, {"api_key": "k"}
    )
    up.answer(*DOWN)
    other.answer(*whole({"error": {"message": "unknown model"}}, status=400))
    async with aiohttp.ClientSession() as http:
        client = Client(server, http, WHOLE)
        await passes(clock, 6)
        await ended(client)
    assert client.status == 529 and client.error["error"]["message"] == "Overloaded"
    assert client.headers["x-streamfuse-provider"] == "up"
    assert [request.json["model"] for request in up.requests] == ["m", "m3"] and len(other.requests) == 1
    assert heard.of(Ended)[-1].call.provider == "up"


async def test_stored_state_stays_with_its_provider(up: Upstream, other: Upstream, start: Start) -> None:
    server, clock = await begin(start, up, other, {"fallback": [{"provider": "other"}]}, {"api_key": "k"})
    up.answer(*DOWN)
    async with aiohttp.ClientSession() as http:
        url = f"http://127.0.0.1:{server.port}/v1/responses"
        body = {"model": "m", "input": "go on", "previous_response_id": "resp_1"}
        asked = asyncio.create_task(http.post(url, json=body))
        await passes(clock, 2)
        answer = await asked
        assert answer.status == 529 and json.loads(await answer.read())
    assert not other.requests


async def test_an_open_breaker_leads_to_the_fallback_at_once(up: Upstream, other: Upstream, start: Start) -> None:
    server, clock = await begin(
        start,
        up,
        other,
        {"fallback": [{"provider": "other"}], "breaker": {"failures": 1, "pause": "60s"}},
        {"api_key": "k"},
    )
    up.answer(*DOWN)
    other.answer(*whole(DONE))
    async with aiohttp.ClientSession() as http:
        for _ in range(3):
            client = Client(server, http, WHOLE)
            await passes(clock, 1)
            await ended(client)
            assert client.status == 200
    assert len(up.requests) == 1 and len(other.requests) == 3


# --- a slow provider -------------------------------------------------------------------------------------------------
SLOW: dict[str, Any] = {"timeouts": {"slow": "5s", "slow_characters": 40}, "heartbeat": {"every": "1s"}}
DRIP = (head(), role(), text("drip"), hang())
ENDING = (event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}), event(b"[DONE]"), end())


async def test_an_answer_that_begins_too_slowly_is_asked_for_again_unseen(up: Upstream, start: Start) -> None:
    clock = FakeClock()
    server = await start(clock, **SLOW)
    up.answer(*DRIP)
    up.answer(head(), role(), text("slow, too, but"), wait("go"), text(" it comes"), *ENDING)
    async with aiohttp.ClientSession() as http:
        client = Client(server, http)
        await up.until(lambda: len(up.requests) == 1)
        await passes(clock, 4)
        assert b"drip" not in client.body and len(up.requests) == 1
        await passes(clock, 2)
        await up.until(lambda: len(up.requests) == 2)
        await passes(clock, 20)  # the second one may take as long as it takes, and is shown as it comes
        assert b"slow, too" in client.body
        up.go("go")
        await ended(client)
    assert client.status == 200 and b"it comes" in client.body and b"drip" not in client.body and len(up.requests) == 2


@pytest.mark.parametrize("retry", [NONE, {"mode": "bounded", "max_retries": 3}])
async def test_it_is_asked_for_again_whatever_the_budget_says(up: Upstream, start: Start, retry: Any) -> None:
    clock = FakeClock()
    server = await start(clock, retry={"stream": retry, "request": retry}, **SLOW)
    up.answer(*DRIP)
    up.answer(*GOOD)
    async with aiohttp.ClientSession() as http:
        client = Client(server, http)
        await up.until(lambda: len(up.requests) == 1)
        await passes(clock, 6)
        await ended(client)
    assert client.status == 200 and b"fine" in client.body and len(up.requests) == 2


async def test_a_fallback_is_asked_for_it_and_the_first_one_where_that_fails(up: Upstream, start: Start) -> None:
    for there, asked, said in ((GOOD, 1, b"fine"), (DOWN, 2, b"mine")):
        clock = FakeClock()
        async with Upstream() as other, Upstream() as mine:
            server, clock = await begin(start, mine, other, {"fallback": [{"provider": "other"}]}, {}, **SLOW)
            mine.answer(*DRIP)
            mine.answer(head(), role(), text("mine"), *ENDING)
            other.answer(*there)
            async with aiohttp.ClientSession() as http:
                client = Client(server, http)
                await mine.until(partial(lambda one: len(one.requests) == 1, mine))
                await passes(clock, 6)
                await ended(client)
            assert client.status == 200 and said in client.body and b"drip" not in client.body
            assert (len(mine.requests), len(other.requests)) == (asked, 1)


async def test_a_fast_answer_is_held_for_a_moment_only(up: Upstream, start: Start) -> None:
    """Characters or events: half a tool call shows no characters."""
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "write", "arguments": ""}}
    part = {"index": 0, "function": {"arguments": "x"}}
    for steps in (
        (text("more than forty characters of an answer at once"),),
        tuple(event({"choices": [{"index": 0, "delta": {"tool_calls": [one]}}]}) for one in (call, *[part] * 12)),
    ):
        clock = FakeClock()
        server = await start(clock, **SLOW)
        up.answer(head(), role(), *steps, wait("go"), *ENDING)
        async with aiohttp.ClientSession() as http:
            client = Client(server, http)
            before = len(up.requests)
            await up.until(partial(lambda count: len(up.requests) > count, before))
            await passes(clock, 20)
            up.go("go")
            await ended(client)
        assert client.status == 200 and b"[DONE]" in client.body and len(up.requests) == before + 1
        up._gates.clear()


async def test_a_short_answer_is_whole(up: Upstream, start: Start) -> None:
    server = await start(FakeClock(), **SLOW)
    up.answer(*GOOD)
    async with aiohttp.ClientSession() as http:
        await ended(client := Client(server, http))
    assert client.status == 200 and b"fine" in client.body and b"[DONE]" in client.body
