"""An upstream's own failure reaches the client whose request it was as it came: its headers, and its own form of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.clock import FakeClock
from tests.proxy.conftest import Start
from tests.proxy.test_patience import SDK, passes
from tests.proxy.test_same_answer import WHOLE, asked, body
from tests.upstream import Upstream, chunk, end, head

OF_PROVIDERS = {
    "openai-processing-ms": "12",
    "openai-organization": "org",
    "www-authenticate": 'Bearer realm="llm"',
    "apim-request-id": "a-1",
    "x-amzn-requestid": "b-2",
    "x-litellm-model-id": "m",
    "link": "<https://status.example>; rel=help",
}
NO = b'{"error": {"message": "no", "type": "invalid_request_error"}}'


@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_an_error_keeps_the_headers_that_its_provider_gave_it(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, status: int
) -> None:
    cookies = {"Set-Cookie": "a=1\r\nSet-Cookie: b=2"}
    up.answer(
        head(status, "application/json", {**OF_PROVIDERS, **cookies, "Content-MD5": "x", "Keep-Alive": "9"}),
        chunk(NO),
        end(),
    )
    got = await asked(up, start, client, clock, WHOLE, **SDK)
    assert got.status == status and json.loads(got.body) == json.loads(NO)
    assert {name: got.headers[name] for name in OF_PROVIDERS} == OF_PROVIDERS
    assert got.headers.getall("Set-Cookie") == ["a=1", "b=2"]
    assert "Content-MD5" not in got.headers and "Keep-Alive" not in got.headers, "of another body, of another line"


async def test_what_an_error_says_of_trying_again_is_ours(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock
) -> None:
    up.answer(head(402, "application/json", {"x-should-retry": "true", "x-own": "1"}), chunk(NO), end())
    got = await asked(up, start, client, clock, WHOLE, **SDK)
    assert got.headers.getall("x-should-retry") in (["true"], ["false"]) and got.headers["x-own"] == "1"


RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "failed",
    "error": {"code": "server_error", "message": "broke"},
    "output": [],
}


@pytest.mark.parametrize("agent", [SDK, {"User-Agent": "ai-sdk/openai/2.0"}], ids=["sdk", "agent"])
async def test_a_response_that_says_that_it_failed_ends_as_it_came(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, agent: dict[str, Any]
) -> None:
    """The SDKs return it and do not ask again; as an error of ours they would ask three times over."""
    sent = json.dumps(RESPONSE).encode()
    for _ in range(40):
        up.answer(*body(sent))
    server = await start(clock=clock)
    url = f"http://127.0.0.1:{server.port}/v1/responses"
    asking = asyncio.create_task(client.post(url, json={"model": "m", "input": "hi"}, headers=agent))
    for _ in range(600):
        if asking.done():
            break
        await passes(clock, 0.5)
    async with await asking as answer:
        assert (answer.status, await answer.read()) == (200, sent)
        assert "x-should-retry" not in answer.headers
    assert len(up.requests) == 2 and clock.now() < 10
