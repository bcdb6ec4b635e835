"""A client's headers are read once a connection: each request is treated by its own headers all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from proxy.server.app import Server
from tests.proxy.conftest import Start
from tests.upstream import Upstream, whole

BODY = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
ANSWER = b'{"id": "c", "object": "chat.completion", "choices": []}'


class Connection:
    """One kept connection of a client that writes its own heads."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def __aenter__(self) -> Connection:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._writer.close()

    async def ask(self, *headers: str, body: bytes = BODY, path: str = "/v1/chat/completions") -> bytes:
        """The status line's code of the answer, which is read to its end."""
        head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}", *headers]
        self._writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        async with asyncio.timeout(5):
            got = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            await self._reader.readexactly(int(got.split(b"content-length:")[1].split(b"\r\n")[0]))
        return got.split(b" ")[1]


async def test_equal_headers_are_sent_on_as_before(up: Upstream, start: Start) -> None:
    up.answer(*whole(ANSWER))
    async with Connection(await start()) as client:
        for size in (1, 2000, 20):
            body = BODY[:-1] + b', "user": "%s"}' % (b"u" * size)
            assert await client.ask("X-Mine: 1", "Authorization: Bearer a", body=body) == b"200"
    assert [got.body for got in up.requests] != [up.requests[0].body] * 3
    sent = [[(name, value) for name, value in got.headers if name != "Content-Length"] for got in up.requests]
    assert sent[0] == sent[1] == sent[2] and ("X-Mine", "1") in sent[0]
    assert [got.header("content-length") for got in up.requests] == [str(len(got.body)) for got in up.requests]


@pytest.mark.parametrize(
    "changed",
    [
        ("X-Mine: 2", "Authorization: Bearer a"),
        ("X-Mine: 1", "Authorization: Bearer b"),
        ("X-Mine: 1", "Authorization: Bearer a", "X-More: 1"),
        ("X-Mine: 1",),
        ("Authorization: Bearer a", "X-Mine: 1"),
        ("x-mine: 1", "Authorization: Bearer a"),
    ],
)
async def test_other_headers_are_read_anew(up: Upstream, start: Start, changed: tuple[str, ...]) -> None:
    up.answer(*whole(ANSWER))
    first = ("X-Mine: 1", "Authorization: Bearer a")
    async with Connection(await start()) as client:
        for headers in (first, changed, first):
            assert await client.ask(*headers) == b"200"
    got = [[f"{name}: {value}" for name, value in one.headers if f"{name}: {value}" in {*first, *changed}]
           for one in up.requests]  # fmt: skip
    assert got == [[*first], [*changed], [*first]]


async def test_a_key_that_is_gone_admits_nobody(up: Upstream, start: Start) -> None:
    up.answer(*whole(ANSWER))
    async with Connection(await start(auth={"keys": ["ours"]})) as client:
        assert await client.ask("x-api-key: ours") == b"200"
        assert await client.ask("x-api-key: 0urs") == b"401"
        assert await client.ask() == b"401"
        assert await client.ask("x-api-key: ours") == b"200"
        assert await client.ask(path="/v1/chat/completions?key=ours") == b"200"
        assert await client.ask(path="/v1/chat/completions?key=0urs") == b"401"
    assert len(up.requests) == 3 and all(got.header("x-api-key") is None for got in up.requests)


async def test_another_config_is_in_force_on_open_connections(up: Upstream, start: Start) -> None:
    up.answer(*whole(ANSWER))
    server = await start()
    async with Connection(server) as client:
        assert await client.ask("Authorization: Bearer a") == b"200"
        settings = server.settings.model_copy(deep=True)
        provider = settings.providers["up"].model_copy(update={"headers": {"X-Added": "new"}})
        following = server.fuse.renewed(settings.model_copy(update={"providers": {"up": provider}}))
        following.take()
        server.fuse = following
        assert await client.ask("Authorization: Bearer a") == b"200"
    assert [got.header("x-added") for got in up.requests] == [None, "new"]


async def test_a_body_that_is_handed_through_keeps_its_own_length(up: Upstream, start: Start) -> None:
    up.answer(*whole(ANSWER))
    async with Connection(await start()) as client:
        assert await client.ask("X-Mine: 1") == b"200"
        assert await client.ask("X-Mine: 1", body=b"\x00" * 9, path="/v1/audio/speech") == b"200"
    assert [got.header("content-length") for got in up.requests] == [str(len(BODY)), "9"]
