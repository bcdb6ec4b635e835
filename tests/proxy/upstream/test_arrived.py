"""What has arrived of a body: all of it at once, in order, and a connection that was paused goes on."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import StreamReader
from aiohttp.base_protocol import BaseProtocol
from multidict import CIMultiDict

from proxy.upstream.arrived import arrived
from proxy.upstream.client import READ, Upstream, UpstreamRequest, UpstreamResponse
from tests.proxy.upstream.test_client import call
from tests.upstream import Step, chunk, end, head, raw
from tests.upstream import Upstream as Script


class Paused(BaseProtocol):
    """Counts how often its reader has room again."""

    resumed = 0

    def resume_reading(self, resume_parser: bool = True) -> None:
        self.resumed += 1


@pytest.fixture
async def content() -> StreamReader:
    return StreamReader(Paused(asyncio.get_running_loop()), 1024)


def chunks(content: StreamReader, *pieces: bytes) -> None:
    for piece in pieces:
        content.begin_http_chunk_receiving()
        content.feed_data(piece)
        content.end_http_chunk_receiving()


@pytest.mark.parametrize("pieces", [(), (b"one",), (b"one", b"two"), (b"one", b"two", b"three")])
async def test_it_is_what_aiohttp_would_read(content: StreamReader, pieces: tuple[bytes, ...]) -> None:
    chunks(content, *pieces)
    assert arrived(content) == b"".join(pieces)
    assert arrived(content) == b""
    chunks(content, b"more", b"still")
    content.feed_eof()
    assert await content.read(4) == b"more", "and aiohttp's own ways of reading go on from there"
    assert arrived(content) == b"still"
    assert content.at_eof()


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("POST", 204), ("POST", 304)])
async def test_an_answer_without_a_body_ends_at_once(upstream: Upstream, up: Script, method: str, status: int) -> None:
    up.answer(raw(f"HTTP/1.1 {status} Word\r\n\r\n".encode()))
    answer = await upstream.open(UpstreamRequest(method, up.url, CIMultiDict(), b"{}" if method == "POST" else None))
    assert isinstance(answer, UpstreamResponse)
    assert (answer.status, await answer.read(), arrived(answer._response.content)) == (status, None, b"")
    assert answer.ended


async def test_the_connection_hears_that_there_is_room(content: StreamReader) -> None:
    chunks(content, b"one", b"two")
    arrived(content)
    protocol = content._protocol
    assert isinstance(protocol, Paused) and protocol.resumed == 1


async def test_what_broke_the_body_is_raised(content: StreamReader) -> None:
    chunks(content, b"one", b"two")
    content.set_exception(ConnectionResetError())
    with pytest.raises(ConnectionResetError):
        arrived(content)


async def test_a_part_that_was_read_before_does_not_come_again(content: StreamReader) -> None:
    chunks(content, b"one", b"two", b"three")
    assert content.read_nowait(2) == b"on"
    assert arrived(content) == b"etwothree"


@pytest.mark.parametrize("large", [chunk(b"x" * 500), raw(b"1f4\r\n" + b"x" * 500 + b"\r\n")], ids=["alone", "raw"])
async def test_a_body_longer_than_may_wait_comes_whole(upstream: Upstream, up: Script, large: Step) -> None:
    """The socket is left unread in the middle, and read again."""
    many = READ * 6 // 500
    up.answer(head(), *[large] * many, end())
    answer = await upstream.open(call(up.url))
    assert isinstance(answer, UpstreamResponse)
    body = b""
    while isinstance(data := await answer.read(), bytes):
        body += data
        await asyncio.sleep(0)
    assert data is None and len(body) == many * 500
    answer.close()
