"""Answers that are no completion because none was promised: they pass as they came, after one call."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.proxy.conftest import Start
from tests.proxy.test_patience import Client
from tests.upstream import Upstream, chunk, end, head

ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "kind", "data", "more"),
    [
        (202, "application/json", b'{"status": "queued",  "task_id": "1"}', {}),
        (201, "application/json", b'{"object":"batch","id":"b"}', {}),
        (202, "text/plain", b"accepted", {}),
        (202, "application/json", b"", {}),
        (200, "application/json", b'{"request_id": "abc"}', {"deferred": True}),
    ],
)
async def test_they_pass_with_status_and_bytes(
    up: Upstream, start: Start, client: aiohttp.ClientSession,
    stream: bool, status: int, kind: str, data: bytes, more: dict[str, Any],
) -> None:  # fmt: skip
    up.answer(head(status, kind, {"X-Job": "1"}, length=len(data)), chunk(data), end())
    got = Client(await start(), client, {**ASK, **more, "stream": stream})
    await asyncio.wait_for(got.task, 5)
    assert (got.status, got.body, len(up.requests)) == (status, data, 1)
    assert got.headers["X-Job"] == "1" and got.headers["Content-Type"] == kind


@pytest.mark.parametrize("stream", [False, True])
async def test_no_content_passes(up: Upstream, start: Start, client: aiohttp.ClientSession, stream: bool) -> None:
    up.answer(head(204, None, length=0), end())
    got = Client(await start(), client, {**ASK, "stream": stream})
    await asyncio.wait_for(got.task, 5)
    assert (got.status, got.body, len(up.requests)) == (204, b"", 1)
    assert "Transfer-Encoding" not in got.headers


async def test_an_error_in_a_202_is_an_error(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    data = b'{"error":{"message":"no such model","code":"model_not_found"}}'
    up.answer(head(202, "application/json", length=len(data)), chunk(data), end())
    got = Client(await start(), client, {**ASK, "stream": False})
    await asyncio.wait_for(got.task, 5)
    assert got.status is not None and got.status >= 400
