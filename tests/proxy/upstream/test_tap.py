"""A tap hands on every byte once and in order, and always gives the connection back."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import Callable

import pytest
import trustme
import uvloop
from multidict import CIMultiDict

from proxy.upstream.client import Upstream, UpstreamRequest, UpstreamResponse
from proxy.upstream.tap import Tap
from proxy.upstream.transport import Transport
from rules.values.failures import Failure
from tests.upstream import Step, chunk, close, end, hang, head, raw, reset, wait
from tests.upstream import Upstream as Script


async def opened(upstream: Upstream, up: Script, transport: Transport | None = None) -> UpstreamResponse:
    call = UpstreamRequest("POST", up.url, CIMultiDict(), b"{}")
    call.transport = transport or Transport()
    answer = await upstream.open(call)
    assert isinstance(answer, UpstreamResponse), answer
    return answer


class Glass:
    """Takes what is poured; `until` waits for so many bytes."""

    def __init__(self, most: int = 1 << 30) -> None:
        self.got = b""
        self.sips = 0
        self._most = most
        self._news = asyncio.Event()

    def take(self, data: bytes) -> bool:
        assert data
        self.got += data
        self.sips += 1
        self._news.set()
        return len(self.got) < self._most

    async def until(self, size: int) -> None:
        async with asyncio.timeout(5):
            while len(self.got) < size:
                self._news.clear()
                await self._news.wait()


async def rest(answer: UpstreamResponse) -> tuple[bytes, Failure | None]:
    body = b""
    while isinstance(data := await answer.read(), bytes):
        body += data
    return body, data


def protocol(answer: UpstreamResponse) -> object:
    """What hears the connection of an answer that is still open."""
    connection = answer._response.connection
    assert connection is not None and connection.transport is not None
    return connection.transport.get_protocol()


FRAMES: dict[str, tuple[Step, ...]] = {
    "chunked": (head(), chunk(b"one"), wait("two"), chunk(b"two"), wait("end"), end()),
    "length": (
        raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 6\r\n\r\none"),
        wait("two"),
        raw(b"two"),
        wait("end"),
    ),
    "until it closes": (
        raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\none"),
        wait("two"),
        raw(b"two"),
        wait("end"),
        close(),
    ),
}


@pytest.mark.parametrize("framing", FRAMES)
async def test_every_piece_as_it_comes_and_then_the_end(upstream: Upstream, up: Script, framing: str) -> None:
    up.answer(*FRAMES[framing])
    answer, glass = await opened(upstream, up), Glass()
    pouring = asyncio.ensure_future(answer.pour(glass.take))
    await glass.until(3)
    assert glass.got == b"one"
    up.go("two")
    await glass.until(6)
    up.go("end")
    await pouring
    assert glass.got == b"onetwo"
    assert await rest(answer) == (b"", None)
    assert answer.ended
    answer.close()


async def test_the_connection_serves_the_next_request_without_a_tap(upstream: Upstream, up: Script) -> None:
    up.answer(head(), chunk(b"one"), wait("seen"), end())
    up.answer(head(), chunk(b"two"), end())
    first, glass = await opened(upstream, up), Glass()
    pouring = asyncio.ensure_future(first.pour(glass.take))
    await glass.until(3)
    up.go("seen")
    await pouring
    assert await rest(first) == (b"", None)
    second = await opened(upstream, up)
    assert await rest(second) == (b"two", None)
    assert glass.got == b"one" and [one.connection for one in up.requests] == [1, 1]


async def test_whoever_has_enough_reads_the_rest_itself(upstream: Upstream, up: Script) -> None:
    up.answer(head(), chunk(b"one"), wait("two"), chunk(b"two"), end())
    answer, glass = await opened(upstream, up), Glass(most=3)
    await answer.pour(glass.take)
    assert not isinstance(protocol(answer), Tap)
    up.go("two")
    assert await rest(answer) == (b"two", None)
    assert glass.got == b"one"


async def test_a_mistake_in_the_taker_comes_out_where_it_is_waited_for(upstream: Upstream, up: Script) -> None:
    def broken(data: bytes) -> bool:
        raise ZeroDivisionError(data)

    up.answer(head(), chunk(b"one"), wait("two"), chunk(b"two"), end())
    answer = await opened(upstream, up)
    with pytest.raises(ZeroDivisionError):
        await answer.pour(broken)
    assert not isinstance(protocol(answer), Tap)
    up.go("two")
    assert await rest(answer) == (b"two", None)


@pytest.mark.parametrize("last", [close(), reset()])
async def test_a_body_that_breaks(upstream: Upstream, up: Script, last: Step) -> None:
    up.answer(head(), chunk(b"one"), wait("seen"), last)
    answer, glass = await opened(upstream, up), Glass()
    pouring = asyncio.ensure_future(answer.pour(glass.take))
    await glass.until(3)
    up.go("seen")
    await pouring
    body, failure = await rest(answer)
    assert body == b"" and failure is not None and failure.code == "streamfuse_stream_broken"


async def test_a_body_that_is_not_http(upstream: Upstream, up: Script) -> None:
    up.answer(head(), chunk(b"one"), wait("seen"), raw(b"nonsense\r\n"), hang())
    answer, glass = await opened(upstream, up), Glass()
    pouring = asyncio.ensure_future(answer.pour(glass.take))
    await glass.until(3)
    up.go("seen")
    await pouring
    _, failure = await rest(answer)
    assert failure is not None and failure.code == "streamfuse_stream_broken"


async def test_cancelled_it_hands_on_nothing_more(upstream: Upstream, up: Script) -> None:
    up.answer(head(), chunk(b"one"), wait("two"), chunk(b"two"), end())
    answer, glass = await opened(upstream, up), Glass()
    pouring = asyncio.ensure_future(answer.pour(glass.take))
    await glass.until(3)
    pouring.cancel()
    up.go("two")
    with pytest.raises(asyncio.CancelledError):
        await pouring
    assert not isinstance(protocol(answer), Tap)
    assert await rest(answer) == (b"two", None)
    assert glass.got == b"one"


async def test_what_was_read_before_comes_first(upstream: Upstream, up: Script) -> None:
    up.answer(head(), chunk(b"one"), chunk(b"two"), wait("three"), chunk(b"three"), end())
    answer, glass = await opened(upstream, up), Glass()
    first = await answer.read()
    assert isinstance(first, bytes)
    up.go("three")
    await answer.pour(glass.take)
    assert first + glass.got == b"onetwothree"


async def test_more_than_the_reader_holds(upstream: Upstream, up: Script) -> None:
    """aiohttp's reader pauses the connection at 128 KiB, and lets it go on in the middle of a read."""
    parts = [bytes([65 + n % 26]) * 70_000 for n in range(60)]
    up.answer(head(), *(chunk(part) for part in parts), end())
    answer, glass = await opened(upstream, up), Glass()
    await answer.pour(glass.take)
    left, failure = await rest(answer)
    assert failure is None and glass.got + left == b"".join(parts)


async def test_a_taker_that_stops_and_goes_on_loses_nothing(upstream: Upstream, up: Script) -> None:
    parts = [bytes([65 + n % 26]) * (1 + n * 997 % 20_000) for n in range(200)]
    up.answer(head(), *(chunk(part) for part in parts), end())
    answer = await opened(upstream, up)
    got = b""
    while True:
        glass = Glass(most=50_000)
        await answer.pour(glass.take)
        got += glass.got
        data = await answer.read()
        if not isinstance(data, bytes):
            break
        got += data
    assert data is None and got == b"".join(parts)


async def test_what_has_to_be_unpacked_is_not_poured(upstream: Upstream, up: Script) -> None:
    up.answer(head(headers={"Content-Encoding": "gzip"}), chunk(gzip.compress(b"text")), end())
    answer, glass = await opened(upstream, up), Glass()
    await answer.pour(glass.take)
    assert await rest(answer) == (b"text", None) and glass.got == b""


async def test_an_answer_that_has_ended_is_not_poured(upstream: Upstream, up: Script) -> None:
    up.answer(head(), chunk(b"one"), end())
    answer, glass = await opened(upstream, up), Glass()
    assert await rest(answer) == (b"one", None)
    await answer.pour(glass.take)
    assert glass.got == b""


CLOSING = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
OVER_TLS = FRAMES | {
    "the last answer, chunked": (
        raw(CLOSING + b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n"),
        wait("two"),
        raw(b"3\r\ntwo\r\n"),
        wait("end"),
        raw(b"0\r\n\r\n"),
        close(),
    ),
    "the last answer, with a length": (
        raw(CLOSING + b"Content-Length: 6\r\n\r\none"),
        wait("two"),
        raw(b"two"),
        wait("end"),
        close(),
    ),
    "more than the answer": (
        head(),
        chunk(b"one"),
        wait("two"),
        chunk(b"two"),
        wait("end"),
        raw(b"0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"),
        hang(),
    ),
    "no chunk": (head(), chunk(b"one"), wait("two"), chunk(b"two"), wait("end"), raw(b"\0\r\n\r\n"), hang()),
    "gone": (head(), chunk(b"one"), wait("two"), chunk(b"two"), wait("end"), close()),
    "reset": (head(), chunk(b"one"), wait("two"), chunk(b"two"), wait("end"), reset()),
}


def tls() -> tuple[ssl.SSLContext, Transport]:
    authority = trustme.CA()
    served, asked = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(served)
    authority.configure_trust(asked)
    return served, Transport(tls=asked)


async def over_tls(framing: str) -> None:
    """One answer over TLS, to its end, and another one after it; what asyncio complains of is an error."""
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
    served, way = tls()
    it = Upstream()
    await it.start()
    async with Script(served) as up:
        up.answer(*OVER_TLS[framing])
        up.answer(head(), chunk(b"again"), end())
        answer, glass = await opened(it, up, way), Glass()
        pouring = asyncio.ensure_future(answer.pour(glass.take))
        await glass.until(3)
        up.go("two")
        await glass.until(6)
        up.go("end")
        async with asyncio.timeout(5):
            await pouring
            body, failure = await rest(answer)
        assert (glass.got + body, failure is None) == (b"onetwo", framing not in ("no chunk", "gone", "reset"))
        answer.close()
        assert await rest(await opened(it, up, way)) == (b"again", None)
        await it.stop()
    assert complaints == []


@pytest.mark.parametrize("framing", OVER_TLS)
async def test_over_tls(framing: str) -> None:
    await over_tls(framing)


def test_over_tls_on_the_other_loop() -> None:
    async def all_of_them() -> None:
        for framing in OVER_TLS:
            await over_tls(framing)

    run: Callable[..., None] = uvloop.run
    run(all_of_them())


async def test_a_connection_lost_behind_its_back(upstream: Upstream, up: Script) -> None:
    """asyncio's TLS tells the protocol that it had when the connection was lost, even if a tap has come in since."""
    up.answer(head(), chunk(b"one"), hang())
    answer, glass = await opened(upstream, up), Glass()
    handler = protocol(answer)
    assert isinstance(handler, asyncio.Protocol)
    pouring = asyncio.ensure_future(answer.pour(glass.take))
    await glass.until(3)
    handler.connection_lost(None)
    async with asyncio.timeout(5):
        await pouring
        body, failure = await rest(answer)
    assert (glass.got, body) == (b"one", b"") and isinstance(failure, Failure)
    answer.close()


def test_on_the_other_loop() -> None:
    """uvloop's transports give their protocol away as well."""

    async def pours() -> bytes:
        it, glass = Upstream(), Glass()
        await it.start()
        async with Script() as up:
            up.answer(head(), chunk(b"one"), wait("two"), chunk(b"two"), end())
            answer = await opened(it, up)
            pouring = asyncio.ensure_future(answer.pour(glass.take))
            await glass.until(3)
            assert isinstance(protocol(answer), Tap)
            up.go("two")
            await pouring
            assert await rest(answer) == (b"", None)
        await it.stop()
        return glass.got

    run: Callable[..., bytes] = uvloop.run
    assert run(pours()) == b"onetwo"


class ClosingTransport:
    """A transport of TLS that has let go of all it had."""

    def __init__(self, closing: bool) -> None:
        self.protocols: list[object] = []
        self._closing = closing

    def is_closing(self) -> bool:
        return self._closing

    def set_protocol(self, protocol: object) -> None:
        self.protocols.append(protocol)


class Ended:
    """A body that has ended, and aiohttp's protocol for it."""

    def read_nowait(self) -> bytes:
        return b""

    def is_eof(self) -> bool:
        return True


@pytest.mark.parametrize("closing", [False, True])
async def test_a_closing_connection_is_left_as_it_is(closing: bool) -> None:
    transport, handler = ClosingTransport(closing), Ended()
    tap = Tap(transport, handler, Ended(), lambda data: True)  # type: ignore[arg-type]
    await tap.run()
    assert transport.protocols == ([tap] if closing else [tap, handler])
