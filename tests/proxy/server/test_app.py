"""The HTTP layer, on loopback: what passes, what is stripped, what is refused; health and drain."""

from __future__ import annotations

import asyncio
import gzip
import json

import aiohttp
import pytest

from proxy.observers.reports import Ended, Outcome, Stage
from proxy.server.app import Server
from tests.clock import FakeClock
from tests.proxy.conftest import Heard, Start
from tests.upstream import Upstream, chunk, close, end, hang, head, reset, wait, whole


async def exchange(server: Server, request: bytes) -> bytes:
    """A raw request; the answer until the connection closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    async with asyncio.timeout(5):
        data = await reader.read()
    writer.close()
    return data


def url(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.port}{path}"


# --- pass-through ----------------------------------------------------------------------------------------------------
async def test_an_unknown_path_passes_both_ways(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    up.answer(*whole(b'{"data":[]}', x_request_id="r1"))
    async with client.get(url(proxy, "/v1/models?limit=2"), headers={"X-Mine": "1"}) as answer:
        assert (answer.status, await answer.read()) == (200, b'{"data":[]}')
        assert answer.headers["x-request-id"] == "r1"
        assert answer.headers["Content-Length"] == "11"
        assert answer.headers["x-streamfuse-provider"] == "up"
        assert answer.headers["x-streamfuse-attempts"] == "1"
        assert answer.headers["x-streamfuse-request-id"]
    got = up.requests[0]
    assert (got.method, got.target, got.header("x-mine")) == ("GET", "/v1/models?limit=2", "1")
    assert got.header("host") == f"127.0.0.1:{up.port}"
    assert got.body == b"" and got.header("transfer-encoding") is None


async def test_a_multipart_upload_is_streamed(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    form = aiohttp.FormData()
    form.add_field("file", b"\x00\xff" * 100_000, filename="a.wav", content_type="audio/wav")
    up.answer(*whole({"text": "hi"}))
    async with client.post(url(proxy, "/v1/audio/transcriptions"), data=form) as answer:
        assert await answer.json() == {"text": "hi"}
    got = up.requests[0]
    assert (got.header("content-type") or "").startswith("multipart/form-data; boundary=")
    assert b"\x00\xff" * 100_000 in got.body


async def test_an_upload_reaches_the_upstream_while_it_is_sent(up: Upstream, proxy: Server) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
    await up.until(lambda: len(up.requests) == 1)
    assert up.requests[0].header("content-length") == "6"
    writer.write(b"def")
    assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
    assert up.requests[0].body == b"abcdef"
    writer.close()


async def test_a_compressed_answer_passes_as_it_is(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    packed = gzip.compress(b"{}")
    up.answer(*whole(packed, content_encoding="gzip"))
    async with client.get(url(proxy, "/v1/models"), headers={"Accept-Encoding": "br, gzip"}) as answer:
        assert await answer.read() == packed
        assert answer.headers["Content-Encoding"] == "gzip"
    assert up.requests[0].header("accept-encoding") == "br, gzip"


async def test_nothing_is_added_to_a_bare_request(up: Upstream, proxy: Server) -> None:
    await exchange(proxy, b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert {name.lower() for name, _ in up.requests[0].headers} == {"host"}


@pytest.mark.parametrize("method", ["HEAD", "DELETE", "OPTIONS", "PUT", "PATCH"])
async def test_other_methods(up: Upstream, proxy: Server, client: aiohttp.ClientSession, method: str) -> None:
    up.answer(head(200, "application/json", length=2), chunk(b"" if method == "HEAD" else b"{}"))
    async with client.request(method, url(proxy, "/v1/files/f1")) as answer:
        assert (answer.status, answer.headers["Content-Length"]) == (200, "2")
    assert up.requests[0].method == method


async def test_no_content(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    up.answer(head(204, None, length=0))
    async with client.delete(url(proxy, "/v1/files/f1")) as answer:
        assert (answer.status, await answer.read()) == (204, b"")


async def test_long_headers_both_ways(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    long = "x" * (33 << 10)
    up.answer(*whole({}, x_long=long))
    async with client.get(url(proxy, "/v1/models"), headers={"x-codex-turn-metadata": long}) as answer:
        assert answer.headers["x-long"] == long
    assert up.requests[0].header("x-codex-turn-metadata") == long


async def test_endless_headers_end_in_a_clear_error(proxy: Server) -> None:
    answer = await exchange(proxy, b"GET /v1/models HTTP/1.1\r\nX: " + b"x" * (80 << 10) + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.") and b" 431 " in answer.split(b"\r\n")[0]


@pytest.mark.parametrize("asked", [b"", b"Connection: keep-alive\r\n"])
async def test_http_1_0_gets_no_chunks_and_the_end(up: Upstream, proxy: Server, asked: bytes) -> None:
    """`exchange` reads to the end of the connection: without it such a client would wait for ever."""
    up.answer(head(), chunk(b"data: 1\n\n"), chunk(b"data: 2\n\n"), end())
    answer = await exchange(proxy, b"GET /v1/stream HTTP/1.0\r\n" + asked + b"\r\n")
    headers, _, body = answer.partition(b"\r\n\r\n")
    assert b"chunked" not in headers.lower()
    assert body == b"data: 1\n\ndata: 2\n\n"


async def test_connection_close_is_obeyed(up: Upstream, proxy: Server) -> None:
    answer = await exchange(proxy, b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")


async def test_expect_100_continue(up: Upstream, proxy: Server) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"POST /v1/files HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"abc")
    assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
    assert up.requests[0].body == b"abc" and up.requests[0].header("expect") is None
    writer.close()


async def test_a_client_of_http_1_0_is_told_nothing_before_the_answer(up: Upstream, proxy: Server) -> None:
    """RFC 9110 §10.1.1: it would take `100 Continue` for the answer."""
    asked = b"POST /v1/files HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
    answer = await exchange(proxy, asked)
    assert b" 200 " in answer.split(b"\r\n")[0] and up.requests[0].body == b"abc"


async def test_another_expectation(proxy: Server) -> None:
    answer = await exchange(
        proxy, b"GET /v1/models HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 417")


async def test_a_websocket_falls_back(up: Upstream, proxy: Server) -> None:
    answer = await exchange(
        proxy,
        b"GET /v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    )
    assert answer.startswith(b"HTTP/1.1 426")
    assert up.requests == []


@pytest.mark.parametrize("offer", ["h2c", "TLS/1.0", "h2c, foo/2"])
async def test_an_offer_to_change_the_protocol_is_passed_over(up: Upstream, proxy: Server, offer: str) -> None:
    """Java's HttpClient offers h2c on each plain connection and goes on with HTTP/1.1 where nobody takes it up."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Tea?"}]}).encode()
    up.answer(*whole({"choices": [{"index": 0, "message": {"content": "Yes."}, "finish_reason": "stop"}]}))
    answer = await exchange(
        proxy,
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\n"
        b"HTTP2-Settings: AAEAAEAAAAIAAAAB\r\nUpgrade: %b\r\nContent-Length: %d\r\n\r\n%b"
        % (offer.encode(), len(body), body),
    )
    assert answer.startswith(b"HTTP/1.1 200") and b"Yes." in answer
    (request,) = up.requests
    assert request.body == body
    assert request.header("upgrade") is None and request.header("http2-settings") is None


async def test_two_lengths_from_upstream(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    from tests.upstream import raw

    up.answer(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"), close())
    async with client.get(url(proxy, "/v1/models")) as answer:
        assert answer.status == 502
        assert (await answer.json())["error"]["code"] == "streamfuse_upstream_invalid"


@pytest.mark.parametrize("last", [close(), reset()])
async def test_an_upstream_that_dies_is_never_a_clean_end(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, last: object, heard: Heard
) -> None:
    up.answer(head(), chunk(b"data: 1\n\n"), wait("read"), last)  # type: ignore[arg-type]
    with pytest.raises(aiohttp.ClientPayloadError):
        async with client.get(url(proxy, "/v1/stream")) as answer:
            assert await answer.content.readany() == b"data: 1\n\n"
            up.go("read")
            await answer.content.read()
    assert heard.of(Ended)[0].outcome is Outcome.FAILED


# --- who may, and where to -------------------------------------------------------------------------------------------
async def test_unknown_provider(proxy: Server, client: aiohttp.ClientSession) -> None:
    async with client.get(url(proxy, "/v1/models"), headers={"x-streamfuse-provider": "nobody"}) as answer:
        assert answer.status == 404
        assert (await answer.json())["error"]["code"] == "streamfuse_unknown_provider"


async def test_a_bad_mode(proxy: Server, client: aiohttp.ClientSession) -> None:
    async with client.get(url(proxy, "/v1/models"), headers={"x-streamfuse-mode": "loud"}) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (400, "streamfuse_bad_request")


async def test_keys_of_our_own(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(auth={"keys": ["ours"]}, provider={"api_key": "sk-provider"})
    async with client.get(url(server, "/v1/models"), headers={"Authorization": "Bearer theirs"}) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (401, "streamfuse_unauthorized")
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="streamfuse"'
    assert up.requests == []
    async with client.get(url(server, "/v1/models"), headers={"Authorization": "Bearer ours"}) as answer:
        assert answer.status == 200
    assert up.requests[0].header("authorization") == "Bearer sk-provider"


async def test_an_upstream_that_is_not_there(start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(provider={"base_url": "http://127.0.0.1:1/v1"})
    async with client.get(url(server, "/v1/models")) as answer:
        assert answer.status == 502
        assert (await answer.json())["error"]["code"] == "streamfuse_upstream_unreachable"


# --- the client leaves -----------------------------------------------------------------------------------------------
async def test_leaving_in_the_middle_cuts_the_upstream(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
) -> None:
    up.answer(head(), chunk(b"data: 1\n\n"), hang())
    async with client.get(url(proxy, "/v1/stream")) as answer:
        await answer.content.readany()
        answer.close()
        await up.until(lambda: up.gone == 1)
    assert heard.of(Ended)[0].outcome is Outcome.CLIENT_GONE


async def test_leaving_before_the_headers_cuts_the_upstream(up: Upstream, proxy: Server) -> None:
    up.answer(hang())
    _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"GET /v1/stream HTTP/1.1\r\nHost: x\r\n\r\n")
    await up.until(lambda: len(up.requests) == 1)
    writer.transport.abort()
    await up.until(lambda: up.gone == 1)


async def test_leaving_during_the_upload(up: Upstream, proxy: Server, heard: Heard) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
    await up.until(lambda: len(up.requests) == 1)
    writer.transport.abort()
    assert (await heard.until(Ended)).outcome is Outcome.CLIENT_GONE


# --- health and drain ------------------------------------------------------------------------------------------------
async def test_health(proxy: Server, client: aiohttp.ClientSession) -> None:
    for path, word in (("/healthz", "alive"), ("/readyz", "ready")):
        async with client.get(url(proxy, path)) as answer:
            assert (answer.status, (await answer.json())["status"]) == (200, word)


async def test_a_port_for_ops(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(ops={"port": 0})
    async with client.get(f"http://127.0.0.1:{server.ops_port}/healthz") as answer:
        assert answer.status == 200
    async with client.get(url(server, "/healthz")):
        assert up.requests[0].target == "/v1/healthz"


async def test_drain_refuses_new_and_waits_for_open(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
) -> None:
    server = await start()
    up.answer(head(), chunk(b"data: 1\n\n"), wait("go"), chunk(b"data: 2\n\n"), end())
    async with client.get(url(server, "/v1/stream")) as answer:
        await answer.content.readany()
        draining = asyncio.create_task(server.drain())
        await asyncio.sleep(0)
        async with client.get(url(server, "/v1/models")) as refused:
            assert (refused.status, (await refused.json())["error"]["code"]) == (503, "streamfuse_draining")
            assert refused.headers["Retry-After"] == "1"
        async with client.get(url(server, "/readyz")) as ready:
            assert ready.status == 503
        assert not draining.done()
        up.go("go")
        assert await answer.content.read() == b"data: 2\n\n"
    await draining
    assert [stage.name for stage in heard.of(Stage)] == ["started", "draining"]


async def test_a_taken_port(proxy: Server, start: Start) -> None:
    with pytest.raises(OSError):
        await start(listen={"port": proxy.port})


async def test_the_clock_is_handed_in(start: Start, clock: FakeClock) -> None:
    server = await start(clock=clock)
    await clock.advance(3)
    assert clock.slept == [1.0, 1.0, 1.0, 1.0]
    assert json.dumps(server.fuse.clock.wall()) == "3.0"
