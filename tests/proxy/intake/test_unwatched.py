"""Traffic that cannot be read is told of once a kind."""

from __future__ import annotations

import aiohttp
import pytest

from proxy.intake.unwatched import Unwatched
from proxy.observers.reports import Stage
from proxy.server.app import Server
from tests.proxy.conftest import Heard
from tests.upstream import Upstream, whole


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/realtime", "realtime"),
        ("/model/anthropic.claude-v2/invoke-with-response-stream", "bedrock_event_stream"),
        ("/model/m/converse-stream", "bedrock_event_stream"),
        ("/v1internal:streamGenerateContent", "gemini_code_assist"),
        ("/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", "vertex_raw_predict"),
        ("/interactions", "gemini_interactions"),
        ("/v1beta/interactions", "gemini_interactions"),
        ("/model/m/converse", None),
        ("/models", None),
        ("/embeddings", None),
        ("/chat/completions", None),
    ],
)
def test_each_kind_once(path: str, kind: str | None) -> None:
    unwatched = Unwatched()
    assert unwatched.first(path) == kind
    assert unwatched.first(path) is None
    assert unwatched.first("/responses", upgrade=True) == "websocket"
    assert unwatched.first("/realtime", upgrade=True) is None


async def test_the_journal_is_told_at_the_first_request(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
) -> None:
    up.answer(*whole({}))
    for _ in range(2):
        async with client.post(f"http://127.0.0.1:{proxy.port}/model/m/converse-stream", data=b"{}") as reply:
            assert reply.status == 200
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade"}
        async with client.get(f"http://127.0.0.1:{proxy.port}/v1/responses", headers=upgrade) as reply:
            assert reply.status == 426
    told = [stage.facts for stage in heard.of(Stage) if stage.name == "unwatched"]
    assert told == [{"kind": "bedrock_event_stream"}, {"kind": "websocket"}]
