"""The fence: whatever an upstream does, what comes out is an Answer, bytes, the end, or a Failure."""

from __future__ import annotations

import asyncio
import errno
import gc
import gzip
import socket
import ssl
import zlib

import aiohttp
import pytest
import trustme
from multidict import CIMultiDict

from proxy.upstream.broken import broken, plain
from proxy.upstream.client import Upstream, UpstreamRequest, UpstreamResponse
from rules.values.failures import Failure, Kind, Phase
from tests.upstream import Connection, Step, chunk, close, done, end, hang, head, raw, reset, text, wait, whole
from tests.upstream import Upstream as Script


def call(url: str, body: bytes = b"{}") -> UpstreamRequest:
    return UpstreamRequest("POST", url, CIMultiDict({"Content-Type": "application/json"}), body)


async def opened(upstream: Upstream, url: str) -> UpstreamResponse:
    answer = await upstream.open(call(url))
    assert isinstance(answer, UpstreamResponse), answer
    return answer


async def drain(answer: UpstreamResponse) -> tuple[bytes, Failure | None]:
    body = b""
    while True:
        data = await answer.read()
        if data is None:
            return body, None
        if isinstance(data, Failure):
            return body, data
        body += data


async def test_a_whole_answer(upstream: Upstream, up: Script) -> None:
    up.answer(head(), text("hi"), done())
    answer = await opened(upstream, up.url)
    body, failure = await drain(answer)
    assert (answer.status, answer.content_type, failure) == (200, "text/event-stream", None)
    assert body.endswith(b"data: [DONE]\n\n")
    assert up.requests[0].header("accept-encoding") == "gzip, deflate, identity"
    assert up.requests[0].header("user-agent") is None
    answer.close()


async def test_gzip_is_undone(upstream: Upstream, up: Script) -> None:
    packed = gzip.compress(b"data: {}\n\n" * 100)
    up.answer(head(headers={"Content-Encoding": "gzip"}), chunk(packed[:11]), chunk(packed[11:]), end())
    answer = await opened(upstream, up.url)
    assert await drain(answer) == (b"data: {}\n\n" * 100, None)


async def test_gzip_that_ends_early_is_a_failure(upstream: Upstream, up: Script) -> None:
    packed = gzip.compress(b"data: {}\n\n" * 100)
    up.answer(head(headers={"Content-Encoding": "gzip"}), chunk(packed[:-9]), end())
    _, failure = await drain(await opened(upstream, up.url))
    assert failure is not None and failure.phase is Phase.STREAM


async def test_a_coding_that_nobody_knows_is_read_as_it_is(upstream: Upstream, up: Script) -> None:
    up.answer(head(headers={"Content-Encoding": "compress"}), chunk(b"\x1f\x9d"), end())
    answer = await opened(upstream, up.url)
    assert answer.foreign and await drain(answer) == (b"\x1f\x9d", None)


async def test_several_codings_in_lines_of_their_own(upstream: Upstream, up: Script) -> None:
    lines = b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
    up.answer(raw(lines + gzip.compress(zlib.compress(b"data: {}\n\n"))), close())
    answer = await opened(upstream, up.url)
    assert await drain(answer) == (b"data: {}\n\n", None)


@pytest.mark.parametrize("lines", [128, 200, 500, 2000])
async def test_many_header_lines(upstream: Upstream, up: Script, lines: int) -> None:
    up.answer(head(headers={f"x-{n}": "v" for n in range(lines)}), text("hi"), done())
    answer = await opened(upstream, up.url)
    assert answer.headers[f"x-{lines - 1}"] == "v"
    answer.close()


async def test_refused(upstream: Upstream) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        failure = await upstream.open(call(f"http://127.0.0.1:{taken.getsockname()[1]}/"))
    assert isinstance(failure, Failure)
    assert (failure.phase, failure.kind, failure.code) == (
        Phase.CONNECT,
        Kind.NETWORK,
        "streamfuse_upstream_unreachable",
    )


async def test_unknown_host(upstream: Upstream) -> None:
    failure = await upstream.open(call("http://no-such-host.invalid/"))
    assert isinstance(failure, Failure)
    assert failure.phase is Phase.CONNECT and failure.code == "streamfuse_upstream_unreachable"


async def test_an_untrusted_certificate(upstream: Upstream) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with Script(context) as up:
        failure = await upstream.open(call(up.url))
    assert isinstance(failure, Failure) and failure.kind is Kind.TERMINAL and "certificate" in failure.message


async def test_tls_to_a_plain_port(upstream: Upstream) -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        failure = await upstream.open(call(f"https://127.0.0.1:{port}/"))
    assert isinstance(failure, Failure) and (failure.phase, failure.kind) == (Phase.CONNECT, Kind.NETWORK)


@pytest.mark.parametrize("steps", [(close(),), (reset(),)])
async def test_closed_before_an_answer(upstream: Upstream, up: Script, steps: tuple[object, ...]) -> None:
    up.answer(*steps)  # type: ignore[arg-type]
    failure = await upstream.open(call(up.url))
    assert isinstance(failure, Failure) and (failure.phase, failure.kind) == (Phase.HEADERS, Kind.NETWORK)


@pytest.mark.parametrize("last", [close(), reset()])
async def test_broken_in_the_middle(upstream: Upstream, up: Script, last: object) -> None:
    up.answer(head(), text("one"), wait("seen"), last)  # type: ignore[arg-type]
    answer = await opened(upstream, up.url)
    assert isinstance(await answer.read(), bytes)
    up.go("seen")
    _, failure = await drain(answer)
    assert failure is not None
    assert (failure.phase, failure.code) == (Phase.STREAM, "streamfuse_stream_broken")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1 200 OK\r\nX-Big: " + b"x" * (70 << 10) + b"\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["two lengths", "no number", "not http", "header too long"],
)
async def test_what_is_not_http(upstream: Upstream, up: Script, answer: bytes) -> None:
    up.answer(raw(answer), close())
    failure = await upstream.open(call(up.url))
    assert isinstance(failure, Failure), failure
    assert failure.kind in (Kind.SERVER, Kind.NETWORK) and failure.phase is Phase.HEADERS


async def test_long_headers_pass(upstream: Upstream, up: Script) -> None:
    up.answer(*whole({}, x_turn="x" * (40 << 10)))
    answer = await opened(upstream, up.url)
    assert len(answer.headers["x-turn"]) == 40 << 10
    answer.close()


async def test_redirects_are_not_followed(upstream: Upstream, up: Script) -> None:
    up.answer(*whole({}, status=307, location="http://127.0.0.1:1/elsewhere"))
    answer = await opened(upstream, up.url)
    assert answer.status == 307
    answer.close()


async def test_closing_cuts_the_upstream(upstream: Upstream, up: Script) -> None:
    up.answer(head(), text("one"), hang())
    answer = await opened(upstream, up.url)
    await answer.read()
    answer.close()
    await up.until(lambda: up.gone == 1)


async def test_a_reused_connection_is_known(upstream: Upstream, up: Script) -> None:
    up.answer(*whole({}))
    first, second = call(up.url), call(up.url)
    for one in (first, second):
        answer = await upstream.open(one)
        assert isinstance(answer, UpstreamResponse)
        assert await answer.whole(100) == b"{}"
    assert (first.reused, second.reused) == (False, True)


async def test_a_fresh_call_takes_no_connection_from_a_full_pool(upstream: Upstream, up: Script) -> None:
    """After one kept connection had gone stale the others may well have, too."""
    up.answer(wait("all"), *whole({}))
    several = [asyncio.ensure_future(opened(upstream, up.url)) for _ in range(3)]
    await up.until(lambda: len(up.requests) == 3)
    up.go("all")
    for one in several:
        assert await (await one).whole(100) == b"{}"
    kept = {request.connection for request in up.requests}
    assert len(kept) == 3
    up.answer(*whole({}))
    retry = call(up.url)
    retry.fresh = True
    answer = await upstream.open(retry)
    assert isinstance(answer, UpstreamResponse) and await answer.whole(100) == b"{}"
    assert not retry.reused and up.requests[-1].connection not in kept
    later = call(up.url)
    answer = await upstream.open(later)
    assert isinstance(answer, UpstreamResponse) and await answer.whole(100) == b"{}"
    assert later.reused and up.requests[-1].connection not in kept, "and the new one is kept"


UNASKED = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 9\r\n\r\ntoo late!"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_nobody_asked_for_is_no_answer(upstream: Upstream, up: Script, method: str) -> None:
    """A server that says something on an idle connection, and keeps it open: the next request is not answered by it."""
    said = asyncio.Event()

    async def say(c: Connection) -> None:
        await c.send(UNASKED)
        said.set()

    up.answer(*whole({"answer": 1}), wait("idle"), say, hang())
    up.answer(*whole({"answer": 2}))
    assert await (await opened(upstream, up.url)).whole(100) == b'{"answer": 1}'
    up.go("idle")
    await said.wait()
    await asyncio.sleep(0.05)  # the bytes reach the idle connection; too short only makes the test weaker
    second = UpstreamRequest(method, up.url, CIMultiDict(), b"{}" if method == "POST" else None)
    answer = await upstream.open(second)
    assert isinstance(answer, UpstreamResponse)
    assert (answer.status, await answer.whole(100)) == (200, b'{"answer": 2}')
    assert not second.reused
    await up.until(lambda: up.gone == 1)


@pytest.mark.parametrize("script", [(head(), text("hi")), whole({})], ids=["in the middle", "in the pool"])
async def test_a_reset_is_told_once(upstream: Upstream, up: Script, script: tuple[Step, ...]) -> None:
    """As a Failure where somebody reads, and never as a future's exception that nobody asked for."""
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    up.answer(*script, wait("now"), reset())
    answer = await opened(upstream, up.url)
    assert await answer.read()
    up.go("now")
    ended = await answer.read()
    assert ended is None or (isinstance(ended, Failure) and ended.kind is Kind.NETWORK)
    answer.close()
    await asyncio.sleep(0)
    del answer
    await upstream.stop()
    gc.collect()
    assert complaints == []


async def test_a_body_over_the_limit(upstream: Upstream, up: Script) -> None:
    up.answer(*whole({"a": "b" * 1000}))
    failure = await (await opened(upstream, up.url)).whole(100)
    assert isinstance(failure, Failure) and failure.code == "streamfuse_upstream_too_large"


def test_an_exception_nobody_named_is_read_with_its_causes() -> None:
    reset = OSError(errno.ECONNRESET, "reset")
    wrapped = aiohttp.ClientError("odd")
    wrapped.__cause__ = reset
    told = plain(wrapped)
    assert (told.name, told.message, told.code) == ("ClientError", "odd", None)
    assert [one.code for one in told.causes] == ["ECONNRESET"]
    assert broken(wrapped, Phase.STREAM).kind is Kind.NETWORK
    assert broken(aiohttp.ClientError("odd"), Phase.HEADERS).kind is Kind.TERMINAL


def test_an_exception_that_is_its_own_cause_ends() -> None:
    loop = aiohttp.ClientError("round")
    loop.__context__ = loop
    assert broken(loop, Phase.HEADERS).kind is Kind.TERMINAL


async def test_chunks_that_are_no_chunks_are_a_failure_at_once(upstream: Upstream, up: Script) -> None:
    """aiohttp closes the connection and tells its reader nothing."""
    up.answer(head(), chunk(b"one"), wait("seen"), raw(b"nonsense\r\n"), hang())
    answer = await opened(upstream, up.url)
    assert await answer.read() == b"one"
    reading = asyncio.ensure_future(answer.read())
    up.go("seen")
    failure = await reading
    assert isinstance(failure, Failure) and failure.code == "streamfuse_stream_broken"
