"""A word of its own in every place of a request and of an answer; none of them comes out where people look.

Sinks: the journal at its most talkative, metrics, the page, /-/recent, /readyz, what libraries log, what stands in the
shared state, and the answers themselves for the proxy's own secrets. What is told on purpose is named below.
"""

from __future__ import annotations

import asyncio
import io
import json
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from benchmarks.outage import skipping
from benchmarks.outage.skipping import SkippedClock, SkippingLoop
from proxy.observers.journal import JournalObserver
from proxy.observers.metrics import MetricsObserver
from proxy.observers.recent import RecentObserver
from proxy.observers.reports import Reports
from proxy.page.page import LivePage
from proxy.server.app import Server
from proxy.settings.load import Settings
from tests.proxy.redis_server import ABSENT, BINARY, RedisServer

from .agent import converse
from .provider import SETTINGS, Line, Provider

PLACES = [
    "clientkey",
    "prompt",
    "answer",
    "arguments",
    "result",
    "header",
    "path",
    "query",
    "session",
    "correlation",
    "mode",
    "scope",
    "provider",
    "user",
    "tool",
    "badheader",
    "badvalue",
    "badline",
    "badbody",
    "badkey",
    "errmessage",
    "errtype",
    "errparam",
    "errreason",
    "errheader",
    "respid",
    "thought",
    "toolname",
    "finish",
    "junk",
    "eventname",
    "ourkey",
    "providerkey",
    "statepassword",
    "extraheader",
]
CANARY = {place: f"CNRY{place}X7Q" for place in PLACES}
CODES = ("journal", "page", "recent")
"""Where the code of an upstream's error stands, which is its type where it has no code: words for programs."""
SECRET = ("ourkey", "providerkey", "statepassword", "extraheader")
"""Those that no answer may hold either."""


def events(*deltas: dict[str, Any], finish: str = "stop", ident: str = "c") -> bytes:
    def chunk(delta: dict[str, Any], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return b"data: " + json.dumps({"id": ident, "model": "m", "choices": [choice]}).encode() + b"\n\n"

    return b"".join(chunk(delta, None) for delta in deltas) + chunk({}, finish) + b"data: [DONE]\n\n"


def answered(body: bytes, status: bytes = b"200 OK", kind: bytes = b"text/event-stream", head: bytes = b"") -> bytes:
    lines = b"HTTP/1.1 %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n" % (status, kind, head, len(body))
    return lines + body


C = {place: word.encode() for place, word in CANARY.items()}
CALL = {"index": 0, "id": CANARY["respid"], "type": "function"}
CALL["function"] = {"name": CANARY["toolname"], "arguments": json.dumps({"x": CANARY["arguments"]})}
ERROR = json.dumps(
    {"error": {"message": CANARY["errmessage"], "type": CANARY["errtype"], "param": CANARY["errparam"]}}
).encode()
LOOP = [{"content": f"I will check the {CANARY['answer']} again and then I will look. "}] * 60
ANSWERS: dict[str, bytes] = {
    "good": answered(
        events({"reasoning_content": CANARY["thought"]}, {"content": CANARY["answer"]}, {"tool_calls": [CALL]},
               ident=CANARY["respid"])
    ),
    "loop": answered(events(*LOOP)),
    "finish": answered(events({"content": CANARY["answer"]}, finish=CANARY["finish"])),
    "half": answered(events({"content": CANARY["answer"]}))[:-60],
    "error": answered(ERROR, b"503 " + C["errreason"], b"application/json", b"x-id: " + C["errheader"] + b"\r\n"),
    "limit": answered(ERROR, b"429 x", b"application/json", b"Retry-After: " + C["errheader"] + b"\r\n"),
    "refused": answered(ERROR, b"401 x", b"application/json", b"WWW-Authenticate: " + C["errheader"] + b"\r\n"),
    "inside": answered(b"event: " + C["eventname"] + b"\ndata: " + ERROR + b"\n\n"),
    "junk": answered(b"data: {" + C["junk"] + b"\n\ndata: [" + C["junk"] + b"]\n\n"),
    "page": answered(b"<html>" + C["junk"] + b"</html>", b"502 x", b"text/html"),
    "text": answered(C["junk"], b"200 OK", b"text/plain"),
    "coding": answered(C["junk"], head=b"Content-Encoding: " + C["errheader"] + b"\r\n"),
    "no http": C["junk"] + b"\r\n\r\n",
    "bad header": b"HTTP/1.1 200 OK\r\n" + C["errheader"] + b"\x00: a\r\n\r\n",
    "bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + C["junk"] + b"\r\n",
    "elsewhere": answered(b"", b"302 Found", head=b"Location: http://" + C["errheader"] + b".example/\r\n"),
}  # fmt: skip


def request(case: str, path: str = "/v1/chat/completions", extra: bytes = b"", body: bytes | None = None) -> bytes:
    calls = [{"id": "c1", "type": "function", "function": {"name": CANARY["tool"], "arguments": CANARY["arguments"]}}]
    steps = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": f"error: {CANARY['result']}"},
    ]
    messages = [{"role": "user", "content": CANARY["prompt"]}, *steps * 9]
    asked = {"model": "m", "stream": True, "user": CANARY["user"], "messages": messages}
    body = json.dumps(asked).encode() if body is None else body
    lines = (
        b"POST %s?q=%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nx-case: %s\r\nAuthorization: Bearer %s\r\n"
        b"x-h: %s\r\nx-session-id: %s\r\nx-streamfuse-correlation-id: %s\r\nContent-Type: application/json\r\n%s"
        b"Content-Length: %d\r\n\r\n"
    )
    named = (path.encode(), C["query"], case.replace(" ", "-").encode(), C["ourkey"], C["header"], C["session"])
    return lines % (*named, C["correlation"] + case.encode(), extra, len(body)) + body


OUT_OF_PLACE = {
    "unknown provider": request("good", f"/{CANARY['path']}/v1/chat/completions"),
    "dots": request("good", f"/v1/../{CANARY['path']}"),
    "a call that passes": request("good", f"/v1/files/{CANARY['path']}"),
    "mode": request("good", extra=b"x-streamfuse-mode: " + C["mode"] + b"\r\n"),
    "scope": request("good", extra=b"x-streamfuse-scope: " + C["scope"] + b"\r\n"),
    "provider": request("good", extra=b"x-streamfuse-provider: " + C["provider"] + b"\r\n"),
    "a bad header": request("good", extra=C["badheader"] + b"\x00: x\r\n"),
    "a bad value": request("good", extra=b"x-a: " + C["badvalue"] + b"\x01\r\n"),
    "a key that is no text": request("good", extra=b"x-api-key: " + C["badkey"] + b"\xff\r\n"),
    "another key": request("good").replace(b"Bearer " + C["ourkey"], b"Bearer " + C["clientkey"]),
    "a bad line": b"GET /" + C["badline"] + b" HTTP/9\r\nAuthorization: Bearer " + C["clientkey"] + b"\r\n\r\n",
    "a body that is no JSON": request("good", body=b"{" + C["badbody"]),
    "an origin": request("good", extra=b"Origin: https://" + C["header"] + b".example\r\n"),
    "a host": request("good").replace(b"Host: localhost", b"Host: " + C["header"] + b".example"),
    "a coding": request("good", extra=b"Transfer-Encoding: " + C["badvalue"] + b", chunked\r\n"),
}


READY = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Talker(Provider):
    async def reply(self, line: Line, head: bytes, body: bytes) -> bool:
        case = head.lower().partition(b"x-case: ")[2].partition(b"\r\n")[0].decode()
        await line.send(ANSWERS[case.replace("-", " ")])
        return False


def settings(provider: Provider, **more: Any) -> Settings:
    up = {
        "base_url": f"http://127.0.0.1:{provider.port}/v1",
        "api_key": CANARY["providerkey"],
        "headers": {"x-extra": CANARY["extraheader"]},
    }
    tree = {**SETTINGS, "providers": {"up": up}, "auth": {"keys": [CANARY["ourkey"]]}, **more}
    return Settings.model_validate(tree)


def _text(page: web.StreamResponse) -> str:
    assert isinstance(page, web.Response) and page.status == 200 and page.text
    return page.text


async def told(sent: dict[str, bytes]) -> tuple[dict[str, str], dict[str, bytes]]:
    """What our sinks say of these requests, and their answers."""
    said = io.StringIO()
    metrics, recent = MetricsObserver(), RecentObserver(500, lambda: 0.0)
    journal = JournalObserver(format="json", level="debug", stream=said)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    async with Talker() as provider:
        reports = Reports([journal, metrics, recent])
        server = Server(settings(provider), reports=reports, clock=SkippedClock(loop))
        await server.start()
        try:
            got = {name: (await converse(server.port, raw))[0] for name, raw in sent.items()}
            ready, _ = await converse(server.port, READY)
            live = LivePage(recent, lambda: server.fuse)
            pages = [_text(await live.whole(make_mocked_request("GET", "/-/")))]
            for row in recent.newest():
                one = make_mocked_request("GET", "/-/x/1", match_info={"id": row["request_id"]})
                pages.append(_text(await live.one(one)))
        finally:
            await server.stop()
    places = {
        "journal": said.getvalue(),
        "metrics": metrics.exposition().decode(),
        "page": "".join(pages),
        "recent": json.dumps(recent.newest()),
        "readyz": ready.decode(),
    }
    return places, got


def test_none_comes_out(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    places, got = skipping.run(told({case: request(case) for case in ANSWERS} | OUT_OF_PLACE))
    written = capsys.readouterr()
    assert places["journal"].count('"event":"exchange"') >= len(ANSWERS), "they were all told of"
    for place, text in {**places, "library logs": caplog.text, "stdout": written.out, "stderr": written.err}.items():
        found = {name for name, word in CANARY.items() if word in text}
        assert found <= ({"errtype"} if place in CODES else set()), place
    for name, answer in got.items():
        assert answer, name
        assert [place for place in SECRET if C[place] in answer] == [], name


@pytest.mark.skipif(not BINARY, reason=ABSENT)
async def test_none_is_kept_in_the_shared_state() -> None:
    async with RedisServer("--requirepass", CANARY["statepassword"]) as store, Talker() as provider:
        url = store.url.replace("unix://", f"unix://:{CANARY['statepassword']}@")
        server = Server(settings(provider, state={"kind": "redis", "url": url}))
        await server.start()
        try:
            for case in ("loop", "good", "error"):
                await converse(server.port, request(case))
            kept = b"".join([part async for part in store.everything()])
        finally:
            await server.stop()
    assert kept
    assert [word for word in C.values() if word in kept] == []
