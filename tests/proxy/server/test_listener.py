"""What never becomes an exchange: broken HTTP, and what libraries log. Answered in JSON; its text is told to nobody."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import socket
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from proxy.observers.journal import JournalObserver
from proxy.observers.reports import Reports, Stage
from proxy.server.app import Server
from proxy.server.listener import PARTS, LibraryLog, facts
from proxy.settings.load import Settings
from tests.proxy.conftest import Heard, Start
from tests.proxy.server.test_app import exchange
from tests.upstream import Upstream, talk, whole

KEY = "sk-client-1234567890abcdef"
LINE = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
BROKEN = {
    "a control character in a key": LINE + b"Authorization: Bearer " + KEY.encode() + b"\x01\r\n\r\n",
    "no colon": LINE + b"Authorization Bearer " + KEY.encode() + b"\r\n\r\n",
    "a blank in the name": LINE + b"x api-key: " + KEY.encode() + b"\r\n\r\n",
    "two lengths": LINE + b"Content-Length: 1\r\nContent-Length: 2\r\nx-api-key: " + KEY.encode() + b"\r\n\r\n",
    "length and chunks": LINE + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "raw bytes in the path": b"POST /v1/\xff?key=" + KEY.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "an endless key": LINE + b"x-api-key: " + KEY.encode() * 5000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("case", BROKEN)
async def test_broken_requests_are_refused_without_a_quote(case: str, caplog: pytest.LogCaptureFixture) -> None:
    said = io.StringIO()
    journal = JournalObserver(format="json", level="debug", stream=said)
    tree = {"listen": {"port": 0}, "providers": {"up": {"base_url": "http://127.0.0.1:9/v1"}}}
    server = Server(Settings.model_validate(tree), reports=Reports([journal]))
    await server.start()
    try:
        head, _, body = (await exchange(server, BROKEN[case])).partition(b"\r\n\r\n")
    finally:
        await server.stop()
    assert head.split()[1] == (b"431" if case == "an endless key" else b"400")
    assert json.loads(body)["error"]["code"] == "streamfuse_bad_request"
    told = said.getvalue() + caplog.text + body.decode()
    assert '"event":"not_http"' in told
    assert "1234567890abcdef" not in told and "Traceback" not in told


@pytest.mark.parametrize(("parts", "status"), [(PARTS, b"200"), (PARTS + 1, b"414"), (30_000, b"414")])
async def test_a_path_of_very_many_parts_is_refused(up: Upstream, proxy: Server, parts: int, status: bytes) -> None:
    """aiohttp's router looks up every beginning of a path, which takes the square of its parts."""
    up.answer(*whole({"data": []}))
    line = b"GET " + b"/a" * parts + b"?a=" + b"/" * 300
    got = await exchange(proxy, line + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert got.split()[1] == status
    if status == b"414":
        assert json.loads(got.partition(b"\r\n\r\n")[2])["error"]["code"] == "streamfuse_bad_request"


REST = 8 << 20
"""Bytes that a client is still to send when it is answered: more than the buffers of a connection hold."""
EARLY: dict[str, tuple[bytes, dict[str, Any], bytes]] = {
    "too large": (b"413", {"limits": {"request_body": 1 << 20}}, b"Content-Length: %d\r\n\r\n" % REST),
    "no room": (b"503", {"limits": {"memory": 1 << 20}}, b"Content-Length: %d\r\n\r\n" % REST),
    "no key": (b"401", {"auth": {"keys": ["sk-own-1234"]}}, b"Content-Length: %d\r\n\r\n" % REST),
    "another site": (b"403", {}, b"Origin: https://e.example\r\nContent-Length: %d\r\n\r\n" % REST),
    "a coding": (b"501", {}, b"Transfer-Encoding: gzip, chunked\r\n\r\n%x\r\n" % REST),
    "a broken head": (b"400", {}, b"bad name: 1\r\nContent-Length: %d\r\n\r\n" % REST),
    "an endless head": (b"431", {}, b"x-api-key: "),
}


@pytest.mark.parametrize("why", EARLY)
async def test_a_client_that_sends_all_before_it_reads_has_its_early_answer(
    up: Upstream, start: Start, why: str
) -> None:
    """A connection that is closed while bytes are still coming is reset, and the answer goes with it."""
    status, tree, head = EARLY[why]
    proxy = await start(**tree)
    loop = asyncio.get_running_loop()
    with socket.create_connection(("127.0.0.1", proxy.port)) as client:
        client.setblocking(False)
        async with asyncio.timeout(10):
            await loop.sock_sendall(client, LINE + head)
            for _ in range(REST >> 20):
                await asyncio.sleep(0.005)  # the answer is written, and nobody reads it yet
                await loop.sock_sendall(client, b"a" * (1 << 20))
            got = await loop.sock_recv(client, 64 << 10)
    assert got.split()[1] == status
    assert not up.requests


async def connections_closed(proxy: Server) -> None:
    """Wait until no client's connection is open."""
    (runner,) = proxy._runners
    assert runner.server is not None
    while runner.server.connections:  # noqa: ASYNC110  (what it waits for has no event)
        await asyncio.sleep(0.001)  # real sockets: what was sent has to arrive


@pytest.mark.parametrize("silent", [False, True])
async def test_what_is_dropped_after_an_early_answer_is_bounded(
    proxy: Server, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    monkeypatch.setattr("proxy.server.listener.SILENCE", 0.01 if silent else 60.0)
    monkeypatch.setattr("proxy.server.listener.DROPPED", 2 << 20)
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    async with asyncio.timeout(10):
        writer.write(LINE + b"bad name: 1\r\n\r\n")
        assert (await reader.readuntil(b"\r\n")).split()[1] == b"400"
        with contextlib.suppress(ConnectionError):
            while not silent:
                writer.write(b"a" * (64 << 10))
                await writer.drain()
        await connections_closed(proxy)
    writer.close()


async def test_the_next_connection_is_served(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    await exchange(proxy, BROKEN["no colon"])
    up.answer(*whole({"data": []}))
    async with client.get(f"http://127.0.0.1:{proxy.port}/v1/models") as answer:
        assert answer.status == 200


async def test_a_failure_of_our_own_is_told_by_its_place(
    up: Upstream, proxy: Server, heard: Heard, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError(KEY)

    monkeypatch.setattr("proxy.server.app.Exchange", broken)
    up.answer(*talk("hi"))
    async with client.post(f"http://127.0.0.1:{proxy.port}/v1/chat/completions", json={}) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (500, "streamfuse_internal")
    (stage,) = [stage for stage in heard.of(Stage) if stage.name == "request_failed"]
    assert stage.wrong and stage.facts["error"] == "ZeroDivisionError"
    assert str(stage.facts["where"]).startswith("test_listener.py:")


async def test_a_client_that_left_is_no_failure_of_ours(
    proxy: Server, heard: Heard, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes when the connection goes hears of it as an exception; the exchange has told what there is to tell."""

    class Writes:
        def __init__(self, _fuse: object, request: web.Request) -> None:
            self.request = request

        async def run(self) -> web.StreamResponse:
            assert self.request.transport is not None
            self.request.transport.abort()
            raise ConnectionResetError

    monkeypatch.setattr("proxy.server.app.Exchange", Writes)
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.post(f"http://127.0.0.1:{proxy.port}/v1/chat/completions", json={})
    assert [stage.name for stage in heard.of(Stage)] == ["started"]


async def test_what_libraries_log_is_told_by_its_place(heard: Heard) -> None:
    logger = logging.Logger("asyncio")
    logger.addHandler(LibraryLog(Reports([heard])))
    try:
        raise ValueError(KEY)
    except ValueError:
        logger.exception("Task exception was never retrieved %s", KEY)
    logger.info("nothing to look at")
    (stage,) = heard.of(Stage)
    assert stage.wrong and stage.facts["logger"] == "asyncio" and stage.facts["error"] == "ValueError"
    assert KEY not in str(stage)


def test_an_exception_that_was_never_raised_has_no_place() -> None:
    assert facts(asyncio.QueueFull()) == {"error": "QueueFull"}
    assert facts(None) == {}
