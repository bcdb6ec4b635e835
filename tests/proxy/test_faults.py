"""A provider that fails in every known way, in front of it the proxy, in front of that the official SDK.

What is asserted of each: what the program that uses the SDK sees, how many requests the provider got, and which waits
lay between. No test sleeps: the proxy's waits are taken at once and written down, the SDK's own are switched off.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import aiohttp
import anthropic
import openai
import orjson
import pytest
from openai import AsyncOpenAI

from proxy.exchange.context import TICK
from proxy.observers.reports import BudgetExhausted, Ended, ErrorRuleHit, Outcome, Retrying, StateChanged
from proxy.server.app import Server
from tests.clock import FakeClock, settle
from tests.proxy.conftest import Heard, Start
from tests.proxy.redis_server import ABSENT, BINARY, RedisServer
from tests.upstream import (
    Step,
    Upstream,
    chat,
    chunk,
    close,
    done,
    end,
    event,
    finish,
    hang,
    head,
    raw,
    reset,
    role,
    talk,
    text,
    wait,
    whole,
)

STEADY = {"request": {"jitter_ratio": 0}, "stream": {"jitter_ratio": 0}}
TWICE = {name: {"max_retries": 2, "jitter_ratio": 0} for name in ("request", "stream")}


class SwiftClock(FakeClock):
    """Waits pass at once, and time with them; only the ticker stands still until the test moves it."""

    async def sleep(self, seconds: float) -> None:
        if seconds == TICK:
            await super().sleep(seconds)
            return
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    @property
    def waits(self) -> list[float]:
        """Every wait between two tries."""
        return [round(seconds, 6) for seconds in self.slept if seconds != TICK]


@pytest.fixture
def clock() -> SwiftClock:
    return SwiftClock()


@pytest.fixture(autouse=True)
def no_waits_of_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AsyncOpenAI, "_calculate_retry_timeout", lambda *_: 0.0)


class Program:
    """An agent that uses the SDK as the manual says."""

    def __init__(self, server: Server, retries: int = 2, **headers: str) -> None:
        self.sdk = AsyncOpenAI(
            base_url=f"http://127.0.0.1:{server.port}/v1",
            api_key="sk-test",
            max_retries=retries,
            default_headers={"x-streamfuse-correlation-id": "r1", **headers},
        )
        self.heard = ""
        self.idents: set[str] = set()
        self.roles = 0
        self.called = False
        """Anything of a tool call was seen."""
        self._news = asyncio.Event()

    async def hears(self, text: str) -> None:
        """Until so much has come; the limit is only a safety net."""
        async with asyncio.timeout(5):
            while self.heard != text:
                self._news.clear()
                await self._news.wait()

    async def asks(self, **more: Any) -> str:
        """One streamed question; the text as it came is in `heard` even when it ends in an exception."""
        self.heard = ""
        question: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
        stream = await self.sdk.chat.completions.create(**(question | more))
        async for part in stream:
            self.idents.add(part.id)
            for choice in part.choices:
                self.roles += choice.delta.role is not None
                self.called = self.called or bool(choice.delta.tool_calls)
                self.heard += choice.delta.content or ""
            self._news.set()
        return self.heard


@pytest.fixture
async def program(start: Start, clock: SwiftClock) -> AsyncIterator[Program]:
    one = Program(await start(clock, retry=STEADY))
    yield one
    await one.sdk.close()


def words(count: int) -> list[Step]:
    return [text(f"w{n} ") for n in range(count)]


def said(count: int) -> str:
    return "".join(f"w{n} " for n in range(count))


def error(status: int, body: Any = None, **headers: str) -> tuple[Step, ...]:
    return whole(
        body if body is not None else {"error": {"message": "boom", "type": "server_error"}}, status, **headers
    )


# --- errors that are handed on ---------------------------------------------------------------------------------------
GEMINI = [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [{}]}}]


@pytest.mark.parametrize("body", [GEMINI, {"detail": "Not Found"}, {"message": "no", "object": "error", "code": 400}])
@pytest.mark.parametrize("path", ["chat/completions", "completions", "responses", "messages"])
async def test_an_error_body_of_any_json_shape_comes_as_it_was_sent(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, body: Any, path: str
) -> None:
    sent = orjson.dumps(body, option=orjson.OPT_INDENT_2)
    up.answer(head(400, "application/json", length=len(sent)), raw(sent))
    async with client.post(f"http://127.0.0.1:{proxy.port}/v1/{path}", json={"model": "m"}) as answer:
        assert (answer.status, await answer.read()) == (400, sent)
        assert answer.content_type == "application/json"


# --- a stream that dies ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dies", [reset, close, end], ids=["rst", "fin", "clean"])
@pytest.mark.parametrize("begun", [[], [role()]], ids=["0 events", "1 event"])
async def test_a_stream_that_dies_before_it_said_anything_is_asked_again_unseen(
    up: Upstream, program: Program, dies: Any, begun: list[Step]
) -> None:
    up.answer(head(), *begun, dies())
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert len(up.requests) == 2


@pytest.mark.parametrize("dies", [reset, close, end], ids=["rst", "fin", "clean"])
@pytest.mark.parametrize("count", [40, 60])
async def test_a_stream_that_dies_after_its_words_is_told_not_repeated(
    up: Upstream, program: Program, heard: Heard, dies: Any, count: int
) -> None:
    # The provider's pause keeps the words and the break in different reads, as a network would.
    up.answer(head(), role(), *words(count), wait("break"), dies())
    asking = asyncio.ensure_future(program.asks())
    await program.hears(said(count))
    up.go("break")
    with pytest.raises(openai.APIError):
        await asking
    assert program.heard == said(count)
    assert len(up.requests) == 1
    assert (await heard.until(Ended)).outcome is Outcome.FAILED


def zipped(steps: Sequence[bytes]) -> tuple[list[bytes], bytes]:
    """(events as pieces of one gzip stream, each readable by itself as servers flush them, and how it would end)."""
    packing = zlib.compressobj(wbits=31)
    pieces = [packing.compress(step) + packing.flush(zlib.Z_SYNC_FLUSH) for step in steps]
    return pieces, packing.flush()


def sse(content: str | None = None, **delta: Any) -> bytes:
    return b"data: " + orjson.dumps(chat(content, **delta)) + b"\n\n"


GZIP = {"Content-Encoding": "gzip"}
RUIN = chunk(b"\xff\xff\xff\xff\xff\xff\xff\xff")
"""No gzip: the decoder says so at once."""


@pytest.mark.parametrize("dies", [[reset()], [close()], [end()], [RUIN, hang()]], ids=["rst", "fin", "clean", "damage"])
async def test_a_gzip_stream_that_breaks_off_before_it_said_anything_is_asked_again_unseen(
    up: Upstream, program: Program, dies: list[Step]
) -> None:
    pieces, _ = zipped([sse(role="assistant")])
    up.answer(head(headers=GZIP), *map(chunk, pieces), *dies)
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert len(up.requests) == 2


@pytest.mark.parametrize("dies", [[reset()], [close()], [end()], [RUIN, hang()]], ids=["rst", "fin", "clean", "damage"])
async def test_a_gzip_stream_that_breaks_off_after_its_words_is_told(
    up: Upstream, program: Program, heard: Heard, dies: list[Step]
) -> None:
    call = [{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"rm": "-r'}}]
    pieces, _ = zipped([sse(role="assistant"), sse("half"), sse(tool_calls=call)])
    up.answer(head(headers=GZIP), *map(chunk, pieces), wait("break"), *dies)
    asking = asyncio.ensure_future(program.asks())
    await program.hears("half")
    up.go("break")
    with pytest.raises(openai.APIError):
        await asking
    assert program.heard == "half" and not program.called
    assert len(up.requests) == 1
    assert (await heard.until(Ended)).outcome is Outcome.FAILED


async def test_a_client_that_repeats_what_dies_after_its_words_is_told_each_time(
    up: Upstream, start: Start, clock: SwiftClock
) -> None:
    program = Program(await start(clock, retry=TWICE), retries=5)
    up.answer(head(), role(), *words(3), end())
    seen = []
    for _ in range(6):
        with pytest.raises(openai.APIError) as told:
            await program.asks()
        seen.append((program.heard, type(told.value)))
    assert seen == [(said(3), openai.APIError)] * 6
    assert len(up.requests) == 6
    await program.sdk.close()


async def test_a_provider_that_always_dies_at_once_spends_one_budget(
    up: Upstream, start: Start, clock: SwiftClock
) -> None:
    program = Program(await start(clock, retry=TWICE), retries=0)
    up.answer(head(), role(), reset())
    for _ in range(3):
        with pytest.raises(openai.APIStatusError):
            await program.asks()
    assert len(up.requests) == 3 + 1 + 1, "the budget once, then once each time the client comes"
    assert clock.waits[:2] == [0.2, 0.4]
    await program.sdk.close()


# --- a stream that is continued --------------------------------------------------------------------------------------
def streamed(*words: str, ident: str = "chatcmpl-2") -> list[Step]:
    """Chunks of another answer: its own id, its own role."""
    chunks = [chat("", role="assistant"), *(chat(word) for word in words)]
    return [event({**one, "id": ident}) for one in chunks]


@pytest.mark.parametrize("echo", [(), ("Once upon a ", "time")], ids=["plain", "echo"])
@pytest.mark.parametrize(
    ("style", "asked"),
    [
        ("continue_final_message", {"continue_final_message": True, "add_generation_prompt": False}),
        ("prefix", {}),
        ("llamacpp", {}),
    ],
)
async def test_a_provider_that_can_continue_is_asked_to(
    up: Upstream, start: Start, clock: SwiftClock, style: str, asked: dict[str, Any], echo: tuple[str, ...]
) -> None:
    program = Program(await start(clock, retry=STEADY, provider={"base_url": f"{up.url}/v1", "resume": style}))
    up.answer(head(), role(), text("Once upon"), text(" a time"), wait("break"), reset())
    up.answer(head(), *streamed(*echo, " there", " was"), reset())
    up.answer(head(), *streamed(" a fuse", ident="chatcmpl-3"), finish(), done())
    asking = asyncio.ensure_future(program.asks())
    await program.hears("Once upon a time")
    up.go("break")
    assert await asking == "Once upon a time there was a fuse"
    assert program.idents == {"chatcmpl-1"} and program.roles == 1
    first, second, third = (one.json for one in up.requests)
    assert [len(one["messages"]) for one in (first, second, third)] == [1, 2, 2]
    assert second["messages"][-1]["content"] == "Once upon a time"
    assert third["messages"][-1]["content"] == "Once upon a time there was"
    assert second | asked == second
    await program.sdk.close()


async def test_an_error_behind_more_words_is_the_one_that_is_told(
    up: Upstream, start: Start, clock: SwiftClock
) -> None:
    """A continuation that is refused is no news: what broke the answer first is. Once it has gone on, it is."""
    program = Program(await start(clock, retry=STEADY, provider={"base_url": f"{up.url}/v1", "resume": "prefix"}))
    up.answer(head(), role(), text("Once upon a time"), wait("break"), reset())
    refusal = {"error": {"message": "the prompt is too long now", "type": "invalid_request_error", "code": "too_long"}}
    up.answer(head(), *streamed(" there was"), event(refusal), end())
    asking = asyncio.ensure_future(program.asks())
    await program.hears("Once upon a time")
    up.go("break")
    with pytest.raises(openai.APIError, match="too long now"):
        await asking
    assert len(up.requests) == 2
    await program.sdk.close()


# --- a dead provider, and a client that does not give up -------------------------------------------------------------
@pytest.mark.parametrize(
    "dead",
    [error(500), error(503), error(529), (reset(),), (close(),)],
    ids=["500", "503", "529", "rst", "fin"],
)
async def test_a_dead_provider_is_asked_once_each_time_a_client_comes_that_has_spent_its_budget(
    up: Upstream, start: Start, clock: SwiftClock, heard: Heard, dead: tuple[Step, ...]
) -> None:
    program = Program(await start(clock, retry=TWICE), retries=0)
    up.answer(*dead)
    for _ in range(4):
        with pytest.raises(openai.APIStatusError) as told:
            await program.asks()
        assert "x-should-retry" not in told.value.response.headers, "it may have tries left, and the failure may pass"
        assert 1 <= float(told.value.response.headers["retry-after"]) <= 30
    assert len(up.requests) == 3 + 3
    assert [one.budget for one in heard.of(BudgetExhausted)] != []
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    await program.sdk.close()


async def test_a_refused_connection_is_told_plainly(up: Upstream, start: Start, clock: SwiftClock) -> None:
    nobody = {"base_url": "http://127.0.0.1:9/v1"}
    program = Program(await start(clock, provider=nobody, retry=TWICE), retries=0)
    with pytest.raises(openai.APIStatusError) as told:
        await program.asks()
    assert told.value.status_code == 502
    assert told.value.response.headers["x-streamfuse-attempts"] == "3"
    assert told.value.body["code"] == "streamfuse_upstream_unreachable"  # type: ignore[index]
    assert clock.waits == [0.2, 0.4]
    with pytest.raises(openai.APIStatusError) as again:
        await program.asks()
    assert again.value.response.headers["x-streamfuse-attempts"] == "1"
    assert again.value.status_code == 502
    await program.sdk.close()


async def test_another_request_has_another_account(up: Upstream, start: Start, clock: SwiftClock) -> None:
    server = await start(clock, retry=TWICE)
    programs = [Program(server, retries=0, **{"x-streamfuse-correlation-id": name}) for name in ("r1", "r2")]
    up.answer(*error(500))
    for program in programs:
        with pytest.raises(openai.APIStatusError):
            await program.asks()
        await program.sdk.close()
    assert len(up.requests) == 6


async def test_a_session_and_the_same_question_are_one_request(up: Upstream, start: Start, clock: SwiftClock) -> None:
    program = Program(await start(clock, retry=TWICE), retries=0, **{"x-session-id": "s"})
    program.sdk = program.sdk.with_options(default_headers=cast("Any", {"x-streamfuse-correlation-id": openai.Omit()}))
    up.answer(*error(500))
    for _ in range(3):
        with pytest.raises(openai.APIStatusError):
            await program.asks()
    assert len(up.requests) == 3 + 1 + 1
    up.answer(*talk("hello"))
    assert await program.asks(messages=[{"role": "user", "content": "something else"}]) == "hello"
    await program.sdk.close()


async def test_without_any_name_every_request_stands_for_itself(up: Upstream, start: Start, clock: SwiftClock) -> None:
    program = Program(await start(clock, retry=TWICE), retries=0)
    program.sdk = program.sdk.with_options(default_headers=cast("Any", {"x-streamfuse-correlation-id": openai.Omit()}))
    up.answer(*error(500))
    for _ in range(2):
        with pytest.raises(openai.APIStatusError):
            await program.asks()
    assert len(up.requests) == 6
    await program.sdk.close()


async def test_success_opens_a_new_account(up: Upstream, program: Program) -> None:
    for _ in range(3):
        up.answer(*error(500))
        up.answer(*error(500))
        up.answer(*talk("hello"))
    for n in range(1, 4):
        assert await program.asks() == "hello"
        assert len(up.requests) == 3 * n


@pytest.mark.skipif(BINARY is None, reason=ABSENT)
async def test_two_proxies_share_one_account(up: Upstream, start: Start) -> None:
    async with RedisServer() as redis:
        clocks = [SwiftClock(), SwiftClock()]
        state = {"url": redis.url, "timeout": "5s"}
        servers = [await start(clock, retry=TWICE, state=state) for clock in clocks]
        programs = [Program(server, retries=0) for server in servers]
        up.answer(*error(503))
        for _ in range(3):
            for program in programs:
                with pytest.raises(openai.APIStatusError):
                    await program.asks()
        assert len(up.requests) == 3 + 5
        for program in programs:
            await program.sdk.close()
        for server in servers:
            await server.stop()


@pytest.mark.skipif(BINARY is None, reason=ABSENT)
async def test_redis_away_is_said_and_served_through(
    up: Upstream, start: Start, clock: SwiftClock, heard: Heard, client: aiohttp.ClientSession
) -> None:
    async with RedisServer() as redis:
        server = await start(clock, retry=TWICE, state={"url": redis.url, "timeout": "5s"})
        program = Program(server, retries=0)

        async def ready() -> tuple[int, str]:
            async with client.get(f"http://127.0.0.1:{server.port}/readyz") as answer:
                return answer.status, (await answer.json())["state"]

        assert await ready() == (200, "up")
        await redis.kill()
        up.answer(*error(503))
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                await program.asks()
        assert len(up.requests) == 3 + 1  # the account is this process's own now, and holds
        status, state = await ready()
        assert status == 200 and state.startswith("away: ") and "/" not in state

        await redis.start()
        clock.time += 31
        with pytest.raises(openai.InternalServerError):
            await program.asks()
        assert len(up.requests) == 3 + 2
        assert await ready() == (200, "up")
        assert [one.healthy for one in heard.of(StateChanged)] == [False, True]
        await program.sdk.close()
        await server.stop()


@pytest.mark.parametrize("mode", ["persistent", "bounded"])
async def test_a_budget_without_end_ends_when_the_client_leaves(
    up: Upstream, start: Start, clock: SwiftClock, heard: Heard, mode: str
) -> None:
    endless = {"mode": mode, "no_deadline": True, "jitter_ratio": 0}
    if mode == "bounded":
        endless["max_retries"] = 100
    program = Program(await start(clock, retry={"request": endless}), retries=0)
    up.answer(*error(503))
    asking = asyncio.ensure_future(program.asks())
    await up.until(lambda: len(up.requests) >= 8)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    asked = len(up.requests)
    await settle(200)
    assert len(up.requests) == asked
    await program.sdk.close()


async def test_retries_wait_for_the_reserve_of_their_provider(up: Upstream, start: Start, clock: SwiftClock) -> None:
    server = await start(clock, retry=TWICE, reserve={"ratio": 0, "floor": 0.3, "window": "10s"})
    up.answer(*error(503))
    for name in ("a", "b", "c", "d"):
        program = Program(server, retries=0, **{"x-streamfuse-correlation-id": name})
        with pytest.raises(openai.InternalServerError) as told:
            await program.asks()
        assert "x-should-retry" not in told.value.response.headers
        await program.sdk.close()
    assert len(up.requests) == 4 * 3
    assert clock.time >= 20, "eight retries, three of them in ten seconds"


# --- failures that pass ----------------------------------------------------------------------------------------------
DATE = "Thu, 01 Jan 1970 00:00:07 GMT"


@pytest.mark.parametrize(
    ("limited", "wait"),
    [
        (error(429, retry_after="2"), 2.0),
        (error(429, retry_after="1.5"), 1.5),
        (error(429, retry_after=DATE), 7.0),
        (error(429, retry_after_ms="2500"), 2.5),
        (error(429, x_ms_retry_after_ms="3500"), 3.5),
        (error(429, {"error": {"message": "Please try again in 12s."}}), 12.0),
        (error(429, {"error": {"message": "Please retry after 26 seconds.", "code": "429"}}), 26.0),
        (error(429, [{"error": {"code": 429, "details": [{"@type": "x.RetryInfo", "retryDelay": "4s"}]}}]), 4.0),
        (error(503, {"error": "Model x is currently loading", "estimated_time": 20.0}), 20.0),
        (error(429), 0.2),
        (error(425), 0.2),
        (error(409), 0.2),
    ],
)
async def test_waits_are_the_ones_asked_for(
    up: Upstream, program: Program, clock: SwiftClock, limited: tuple[Step, ...], wait: float
) -> None:
    up.answer(*limited)
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert clock.waits == [wait]
    assert len(up.requests) == 2


async def test_a_wait_that_is_too_long_goes_to_the_client(up: Upstream, start: Start, clock: SwiftClock) -> None:
    program = Program(await start(clock, retry=STEADY), retries=0)
    up.answer(*error(429, {"error": {"message": "try again in 1m30s", "code": "slow"}}))
    with pytest.raises(openai.RateLimitError) as told:
        await program.asks()
    headers = told.value.response.headers
    assert headers["retry-after"] == "90" and "x-should-retry" not in headers
    assert len(up.requests) == 1 and clock.waits == []
    # A client that comes back at once all the same is kept waiting for as long as the provider asked.
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert clock.waits == [pytest.approx(90.0, abs=1)]
    await program.sdk.close()


async def test_failures_of_every_kind_in_turn_spend_one_budget(
    up: Upstream, start: Start, clock: SwiftClock, heard: Heard
) -> None:
    program = Program(await start(clock, retry=STEADY), retries=0)
    up.answer(*error(503))
    up.answer(head(), role(), reset())
    up.answer(*error(429))
    up.answer(head(), event({"error": {"message": "queue is full", "code": 503}}), done())
    up.answer(head(), end())
    up.answer(head(200, "text/html"), chunk(b"<html>"), end())
    for _ in range(3):
        with pytest.raises(openai.APIStatusError):
            await program.asks()
    assert [one.number for one in heard.of(Retrying)] == list(range(1, len(heard.of(Retrying)) + 1))
    assert len(up.requests) <= 6 + 1 + 1
    assert max(clock.waits) <= 30
    await program.sdk.close()


async def test_the_deadline_counts_from_the_first_failure(up: Upstream, start: Start, clock: SwiftClock) -> None:
    retry = {"request": {"max_retries": 100, "deadline": "10s", "initial_delay": "4s", "jitter_ratio": 0}}
    program = Program(await start(clock, retry=retry), retries=0)
    up.answer(*error(500))
    with pytest.raises(openai.InternalServerError):
        await program.asks()
    assert clock.waits == [4.0] and len(up.requests) == 2  # 4 and 8 would be over 10
    await program.sdk.close()


# --- failures that stay ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("refused", "kind"),
    [
        (error(400, {"error": {"message": "no", "type": "invalid_request_error"}}), openai.BadRequestError),
        (error(401, {"error": {"message": "no", "code": "invalid_api_key"}}), openai.AuthenticationError),
        (error(404, {"error": {"message": "no", "code": "model_not_found"}}), openai.NotFoundError),
        (error(429, {"error": {"message": "no", "code": "insufficient_quota"}}), openai.RateLimitError),
        (error(500, x_should_retry="false"), openai.InternalServerError),
    ],
)
async def test_what_cannot_pass_is_asked_once(
    up: Upstream, start: Start, clock: SwiftClock, refused: tuple[Step, ...], kind: type[openai.APIStatusError]
) -> None:
    program = Program(await start(clock), retries=0)
    up.answer(*refused)
    with pytest.raises(kind) as told:
        await program.asks()
    assert len(up.requests) == 1 and clock.waits == []
    assert told.value.body["message"] in ("no", "boom")  # type: ignore[index]
    await program.sdk.close()


@pytest.mark.parametrize("status", [504, 520, 524, 529])
async def test_a_gateway_that_fails_at_once_is_asked_like_any_server(
    up: Upstream, start: Start, clock: SwiftClock, status: int
) -> None:
    program = Program(await start(clock, retry=STEADY), retries=0)
    up.answer(*error(status))
    with pytest.raises(openai.APIStatusError) as told:
        await program.asks()
    assert told.value.status_code == status
    assert len(up.requests) == 5
    await program.sdk.close()


# --- errors inside a 200 ---------------------------------------------------------------------------------------------
QUEUE_FULL = {"error": {"object": "error", "message": "The request queue is full.", "type": "X", "code": 503}}


async def test_an_error_as_the_first_event_is_asked_again(up: Upstream, program: Program, clock: SwiftClock) -> None:
    up.answer(head(), role(), event(QUEUE_FULL), done())
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert len(up.requests) == 2 and clock.waits == [0.2]


async def test_an_error_as_the_first_event_becomes_a_real_status(up: Upstream, start: Start, clock: SwiftClock) -> None:
    program = Program(await start(clock, retry=TWICE), retries=0)
    up.answer(head(), event(QUEUE_FULL), done())
    with pytest.raises(openai.InternalServerError) as told:
        await program.asks()
    assert told.value.status_code == 503
    assert told.value.body["message"] == "The request queue is full."  # type: ignore[index]
    assert len(up.requests) == 3
    await program.sdk.close()


async def test_an_error_rule_has_its_own_count_and_ends_for_good(up: Upstream, start: Start, clock: SwiftClock) -> None:
    rule = {"path": "/error/*", "match": [{"type": "prefix", "value": "upstream stream error:"}], "maxRetries": 1}
    program = Program(await start(clock, retry=STEADY, error_rules=[rule]), retries=9)
    up.answer(head(), role(), event({"error": {"message": "upstream stream error: reset"}}), end())
    for _ in range(2):
        with pytest.raises(openai.BadRequestError) as told:
            await program.asks()
        assert told.value.body["code"] == "streamfuse_rule_limit"  # type: ignore[index]
    assert len(up.requests) == 2 + 1
    await program.sdk.close()


async def test_a_ready_rule_that_fires_is_told_by_name(
    up: Upstream, start: Start, clock: SwiftClock, heard: Heard
) -> None:
    program = Program(await start(clock, retry=STEADY))
    up.answer(head(), event({"error": {"message": "当前分组上游负载已饱和，请稍后再试"}}), done())
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert [one.rule for one in heard.of(ErrorRuleHit)] == ["relay-saturated"]
    await program.sdk.close()


async def test_an_error_after_words_is_told_in_the_stream(up: Upstream, program: Program) -> None:
    up.answer(head(), role(), text("hello"), wait("go"), event({"error": {"message": "died", "code": 502}}), end())
    asking = asyncio.ensure_future(program.asks())
    await program.hears("hello")
    up.go("go")
    with pytest.raises(openai.APIError, match="died"):
        await asking
    assert len(up.requests) == 1


async def test_a_line_of_noise_costs_one_line(up: Upstream, program: Program) -> None:
    up.answer(head(), role(), text("one "), chunk(b"data: ping\n\n"), text("two"), finish(), done())
    assert await program.asks() == "one two"
    assert len(up.requests) == 1


async def test_a_line_that_cannot_be_read_is_told_behind_words(up: Upstream, program: Program) -> None:
    up.answer(
        head(), role(), text("one "), wait("go"), chunk(b'data: {"choices": [\n\n'), text("two"), finish(), done()
    )
    asking = asyncio.ensure_future(program.asks())
    await program.hears("one ")
    up.go("go")
    with pytest.raises(openai.APIError, match="could not be read"):
        await asking
    assert len(up.requests) == 1


async def test_a_line_that_cannot_be_read_before_words_is_asked_again(up: Upstream, program: Program) -> None:
    up.answer(head(), role(), chunk(b'data: {"choices": [\n\n'), finish(), done())
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert len(up.requests) == 2


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
async def test_a_finish_that_is_a_failure_is_asked_again(up: Upstream, program: Program, reason: str) -> None:
    up.answer(head(), role(), finish(reason), done())
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert len(up.requests) == 2


async def test_a_call_that_was_shown_is_never_asked_for_again(up: Upstream, program: Program) -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "rm", "arguments": '{"path": "x"}'}}
    up.answer(head(), role(), event(chat(tool_calls=[call])), wait("go"), reset())
    asking = asyncio.ensure_future(program.asks())
    await up.until(lambda: bool(up.requests))
    await settle(200)
    up.go("go")
    with pytest.raises(openai.APIError):
        await asking
    assert len(up.requests) == 1


# --- silence ---------------------------------------------------------------------------------------------------------
async def test_silence_before_the_headers(up: Upstream, start: Start, clock: SwiftClock) -> None:
    server = await start(clock, retry=STEADY, timeouts={"headers": "60s"})
    program = Program(server, retries=9)
    up.answer(hang())
    asking = asyncio.ensure_future(program.asks())
    await up.until(lambda: len(up.requests) == 1)
    await clock.advance(61)
    await up.until(lambda: len(up.requests) == 2)
    await clock.advance(61)
    with pytest.raises(openai.APIError, match="no response headers for 60 s"):
        await asking
    assert len(up.requests) == 2  # the second failure is past the deadline of 30 s
    await up.until(lambda: up.gone == 2)
    await program.sdk.close()


async def test_twenty_events_and_then_silence(up: Upstream, start: Start, clock: SwiftClock) -> None:
    server = await start(clock, timeouts={"idle": "60s"})
    program = Program(server, retries=9)
    up.answer(head(), role(), *words(20), hang())
    asking = asyncio.ensure_future(program.asks())
    await program.hears(said(20))
    await clock.advance(62)
    with pytest.raises(openai.APIError):
        await asking
    assert program.heard == said(20)
    assert len(up.requests) == 1
    await up.until(lambda: up.gone == 1)
    await program.sdk.close()


# --- free, once each -------------------------------------------------------------------------------------------------
async def test_a_stale_connection_is_asked_again_at_once(up: Upstream, program: Program, clock: SwiftClock) -> None:
    up.answer(*talk("one"))
    up.answer(reset())
    up.answer(*talk("two"))
    assert await program.asks() == "one"
    assert await program.asks() == "two"
    assert up.requests[0].connection == up.requests[1].connection != up.requests[2].connection
    assert [wait for wait in clock.waits if wait > 0] == []


async def test_refused_prefill_is_dropped_once(up: Upstream, program: Program) -> None:
    message = "This model does not support assistant message prefill. The conversation must end with a user message."
    up.answer(*error(400, {"error": {"message": message, "type": "invalid_request_error"}}))
    up.answer(*talk("hello"))
    asked = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "He"}]
    assert await program.asks(messages=asked) == "hello"
    assert [len(one.json["messages"]) for one in up.requests] == [2, 1]


async def test_an_overloaded_gpt_is_asked_again_at_once(up: Upstream, program: Program, clock: SwiftClock) -> None:
    busy = {"type": "error", "error": {"type": "service_unavailable_error", "code": "server_is_overloaded"}}
    up.answer(*error(503, busy))
    up.answer(*error(503, busy))
    up.answer(*talk("hello"))
    assert await program.asks(model="gpt-5") == "hello"
    assert [wait for wait in clock.waits if wait > 0] == [0.4]


# --- the client leaves -----------------------------------------------------------------------------------------------
async def test_leaving_during_a_wait_ends_upstream_and_account(up: Upstream, start: Start, heard: Heard) -> None:
    clock = FakeClock()  # this one's waits last until the test moves them
    program = Program(await start(clock, retry=TWICE), retries=0)
    up.answer(*error(500))
    asking = asyncio.ensure_future(program.asks())
    await heard.until(Retrying)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    await clock.advance(60)
    assert len(up.requests) == 1

    up.answer(*talk("hello"))  # the account ended with it: nothing is held against the same name
    assert await program.asks() == "hello"
    await program.sdk.close()


# --- the other wires -------------------------------------------------------------------------------------------------
def named(*bodies: dict[str, Any]) -> list[Step]:
    """Events of a wire whose events have the name of their type."""
    return [event(body, body["type"]) for body in bodies]


MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": None,
}
MESSAGE_START = {"type": "message_start", "message": {**MESSAGE, "usage": {"input_tokens": 1, "output_tokens": 1}}}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
HELLO = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}}
STOP: tuple[dict[str, Any], ...] = (
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    },
    {"type": "message_stop"},
)
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


class Claude:
    """A program on Anthropic's SDK."""

    def __init__(self, server: Server) -> None:
        self.sdk = anthropic.AsyncAnthropic(
            base_url=f"http://127.0.0.1:{server.port}",
            api_key="sk-ant",
            max_retries=0,
            default_headers={"x-streamfuse-correlation-id": "r1"},
        )
        self.starts = 0
        self.heard = ""

    async def asks(self) -> str:
        self.starts, self.heard = 0, ""
        stream = await self.sdk.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}], stream=True
        )
        async for part in stream:
            self.starts += part.type == "message_start"
            if part.type == "content_block_delta" and part.delta.type == "text_delta":
                self.heard += part.delta.text
        return self.heard


@pytest.fixture
async def claude(start: Start, clock: SwiftClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Claude]:
    monkeypatch.setattr(anthropic.AsyncAnthropic, "_calculate_retry_timeout", lambda *_: 0.0)
    one = Claude(await start(clock, retry=TWICE))
    yield one
    await one.sdk.close()


@pytest.mark.parametrize("fault", [named(OVERLOADED), [reset()], [end()]], ids=["error", "rst", "clean"])
async def test_messages_are_asked_again_after_the_start(up: Upstream, claude: Claude, fault: list[Step]) -> None:
    up.answer(head(), *named(MESSAGE_START, {"type": "ping"}), *fault)
    up.answer(head(), *named(MESSAGE_START, BLOCK, HELLO, *STOP), end())
    assert await claude.asks() == "hello"
    assert claude.starts == 1
    assert len(up.requests) == 2


async def test_messages_that_always_overload_become_a_real_status(up: Upstream, claude: Claude) -> None:
    up.answer(head(), *named(MESSAGE_START, OVERLOADED), end())
    for _ in range(2):
        with pytest.raises(anthropic.APIStatusError) as told:
            await claude.asks()
        assert "x-should-retry" not in told.value.response.headers
        assert told.value.status_code >= 500
    assert len(up.requests) == 3 + 1


async def test_messages_that_break_after_their_words_are_told(up: Upstream, claude: Claude) -> None:
    up.answer(head(), *named(MESSAGE_START, BLOCK, HELLO, OVERLOADED), end())
    with pytest.raises(anthropic.APIError, match="Overloaded"):
        await claude.asks()
    assert claude.heard == "hello" and len(up.requests) == 1


RESPONSE: dict[str, Any] = {
    "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "status": "in_progress",
    "error": None, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
}  # fmt: skip
PART = {"type": "output_text", "text": "hello", "annotations": []}
ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [PART]}
AT = {"item_id": "msg_1", "output_index": 0, "content_index": 0}


def numbered(*bodies: dict[str, Any]) -> list[Step]:
    return named(*({**body, "sequence_number": n} for n, body in enumerate(bodies)))


CREATED = {"type": "response.created", "response": RESPONSE}
OPENED: tuple[dict[str, Any], ...] = (
    CREATED,
    {"type": "response.output_item.added", "output_index": 0, "item": {**ITEM, "status": "in_progress", "content": []}},
    {"type": "response.content_part.added", **AT, "part": {**PART, "text": ""}},
    {"type": "response.output_text.delta", **AT, "delta": "hello", "logprobs": []},
)
CLOSED: tuple[dict[str, Any], ...] = (
    {"type": "response.output_text.done", **AT, "text": "hello", "logprobs": []},
    {"type": "response.content_part.done", **AT, "part": PART},
    {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
    {"type": "response.completed", "response": {**RESPONSE, "status": "completed", "output": [ITEM]}},
)
BROKE = {"code": "server_error", "message": "broke"}
FAILED = {"type": "response.failed", "response": {**RESPONSE, "status": "failed", "error": BROKE}}


async def response(program: Program) -> tuple[list[str], str]:
    """The types of the events of a Responses stream, and its text."""
    kinds: list[str] = []
    heard = ""
    async for part in await program.sdk.responses.create(model="m", input="hi", stream=True):
        kinds.append(part.type)
        if part.type == "response.output_text.delta":
            heard += part.delta
    return kinds, heard


@pytest.mark.parametrize("fault", [numbered(FAILED), [reset()], [end()]], ids=["failed", "rst", "clean"])
async def test_responses_are_asked_again_after_the_start(up: Upstream, program: Program, fault: list[Step]) -> None:
    up.answer(head(), *numbered(CREATED), *fault)
    up.answer(head(), *numbered(*OPENED, *CLOSED), end())
    kinds, heard = await response(program)
    assert heard == "hello" and kinds.count("response.created") == 1 and kinds[-1] == "response.completed"
    assert len(up.requests) == 2


async def test_responses_that_always_fail_become_a_real_status(up: Upstream, start: Start, clock: SwiftClock) -> None:
    program = Program(await start(clock, retry=TWICE), retries=0)
    up.answer(head(), *numbered(CREATED, FAILED), end())
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            await response(program)
    assert len(up.requests) == 3 + 1
    await program.sdk.close()


async def test_responses_that_fail_after_their_words_are_told(up: Upstream, program: Program) -> None:
    up.answer(head(), *numbered(*OPENED, FAILED), end())
    kinds, heard = await response(program)
    assert (kinds[-1], heard) == ("response.failed", "hello")
    assert len(up.requests) == 1


TEXT = b"upstream connect error or disconnect/reset before headers"


@pytest.mark.parametrize("said", [TEXT, b"", b"\r\n"], ids=["text", "empty", "blank"])
async def test_text_or_nothing_under_a_200_is_no_answer(up: Upstream, program: Program, said: bytes) -> None:
    up.answer(*whole(said, 200, "text/plain"))
    up.answer(*talk("hello"))
    assert await program.asks() == "hello"
    assert len(up.requests) == 2


async def test_an_answer_that_is_over_survives_the_reset_behind_it(up: Upstream, program: Program) -> None:
    up.answer(head(), role(), text("hello"), finish(), done(), reset())
    assert await program.asks() == "hello"
    assert len(up.requests) == 1


@pytest.mark.parametrize("behind", [(reset(),), (close(),)], ids=["reset", "close"])
async def test_events_gathered_to_their_end_survive_what_comes_behind(
    up: Upstream, program: Program, behind: tuple[Step, ...]
) -> None:
    up.answer(head(), role(), text("hello"), finish(), done(), *behind)
    got = await program.sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    assert got.choices[0].message.content == "hello"
    assert len(up.requests) == 1


# --- whole answers ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "fault",
    [
        error(503),
        (reset(),),
        whole({"error": {"message": "x", "code": 502}}),
        whole(b"<html>", 200, "text/html"),
        whole(b""),
        whole(TEXT, 200, "text/plain"),
    ],
    ids=["503", "rst", "error in a 200", "html", "empty", "text"],
)
async def test_a_whole_answer_is_asked_again(up: Upstream, program: Program, fault: tuple[Step, ...]) -> None:
    message = {"role": "assistant", "content": "hello"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    up.answer(*fault)
    up.answer(*whole({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}))
    got = await program.sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    assert got.choices[0].message.content == "hello"
    assert len(up.requests) == 2
