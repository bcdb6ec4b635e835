"""What each model of the scripted provider plays, seen by a bare HTTP client."""

from typing import Any

import aiohttp
import pytest

from proxy.demo.provider import ENDLESS, LOOPING, MODELS, THINKING, ScriptedProvider


@pytest.fixture
async def provider():
    provider: Any = ScriptedProvider(pace=0)
    provider.url = await provider.start()
    yield provider
    await provider.stop()


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as session:
        yield session


def chat(provider, http, model, **more):
    body = {"model": model, "stream": True, "messages": [], **more}
    return http.post(provider.url + "/chat/completions", json=body)


async def test_loop_goes_on_to_its_limit(provider, http):
    async with chat(provider, http, "loop") as answer:
        text = await answer.text()
    assert text.count(" right.") == ENDLESS
    assert '"finish_reason":"length"' in text
    assert provider.answers[-1].chars > ENDLESS * len(LOOPING)


async def test_think_never_says_a_word(provider, http):
    async with chat(provider, http, "think") as answer:
        text = await answer.text()
    assert text.count(' first."') == ENDLESS == text.count('" Wait,"')
    assert '"content":"' not in text.replace('"content":""', "")
    assert provider.answers[-1].chars > ENDLESS * len(THINKING)


async def test_busy_refuses_every_other_time(provider, http):
    seen = []
    for _ in range(3):
        async with chat(provider, http, "busy") as answer:
            seen.append((answer.status, answer.headers.get("Retry-After")))
    assert seen == [(429, "1"), (200, None), (429, "1")]


async def test_dies_breaks_every_other_time(provider, http):
    with pytest.raises(aiohttp.ClientError):
        async with chat(provider, http, "dies") as answer:
            await answer.read()
    async with chat(provider, http, "dies") as answer:
        assert b"[DONE]" in await answer.read()


async def test_a_client_that_leaves_is_noticed(http):
    provider: Any = ScriptedProvider(pace=0.001)
    provider.url = await provider.start()
    async with chat(provider, http, "loop") as answer:
        await answer.content.readany()
        answer.close()
    await provider.stop()
    assert [answered.gone for answered in provider.answers] == [True]
    assert provider.answers[0].chars < 10_000


async def test_models_and_nonsense(provider, http):
    async with http.get(provider.url + "/models") as answer:
        assert [model["id"] for model in (await answer.json())["data"]] == list(MODELS)
    async with http.post(provider.url + "/chat/completions", data=b"no json") as answer:
        assert answer.status == 404
    async with http.post(provider.url + "/embeddings", json={}) as answer:
        assert answer.status == 404
