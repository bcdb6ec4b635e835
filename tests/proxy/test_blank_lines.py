"""A whole answer whose upstream sends blank lines while the model works: they reach the client as they come, and the
answer is still looked at, and asked for again, before anything else is sent."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from proxy.observers.reports import Ended, EndReason, LoopFound, Outcome, Retrying
from proxy.server.app import Server
from tests.clock import FakeClock
from tests.proxy.conftest import Heard, Start
from tests.upstream import (
    Flood,
    Step,
    Upstream,
    chunk,
    close,
    done,
    end,
    finish,
    hang,
    head,
    reset,
    role,
    text,
    wait,
    whole,
)

CALL = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
NEVER = {kind: {"mode": "bounded", "max_retries": 0} for kind in ("request", "server", "stream", "network")}
JSON = head(200, "application/json", {"x-request-id": "r1"})
FULL = head(200, "application/json", length=4096)
ERROR = {"error": {"message": "bad key", "type": "invalid_request_error", "code": "invalid_api_key"}}


def completion(content: str) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
    }


def said(content: Any) -> Step:
    return chunk(json.dumps(content).encode())


ARRIVES = 0.05
"""Real seconds for bytes on loopback: whether they lead to anything is what the test asks, so nothing tells of it."""


async def seconds(clock: FakeClock, count: int) -> None:
    for _ in range(count):
        await clock.advance(1)
        await asyncio.sleep(0.002)  # what a second sets off crosses a socket


class Asking:
    """A client of a whole answer. `status` is None until the head is there; `broke`: the body ended early."""

    def __init__(self, server: Server, client: aiohttp.ClientSession, path: str = "/v1/chat/completions", **more: Any):
        self.status: int | None = None
        self.headers: Any = {}
        self.body = b""
        self.broke = False
        url = f"http://127.0.0.1:{server.port}{path}"
        self.task = asyncio.create_task(self._run(client.post(url, json={**CALL, **more})))

    async def _run(self, call: Any) -> None:
        async with call as answer:
            self.status, self.headers = answer.status, answer.headers
            try:
                while data := await answer.content.readany():
                    self.body += data
            except aiohttp.ClientPayloadError:
                self.broke = True

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    async def ended(self) -> None:
        async with asyncio.timeout(5):
            await self.task


@pytest.fixture
async def asking(start: Start, client: aiohttp.ClientSession, clock: FakeClock) -> AsyncIterator[Any]:
    """Starts a proxy and asks it."""
    made: list[Asking] = []

    async def ask(path: str = "/v1/chat/completions", more: Any = None, **settings: Any) -> Asking:
        server = await start(clock=clock, **settings)
        made.append(Asking(server, client, path, **(more or {})))
        return made[-1]

    yield ask
    for one in made:
        one.task.cancel()


async def passes(clock: FakeClock, up: Upstream, count: int, calls: int = 1) -> None:
    """The upstream has been called, and then so many seconds pass."""
    await up.until(lambda: len(up.requests) == calls)
    await asyncio.sleep(ARRIVES)
    await seconds(clock, count)


# --- as they come -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("every", ["15s", "0s"], ids=["heartbeats", "no heartbeats"])
async def test_head_and_blank_lines_come_before_the_answer(
    up: Upstream, asking: Any, clock: FakeClock, every: str
) -> None:
    up.answer(JSON, chunk(b"\n"), wait("more"), chunk(b"\r\n \t"), wait("answer"), said(completion("x")), end())
    one = await asking(heartbeat={"every": every})
    await passes(clock, up, 3)
    assert (one.status, one.body) == (200, b"\n")
    assert one.headers["Content-Type"] == "application/json" and one.headers["x-request-id"] == "r1"
    assert one.headers["x-streamfuse-attempts"] == "1" and one.headers["x-streamfuse-provider"] == "up"
    assert "Content-Length" not in one.headers and one.headers["Transfer-Encoding"] == "chunked"
    up.go("more")
    await asyncio.sleep(ARRIVES)
    assert one.body == b"\n\r\n \t", "without waiting for any clock"
    up.go("answer")
    await one.ended()
    assert one.body == b"\n\r\n \t" + json.dumps(completion("x")).encode()


async def test_an_answer_that_is_there_at_once_keeps_its_length(up: Upstream, asking: Any) -> None:
    up.answer(JSON, chunk(b"\n\n"), said(completion("x")), end())
    one = await asking()
    await one.ended()
    assert int(one.headers["Content-Length"]) == len(one.body) and one.json == completion("x")


async def test_the_length_of_an_upstream_is_not_promised(up: Upstream, asking: Any, clock: FakeClock) -> None:
    body = b"\n" + json.dumps(completion("x")).encode()
    up.answer(head(200, "application/json", length=len(body)), chunk(b"\n"), wait("answer"), chunk(body[1:]))
    one = await asking()
    await passes(clock, up, 3)
    up.go("answer")
    await one.ended()
    assert "Content-Length" not in one.headers and one.json == completion("x")


async def test_compressed_blank_lines(up: Upstream, asking: Any, clock: FakeClock) -> None:
    import zlib

    packer = zlib.compressobj(wbits=31)
    blank = packer.compress(b"\n") + packer.flush(zlib.Z_SYNC_FLUSH)
    rest = packer.compress(json.dumps(completion("x")).encode()) + packer.flush()
    assert gzip.decompress(blank + rest)
    packed = head(200, "application/json", {"Content-Encoding": "gzip"})
    up.answer(packed, chunk(blank), wait("answer"), chunk(rest), end())
    one = await asking()
    await passes(clock, up, 3)
    assert one.body == b"\n" and "Content-Encoding" not in one.headers
    up.go("answer")
    await one.ended()
    assert one.json == completion("x")


@pytest.mark.parametrize(
    "first",
    [
        (head(201, "application/json"), chunk(b"\n")),
        (head(200, "application/json", {"Content-Encoding": "secret"}), chunk(b"\n")),
        (JSON, chunk(b"\x0b")),
        (JSON,),
    ],
    ids=["another status", "a coding that nobody knows", "no blank of JSON's", "a head alone"],
)
async def test_what_is_no_blank_line_begins_nothing(
    up: Upstream, asking: Any, clock: FakeClock, first: tuple[Step, ...]
) -> None:
    up.answer(*first, hang())
    one = await asking()
    await passes(clock, up, 10)
    assert one.status is None


@pytest.mark.parametrize("type_", ["application/json", "text/event-stream"])
async def test_events_that_become_one_answer_are_heard_of(
    up: Upstream, asking: Any, clock: FakeClock, type_: str
) -> None:
    up.answer(
        head(200, type_),
        role(),
        chunk(b": wait\n\n"),
        wait("a"),
        text("in"),
        wait("b"),
        text(" pieces"),
        finish(),
        done(),
    )
    one = await asking(replay={"hold_time": "20s"}, heartbeat={"every": "10s"})
    await passes(clock, up, 18)
    assert one.status is None
    await seconds(clock, 4)
    assert (one.status, one.body, one.headers["Content-Type"]) == (200, b"\n", "application/json")
    await seconds(clock, 20)
    assert one.body == b"\n", "the upstream is silent, and so are we"
    up.go("a")
    await asyncio.sleep(ARRIVES)
    await seconds(clock, 2)
    assert one.body == b"\n\n"
    up.go("b")
    await one.ended()
    assert one.json["choices"][0]["message"]["content"] == "in pieces"


async def test_without_heartbeats_nothing_of_ours_is_sent(up: Upstream, asking: Any, clock: FakeClock) -> None:
    up.answer(head(), role(), wait("a"), text("x"), finish(), done())
    one = await asking(more={"stream": False}, heartbeat={"every": "0s"})
    await passes(clock, up, 100)
    assert one.status is None
    up.go("a")
    await one.ended()
    assert one.json["choices"][0]["message"]["content"] == "x" and "Content-Length" in one.headers


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_nothing_stands_in_the_middle_of_an_answer_that_goes_through_unread(
    up: Upstream, asking: Any, clock: FakeClock, stream: bool
) -> None:
    packed = head(200, "application/json", {"Content-Encoding": "secret"})
    up.answer(packed, chunk(b"\x01\x02"), wait("rest"), chunk(b"\x03"), end())
    one = await asking(more={"stream": stream}, heartbeat={"every": "5s"}, limits={"json_answer": 1})
    await passes(clock, up, 40)
    up.go("rest")
    await one.ended()
    assert (one.status, one.body, one.headers["Content-Encoding"]) == (200, b"\x01\x02\x03", "secret")


async def test_a_loop_in_the_answer_is_still_cut(up: Upstream, asking: Any, clock: FakeClock, heard: Heard) -> None:
    up.answer(JSON, chunk(b"\n"), wait("answer"), said(completion("I will try that again now. " * 400)), end())
    one = await asking()
    await passes(clock, up, 3)
    up.go("answer")
    await one.ended()
    assert len(one.body) < 4000 and one.json["choices"][0]["message"]["content"].startswith("I will try")
    assert heard.of(LoopFound) and heard.of(Ended)[0].outcome is Outcome.CUT


async def test_an_answer_too_large_to_be_read_goes_through(up: Upstream, asking: Any, clock: FakeClock) -> None:
    large = json.dumps({**completion("x" * 4000), "more": "y" * 4000}).encode()
    up.answer(JSON, chunk(b"\n"), wait("answer"), chunk(large[:3000]), wait("rest"), chunk(large[3000:]), end())
    one = await asking(limits={"json_answer": 2048})
    await passes(clock, up, 3)
    up.go("answer")
    await asyncio.sleep(ARRIVES)
    await seconds(clock, 40)
    up.go("rest")
    await one.ended()
    assert one.body == b"\n" + large, "no heartbeat in the middle of it"


async def test_an_old_client_gets_no_chunks(up: Upstream, start: Start, clock: FakeClock) -> None:
    server = await start(clock=clock)
    up.answer(JSON, chunk(b"\n"), wait("answer"), said(completion("x")), end())
    reader, writer = await old(server)
    await passes(clock, up, 3)
    got = await reader.readuntil(b"\r\n\r\n\n")
    assert b"chunked" not in got
    up.go("answer")
    async with asyncio.timeout(5):
        assert json.loads(await reader.read()) == completion("x")
    writer.close()


async def old(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    body = json.dumps(CALL).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.0\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return reader, writer


# --- failures ---------------------------------------------------------------------------------------------------------
FAULTS: dict[str, tuple[Step, ...]] = {
    "reset": (reset(),),
    "closed": (close(),),
    "ended": (end(),),
    "half": (chunk(b'{"id": "c", "cho'), reset()),
    "page": (chunk(b"<!doctype html><title>Bad gateway</title>"), end()),
    "overloaded": (said({"error": {"message": "Overloaded", "type": "overloaded_error"}}), end()),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
async def test_a_failure_at_once_is_told_with_a_status(
    up: Upstream, asking: Any, clock: FakeClock, fault: tuple[Step, ...]
) -> None:
    up.answer(JSON, chunk(b"\n"), *fault)
    one = await asking(retry=NEVER)
    await one.ended()
    assert one.status is not None and one.status >= 400 and "error" in one.json


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
async def test_after_blank_lines_another_try_goes_into_the_same_body(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard, fault: tuple[Step, ...]
) -> None:
    up.answer(JSON, chunk(b"\n"), wait("fault"), *fault)
    up.answer(*whole({"error": {"message": "busy"}}, status=503))
    up.answer(*whole(completion("x")))
    one = await asking()
    await passes(clock, up, 3)
    up.go("fault")
    await heard.until(Retrying)
    await seconds(clock, 20)
    await one.ended()
    assert (one.status, one.json) == (200, completion("x"))
    assert len(up.requests) == 3 and heard.of(Ended)[0].outcome is Outcome.OK


@pytest.mark.parametrize("name", ["reset", "closed", "ended", "half", "page"])
async def test_a_failure_after_blank_lines_breaks_the_answer_off(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard, name: str
) -> None:
    up.answer(JSON, chunk(b"\n"), wait("fault"), *FAULTS[name])
    one = await asking(retry=NEVER)
    await passes(clock, up, 3)
    up.go("fault")
    await one.ended()
    assert one.broke and not one.body.strip(), "the client's SDK raises, and asks again as it would without us"
    told = heard.of(Ended)[0]
    assert told.outcome is Outcome.FAILED and told.reason is EndReason.ERROR


async def test_a_provider_that_stays_away_is_not_waited_for_for_ever(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard
) -> None:
    up.answer(JSON, chunk(b"\n"), wait("fault"), reset())
    up.answer(reset())
    one = await asking(replay={"patience": "60s"})
    await passes(clock, up, 3)
    up.go("fault")
    await heard.until(Retrying)
    await seconds(clock, 50)
    assert not one.task.done()
    await seconds(clock, 20)
    await one.ended()
    assert one.broke, "its budget has no end, but without us the client would be told"


async def test_an_error_status_of_a_later_try_breaks_the_answer_off(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard
) -> None:
    up.answer(JSON, chunk(b"\n"), wait("fault"), reset())
    up.answer(*whole(ERROR, status=401))
    one = await asking()
    await passes(clock, up, 3)
    up.go("fault")
    await heard.until(Retrying)
    await seconds(clock, 3)
    await one.ended()
    assert one.broke and len(up.requests) == 2, "the client's own next try meets the 401 as a status"


@pytest.mark.parametrize("body", [ERROR, {"neither": 1}], ids=["error", "strange"])
async def test_json_that_is_no_answer_comes_as_without_us(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard, body: Any
) -> None:
    up.answer(JSON, chunk(b"\n"), wait("answer"), said(body), end())
    one = await asking(retry=NEVER)
    await passes(clock, up, 3)
    up.go("answer")
    await one.ended()
    assert (one.status, one.json, one.broke) == (200, body, False)
    assert heard.of(Ended)[0].outcome is Outcome.FAILED


async def test_a_provider_whose_failures_break_off(up: Upstream, start: Start, clock: FakeClock, client: Any) -> None:
    server = await start(clock=clock, provider={"fail": "break"})
    up.answer(JSON, chunk(b"\n"), wait("answer"), said(ERROR), end())
    one = Asking(server, client)
    await passes(clock, up, 3)
    up.go("answer")
    await one.ended()
    assert one.broke


async def test_an_old_client_is_reset_where_the_answer_breaks_off(up: Upstream, start: Start, clock: FakeClock) -> None:
    server = await start(clock=clock, retry=NEVER)
    up.answer(JSON, chunk(b"\n"), wait("fault"), reset())
    reader, writer = await old(server)
    await passes(clock, up, 3)
    await reader.readuntil(b"\r\n\r\n\n")
    up.go("fault")
    with pytest.raises(ConnectionResetError):
        async with asyncio.timeout(5):
            await reader.read()
    writer.close()


async def test_blank_lines_of_ours_while_it_is_asked_again_only_where_some_went_out(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard
) -> None:
    up.answer(JSON, chunk(b"\n"), wait("fault"), reset())
    up.answer(wait("late"), *whole(completion("x")))
    one = await asking(heartbeat={"every": "10s"})
    await passes(clock, up, 3)
    up.go("fault")
    await heard.until(Retrying)
    await seconds(clock, 25)
    assert one.body == b"\n" * 3
    up.go("late")
    await one.ended()
    assert one.json == completion("x")


async def test_no_blank_line_of_ours_where_none_came(up: Upstream, asking: Any, clock: FakeClock, heard: Heard) -> None:
    up.answer(JSON, chunk(b"\n"), reset())
    up.answer(wait("late"), *whole(completion("x")))
    one = await asking(heartbeat={"every": "10s"})
    await heard.until(Retrying)
    await seconds(clock, 100)
    assert one.status is None
    up.go("late")
    await one.ended()
    assert int(one.headers["Content-Length"]) == len(one.body) and one.headers["x-streamfuse-attempts"] == "2"


async def test_blank_lines_then_silence_ring_the_timer(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard
) -> None:
    up.answer(JSON, chunk(b"\n"), hang())
    one = await asking(retry=NEVER, timeouts={"first_event": "30s"}, heartbeat={"every": "5s"})
    await passes(clock, up, 40)
    await one.ended()
    assert one.broke and one.body == b"\n", "an upstream's silence is not covered up"
    assert heard.of(Ended)[0].reason is EndReason.IDLE


# --- wires ------------------------------------------------------------------------------------------------------------
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "x"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m",
    "output": [{"type": "message", "id": "o", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}],
}
LEGACY = {"id": "c", "object": "text_completion", "choices": [{"index": 0, "text": "x", "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("path", "more", "answer"),
    [
        ("/v1/messages", {"max_tokens": 9}, MESSAGE),
        ("/v1/responses", {"input": "hi"}, RESPONSE),
        ("/v1/completions", {"prompt": "hi"}, LEGACY),
    ],
)
async def test_every_wire(up: Upstream, asking: Any, clock: FakeClock, path: str, more: Any, answer: Any) -> None:
    up.answer(JSON, chunk(b"\n"), wait("fault"), reset())
    up.answer(JSON, chunk(b" "), said(answer), end())
    one = await asking(path, more)
    await passes(clock, up, 3)
    assert (one.status, one.body) == (200, b"\n")
    up.go("fault")
    await up.until(lambda: len(up.requests) == 1)
    await asyncio.sleep(ARRIVES)
    await seconds(clock, 3)
    await one.ended()
    assert one.json == answer and len(up.requests) == 2


# --- leaving and stopping ---------------------------------------------------------------------------------------------
async def test_a_client_that_leaves_during_blank_lines_ends_the_call(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard
) -> None:
    up.answer(JSON, chunk(b"\n"), hang())
    one = await asking()
    await passes(clock, up, 3)
    assert one.status == 200
    one.task.cancel()
    await up.until(lambda: up.gone == 1)
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    assert len(up.requests) == 1


async def test_a_client_that_leaves_while_it_is_asked_again(
    up: Upstream, asking: Any, clock: FakeClock, heard: Heard
) -> None:
    up.answer(JSON, chunk(b"\n"), wait("fault"), reset())
    one = await asking()
    await passes(clock, up, 3)
    up.go("fault")
    await heard.until(Retrying)
    one.task.cancel()
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    await seconds(clock, 10)
    assert len(up.requests) == 1


async def test_a_client_that_reads_nothing_is_dropped(
    up: Upstream, start: Start, clock: FakeClock, heard: Heard
) -> None:
    server = await start(clock=clock)
    flood = Flood(chunk(b" " * 60_000))
    up.answer(JSON, chunk(b"\n"), wait("flood"), flood, hang())
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    body = json.dumps(CALL).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await passes(clock, up, 3)
    up.go("flood")
    assert await flood.stuck() * 60_000 < 32 << 20, "the upstream is read no further than the client reads"
    await seconds(clock, 130)
    await up.until(lambda: up.gone == 1)
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    writer.transport.abort()


async def test_a_drain_waits_for_the_answer(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, drain={"grace": "20s"})
    up.answer(JSON, chunk(b"\n"), wait("answer"), said(completion("x")), end())
    one = Asking(server, client)
    await passes(clock, up, 3)
    draining = asyncio.create_task(server.drain())
    await seconds(clock, 2)
    up.go("answer")
    await one.ended()
    await seconds(clock, 2)
    await draining
    assert one.json == completion("x")


async def test_after_the_grace_period_the_answer_breaks_off(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, heard: Heard
) -> None:
    server = await start(clock=clock, drain={"grace": "3s"})
    up.answer(JSON, chunk(b"\n"), hang())
    one = Asking(server, client)
    await passes(clock, up, 3)
    draining = asyncio.create_task(server.drain())
    await seconds(clock, 6)
    await one.ended()
    await draining
    assert one.broke and one.body == b"\n", "the client asks again, somewhere else"
    assert heard.of(Ended)[0].reason is EndReason.DRAIN
    await up.until(lambda: up.gone == 1)
