"""Whatever goes through, neither its content nor a credential comes out in the journal, the metrics or /-/recent."""

from __future__ import annotations

import io
from typing import Any

import aiohttp
import pytest

from proxy.observers.journal import JournalObserver
from proxy.observers.metrics import MetricsObserver
from proxy.observers.recent import RecentObserver
from proxy.observers.reports import Reports
from proxy.server.app import Server
from proxy.settings.load import Settings
from tests.upstream import Step, Upstream, done, end, event, finish, head, raw, reset, role, talk, text, whole

KEY = "sk-client-1234567890abcdef"
OURS = "sk-proxy-1234567890abcdef"
THEIRS = "sk-upstream-1234567890abcdef"
PROMPT = "Dolores-has-diabetes"
ANSWER = "take-40-units-of-insulin"
SECRETS = (KEY, OURS, THEIRS, PROMPT, ANSWER, "1234567890abcdef", "Dolores", "insulin")

SAID = f"Incorrect API key {THEIRS} for {PROMPT}"
QUOTING = {"error": {"message": SAID, "code": THEIRS, "type": PROMPT, "param": KEY}}
CHAT = "/v1/chat/completions"
OTHER = f"/v1/files/{PROMPT}?key={KEY}"


def looping() -> list[Step]:
    return [head(), role(), *(text(f"{ANSWER} ") for _ in range(60)), finish("length"), done()]


SCENES: dict[str, list[Step]] = {
    "a good answer": list(talk(ANSWER)),
    "a loop": looping(),
    "an error that quotes": list(whole(QUOTING, status=401)),
    "a rate limit that quotes": list(whole(QUOTING, status=429)),
    "an error inside the stream": [head(), role(), text(ANSWER), event(QUOTING), end()],
    "an error as the first event": [head(), event(QUOTING), end()],
    "a bad event": [head(), role(), event(ANSWER.encode()), text(ANSWER), finish(), done()],
    "a break": [head(), role(), text(ANSWER), reset()],
    "no HTTP at all": [raw(ANSWER.encode() + b"\r\n\r\n")],
    "HTML": [head(502, "text/html", length=len(ANSWER)), raw(ANSWER.encode())],
    "headers that quote": [head(500, "text/plain", {"x-request-id": THEIRS, "x-error": PROMPT}, 0)],
}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("path", [CHAT, OTHER])
async def test_nothing_private_is_told(up: Upstream, client: aiohttp.ClientSession, scene: str, path: str) -> None:
    up.answer(*SCENES[scene])
    tree: dict[str, Any] = {
        "listen": {"port": 0},
        "auth": {"keys": [OURS]},
        "providers": {"up": {"base_url": f"{up.url}/v1", "api_key": THEIRS, "headers": {"x-extra": THEIRS}}},
        "retry": {"request": {"max_retries": 0}, "stream": {"max_retries": 0}, "server": {"max_retries": 0}},
        "privacy": {"show_excerpts": False},
    }
    said = io.StringIO()
    metrics, recent = MetricsObserver(), RecentObserver(9, lambda: 0.0)
    journal = JournalObserver(format="json", level="debug", stream=said)
    server = Server(Settings.model_validate(tree), reports=Reports([journal, metrics, recent]))
    await server.start()
    try:
        headers = {"Authorization": f"Bearer {OURS}", "x-session-id": PROMPT, "x-streamfuse-correlation-id": PROMPT}
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": PROMPT}], "user": KEY}
        try:
            async with client.post(f"http://127.0.0.1:{server.port}{path}", json=body, headers=headers) as answer:
                await answer.read()
        except aiohttp.ClientError:
            pass  # a scene may break the connection of a call that passes through
    finally:
        await server.stop()
    told = said.getvalue() + metrics.exposition().decode() + str(recent.newest())
    assert '"event":"exchange"' in told, "the exchange has its line"
    assert ("refrain" in told) == (scene == "a loop" and path == CHAT), "the loop was found and told"
    for secret in SECRETS:
        assert secret not in told, f"{secret} was told"
