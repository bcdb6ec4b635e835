"""One client request against a scripted upstream: transparency, bad answers, the loop, heartbeats, leaving."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import pytest
import zstandard

from proxy.observers.reports import Attempted, Ended, EndReason, Outcome, Retrying
from proxy.server.app import Server
from rules.during.stream import Stream
from tests.clock import FakeClock
from tests.proxy.conftest import Heard, Start
from tests.upstream import (
    Flood,
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
    reset,
    role,
    talk,
    text,
    wait,
    whole,
)

ASK: dict[str, Any] = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
PLAIN = {**ASK, "stream": False}
ROLE = chat("", role="assistant")
NEVER = {"request": {"max_retries": 0}, "stream": {"max_retries": 0}}
FAST = {"request": {"max_retries": 2, "initial_delay": "1s", "jitter_ratio": 0}}


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}/v1/chat/completions"


async def ask(
    server: Server, client: aiohttp.ClientSession, body: Any = ASK, headers: Mapping[str, str] | None = None
) -> tuple[int, aiohttp.typedefs.CIMultiDictProxy[str], bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **(headers or {})}
    async with client.post(url(server), data=data, headers=sent) as answer:
        return answer.status, answer.headers, await answer.read()


def events(body: bytes) -> list[Any]:
    """The data of each event, parsed; comments left out."""
    lines = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) if line != b"[DONE]" else "[DONE]" for line in lines]


def said(body: bytes) -> str:
    return "".join(
        choice["delta"].get("content") or "" for e in events(body) if e != "[DONE]" for choice in e.get("choices", ())
    )


def ends(body: bytes) -> list[str]:
    return [
        c["finish_reason"] for e in events(body) if e != "[DONE]" for c in e.get("choices", ()) if c["finish_reason"]
    ]


# --- all is well -----------------------------------------------------------------------------------------------------
async def test_a_healthy_stream_is_untouched(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
) -> None:
    steps = talk("Hello", " ", "world")
    up.answer(*steps)
    status, headers, body = await ask(proxy, client)
    assert status == 200
    assert [e if e == "[DONE]" else e["choices"][0] for e in events(body)] == [
        *(c["choices"][0] for c in [ROLE, chat("Hello"), chat(" "), chat("world"), chat(finish="stop")]),
        "[DONE]",
    ]
    assert headers["Content-Type"].startswith("text/event-stream")
    assert headers["Cache-Control"] == "no-cache, no-transform"
    assert headers["X-Accel-Buffering"] == "no"
    assert headers["x-streamfuse-attempts"] == "1" and "Content-Length" not in headers
    ended = heard.of(Ended)[0]
    assert (ended.outcome, ended.reason, ended.status, ended.attempts) == (Outcome.OK, EndReason.DONE, 200, 1)
    assert (ended.call.wire, ended.call.model, ended.call.streaming) == ("openai_chat", "m", True)
    assert ended.events == 6 and ended.first_event is not None and ended.bytes_out == len(body)
    assert json.loads(up.requests[0].body) == ASK


async def test_the_body_ends_at_the_terminal_event(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    """An upstream that keeps its socket open after [DONE] does not keep the client waiting."""
    up.answer(head(), role(), text("hi"), finish(), chunk(b"data: [DONE]\n\n"), hang())
    _, _, body = await ask(proxy, client)
    assert body.endswith(b"data: [DONE]\n\n")
    await up.until(lambda: up.gone == 1)


async def test_a_body_that_ends_a_little_later_keeps_its_connection(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    up.answer(head(), role(), text("hi"), finish(), chunk(b"data: [DONE]\n\n"), wait("later"), end())
    up.answer(*talk("again"))
    _, _, body = await ask(proxy, client)
    assert said(body) == "hi"
    up.go("later")
    await asyncio.sleep(0.02)
    await ask(proxy, client)
    assert [got.connection for got in up.requests] == [1, 1]


async def test_a_whole_answer_is_untouched(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    answer = completion("hello")
    raw = json.dumps(answer, indent=1).encode()
    up.answer(*whole(raw, x_request_id="r"))
    status, headers, body = await ask(proxy, client, PLAIN)
    assert (status, body) == (200, raw)
    assert headers["Content-Length"] == str(len(raw)) and headers["x-request-id"] == "r"


def completion(content: str) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_compressed_request_is_read_and_passed_as_it_came(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, coding: str, heard: Heard
) -> None:
    packers: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstandard.compress}
    packed = packers[coding](json.dumps(ASK).encode())
    up.answer(*talk("hi"))
    status, _, body = await ask(proxy, client, packed, {"Content-Encoding": coding})
    assert (status, said(body)) == (200, "hi")
    assert up.requests[0].body == packed and up.requests[0].header("content-encoding") == coding
    assert heard.of(Ended)[0].call.model == "m"


async def test_a_gzipped_stream_is_decoded(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    plain = b"".join(b"data: " + json.dumps(c).encode() + b"\n\n" for c in (ROLE, chat("hi"), chat(finish="stop")))
    packed = gzip.compress(plain + b"data: [DONE]\n\n")
    up.answer(head(headers={"Content-Encoding": "gzip"}), chunk(packed[:30]), chunk(packed[30:]), end())
    _, headers, body = await ask(proxy, client, headers={"Accept-Encoding": "zstd, br, gzip"})
    assert said(body) == "hi" and "Content-Encoding" not in headers
    assert up.requests[0].header("accept-encoding") == "gzip, deflate, identity"


async def test_a_5_mb_event_passes(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    big = "word " * (1 << 20)
    up.answer(head(), role(), event(chat(None, finish=None, audio={"data": big})), text("x"), finish(), done())
    status, _, body = await ask(proxy, client)
    assert status == 200 and len(body) > 5 << 20 and body.endswith(b"data: [DONE]\n\n")


# --- requests that are not read --------------------------------------------------------------------------------------
@pytest.mark.parametrize("body", [b"not json", b"[1, 2]", b"", b'"text"', b'{"a": '])
async def test_a_body_that_is_not_an_object_passes_untouched(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, body: bytes
) -> None:
    up.answer(*whole({"error": {"message": "bad"}}, status=400))
    status, _, answer = await ask(proxy, client, body)
    assert (status, json.loads(answer)) == (400, {"error": {"message": "bad"}})
    assert up.requests[0].body == body


async def test_a_body_over_the_limit(up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard) -> None:
    server = await start(limits={"request_body": 100})
    status, _, answer = await ask(server, client, {**ASK, "more": "x" * 200})
    assert (status, json.loads(answer)["error"]["code"]) == (413, "streamfuse_body_too_large")
    assert up.requests == [] and heard.of(Ended)[0].outcome is Outcome.REJECTED
    status, _, _ = await ask(server, client, gzip.compress(b"x" * 2000), {"Content-Encoding": "gzip"})
    assert status == 413


async def test_mode_off_still_speaks_the_wire(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(rules={"mode": "off"})
    up.answer(head(), role(), text("half"), end())
    _, _, body = await ask(server, client)
    assert events(body)[-1] == "[DONE]" and any(isinstance(e, dict) and e.get("error") for e in events(body))


# --- answers that are not what was asked for --------------------------------------------------------------------------
@pytest.mark.parametrize("content_type", [None, "text/plain", "application/octet-stream", "application/json"])
async def test_a_stream_is_known_by_its_bytes(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, content_type: str | None
) -> None:
    up.answer(head(content_type=content_type), role(), text("hi"), finish(), done())
    _, headers, body = await ask(proxy, client)
    assert said(body) == "hi" and headers["Content-Type"].startswith("text/event-stream")


async def test_a_whole_completion_becomes_a_stream(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    up.answer(*whole(completion("all at once")))
    _, headers, body = await ask(proxy, client)
    assert headers["Content-Type"].startswith("text/event-stream")
    assert (said(body), ends(body), events(body)[-1]) == ("all at once", ["stop"], "[DONE]")


async def test_a_stream_becomes_a_whole_completion(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    up.answer(*talk("in", " pieces"))
    _, headers, body = await ask(proxy, client, PLAIN)
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body)["choices"][0]["message"]["content"] == "in pieces"


async def test_blank_lines_before_json(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    raw = json.dumps(completion("x")).encode()
    up.answer(head(200, "application/json"), chunk(b"\n"), chunk(b"\n\n"), chunk(raw), end())
    _, _, body = await ask(proxy, client, PLAIN)
    assert json.loads(body) == completion("x")


PAGE = b"<!doctype html><title>Bad gateway</title>"
ERROR = {"error": {"message": "bad key", "type": "invalid_request_error", "code": "invalid_api_key"}}


@pytest.mark.parametrize("body", [ASK, PLAIN], ids=["stream", "whole"])
@pytest.mark.parametrize(
    ("steps", "status", "says"),
    [
        (whole(PAGE, content_type="text/html"), 502, "HTML page"),
        (whole({"neither": 1}), 502, "not an answer"),
        ((head(length=0),), 502, "empty"),
        (whole(ERROR), 400, "bad key"),
        (whole(ERROR, status=401), 401, "bad key"),
        (whole({"error": {"message": "No.", "code": 404}}, status=404), 404, "No."),
    ],
    ids=["page", "strange", "empty", "error in a 200", "unauthorised", "not found"],
)
async def test_what_is_no_answer_gets_a_real_status(
    up: Upstream,
    start: Start,
    client: aiohttp.ClientSession,
    body: Any,
    steps: tuple[Step, ...],
    status: int,
    says: str,
) -> None:
    server = await start(retry=NEVER)
    up.answer(*steps)
    got, headers, answer = await ask(server, client, body)
    assert (got, headers["Content-Type"]) == (status, "application/json")
    assert says in json.loads(answer)["error"]["message"]
    assert len(up.requests) == 1


# --- the loop --------------------------------------------------------------------------------------------------------
async def waits(clock: FakeClock, up: Upstream, requests: int) -> None:
    """Move time until the upstream has been asked so often."""
    for _ in range(200):
        if len(up.requests) >= requests:
            return
        await clock.advance(1)
        await asyncio.sleep(0.002)
    raise AssertionError(f"{len(up.requests)} requests")


DIES: dict[str, tuple[Step, ...]] = {
    "429": whole({"error": {"message": "slow down"}}, status=429),
    "503": whole({"error": {"message": "overloaded"}}, status=503),
    "closed before headers": (close(),),
    "reset before headers": (reset(),),
    "dies before the first event": (head(), close()),
    "dies after the role": (head(), role(), reset()),
    "clean end after the role": (head(), role(), end()),
    "error as first event": (head(), event({"error": {"message": "overloaded", "code": 503}}), done()),
    "error after the role": (head(), role(), event({"error": {"message": "overloaded", "code": 503}}), done()),
    "an empty stream": (head(), end()),
}


@pytest.mark.parametrize("steps", DIES.values(), ids=DIES)
async def test_a_failure_before_output_is_invisible(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, heard: Heard, steps: tuple[Step, ...]
) -> None:
    server = await start(clock=clock)
    up.answer(*steps)
    up.answer(*talk("well"))
    asking = asyncio.create_task(ask(server, client))
    await waits(clock, up, 2)
    status, headers, body = await asking
    assert (status, said(body), ends(body)) == (200, "well", ["stop"])
    assert [e["choices"][0]["delta"].get("role") for e in events(body)[:2]] == ["assistant", None]
    assert headers["x-streamfuse-attempts"] == "2"
    assert len(heard.of(Attempted)) == 2 and len(heard.of(Retrying)) == 1
    assert up.requests[0].body == up.requests[1].body


async def test_a_spent_budget_tells_the_original_failure(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, heard: Heard
) -> None:
    server = await start(clock=clock, retry=FAST)
    original = {"error": {"message": "no room", "type": "server_error", "code": "full"}}
    up.answer(*whole(original, status=503, x_request_id="r"))
    asking = asyncio.create_task(ask(server, client))
    await waits(clock, up, 3)
    status, headers, body = await asking
    assert (status, json.loads(body)) == (503, original)
    assert "x-should-retry" not in headers and 1 <= int(headers["Retry-After"]) <= 5
    assert 1000 <= int(headers["retry-after-ms"]) <= 5000
    assert headers["x-streamfuse-attempts"] == "3" and headers["x-request-id"] == "r"
    assert [r.wait for r in heard.of(Retrying)] == [1.0, 2.0]


async def test_a_long_hint_is_handed_on(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start()
    up.answer(*whole({"error": {"message": "later"}}, status=429, retry_after="4000"))
    status, headers, _ = await ask(server, client)
    assert (status, headers["Retry-After"], "x-should-retry" in headers) == (429, "4000", False)
    assert len(up.requests) == 1


@pytest.mark.parametrize("last", [reset(), close(), end()], ids=["reset", "close", "clean end"])
async def test_after_text_nothing_is_asked_again(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, last: Step, heard: Heard
) -> None:
    up.answer(head(), role(), text("half"), wait("read"), last)
    async with client.post(url(proxy), json=ASK) as answer:
        start = await answer.content.readany()
        up.go("read")
        body = start + await answer.content.read()
    assert said(body) == "half"
    assert events(body)[-1] == "[DONE]" and events(body)[-2]["error"]["message"]
    assert len(up.requests) == 1
    assert heard.of(Ended)[0].reason is EndReason.ERROR


async def test_dying_in_the_middle_of_a_line(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    up.answer(head(), role(), text("half"), chunk(b'data: {"choices": [{"half_a_line'), wait("read"), reset())
    async with client.post(url(proxy), json=ASK) as answer:
        start = await answer.content.readany()
        up.go("read")
        body = start + await answer.content.read()
    assert b"half_a_line" not in body and events(body)[-1] == "[DONE]"


async def test_a_provider_may_want_the_connection_broken(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(provider={"fail": "break"})
    up.answer(head(), role(), text("half"), wait("read"), reset())
    with pytest.raises(aiohttp.ClientPayloadError):
        async with client.post(url(server), json=ASK) as answer:
            await answer.content.readany()
            up.go("read")
            await answer.content.read()


async def test_a_stale_connection_is_free(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, heard: Heard
) -> None:
    """The clock never moves: what is free does not wait."""
    server = await start(clock=clock, retry={"request": {"max_retries": 0}})
    up.answer(*talk("one"))
    up.answer(reset())
    up.answer(*talk("two"))
    await ask(server, client)
    status, headers, body = await ask(server, client)
    assert (status, said(body), headers["x-streamfuse-attempts"]) == (200, "two", "2")
    assert [(r.budget, r.wait) for r in heard.of(Retrying)] == [("free", 0.0)]


async def test_a_refused_prefill_is_dropped_once(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    refused = {"error": {"message": "This model does not support assistant message prefill.", "type": "invalid"}}
    up.answer(*whole(refused, status=400))
    up.answer(*talk("ok"))
    body = {**ASK, "messages": [*ASK["messages"], {"role": "assistant", "content": "I"}]}
    status, _, answer = await ask(server, client, body)
    assert (status, said(answer)) == (200, "ok")
    assert up.requests[1].json == ASK


# --- time ------------------------------------------------------------------------------------------------------------
async def seconds(clock: FakeClock, count: int) -> None:
    for _ in range(count):
        await clock.advance(1)
        await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ((hang(),), "The upstream sent no response headers for 3 s (provider up at 127.0.0.1:"),
        ((head(), hang()), "The upstream sent no event for 3 s (provider up at 127.0.0.1:"),
        ((head(), role(), hang()), "The upstream sent no event for 3 s (provider up at 127.0.0.1:"),
    ],
    ids=["no headers", "no event", "only a role"],
)
async def test_silence_before_output(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, steps: tuple[Step, ...], says: str
) -> None:
    limits = {"headers": "3s", "first_event": "3s", "idle": "3s"}
    server = await start(clock=clock, timeouts=limits, retry=NEVER)
    up.answer(*steps)
    asking = asyncio.create_task(ask(server, client))
    await up.until(lambda: len(up.requests) == 1)
    await asyncio.sleep(0.02)
    await seconds(clock, 6)
    status, _, body = await asking
    assert status >= 400
    message = json.loads(body)["error"]["message"]
    assert message.startswith(says) and message.endswith("timeouts in the config say how long it may be silent).")
    await up.until(lambda: up.gone == 1)


async def test_comments_do_not_keep_a_dead_answer_alive(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, heard: Heard
) -> None:
    server = await start(clock=clock, timeouts={"idle": "3s"})
    up.answer(head(), role(), text("half"), wait("a"), chunk(b": ping\n\n"), wait("b"), chunk(b": ping\n\n"), hang())
    asking = asyncio.create_task(ask(server, client))
    await up.until(lambda: len(up.requests) == 1)
    for name in ("a", "b"):
        await asyncio.sleep(0.01)
        await seconds(clock, 2)
        up.go(name)
    await seconds(clock, 3)
    _, _, body = await asking
    assert said(body) == "half" and events(body)[-1] == "[DONE]"
    assert heard.of(Ended)[0].reason is EndReason.IDLE


async def test_heartbeats_while_the_upstream_thinks(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(head(), role(), text("one"), wait("more"), text("two"), finish(), done())
    async with client.post(url(server), json=ASK) as answer:
        first = await answer.content.readany()
        await seconds(clock, 16)
        assert await answer.content.readany() == b": hb\n"
        await seconds(clock, 15)
        assert await answer.content.readany() == b": hb\n"
        up.go("more")
        body = first + await answer.content.read()
    assert said(body) == "onetwo"


async def test_heartbeats_before_the_headers_come(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    """After the hold time the client gets a 200 and comments; a failure is still invisible then."""
    server = await start(clock=clock, replay={"hold_time": "20s"})
    up.answer(wait("late"), *whole({"error": {"message": "busy"}}, status=503))
    up.answer(*talk("well"))
    asking = asyncio.create_task(client.post(url(server), json=ASK))
    await up.until(lambda: len(up.requests) == 1)
    await seconds(clock, 19)
    assert not asking.done()
    await seconds(clock, 3)
    answer = await asking
    assert (answer.status, await answer.content.readany()) == (200, b": hb\n")
    up.go("late")
    await waits(clock, up, 2)
    body = await answer.read()
    assert said(body) == "well" and ends(body) == ["stop"]


async def test_no_heartbeats_where_the_client_wants_none(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, heartbeat={"every": 0})
    up.answer(head(), role(), text("one"), wait("more"), finish(), done())
    async with client.post(url(server), json=ASK) as answer:
        first = await answer.content.readany()
        await seconds(clock, 100)
        up.go("more")
        assert b": hb" not in first + await answer.content.read()


async def test_very_many_events_are_gathered_as_few_are(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    """Above a size it happens in a thread."""
    words = [f"word{n * n % 9973} " for n in range(1000)]  # a counter without end would be cut
    up.answer(head(), event(ROLE), *map(text, words), finish(), done())
    status, headers, body = await ask(proxy, client, PLAIN)
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body)["choices"][0]["message"]["content"] == "".join(words)
    up.answer(head(), event(ROLE), *map(text, words), event(SAID), done())
    status, _, body = await ask(proxy, client, {**PLAIN, "seed": 1})
    assert (status, json.loads(body)) == (400, SAID)


SAID = {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}


async def test_an_error_that_does_not_end_is_told_without_its_end(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.exchange.attempt.attempt.REFUSAL", 0.2)
    up.answer(head(400, "application/json"), chunk(json.dumps(SAID).encode()), hang())
    async with asyncio.timeout(5):
        status, _, body = await ask(proxy, client)
    assert (status, json.loads(body)) == (400, SAID)
    await up.until(lambda: up.gone == 1)


async def test_an_error_in_the_form_of_a_stream_is_read(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
) -> None:
    up.answer(head(400), event(SAID), done())
    status, headers, body = await ask(proxy, client)
    assert (status, headers["Content-Type"], json.loads(body)) == (400, "application/json", SAID)
    assert len(up.requests) == 1


async def test_the_end_of_one_choice_is_not_sent_twice(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    """It said nothing, the other one broke off: the end was seen all the same, so nothing is asked again."""
    server = await start(retry=FAST)
    up.answer(head(), event(ROLE), event(chat("", 1, role="assistant")), event(chat(finish="content_filter")), close())
    status, _, body = await ask(server, client, {**ASK, "n": 2})
    assert (status, len(up.requests)) == (200, 1)
    ends = [choice for one in events(body) if isinstance(one, dict) for choice in one.get("choices", ())]
    assert [c["finish_reason"] for c in ends if c["index"] == 0] == [None, "content_filter"]
    assert [c["finish_reason"] for c in ends if c["index"] == 1] == [None, "error"]


# --- the client leaves ------------------------------------------------------------------------------------------------
async def leave(server: Server, body: bytes, length: int | None = None) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
        + str(length or len(body)).encode()
        + b"\r\n\r\n"
        + body
    )
    return writer


BODY = json.dumps(ASK).encode()


async def test_leaving_during_the_upload(up: Upstream, proxy: Server, heard: Heard) -> None:
    writer = await leave(proxy, BODY[:10], len(BODY))
    await asyncio.sleep(0.01)
    writer.transport.abort()
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    assert up.requests == []


@pytest.mark.parametrize(
    "steps",
    [(hang(),), (head(), hang()), (head(), role(), hang()), (head(), role(), text("x"), hang())],
    ids=["before headers", "before events", "while held", "in the middle"],
)
async def test_leaving_cuts_the_upstream(up: Upstream, proxy: Server, heard: Heard, steps: tuple[Step, ...]) -> None:
    up.answer(*steps)
    writer = await leave(proxy, BODY)
    await up.until(lambda: len(up.requests) == 1)
    await asyncio.sleep(0.01)
    writer.transport.abort()
    await up.until(lambda: up.gone == 1)
    ended = await heard.until(Ended)
    assert (ended.outcome, ended.reason) == (Outcome.CLIENT_GONE, EndReason.CLIENT_GONE)
    assert heard.of(Attempted)[0].word == "client_gone"


async def test_leaving_while_a_tool_call_is_held(up: Upstream, proxy: Server, heard: Heard) -> None:
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a'}}
    up.answer(head(), role(), event(chat(tool_calls=[call])), hang())
    writer = await leave(proxy, BODY)
    await up.until(lambda: len(up.requests) == 1)
    await asyncio.sleep(0.01)
    writer.transport.abort()
    await up.until(lambda: up.gone == 1)


async def test_leaving_during_a_back_off(up: Upstream, start: Start, clock: FakeClock, heard: Heard) -> None:
    server = await start(clock=clock)
    up.answer(*whole({"error": {"message": "busy"}}, status=503))
    writer = await leave(server, BODY)
    await heard.until(Retrying)
    writer.transport.abort()
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    await seconds(clock, 5)
    assert len(up.requests) == 1


async def test_a_slow_client_slows_the_upstream_and_is_dropped_in_the_end(
    up: Upstream, start: Start, clock: FakeClock, heard: Heard
) -> None:
    server = await start(clock=clock)
    flood = Flood(event(chat(None, audio={"data": "x" * 10_000})))
    up.answer(head(), role(), flood, hang())
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
    await reader.readline()
    assert await flood.stuck() * 10_000 < 32 << 20
    await seconds(clock, 130)
    await up.until(lambda: up.gone == 1)
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    writer.transport.abort()


async def test_an_upload_that_stalls_is_dropped(start: Start, clock: FakeClock, heard: Heard) -> None:
    server = await start(clock=clock)
    writer = await leave(server, BODY[:10], len(BODY))
    await asyncio.sleep(0.01)
    await seconds(clock, 50)
    writer.write(BODY[10:20])
    await asyncio.sleep(0.01)
    await seconds(clock, 50)
    assert not heard.of(Ended)
    await seconds(clock, 15)
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    writer.transport.abort()


async def test_a_whole_answer_does_not_wait_for_ever_for_its_client(
    up: Upstream, start: Start, clock: FakeClock, heard: Heard
) -> None:
    server = await start(clock=clock)
    up.answer(*whole({**completion("x"), "more": "x" * (24 << 20)}))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
    body = json.dumps(PLAIN).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await reader.readline()
    await seconds(clock, 130)
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE
    writer.transport.abort()


# --- drain ------------------------------------------------------------------------------------------------------------
async def test_after_the_grace_period_a_stream_is_ended_legally(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, heard: Heard
) -> None:
    server = await start(clock=clock, drain={"grace": "3s"})
    up.answer(head(), role(), text("half"), hang())
    async with client.post(url(server), json=ASK) as answer:
        first = await answer.content.readany()
        draining = asyncio.create_task(server.drain())
        await seconds(clock, 5)
        body = first + await answer.content.read()
    await seconds(clock, 1)
    await draining
    assert said(body).startswith("half") and ends(body) == ["stop"] and events(body)[-1] == "[DONE]"
    assert heard.of(Ended)[0].reason is EndReason.DRAIN
    await up.until(lambda: up.gone == 1)


async def test_hurried_a_stream_is_ended_legally_before_its_grace_period_is_over(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, heard: Heard
) -> None:
    server = await start(clock=clock, drain={"grace": "1h"})
    up.answer(head(), role(), text("half"), hang())
    async with client.post(url(server), json=ASK) as answer:
        first = await answer.content.readany()
        draining = asyncio.create_task(server.drain())
        await seconds(clock, 5)
        assert not draining.done()
        server.hurried.set()
        await seconds(clock, 1)
        body = first + await answer.content.read()
    await seconds(clock, 1)
    await draining
    assert said(body).startswith("half") and ends(body) == ["stop"] and events(body)[-1] == "[DONE]"
    assert heard.of(Ended)[0].reason is EndReason.DRAIN


async def test_after_the_grace_period_what_has_not_begun_is_told_to_come_again(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock, drain={"grace": "3s"})
    up.answer(head(), role(), hang())
    asking = asyncio.create_task(ask(server, client))
    await up.until(lambda: len(up.requests) == 1)
    await asyncio.sleep(0.01)
    draining = asyncio.create_task(server.drain())
    await seconds(clock, 6)
    status, headers, body = await asking
    await draining
    assert (status, headers["Retry-After"]) == (503, "1")
    assert json.loads(body)["error"]["code"] == "streamfuse_draining"


# --- the cut ----------------------------------------------------------------------------------------------------------
LOOP = "I will now check the file again. "


def looping(index: int = 0, field: str = "content") -> list[Step]:
    """So many copies that any rule has fired long before the last."""
    out = []
    for word in LOOP.split() * 120:
        chunk_ = chat(None, index)
        chunk_["choices"][0]["delta"] = {field: word + " "}
        out.append(event(chunk_))
    return out


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
async def test_a_loop_is_cut_legally_and_the_upstream_with_it(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard, field: str
) -> None:
    up.answer(head(), role(), text("Let me look. "), *looping(field=field), hang())
    status, _, body = await ask(proxy, client)
    assert (status, ends(body), events(body)[-1]) == (200, ["stop"], "[DONE]")
    assert len(body) < 200 * len(LOOP) * 40
    await up.until(lambda: up.gone == 1)
    ended = heard.of(Ended)[0]
    assert (ended.outcome, ended.reason, len(up.requests)) == (Outcome.CUT, EndReason.CUT, 1)
    found = next(f for f in ended.findings if f.acted)
    assert found.finding.channel.label == ("text" if field == "content" else "reasoning")
    last = next(e for e in reversed(events(body)) if isinstance(e, dict) and "streamfuse" in e)
    assert last["streamfuse"]["rule"] == found.finding.rule and last["streamfuse"]["attempts"] == 1


async def test_only_the_looping_choice_ends(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    sane = [event(chat(f"word{number} ", 1)) for number in range(40)]
    up.answer(
        head(),
        event(chat("", 0, role="assistant")),
        event(chat("", 1, role="assistant")),
        *looping(),
        *sane,
        event(chat(None, 1, finish="stop")),
        event(chat(None, 0, finish="length")),
        done(),
    )
    _, _, body = await ask(proxy, client, {**ASK, "n": 2})
    finishes = {
        c["index"]: c["finish_reason"]
        for e in events(body)
        if e != "[DONE]"
        for c in e.get("choices", ())
        if c["finish_reason"]
    }
    assert finishes == {0: "stop", 1: "stop"}
    assert "word39 " in said(body) and events(body)[-1] == "[DONE]"


@pytest.mark.parametrize("how", ["header", "provider", "config"])
async def test_watching_touches_nothing(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard, how: str
) -> None:
    server = await start(
        provider={"mode": "watch"} if how == "provider" else None, rules={"mode": "watch" if how == "config" else "on"}
    )
    up.answer(head(), role(), *looping(), finish(), done())
    _, _, body = await ask(server, client, headers={"x-streamfuse-mode": "watch"} if how == "header" else None)
    assert said(body).count(LOOP.strip()) == 120 and ends(body) == ["stop"]
    ended = heard.of(Ended)[0]
    assert ended.outcome is Outcome.OK and ended.findings and not any(f.acted for f in ended.findings)


async def test_a_whole_answer_that_loops_is_trimmed(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
) -> None:
    up.answer(*whole(completion("Well. " + LOOP * 120)))
    _, headers, body = await ask(proxy, client, PLAIN)
    answer = json.loads(body)
    content = answer["choices"][0]["message"]["content"]
    assert content.startswith("Well. " + LOOP.strip(". ")) and content.count(LOOP) < 5
    assert answer["choices"][0]["finish_reason"] == "stop" and headers["Content-Length"] == str(len(body))
    assert heard.of(Ended)[0].outcome is Outcome.CUT


# --- tool calls are held ----------------------------------------------------------------------------------------------
def call(arguments: str, **more: Any) -> Step:
    return event(chat(tool_calls=[{"index": 0, **more, "function": {"name": "f", "arguments": arguments}}]))


async def test_half_a_tool_call_is_never_shown(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    up.answer(head(), role(), text("Calling. "), call('{"city": "Par', id="c1", type="function"), wait("x"), reset())
    async with client.post(url(proxy), json=ASK) as answer:
        start = await answer.content.readany()
        up.go("x")
        body = start + await answer.content.read()
    assert b"tool_calls" not in body and said(body) == "Calling. " and events(body)[-1] == "[DONE]"


async def test_heartbeats_go_on_while_a_tool_call_is_held(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    server = await start(clock=clock)
    up.answer(
        head(),
        role(),
        text("Calling. "),
        call('{"city": "Par', id="c1", type="function"),
        wait("x"),
        call('is"}'),
        finish("tool_calls"),
        done(),
    )
    async with client.post(url(server), json=ASK) as answer:
        first = await answer.content.readany()
        await seconds(clock, 16)
        beat = await answer.content.readany()
        assert beat == b": hb\n"
        up.go("x")
        body = first + beat + await answer.content.read()
    parts = [e["choices"][0]["delta"].get("tool_calls") for e in events(body) if e != "[DONE]"]
    assert "".join(p[0]["function"]["arguments"] for p in parts if p) == '{"city": "Paris"}'
    assert ends(body) == ["tool_calls"]


# --- where a request goes ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/chat/completions", "/v1/chat/completions"),
        ("/v1/v1/chat/completions?a=b", "/v1/chat/completions?a=b"),
        ("//v1//chat/completions", "/v1/chat/completions"),
        ("/up/v1/chat/completions", "/v1/chat/completions"),
        (
            "/openai/deployments/d1/chat/completions?api-version=1",
            "/openai/deployments/d1/chat/completions?api-version=1",
        ),
    ],
)
async def test_paths(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard, path: str, target: str
) -> None:
    up.answer(*talk("hi"))
    async with client.post(f"http://127.0.0.1:{proxy.port}{path}", json=ASK) as answer:
        assert said(await answer.read()) == "hi"
    assert up.requests[0].target == target
    assert heard.of(Ended)[0].call.wire == "openai_chat"


async def test_a_model_has_its_own_provider(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(
        providers={"up": {"base_url": "http://127.0.0.1:1/v1"}, "other": {"base_url": f"{up.url}/v2"}},
        default_provider="up",
        routes=[{"model": "m*", "provider": "other"}],
    )
    up.answer(*talk("hi"))
    status, headers, _ = await ask(server, client)
    assert (status, headers["x-streamfuse-provider"], up.requests[0].target) == (200, "other", "/v2/chat/completions")


async def test_identity_headers_are_stripped_as_configured(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(correlation={"headers": ["x-request-key"]})
    up.answer(*talk("hi"))
    await ask(server, client, headers={"x-request-key": "a", "x-session-id": "s", "x-streamfuse-correlation-id": "c"})
    got = up.requests[0]
    assert got.header("x-request-key") is None and got.header("x-streamfuse-correlation-id") is None
    assert got.header("x-session-id") == "s"


async def test_a_wire_that_is_not_watched_passes_untouched(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
) -> None:
    server = await start(provider={"wires": ["openai_responses"]})
    up.answer(head(), role(), *looping()[:800], finish(), done())
    _, _, body = await ask(server, client)
    assert said(body).count(LOOP.strip()) > 100 and heard.of(Ended)[0].call.wire == "opaque"


# --- characters that are none ----------------------------------------------------------------------------------------
CUT_EMOJI = rb'"cut \ud83d"'


async def test_half_an_emoji_passes_and_is_watched(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    """Valid JSON that orjson refuses: agents send it where they shorten a tool's output, servers where they split."""
    half = event(b'{"choices":[{"index":0,"delta":{"content":' + CUT_EMOJI + b'},"finish_reason":null}]}')
    up.answer(head(), role(), half, *(text("I need to look again. ") for _ in range(90)), finish(), done())
    body = b'{"model":"m","stream":true,"messages":[{"role":"user","content":' + CUT_EMOJI + b"}]}"
    _, _, said = await ask(proxy, client, body)
    assert up.requests[0].body == body
    assert CUT_EMOJI in said and b'"action":"cut"' in said


async def test_half_an_emoji_in_a_whole_answer(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    body = (
        b'{"choices":[{"index":0,"message":{"role":"assistant","content":' + CUT_EMOJI + b'},"finish_reason":"stop"}]}'
    )
    up.answer(*whole(body))
    status, _, got = await ask(proxy, client, PLAIN)
    assert (status, got) == (200, body)


# --- a mistake of our own ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shown", [True, False])
async def test_a_mistake_of_ours_is_never_a_clean_end(
    up: Upstream,
    proxy: Server,
    client: aiohttp.ClientSession,
    heard: Heard,
    monkeypatch: pytest.MonkeyPatch,
    shown: bool,
) -> None:
    feed = Stream.feed

    def broken(self: Stream, chunk: bytes, now: float) -> Any:
        if b"boom" in chunk:
            raise RuntimeError("a secret of the answer")
        return feed(self, chunk, now)

    monkeypatch.setattr(Stream, "feed", broken)
    up.answer(head(), role(), text("so far") if shown else role(), wait("seen"), text("boom"), finish(), done())
    up.go("seen") if not shown else None
    if shown:
        with pytest.raises(aiohttp.ClientPayloadError):
            async with client.post(url(proxy), json=ASK) as answer:
                assert b"so far" in await answer.content.readany()
                up.go("seen")
                await answer.read()
    else:
        status, _, body = await ask(proxy, client)
        assert status == 500 and b"streamfuse_internal" in body and b"secret" not in body
    ended = await heard.until(Ended)
    assert (ended.outcome, ended.reason, ended.code) == (Outcome.FAILED, EndReason.ERROR, "streamfuse_internal")


# --- answers of the wrong shape ---------------------------------------------------------------------------------------
MISSHAPEN = [
    {"choices": [{"index": 0, "delta": {"tool_calls": ["x"]}, "finish_reason": "stop"}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [None, 5]}, "finish_reason": "stop"}]},
    {"choices": [{"index": [], "delta": {"content": {"a": 1}}, "finish_reason": {"type": []}}]},
]


@pytest.mark.parametrize("chunk_", MISSHAPEN)
async def test_events_of_the_wrong_shape_never_break_a_whole_answer(
    up: Upstream, start: Start, client: aiohttp.ClientSession, chunk_: Any
) -> None:
    server = await start(retry={**NEVER, "server": {"max_retries": 0}})
    up.answer(head(), role(), event(chunk_), finish(), done())
    status, _, body = await ask(server, client, PLAIN)
    assert status in (200, 400, 502) and isinstance(json.loads(body), dict)


@pytest.mark.parametrize("output", [["x"], [None], 5, True, [{"type": []}], [{"type": "message", "content": [5]}]])
async def test_a_whole_body_of_the_wrong_shape_never_breaks_a_stream(
    up: Upstream, start: Start, client: aiohttp.ClientSession, output: Any
) -> None:
    server = await start(retry={**NEVER, "server": {"max_retries": 0}})
    up.answer(*whole({"id": "r", "object": "response", "status": "completed", "output": output}))
    where = f"http://127.0.0.1:{server.port}/v1/responses"
    async with client.post(where, json={"model": "m", "stream": True, "input": "x"}) as answer:
        assert answer.status in (200, 400, 502)
        assert b"streamfuse_internal" not in await answer.read()


async def test_blank_bytes_without_end_are_no_answer(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    """They are kept until it is clear what follows, so there is a bound on how many."""
    server = await start(retry=NEVER)
    up.answer(head(200, "text/plain"), chunk(b"\n" * 70_000), hang())
    async with asyncio.timeout(5):
        status, _, _ = await ask(server, client)
    assert status == 502
