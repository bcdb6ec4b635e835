"""What is no answer and comes again in the same bytes: two calls, then the client is where it would be alone."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from proxy.server.app import Server
from tests.attacks.healthy import WIRES
from tests.clock import FakeClock
from tests.proxy.conftest import Start
from tests.proxy.test_patience import SDK, Client, ended, passes
from tests.readers.openai_chat import read
from tests.upstream import Step, Upstream, chat, chunk, close, done, end, event, finish, head, role, talk, text

ASK = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
WHOLE = {**ASK, "stream": False}
AGENT: dict[str, Any] = {"User-Agent": "codex_exec/0.171.0", "session-id": "s"}
CALL: dict[str, Any] = {
    "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a": '}}]
}


def body(data: bytes, kind: str = "application/json") -> tuple[Step, ...]:
    return head(content_type=kind, length=len(data)), chunk(data), end()


PAGE = b"<!doctype html><html>Log in</html>"
NONE: dict[str, tuple[Step, ...]] = {
    "nothing": body(b""),
    "an empty object": body(b"{}"),
    "a list": body(b"[]"),
    "null": body(b"null"),
    "a page": body(PAGE, "text/html"),
    "words": body(b"no healthy upstream", "text/plain"),
    "JSON that breaks off": body(b'{"id": "x", "choices": ['),
    "an unknown error": body(b'{"error": "boom"}'),
    "only [DONE]": (head(), done()),
    "only a comment": (head(), chunk(b": hi\n\n"), end()),
    "only a name": (head(), chunk(b"event: x\n\n"), end()),
    "only the role": (head(), role(), end()),
    "the first event cut": (head(), chunk(b'data: {"choices": [{"ind\n\n'), text("hello"), finish(), done()),
    "the first event cut and without its name": (head(), chunk(b'{"choices": [{"ind\n\n'), text("b"), done()),
    "a page, then events": (head(), chunk(b'<a href="x">\n\n'), text("hello"), finish(), done()),
    "half a call": (head(), role(), event(chat(**CALL)), end()),
    "half a call that is finished": (head(), role(), event(chat(**CALL)), finish("tool_calls"), done()),
    "a coding that does not hold": (head(headers={"Content-Encoding": "gzip"}), text("hello"), done()),
}


async def asked(
    up: Upstream, start: Start, http: aiohttp.ClientSession, clock: FakeClock, ask: Any, tries: int = 1, **headers: Any
) -> Client:
    """The last of some tries of one client."""
    server: Server = await start(clock=clock)
    for _ in range(tries):
        client = Client(server, http, ask, **headers)
        for _ in range(200):
            if client.task.done():
                break
            await passes(clock, 0.5)
        await ended(client)
    return client


@pytest.mark.parametrize(
    ("none", "ask"),
    [
        *(pytest.param(none, ASK, id=f"{none}, stream") for none in NONE),
        # The last one is an answer there: the call is dropped, and it ends as at its length limit.
        *(pytest.param(none, WHOLE, id=f"{none}, whole") for none in NONE if none != "half a call that is finished"),
    ],
)
async def test_two_calls_and_a_status_that_no_sdk_asks_again_after(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, none: str, ask: Any
) -> None:
    up.answer(*NONE[none])
    got = await asked(up, start, client, clock, ask, **SDK)
    assert len(up.requests) == 2 and clock.now() < 5
    assert got.status == 502 and got.headers["x-should-retry"] == "false"
    assert got.error["error"]["message"]


@pytest.mark.parametrize("none", NONE)
async def test_an_agent_that_asked_for_a_stream_goes_on_as_alone(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, none: str
) -> None:
    up.answer(*NONE[none])
    got = await asked(up, start, client, clock, ASK, tries=3, **AGENT)
    assert len(up.requests) == 4, "one more than alone, however often it tries"
    told = read(got.body)
    assert got.status == 200 and told.error is not None and told.text == "" and told.calls == []


@pytest.mark.parametrize("none", ["nothing", "an empty object", "a page", "words", "an unknown error"])
async def test_an_agent_that_asked_for_a_whole_answer_gets_what_came(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, none: str
) -> None:
    up.answer(*NONE[none])
    agent: dict[str, Any] = {"User-Agent": "ai-sdk/openai-compatible/2.0"}
    got = await asked(up, start, client, clock, WHOLE, **agent)
    sent = {"nothing": b"", "an empty object": b"{}", "a page": PAGE, "words": b"no healthy upstream"}
    assert (got.status, got.body) == (200, sent.get(none, b'{"error": "boom"}'))
    assert len(up.requests) == 2 and "x-should-retry" not in got.headers


async def test_other_bytes_are_another_failure(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    for words in ("one", "two", "three"):
        up.answer(*body(f"<html>{words}</html>".encode(), "text/html"))
    up.answer(*talk("hello"))
    got = await asked(up, start, client, clock, ASK, **SDK)
    assert got.status == 200 and b"hello" in got.body and len(up.requests) == 4


async def test_an_error_that_says_it_passes_is_waited_for(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    for _ in range(4):
        up.answer(*body(b'{"error": {"type": "overloaded_error", "message": "Overloaded"}}'))
    up.answer(*talk("hello"))
    got = await asked(up, start, client, clock, ASK, **SDK)
    assert got.status == 200 and b"hello" in got.body


async def test_zero_leaves_it_to_the_budgets(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, replay={"equal_answers": 0})
    up.answer(*NONE["a page"])
    asking = Client(server, client, ASK, **SDK)
    await passes(clock, 200, step=1)
    await ended(asking)
    assert len(up.requests) == 10 and "x-should-retry" not in asking.headers


@pytest.mark.parametrize("sdk, calls", [({}, 2), (SDK, 1)], ids=["without tries", "with tries"])
async def test_a_head_that_is_no_http_is_asked_once_more_where_nobody_else_would(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, sdk: dict[str, Any], calls: int
) -> None:
    async def junk(connection: Any) -> None:
        await connection.send(b"HTTP/1.1 200 OK\r\nno header\r\n\r\n")
        connection.writer.close()

    up.answer(junk)
    got = await asked(up, start, client, clock, ASK, **sdk)
    assert (got.status, len(up.requests)) == (502, calls) and "x-should-retry" not in got.headers


# --- the first event and a later one ---------------------------------------------------------------------------------
DAMAGED = {
    "cut": lambda raw: raw[: len(raw) // 2] + b"\n\n",
    "cut and without its name": lambda raw: raw[raw.index(b"{") : len(raw) * 2 // 3] + b"\n\n",
    "under another name": lambda raw: raw.replace(b"data: ", b"dta: "),
    "without its name": lambda raw: raw[raw.index(b"{") :],
}


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", None])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize(("wire", "later"), [("openai_chat", 1), ("anthropic_messages", 2)])
async def test_a_damaged_event_is_one_failure_wherever_it_stands(
    up: Upstream,
    start: Start,
    client: aiohttp.ClientSession,
    kind: str,
    stream: bool,
    damage: str,
    wire: str,
    later: int,
) -> None:
    server = await start(retry={"stream": {"max_retries": 0}, "server": {"max_retries": 0}})
    events = [raw for _, raw in WIRES[wire].said]
    url = f"http://127.0.0.1:{server.port}{WIRES[wire].path}"
    ends = set()
    for at in (0, later):
        sent = [DAMAGED[damage](raw) if number == at else raw for number, raw in enumerate(events)]
        up.answer(head(content_type=kind), chunk(b"".join(sent)), end())
        async with client.post(url, json={**WIRES[wire].asks, "stream": stream}) as answer:
            raw = await answer.read()
            ends.add((answer.status, answer.status == 200 or json.loads(raw)["error"]["message"].partition(" (")[0]))
    if damage == "without its name":
        assert ends == {(200, True)}, "it is whole JSON, so nothing is lost"
    else:
        assert ends == {(502, "An event of the upstream's answer could not be read")}


@pytest.mark.parametrize("first", [b"event: x\n\n", b"id: 1\n\n", b"retry: 3\n\n", b": x\n\n", b"\n\n", b"<html>\n\n"])
async def test_noise_before_the_first_event_is_no_failure(
    up: Upstream, start: Start, client: aiohttp.ClientSession, first: bytes
) -> None:
    server = await start()
    up.answer(head(), chunk(first), role(), text("hello"), finish(), done())
    got = Client(server, client, ASK)
    await asyncio.wait_for(got.task, 5)
    assert got.status == 200 and read(got.body).text == "hello" and len(up.requests) == 1


# --- a Content-Length that is not the body's own ---------------------------------------------------------------------
WHOLE_ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    }
).encode()
EVENTS = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n'


def claims(data: bytes, length: int, kind: str = "application/json") -> tuple[Step, ...]:
    return head(content_type=kind, length=length), chunk(data), close()


@pytest.mark.parametrize("ask", [ASK, WHOLE], ids=["stream", "whole"])
@pytest.mark.parametrize("headers", [{}, SDK, AGENT], ids=["unknown", "SDK", "agent"])
async def test_an_answer_that_is_whole_counts_however_long_it_claims_to_be(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, ask: Any, headers: Any
) -> None:
    up.answer(*claims(WHOLE_ANSWER, len(WHOLE_ANSWER) + 100))
    got = await asked(up, start, client, clock, ask, **headers)
    assert got.status == 200 and b"hello" in got.body and len(up.requests) == 1


@pytest.mark.parametrize("ask", [ASK, WHOLE], ids=["stream", "whole"])
@pytest.mark.parametrize(
    ("data", "kind"), [(WHOLE_ANSWER[:-50], "application/json"), (EVENTS, "text/event-stream"), (b"", "text/plain")]
)
async def test_half_an_answer_that_always_ends_in_order_is_asked_for_twice(
    up: Upstream,
    start: Start,
    client: aiohttp.ClientSession,
    clock: FakeClock,
    ask: Any,
    data: bytes,
    kind: str,
) -> None:
    up.answer(*claims(data, len(WHOLE_ANSWER) + 100, kind))
    got = await asked(up, start, client, clock, ask)
    assert got.status == 502 and len(up.requests) == 2 and clock.now() < 30
    sdk = await asked(up, start, client, clock, ask, **SDK)
    assert sdk.status == 502 and "x-should-retry" not in sdk.headers and len(up.requests) == 3, "it goes on by itself"


@pytest.mark.parametrize("ask", [ASK, WHOLE], ids=["stream", "whole"])
async def test_an_answer_that_is_longer_than_it_claims_is_asked_for_twice(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, ask: Any
) -> None:
    up.answer(*claims(WHOLE_ANSWER, len(WHOLE_ANSWER) - 50))
    got = await asked(up, start, client, clock, ask)
    assert got.status == 502 and len(up.requests) == 2


# --- several clients --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("none", ["nothing", "a page", "an unknown error"])
async def test_clients_that_come_together_learn_from_one_that_asks_again(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, none: str
) -> None:
    server = await start(clock=clock)
    up.answer(*NONE[none])
    crowd = [Client(server, client) for _ in range(10)]
    await passes(clock, 20)
    await ended(*crowd)
    assert {one.status for one in crowd} == {502} and len(up.requests) <= 12
    later = Client(server, client)
    await passes(clock, 2)
    await ended(later)
    assert later.status == 502 and len(up.requests) <= 13, "who comes while it lasts costs what it costs alone"
    up.answer(*talk("hello"))
    well = Client(server, client)
    await passes(clock, 2)
    await ended(well)
    assert b"hello" in well.body
    up.answer(*NONE[none])
    up.answer(*talk("again"))
    again = Client(server, client)
    await passes(clock, 5)
    await ended(again)
    assert b"again" in again.body, "after an answer it is asked for again"
