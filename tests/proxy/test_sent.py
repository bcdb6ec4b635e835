"""Passed on as sent: header bytes, header counts, HEAD, codings that nobody asked for, the fields of an error."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from typing import Any

import aiohttp
import pytest

from proxy.observers.reports import Ended, Outcome
from proxy.server.app import Server
from tests.proxy.conftest import Heard, Start
from tests.upstream import Upstream, chat, chunk, close, end, event, head, raw, reset, role, talk, text, whole

PLAIN = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
ASK = {**PLAIN, "stream": True}
COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
}
BR = "an environment made before the dependency was declared"


async def sent(proxy: Server, data: bytes, then: bytes = b"") -> bytes:
    """What comes back for raw bytes; `then` is sent on the same connection when the first answer is there."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port, limit=1 << 20)
    writer.write(data)
    first = await reader.readuntil(b"\r\n\r\n")
    writer.write(then or b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    rest = await reader.read()
    writer.close()
    return first + rest


def post(body: Any, headers: bytes = b"", path: bytes = b"/v1/chat/completions") -> bytes:
    packed = json.dumps(body).encode()
    return b"POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s" % (path, headers, len(packed), packed)


async def ask(proxy: Server, client: aiohttp.ClientSession, body: Any = ASK, **headers: str) -> tuple[int, Any, bytes]:
    url = f"http://127.0.0.1:{proxy.port}/v1/chat/completions"
    async with client.post(url, json=body, headers=headers) as answer:
        return answer.status, answer.headers, await answer.read()


# --- a stream, or not ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("stream", ["true", 1, "no", 0, "", {}, [True]])
async def test_a_stream_asked_for_in_no_word_of_the_protocol_gets_what_comes(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, stream: object
) -> None:
    """Servers differ in what they take for true; the client was written for what its own does."""
    events = b"data: %b\n\ndata: [DONE]\n\n" % json.dumps(chat("hello", finish="stop")).encode()
    up.answer(head(), chunk(events), end())
    up.answer(*whole(COMPLETION))
    status, headers, body = await ask(proxy, client, {**PLAIN, "stream": stream})
    assert (status, headers["Content-Type"], body) == (200, "text/event-stream", events)
    status, headers, body = await ask(proxy, client, {**PLAIN, "stream": stream})
    assert (status, headers["Content-Type"], json.loads(body)) == (200, "application/json", COMPLETION)
    assert [request.json["stream"] for request in up.requests] == [stream, stream]


# --- header bytes ----------------------------------------------------------------------------------------------------
VALUES = [b"M\xfcller", b"\xfc\xff", "Müller".encode(), "☃ 雪".encode(), b"caf\xe9 \xc3\xa9", b"a\tb", b"\x80\x9f"]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("path", [b"/v1/chat/completions", b"/v1/files"])
async def test_header_bytes_survive_both_ways(up: Upstream, proxy: Server, value: bytes, path: bytes) -> None:
    body = json.dumps(COMPLETION).encode()
    lines = b"HTTP/1.1 200 OK\r\nX-Name: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    up.answer(raw(lines % (value, len(body)) + body))
    back = await sent(proxy, post(PLAIN, b"X-Name: " + value + b"\r\n", path))
    assert b"x-name: " + value + b"\r\n" in back.replace(b"X-Name", b"x-name")
    assert up.requests[0].header("x-name") == value.decode("latin-1")


async def test_header_bytes_survive_on_a_stream_and_on_an_error(up: Upstream, proxy: Server) -> None:
    up.answer(head(headers={"X-Request-Id": "Müller"}), *talk("hi")[1:])
    up.answer(raw(b"HTTP/1.1 403 No\r\nX-Request-Id: M\xfcller\r\nContent-Length: 0\r\n\r\n"))
    back = await sent(proxy, post(ASK), post(ASK, b"Connection: close\r\n"))
    assert back.lower().count(b"x-request-id: ") == 2 and b"M\xfcller" in back and "Müller".encode() in back


async def test_a_credential_of_odd_bytes_is_a_credential(up: Upstream, start: Start) -> None:
    proxy = await start(auth={"keys": ["ours-0123456789"]})
    for name in (b"Authorization: Bearer \xff", b"x-api-key: \xfc"):
        assert (await sent(proxy, post(PLAIN, name + b"\r\n"))).startswith(b"HTTP/1.1 401")
    up.answer(*whole(COMPLETION))
    open_to_all = await start(session={"headers": ["x-run"]})
    back = await sent(open_to_all, post(PLAIN, b"x-api-key: \xfc\r\nX-Run: \xe9\r\n"))
    assert back.startswith(b"HTTP/1.1 200") and up.requests[0].header("x-api-key") == "\xfc"


# --- many lines ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("lines", [127, 128, 129, 200, 500, 3000])
async def test_any_number_of_header_lines_within_the_size(up: Upstream, proxy: Server, lines: int) -> None:
    up.answer(head(200, "application/json", {f"x-{n}": "v" for n in range(lines)}, 2), raw(b"{}"))
    back = await sent(proxy, post(PLAIN, b"".join(b"X-%d: a\r\n" % n for n in range(lines)), b"/v1/files"))
    assert back.startswith(b"HTTP/1.1 200")
    assert up.requests[0].header(f"x-{lines - 1}") == "a" and b"x-%d: v\r\n" % (lines - 1) in back


async def test_a_head_without_an_end_is_refused(proxy: Server) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + b"X-Short: aaaaaaaa\r\n" * 4000)
    back = await reader.read()
    writer.close()
    assert back.startswith(b"HTTP/1.1 431") and b"limits.headers" in back


async def test_a_long_body_is_no_head(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    up.answer(*whole({}))
    async with client.post(f"http://127.0.0.1:{proxy.port}/v1/files", data=b"x" * (1 << 20)) as answer:
        assert answer.status == 200
    assert len(up.requests[0].body) == 1 << 20


# --- HEAD ------------------------------------------------------------------------------------------------------------
HEADS = {
    "/v1/models": (200, (head(200, "application/json", length=11),)),
    "/up/v1/models": (405, (head(405, "application/json", length=20),)),
    "/v1/files/x": (200, (head(200, "application/json"),)),
    "/dead/v1/models": (502, ()),
    "/nobody/v1/models": (404, ()),
    "/v1/../x": (400, ()),
    "/-/nothing": (404, ()),
    "/": (200, ()),
    "/up/": (200, ()),
    "/?beta=true": (200, ()),
    "/v1/closed": (502, (close(),)),
}


@pytest.mark.parametrize("path", HEADS)
async def test_an_answer_to_head_has_no_body(up: Upstream, start: Start, path: str) -> None:
    status, steps = HEADS[path]
    up.answer(*steps)
    dead = {"base_url": "http://127.0.0.1:9/v1"}
    proxy = await start(providers={"up": {"base_url": f"{up.url}/v1"}, "dead": dead}, default_provider="up")
    back = await sent(proxy, f"HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    first, _, rest = back.partition(b"\r\n\r\n")
    assert int(first.split()[1]) == status
    assert rest.startswith(b"HTTP/1.1 200 OK\r\n"), "the connection cannot be used any more"


async def test_head_without_a_key_of_ours(start: Start) -> None:
    proxy = await start(auth={"keys": ["ours-0123456789"]})
    back = await sent(proxy, b"HEAD /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
    assert [line[9:12] for line in re.findall(rb"HTTP/1.1 \d{3}", back)] == [b"401", b"200"]


async def test_a_head_of_the_root_asks_nobody(up: Upstream, start: Start, heard: Heard) -> None:
    proxy = await start(provider={"api_key": "provider-key"})
    await sent(proxy, b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
    ended = await heard.until(Ended)
    assert (ended.outcome, ended.status, ended.attempts, up.requests) == (Outcome.OK, 200, 0, [])


@pytest.mark.parametrize("path", ["/", "/health", "/ping", "/up/health"])
async def test_a_health_check_does_not_carry_the_provider_s_key(
    up: Upstream, start: Start, client: aiohttp.ClientSession, path: str
) -> None:
    proxy = await start(provider={"api_key": "provider-key"})
    up.answer(*whole({}))
    url = f"http://127.0.0.1:{proxy.port}{path}"
    async with client.get(url) as answer, client.get(url, headers={"x-api-key": "any"}) as second:
        assert (answer.status, second.status) == (200, 200)
    assert [got.header("authorization") for got in up.requests] == [None, "Bearer provider-key"]


# --- codings nobody asked for ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("stream", [True, False])
async def test_br_is_understood(up: Upstream, proxy: Server, client: aiohttp.ClientSession, stream: bool) -> None:
    brotli = pytest.importorskip("brotli", reason=BR)
    plain = json.dumps(COMPLETION).encode()
    events = b"".join(b"data: %s\n\n" % json.dumps(e).encode() for e in (chat("hi"), chat(finish="stop")))
    up.answer(
        head(200, "text/event-stream" if stream else "application/json", {"Content-Encoding": "br"}),
        chunk(brotli.compress(events + b"data: [DONE]\n\n" if stream else plain)),
        end(),
    )
    status, headers, body = await ask(proxy, client, ASK if stream else PLAIN)
    assert status == 200 and "Content-Encoding" not in headers and len(up.requests) == 1
    assert body.endswith(b"data: [DONE]\n\n") if stream else body == plain


@pytest.mark.parametrize("stream", [True, False])
async def test_an_unknown_coding_goes_through_unread(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, stream: bool
) -> None:
    packed = b"\x1f\x9d\x90packed as nobody knows"
    kind = "text/event-stream" if stream else "application/json"
    up.answer(head(200, kind, {"Content-Encoding": "compress"}), chunk(packed), end())
    status, headers, body = await ask(proxy, client, ASK if stream else PLAIN)
    assert (status, body, headers["Content-Encoding"], len(up.requests)) == (200, packed, "compress", 1)


@pytest.mark.parametrize("label", ["utf-8", "none", "aws-chunked", "identity, utf8"])
async def test_plain_text_under_a_label_that_is_no_coding(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, label: str
) -> None:
    """SDKs read on where they do not know the coding."""
    up.answer(head(headers={"Content-Encoding": label}), *talk("hi")[1:])
    up.answer(*whole(COMPLETION, Content_Encoding=label))
    _, headers, body = await ask(proxy, client)
    assert b'"hi"' in body and body.endswith(b"data: [DONE]\n\n") and "Content-Encoding" not in headers
    _, headers, body = await ask(proxy, client, PLAIN)
    assert json.loads(body) == COMPLETION and "Content-Encoding" not in headers


async def test_an_error_under_an_unknown_coding_keeps_its_status(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    up.answer(*whole(b"\x1f\x9d\x90", 401, Content_Encoding="compress"))
    status, _, body = await ask(proxy, client)
    assert (status, len(up.requests)) == (401, 1) and "error" in json.loads(body)


async def test_an_error_in_gzip_is_read(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    said = json.dumps({"error": {"message": "no such model", "type": "x", "code": "model_not_found"}}).encode()
    up.answer(*whole(gzip.compress(said), 404, Content_Encoding="gzip"))
    status, _, body = await ask(proxy, client)
    assert (status, body) == (404, said)


# --- the fields of an error ------------------------------------------------------------------------------------------
OPENROUTER = {
    "code": 502,
    "message": "Provider returned error",
    "metadata": {"provider_name": "Fancy", "raw": {"why": "boom"}},
    "zzz": [1, None],
}


def told(body: bytes) -> list[dict[str, Any]]:
    """The error objects in a stream."""
    found = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: {")]
    return [one["error"] for one in found if "error" in one]


async def test_an_error_in_a_stream_keeps_its_fields(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    up.answer(head(), role(), text("hi"), event({**chat(finish="error"), "error": OPENROUTER, "user_id": "u"}), reset())
    status, _, body = await ask(proxy, client)
    assert status == 200 and len(up.requests) == 1
    for error in told(body):
        assert {name: error[name] for name in OPENROUTER} == OPENROUTER
        assert error["type"] and error["param"] is None
    assert b'"user_id":"u"' in body


async def test_an_error_before_the_first_word_keeps_its_fields(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    proxy = await start()
    error = {**OPENROUTER, "code": 403}
    up.answer(head(), role(), event({"error": error}), end())
    status, _, body = await ask(proxy, client)
    assert (status, json.loads(body)["error"]) == (403, error)
    up.answer(*whole({"error": error}))
    _, _, body = await ask(proxy, client, PLAIN)
    assert json.loads(body)["error"] == error


# --- hopeless errors cost one call -----------------------------------------------------------------------------------
MINIMAX = {
    "id": "x",
    "choices": None,
    "usage": {"total_tokens": 0},
    "base_resp": {"status_code": 1008, "status_msg": "b"},
}


@pytest.mark.parametrize("body", [PLAIN, ASK])
async def test_minimax_without_a_balance_is_asked_once(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, body: dict[str, Any]
) -> None:
    up.answer(*whole(MINIMAX))
    status, _, back = await ask(proxy, client, body)
    assert status == 400 and len(up.requests) == 1 and b"1008" in back
    up.answer(head(), event(MINIMAX), end())
    status, _, back = await ask(proxy, client, ASK)
    assert status == 400 and len(up.requests) == 2


async def test_a_day_s_quota_is_told_at_once_with_its_end(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    error = {"error": {"message": "Rate limit exceeded: free-models-per-day", "code": 429}}
    up.answer(*whole(error, 429, X_RateLimit_Remaining="0", X_RateLimit_Reset="7200"))
    status, headers, back = await ask(proxy, client)
    assert (status, json.loads(back), len(up.requests)) == (429, error, 1)
    assert headers["Retry-After"] == "7200" and headers["x-should-retry"] == "false"
