"""The request for another provider: its model, its key, and no secret that was meant for somebody else."""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import aiohttp
import pytest

from proxy.intake.native_paths import with_model
from tests.proxy.conftest import Start
from tests.proxy.test_patience import DOWN, WHOLE, passes
from tests.proxy.test_sick_provider import DONE, begin
from tests.upstream import Upstream, whole

ASK = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
SAID = {"candidates": [{"content": {"role": "model", "parts": [{"text": "fine"}]}, "finishReason": "STOP"}]}
GEMINI = "/v1beta/models/gemini-pro:generateContent"


async def asked(server: Any, clock: Any, path: str, body: Any, **headers: str) -> int:
    async with aiohttp.ClientSession() as http:
        data = io.BytesIO(json.dumps(body).encode())
        headers["Content-Type"] = "application/json"
        asking = asyncio.create_task(http.post(f"http://127.0.0.1:{server.port}{path}", data=data, headers=headers))
        await passes(clock, 3)
        answer = await asking
        await answer.read()
        return answer.status


async def test_a_model_in_the_path_is_changed_there(up: Upstream, other: Upstream, start: Start) -> None:
    server, clock = await begin(
        start,
        up,
        other,
        {"fallback": [{"model": "gemini-small"}, {"provider": "other"}]},
        {"api_key": "k", "key_header": "x-goog-api-key"},
    )
    for answer in (DOWN, DOWN):
        up.answer(*answer)
    other.answer(*whole(SAID))
    assert await asked(server, clock, f"{GEMINI}?key=theirs&alt=json", ASK) == 200
    assert [got.target for got in up.requests] == [
        f"{GEMINI}?key=theirs&alt=json",
        "/v1beta/models/gemini-small:generateContent?key=theirs&alt=json",
    ]
    assert other.requests[0].target == f"{GEMINI}?alt=json" and other.requests[0].header("x-goog-api-key") == "k"
    assert all(got.json == ASK for got in up.requests + other.requests), "no member that Gemini does not know"


@pytest.mark.parametrize("own", ["provider-key", None])
async def test_our_own_key_in_the_query_goes_nowhere(
    up: Upstream,
    other: Upstream,
    start: Start,
    own: str | None,
) -> None:
    first: dict[str, Any] = {"fallback": [{"model": "gemini-small"}, {"provider": "other"}]}
    server, clock = await begin(start, up, other, first | {"api_key": own}, {"api_key": "k"}, auth={"keys": ["ours"]})
    up.answer(*DOWN)
    other.answer(*whole(SAID))
    assert await asked(server, clock, f"{GEMINI}?key=ours", ASK) == 200
    assert len(up.requests) == 2
    assert not any("ours" in got.target for got in up.requests + other.requests)


async def test_headers_that_may_be_secret_stay_with_their_host(
    up: Upstream,
    other: Upstream,
    start: Start,
) -> None:
    server, clock = await begin(start, up, other, {"fallback": [{"provider": "other"}]}, {"api_key": "k"})
    up.answer(*DOWN)
    other.answer(*whole(DONE))
    names = "authorization x-api-key cookie chatgpt-account-id x-goog-user-project helicone-auth cf-aig-authorization"
    names += " x-portkey-api-key ocp-apim-subscription-key x-amz-security-token"
    secret = dict.fromkeys(names.split(), "hush")
    kept = {"anthropic-version": "2023-06-01", "idempotency-key": "i", "x-stainless-lang": "python"}
    assert await asked(server, clock, "/v1/chat/completions", WHOLE, **secret, **kept) == 200
    got = other.requests[0]
    assert not any("hush" in value for _, value in got.headers)
    assert {name: got.header(name) for name in kept} == kept
    assert got.header("authorization") == "Bearer k"


async def test_a_large_history_goes_whole(up: Upstream, other: Upstream, start: Start) -> None:
    server, clock = await begin(
        start, up, other, {"fallback": [{"provider": "other", "model": "m2"}]}, {"api_key": "k"}
    )
    up.answer(*DOWN)
    other.answer(*whole(DONE))
    large = {**WHOLE, "messages": [{"role": "user", "content": "x" * 1_200_000}]}
    assert await asked(server, clock, "/v1/chat/completions", large) == 200
    assert other.requests[0].json == {**large, "model": "m2"}


@pytest.mark.parametrize(
    ("path", "model", "expected"),
    [
        ("/v1beta/models/a:generateContent", "b", "/v1beta/models/b:generateContent"),
        ("/v1beta/models/a:generateContent", "models/b", "/v1beta/models/b:generateContent"),
        ("/v1beta/models/a%3AstreamGenerateContent", "b c", "/v1beta/models/b%20c%3AstreamGenerateContent"),
        ("/v1/projects/p/locations/l/endpoints/a:x", "b", "/v1/projects/p/locations/l/endpoints/b:x"),
        ("/v1/openai/deployments/a/chat/completions", "b", "/v1/openai/deployments/b/chat/completions"),
        ("/v1/chat/completions", "b", "/v1/chat/completions"),
        ("/v1/models/a", "b", "/v1/models/a"),
    ],
)  # fmt: skip
def test_where_a_path_names_the_model(path: str, model: str, expected: str) -> None:
    assert with_model(path, model) == expected
