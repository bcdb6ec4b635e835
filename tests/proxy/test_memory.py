"""What an exchange held is free when it ends: no reference cycle waits for the garbage collector, which counts
objects and knows nothing of a body's size."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from proxy.exchange.attempt.attempt import Attempt
from proxy.exchange.exchange import Exchange
from proxy.exchange.passthrough import Passthrough
from proxy.intake.order import Order
from proxy.intake.request_body import RequestBody
from proxy.observers.reports import Ended
from proxy.server.app import Server
from rules.during.stream import Stream
from tests.proxy.conftest import Heard, Start
from tests.upstream import Step, Upstream, chat, chunk, close, done, event, finish, hang, head, reset, role, talk, text
from tests.upstream import whole as complete

ASK: dict[str, Any] = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
WHOLE = {**ASK, "stream": False}
ONE = {"mode": "bounded", "max_retries": 1, "initial_delay": "1ms"}
ONCE = {"request": ONE, "server": ONE, "network": ONE, "stream": ONE}
LOOP = [text("I will look at the file again and then I will go on. ") for _ in range(60)]
ANSWER = {"id": "c", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "finish_reason": "stop"}]}
ANSWER["choices"][0]["message"] = {"role": "assistant", "content": "x" * 5000}  # type: ignore[index]
KEPT = (Exchange, Attempt, Order, Stream, RequestBody, Passthrough)


@pytest.fixture(scope="module")
def frozen() -> Iterator[None]:
    """What other tests have left in this process is not looked through again and again."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def no_collector(frozen: None) -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def ours() -> dict[str, int]:
    """Objects of this project that only the collector could free, by class."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        found = [type(o) for o in gc.garbage if type(o).__module__.partition(".")[0] in ("proxy", "rules")]
        # aiohttp's side of a connection, one a connection and not one an exchange; it holds nothing of a request.
        found = [kind for kind in found if not issubclass(kind, web.RequestHandler)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.collect()
    return dict(Counter(f"{kind.__module__}.{kind.__qualname__}" for kind in found))


def alive() -> dict[str, int]:
    return dict(Counter(type(o).__name__ for o in gc.get_objects() if isinstance(o, KEPT)))


async def idle(server: Server, up: Upstream) -> None:
    """Nothing is open any more, connections apart."""
    async with asyncio.timeout(10):
        while server.fuse.open or server.fuse.process._tasks:  # noqa: ASYNC110  (the collector is off, nobody tells)
            await asyncio.sleep(0.005)
        for _ in range(20):
            await asyncio.sleep(0)


CASES: dict[str, tuple[tuple[Step, ...], dict[str, Any]]] = {
    "a stream": (talk(*["a", "healthy", "answer", "of", "some", "words"]), ASK),
    "a stream with a tool call": (
        (
            head(),
            role(),
            event(chat(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}])),
            event(chat(tool_calls=[{"index": 0, "function": {"arguments": '{"a": 1}'}}])),
            finish("tool_calls"),
            done(),
        ),
        ASK,
    ),
    "a stream after which the connection stays open": (
        (head(), role(), text("hi"), finish(), chunk(b"data: [DONE]\n\n"), hang()),
        ASK,
    ),
    "a whole answer": (complete(ANSWER), WHOLE),
    "events where a whole answer was asked for": (talk("hello"), WHOLE),
    "a whole answer where events were asked for": (complete(ANSWER), ASK),
    "an error": (complete({"error": {"message": "no", "code": "invalid_api_key"}}, 401), ASK),
    "an error that passes": (complete({"error": {"message": "busy"}}, 503), ASK),
    "a stream that breaks before its text": ((head(), role(), reset()), ASK),
    "a stream that breaks in its text": ((head(), role(), text("half an ans"), reset()), ASK),
    "a stream that ends early": ((head(), role(), text("half an ans"), close()), ASK),
    "a loop": ((head(), role(), *LOOP, finish(), done()), ASK),
    "an event over the limit": ((head(), role(), text("x"), chunk(b"data: " + b"x" * 5000), close()), ASK),
    "no JSON": (complete(b"<html>", 200, "text/html"), ASK),
    "a connection that closes at once": ((close(),), ASK),
}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as it:
        yield it


async def post(server: Server, session: aiohttp.ClientSession, body: dict[str, Any], path: str = "chat/completions"):
    with contextlib.suppress(aiohttp.ClientError):
        async with session.post(f"http://127.0.0.1:{server.port}/v1/{path}", data=json.dumps(body)) as answer:
            await answer.read()


@pytest.mark.parametrize("case", CASES)
async def test_an_exchange_leaves_nothing(
    up: Upstream, start: Start, session: aiohttp.ClientSession, heard: Heard, no_collector: None, case: str
) -> None:
    script, body = CASES[case]
    up.answer(*script)
    server = await start(provider={"retry": ONCE}, limits={"event": 4096})
    for _ in range(2):
        await post(server, session, body)
    await idle(server, up)
    assert len(heard.of(Ended)) == 2
    heard.clear()
    up.requests.clear()
    assert alive() == {}, "freed by counting references"
    assert ours() == {}


async def test_a_client_that_leaves_leaves_nothing(
    up: Upstream, start: Start, session: aiohttp.ClientSession, heard: Heard, no_collector: None
) -> None:
    up.answer(head(), role(), text("so far"), hang())
    server = await start()
    for number in range(3):
        answer = await session.post(f"http://127.0.0.1:{server.port}/v1/chat/completions", data=json.dumps(ASK))
        await answer.content.readany()
        answer.close()
        await up.until(partial(lambda gone: up.gone == gone, number + 1))
    del answer
    await idle(server, up)
    heard.clear()
    assert alive() == {}
    assert ours() == {}


@pytest.mark.parametrize("path", ["models", "embeddings", "nothing/here"])
async def test_a_passage_leaves_nothing(
    up: Upstream, start: Start, session: aiohttp.ClientSession, heard: Heard, no_collector: None, path: str
) -> None:
    up.answer(*complete({"data": []}))
    server = await start()
    for _ in range(3):
        await post(server, session, {"model": "m", "input": "x" * 5000}, path)
    await idle(server, up)
    heard.clear()
    assert alive() == {}
    assert ours() == {}


async def test_requests_that_are_refused_leave_nothing(
    start: Start, up: Upstream, session: aiohttp.ClientSession, heard: Heard, no_collector: None
) -> None:
    server = await start(limits={"request_body": 1000}, auth={"keys": ["k"]})
    await post(server, session, ASK)
    await post(server, session, {**ASK, "pad": "x" * 2000})
    await idle(server, up)
    assert len(heard.of(Ended)) == 2
    heard.clear()
    assert alive() == {}
    assert ours() == {}
