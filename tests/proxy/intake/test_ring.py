"""A provider that is this proxy, or leads back to it: one clear error, and nothing that a real provider could see."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from proxy.observers.reports import Ended, Reports
from proxy.server.app import Server
from proxy.settings.load import Settings
from tests.proxy.conftest import Heard, Start
from tests.proxy.server.test_app import url
from tests.upstream import Upstream, head, wait, whole

ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
WHOLE = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
}  # fmt: skip


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


Make = Callable[..., Awaitable[Server]]


@pytest.fixture
async def make(heard: Heard) -> AsyncIterator[Make]:
    """Starts a proxy on a port, in front of an address."""
    running: list[Server] = []

    async def start(port: int, base: str, **more: Any) -> Server:
        tree = {"listen": {"port": port}, "providers": {"up": {"base_url": base, **more.pop("provider", {})}}, **more}
        server = Server(Settings.model_validate(tree), reports=Reports([heard]))
        await server.start()
        running.append(server)
        return server

    yield start
    for server in running:
        await server.stop()


@pytest.mark.parametrize(
    "path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/models"]
)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("proxies", [1, 2, 3])
async def test_a_ring_ends_in_one_clear_error(
    make: Make, client: aiohttp.ClientSession, heard: Heard, path: str, stream: bool, proxies: int
) -> None:
    ports = [free_port() for _ in range(proxies)]
    for at, port in enumerate(ports):
        await make(port, f"http://127.0.0.1:{ports[(at + 1) % proxies]}/v1", provider={"api_key": "k"})
    method = "GET" if path == "/v1/models" else "POST"
    body = None if method == "GET" else {**ASK, "stream": stream}
    async with asyncio.timeout(20), client.request(method, f"http://127.0.0.1:{ports[0]}{path}", json=body) as answer:
        assert answer.status == 508
        told = await answer.json()
    assert told["error"]["code" if path != "/v1/messages" else "message"] in (
        "streamfuse_ring",
        told["error"]["message"],
    )
    assert "come back" in told["error"]["message"]
    assert len(heard.of(Ended)) <= 4 * proxies + 2, "it went round a few times, not without end"
    assert sum(ended.attempts for ended in heard.of(Ended)) <= 4 * proxies + 2, "nobody asked again"


async def test_many_at_once_in_a_ring(make: Make, client: aiohttp.ClientSession, heard: Heard) -> None:
    port = free_port()
    server = await make(port, f"http://127.0.0.1:{port}/v1")

    async def one(n: int) -> int:
        async with client.post(url(server, "/v1/chat/completions"), json={**ASK, "n": n, "stream": True}) as answer:
            return answer.status

    async with asyncio.timeout(20):
        assert await asyncio.gather(*map(one, range(10))) == [508] * 10
    assert len(heard.of(Ended)) < 100
    before = len(heard.of(Ended))
    assert await one(99) == 508
    assert len(heard.of(Ended)) == before + 2, "known by now: it goes out once and comes back once"


async def test_two_fuses_in_a_row_are_no_ring(up: Upstream, make: Make, client: aiohttp.ClientSession) -> None:
    up.answer(*whole(WHOLE))
    inner = await make(0, f"{up.url}/v1")
    outer = await make(0, f"http://127.0.0.1:{inner.port}/v1")
    for _ in range(3):
        async with client.post(url(outer, "/v1/chat/completions"), json=ASK) as answer:
            assert answer.status == 200
    assert len(up.requests) == 3
    assert not [
        name for request in up.requests for name, _ in request.headers if name.lower().startswith("x-streamfuse")
    ]


async def test_equal_requests_at_once_show_a_real_provider_nothing(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    """An SDK that asks five times at once, of a provider that has never answered yet."""
    server = await start()
    up.answer(wait("go"), *whole(WHOLE))
    headers = {"Accept-Encoding": "gzip, deflate, br", "Connection": "keep-alive"}

    async def one(path: str) -> int:
        method = "GET" if path == "/v1/models" else "POST"
        body = ASK if method == "POST" else None
        async with client.request(method, url(server, path), json=body, headers=headers) as answer:
            return answer.status

    asked = [asyncio.create_task(one(path)) for path in ("/v1/chat/completions", "/v1/models") for _ in range(5)]
    await up.until(lambda: len(up.requests) == 10)
    up.go("go")
    assert await asyncio.gather(*asked) == [200] * 10
    assert {request.target for request in up.requests} == {"/v1/chat/completions", "/v1/models"}
    assert not [
        name for request in up.requests for name, _ in request.headers if name.lower().startswith("x-streamfuse")
    ]


async def test_suspicion_alone_refuses_nobody(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    """Another program that writes the same Accept-Encoding: the provider is asked once, says no, and all are served."""
    server = await start()
    up.answer(wait("go"), *whole(WHOLE))
    headers = {"Accept-Encoding": "gzip, deflate, identity"}

    async def one() -> int:
        async with client.post(url(server, "/v1/chat/completions"), json=ASK, headers=headers) as answer:
            return answer.status

    asked = [asyncio.create_task(one()) for _ in range(6)]
    await up.until(lambda: len(up.requests) == 3)
    assert sorted(request.target for request in up.requests)[0] == "/-/self", "two are asked, the third waits"
    up.go("go")
    assert await asyncio.gather(*asked) == [200] * 6
    assert [request.target for request in up.requests].count("/-/self") == 1
    assert len(up.requests) == 7


async def test_a_mark_of_somebody_else_passes(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start()
    up.answer(head(200, "application/json", length=0))
    async with client.get(url(server, "/v1/models"), headers={"x-streamfuse-via": "0123456789abcdef"}) as answer:
        assert answer.status == 200
    endless = ", ".join(["0123456789abcdef"] * 16)
    async with client.get(url(server, "/v1/models"), headers={"x-streamfuse-via": endless}) as answer:
        assert answer.status == 508 and answer.headers["x-should-retry"] == "false"
    async with client.get(url(server, "/v1/models"), headers={"x-streamfuse-via": server.fuse.ring.mark}) as answer:
        assert answer.status == 508
    assert len(up.requests) == 1 and up.requests[0].header("x-streamfuse-via") is None
    assert server.fuse.ring._waiting == {}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_ring_of_one_that_wants_a_key_is_told_as_such(
    make: Make, client: aiohttp.ClientSession, heard: Heard, path: str, stream: bool
) -> None:
    """The client's key is taken off on the way out, so the proxy would tell it to present the key that it has given."""
    port = free_port()
    await make(port, f"http://127.0.0.1:{port}/v1", auth={"keys": ["ours"]})
    for status, word in ((502, "real provider"), (508, "come back")):
        async with client.post(url_of(port, path), json={**ASK, "stream": stream}, headers={"x-api-key": "ours"}) as no:
            assert (no.status, no.headers.get("x-should-retry")) == (status, "false")
            assert word in (await no.json())["error"]["message"]


async def test_another_streamfuse_may_say_that_the_clients_key_is_wrong(
    make: Make, client: aiohttp.ClientSession, heard: Heard
) -> None:
    front, behind = free_port(), free_port()
    await make(behind, "http://127.0.0.1:9/v1", auth={"keys": ["ours"]})
    await make(front, f"http://127.0.0.1:{behind}/v1")
    async with client.post(url_of(front, "/v1/chat/completions"), json=ASK, headers={"x-api-key": "wrong"}) as no:
        assert (no.status, (await no.json())["error"]["code"]) == (401, "streamfuse_unauthorized")


def url_of(port: int, path: str) -> str:
    return f"http://127.0.0.1:{port}{path}"
