"""SIGTERM and SIGINT end the process in whatever state its requests are, once or twice; what can be told is told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from proxy.observers.reports import Ended, Reports, Stage, Started
from proxy.server import app
from proxy.server.app import CLEANUP, LAST, Server
from proxy.settings.load import Settings
from proxy.settings.service.observability import Drain
from tests.clock import FakeClock
from tests.proxy.conftest import Heard
from tests.upstream import Step, Upstream, chunk, hang, head, role, text, whole

ASK = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}).encode()
BUSY = whole({"error": {"message": "busy"}}, 503)


def post(body: bytes = ASK, path: str = "/v1/chat/completions", size: int | None = None) -> bytes:
    length = len(body) if size is None else size
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path.encode(), length) + body


HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
GET = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
STATES: dict[str, tuple[bytes, tuple[Step, ...], bytes]] = {
    # What the client sends, what the provider answers, and the last bytes that the client gets; "" = no whole answer.
    "nobody is here": (b"", (hang(),), b""),
    "a connection that waits for its next request": (HEALTH, (hang(),), b"}"),
    "half a request line": (b"POST /v1/ch", (hang(),), b""),
    "half a body": (post(ASK[:20], size=len(ASK)), (hang(),), b""),
    "nothing has come of the answer": (post(), (hang(),), b"}}"),
    "a stream that has said something": (post(), (head(), role(), text("half"), hang()), b"[DONE]\n\n\r\n0\r\n\r\n"),
    "a stream whose client reads nothing": (post(), (head(), role(), *[text("word " * 4000)] * 400, hang()), b""),
    "a wait for the next try": (post(), BUSY, b"}}"),
    "a call that passes": (GET, (head(content_type="application/json"), chunk(b"[1,"), hang()), b""),
    "a call that passes, before its answer": (GET, (hang(),), b""),
}  # fmt: skip


def test_all_of_it_fits_into_the_ten_seconds_of_a_container() -> None:
    assert Drain().grace + LAST + CLEANUP < 10


Run = Callable[[dict[str, Any]], Awaitable[tuple[Server, asyncio.Task[None]]]]


@pytest.fixture
async def run(up: Upstream, heard: Heard, clock: FakeClock) -> AsyncIterator[Run]:
    running: list[asyncio.Task[None]] = []

    async def begin(tree: dict[str, Any]) -> tuple[Server, asyncio.Task[None]]:
        whole_tree = {"listen": {"port": 0}, "upstream": f"{up.url}/v1", **tree}
        server = Server(Settings.model_validate(whole_tree), reports=Reports([heard]), clock=clock)
        task = asyncio.create_task(server.run())
        running.append(task)
        await heard.until(Stage)
        return server, task

    yield begin
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)], ids=["once", "twice"])
@pytest.mark.parametrize("state", STATES)
async def test_it_ends(
    up: Upstream, heard: Heard, clock: FakeClock, run: Run, state: str, signals: tuple[signal.Signals, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(app, "CLEANUP", 0.05)
    asked, script, last = STATES[state]
    up.answer(*script)
    server, task = await run({"drain": {"grace": "6s" if len(signals) == 1 else "1h"}})
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 16)
    writer.write(asked)
    await asyncio.sleep(0.02)  # it has arrived, as far as it goes; no answer tells so in most of these states
    for one in signals:
        os.kill(os.getpid(), one)
        await asyncio.sleep(0)
    async with asyncio.timeout(10):  # against a test that hangs; all other time is the clock's
        while not task.done():
            await clock.advance(0.5)
            await asyncio.sleep(0.001)  # what half a second sets off crosses a socket
    await task
    assert clock.now() < 600, "the second signal ends the hour that a drain may take"
    got = b"" if state == "a stream whose client reads nothing" else await _rest(reader)
    assert got.endswith(last) if last else b"0\r\n\r\n" not in got
    assert [stage.name for stage in heard.of(Stage)][-2:] == ["draining", "stopped"]
    assert len(heard.of(Ended)) == len(heard.of(Started))
    assert not server.fuse.open
    writer.transport.abort()


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""
