"""The native APIs of Ollama and Google through a running proxy: what passes, what is cut, what is asked again."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from proxy.demo.native_voices import native_voice
from proxy.demo.script import Line as ScriptLine
from proxy.demo.script import ScriptedFinish, Think
from proxy.exchange.attempt.answer import SNIFF
from proxy.observers.reports import Ended, Retrying
from proxy.server.app import Server
from rules.values.notices import MARK
from tests.clock import FakeClock
from tests.conversations import Line
from tests.conversations import gemini as gemini_form
from tests.conversations import ollama as ollama_form
from tests.proxy.conftest import Heard, Start
from tests.proxy.exchange.heals import REST, START, loops, says, thinks
from tests.readers import gemini as gemini_reader
from tests.readers import ollama as ollama_reader
from tests.readers import openai_chat as chat_reader
from tests.rules.wires.play import STREAMS
from tests.upstream import Step, Upstream, chunk, close, done, end, event, head, reset, talk, wait, whole

SWIFT = {"max_retries": 2, "initial_delay": "10ms", "jitter_ratio": 0}
RETRY = dict.fromkeys(("stream", "server", "unknown", "rate_limit", "network"), SWIFT)
ONCE = {
    **{kind: {**SWIFT, "max_retries": 0} for kind in RETRY},
    "network": {**SWIFT, "mode": "bounded", "max_retries": 0},
}
USER = {"role": "user", "content": "Tea?"}
LOOP = "The kettle is on the stove. "
NDJSON = head(content_type="application/x-ndjson")
CHAT = (STREAMS / "ollama/chat.ndjson").read_bytes()


def line(text: str = "", **more: Any) -> bytes:
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    body = {"model": "m", "created_at": "2026-11-30T10:00:00Z", "message": message, "done": False, **more}
    return json.dumps(body).encode() + b"\n"


def last(**more: Any) -> bytes:
    return line(done=True, done_reason="stop", eval_count=9, **more)


async def ask(
    server: Server, client: aiohttp.ClientSession, path: str = "/api/chat", **body: Any
) -> tuple[int, str, bytes]:
    asked = {"model": "m", "messages": [USER], **body}
    async with client.post(f"http://127.0.0.1:{server.port}{path}", json=asked) as reply:
        return reply.status, reply.headers.get("Content-Type", ""), await reply.read()


async def test_ollama_passes_byte_for_byte_under_a_base_with_v1(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    for path in ("/api/chat", "/v1/api/chat"):
        up.answer(NDJSON, *(chunk(CHAT[at : at + 50]) for at in range(0, len(CHAT), 50)), end())
        status, kind, got = await ask(proxy, client, path)
        assert (status, kind, got) == (200, "application/x-ndjson", CHAT)
        assert up.requests[-1].target == "/api/chat"


@pytest.mark.parametrize(
    ("path", "kind", "recorded"),
    [
        ("/api/chat", "application/x-ndjson", "ollama/chat.ndjson"),
        ("/v1beta/models/m:streamGenerateContent", "application/json", "gemini/array_calls.json"),
    ],
)
async def test_very_many_blank_lines_stand_before_a_stream(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, path: str, kind: str, recorded: str
) -> None:
    """More than is read to see what an answer is. The media type says it then, whatever parameters it has."""
    blank, rest = b"\n" * (SNIFF + 9), (STREAMS / recorded).read_bytes()
    up.answer(head(content_type=f"{kind}; charset=UTF-8"), chunk(blank), chunk(rest), end())
    status, _, got = await ask(proxy, client, path, contents=[{"role": "user", "parts": [{"text": "Tea?"}]}])
    assert status == 200 and got.lstrip() == rest.lstrip()
    assert len(up.requests) == 1


async def test_other_calls_of_ollama_pass_unread(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    pulled = b'{"status":"pulling manifest"}\n\n{"status":"success"}\n'
    up.answer(NDJSON, chunk(pulled), end())
    assert (await ask(proxy, client, "/api/pull"))[2] == pulled
    up.answer(*whole({"models": []}))
    others = ["/api/tags", "/api/me", "/api/experimental/web_search", "/api/user/keys/abc", "/api/blobs/sha256:0"]
    for path in others:
        async with client.get(f"http://127.0.0.1:{proxy.port}{path}") as reply:
            assert await reply.json() == {"models": []}
    assert [request.target for request in up.requests] == ["/api/pull", *others]


async def test_an_api_chat_of_another_service_passes_unread(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    up.answer(*whole(b"Hello, not Ollama.", content_type="text/plain"))
    async with client.post(f"http://127.0.0.1:{proxy.port}/api/chat", json={"messages": [USER]}) as reply:
        assert await reply.read() == b"Hello, not Ollama."


@pytest.mark.parametrize("where", ["text", "thinking", "argument", "generate"])
async def test_a_loop_of_ollama_is_cut_with_a_legal_end(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, where: str
) -> None:
    if where == "text":
        said = [line(LOOP) for _ in range(60)]
    elif where == "thinking":
        said = [line(message={"thinking": LOOP}) for _ in range(200)]
    elif where == "argument":
        call = {"function": {"name": "write", "arguments": {"text": LOOP * 300}}}
        said = [line("I write it."), line(message={"tool_calls": [call]})]
    else:
        said = [line(LOOP).replace(b'"message": {"role": "assistant", "content"', b'"response"').replace(b"}, ", b", ")
                for _ in range(60)]  # fmt: skip
    up.answer(NDJSON, *map(chunk, said), chunk(last()), end())
    _, _, got = await ask(proxy, client, "/api/generate" if where == "generate" else "/api/chat")
    answer = ollama_reader.read(got)
    assert answer.end == "stop" and answer.error is None and answer.calls == []
    assert answer.marker is not None and answer.marker["action"] == "cut"
    assert len(got) < len(b"".join(said)) // (1 if where == "argument" else 2)
    if where == "thinking":
        assert "[streamfuse]" in answer.text  # else the client would get an empty answer


async def test_ollamas_dead_upstream_is_not_noticed_once(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
) -> None:
    server = await start(retry=RETRY)
    starts: list[tuple[Step, ...]] = [
        (reset(),),
        (NDJSON, chunk(line()), reset()),
        (NDJSON, chunk(b'{"error":"model runner has unexpectedly stopped"}\n'), end()),
        whole({"error": "server busy, please try again"}, status=503),
        (NDJSON, end()),
    ]
    for bad in starts:
        up.answer(*bad)
        up.answer(NDJSON, chunk(CHAT), end())
        assert (await ask(server, client))[2] == CHAT
    assert len(heard.of(Retrying)) == len(starts)


async def test_what_breaks_after_ollamas_text_is_told_as_an_error_line(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(retry=ONCE)
    for bad in ((chunk(b'{"error":"runner stopped"}\n'), end()), (reset(),), (close(),), (end(),)):
        up.answer(NDJSON, chunk(line("Put the ")), *bad)
        answer = ollama_reader.read((await ask(server, client))[2])
        assert answer.text == "Put the " and answer.error is not None and answer.error["message"]


async def test_ollama_goes_on_behind_its_text(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(provider={"resume": "prefill"}, retry=RETRY)
    up.answer(NDJSON, chunk(line("Put the ")), reset())
    up.answer(NDJSON, chunk(line("kettle on.")), chunk(last()), end())
    answer = ollama_reader.read((await ask(server, client))[2])
    assert (answer.text, answer.end, answer.error) == ("Put the kettle on.", "stop", None)
    assert up.requests[1].json["messages"] == [USER, {"role": "assistant", "content": "Put the"}]


async def test_ollamas_whole_answers(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    message = {"role": "assistant", "content": LOOP * 60}
    body = {"model": "m", "created_at": "2026-11-30T10:00:00Z", "message": message, "done": True, "done_reason": "stop"}
    up.answer(*whole(body))
    status, kind, got = await ask(proxy, client, stream=False)
    cut = json.loads(got)
    assert (status, kind) == (200, "application/json")
    assert len(cut["message"]["content"]) < 200 and cut["done_reason"] == "stop" and cut["streamfuse"]["rule"]
    up.answer(NDJSON, chunk(CHAT), end())  # a stream where none was asked for
    got = json.loads((await ask(proxy, client, stream=False))[2])
    assert got["message"]["content"] == "Put the kettle on, wait — then pour. ☕"
    up.answer(*whole({**body, "message": {"role": "assistant", "content": "Yes."}}))  # and the other way round
    assert ollama_reader.read((await ask(proxy, client))[2]).text == "Yes."


async def test_ollamas_errors_keep_their_shape(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(retry=ONCE)
    own = {"error": "model 'm' not found"}
    up.answer(*whole(own, status=404))
    status, _, got = await ask(server, client)
    assert (status, json.loads(got)) == (404, own)
    up.answer(reset())
    status, _, got = await ask(server, client)
    assert status == 502 and isinstance(json.loads(got)["error"], str)


async def test_a_history_of_ollama_that_loops_is_refused(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    up.answer(NDJSON, chunk(CHAT), end())
    step: Line = ("call", "read", '{"path":"a.txt"}', "x")
    assert (await ask(proxy, client, **ollama_form([("user", "Go."), *[step] * 3])))[0] == 200
    assert up.requests[-1].json["messages"][-1]["content"].startswith(MARK)
    status, _, got = await ask(proxy, client, **ollama_form([("user", "Go."), *[step] * 18]))
    assert status == 400 and json.loads(got)["code"] == "streamfuse_loop_refused"
    assert len(up.requests) == 1


# Gemini -------------------------------------------------------------------------------------------------------------
TEXT = (STREAMS / "gemini/text.sse").read_bytes()
STREAM = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
KEY = "AIza-secret-0000"
CONTENTS = [{"role": "user", "parts": [{"text": "Tea?"}]}]


def response(*parts: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}], "responseId": "r1"}


def events(*bodies: dict[str, Any], array: bool = False) -> bytes:
    if array:
        return b"[" + b"\n,\r\n".join(json.dumps(body).encode() for body in bodies) + b"\n]"
    return b"".join(b"data: " + json.dumps(body).encode() + b"\r\n\r\n" for body in bodies)


async def google(
    server: Server, client: aiohttp.ClientSession, path: str = f"{STREAM}?alt=sse", **body: Any
) -> tuple[int, str, bytes]:
    headers = {} if "key=" in path else {"x-goog-api-key": KEY}
    url = f"http://127.0.0.1:{server.port}{path}"
    async with client.post(url, json={"contents": CONTENTS, **body}, headers=headers) as reply:
        return reply.status, reply.headers.get("Content-Type", ""), await reply.read()


@pytest.mark.parametrize("base", ["", "/v1beta", "/v1beta/openai", "/v1"])
async def test_gemini_passes_byte_for_byte_under_every_base(
    up: Upstream, start: Start, client: aiohttp.ClientSession, base: str
) -> None:
    server = await start(provider={"base_url": f"{up.url}{base}"})
    for path, kind, raw in (
        (f"{STREAM}?alt=sse", "text/event-stream", TEXT),
        (STREAM, "application/json", (STREAMS / "gemini/array_calls.json").read_bytes()),
    ):
        up.answer(head(content_type=kind), *(chunk(raw[at : at + 90]) for at in range(0, len(raw), 90)), end())
        status, told, got = await google(server, client, path)
        assert (status, told.partition(";")[0], got) == (200, kind, raw)
        assert up.requests[-1].target == path and up.requests[-1].header("x-goog-api-key") == KEY


@pytest.mark.parametrize("array", [False, True])
async def test_a_stream_in_the_other_framing_is_passed_as_it_came_and_watched(
    up: Upstream, start: Start, client: aiohttp.ClientSession, array: bool
) -> None:
    server = await start(provider={"base_url": up.url}, retry=RETRY)
    path, kind = (f"{STREAM}?alt=sse", "application/json") if array else (STREAM, "text/event-stream")
    good = events(response({"text": "Yes, "}), response({"text": "tea."}, finish="STOP"), array=array)
    for size in (1, len(good)):
        up.answer(head(content_type=kind), *(chunk(good[at : at + size]) for at in range(0, len(good), size)), end())
        status, told, got = await google(server, client, path)
        assert (status, told.partition(";")[0], got) == (200, kind, good)
    up.answer(head(content_type=kind), chunk(events(*[response({"text": LOOP})] * 60, array=array)), end())
    answer = gemini_reader.read((await google(server, client, path))[2])
    assert (answer.end, answer.error) == ("0:STOP", None) and answer.marker is not None


@pytest.mark.parametrize("array", [False, True])
async def test_a_stream_in_the_other_framing_goes_on_in_it(
    up: Upstream, start: Start, client: aiohttp.ClientSession, array: bool
) -> None:
    server = await start(provider={"base_url": up.url, "resume": "prefill"}, retry=RETRY)
    begun = events(response({"text": "Put the "}), array=array).removesuffix(b"\n]")
    rest = events(response({"text": "kettle on."}), response({"text": ""}, finish="STOP"), array=array)
    up.answer(head(), chunk(begun), reset())
    up.answer(head(), chunk(rest), end())
    answer = gemini_reader.read((await google(server, client, f"{STREAM}?alt=sse" if array else STREAM))[2])
    assert (answer.text, answer.end, answer.error) == ("Put the kettle on.", "0:STOP", None)


async def test_googles_compatible_api_is_chat(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(provider={"base_url": up.url})
    up.answer(*talk(*[LOOP] * 60))
    got = (await google(server, client, "/v1beta/openai/chat/completions", messages=[USER], stream=True))[2]
    assert b'"streamfuse"' in got and up.requests[-1].target == "/v1beta/openai/chat/completions"


@pytest.mark.parametrize("where", ["text", "thought", "argument"])
@pytest.mark.parametrize("array", [False, True])
async def test_a_loop_of_gemini_is_cut_with_a_legal_end(
    up: Upstream, start: Start, client: aiohttp.ClientSession, where: str, array: bool
) -> None:
    server = await start(provider={"base_url": up.url})
    part: dict[str, Any] = {"text": LOOP}
    if where == "thought":
        part["thought"] = True
    bodies = [response(part) for _ in range(60)]
    if where == "argument":
        bodies = [response({"functionCall": {"name": "write", "args": {"text": LOOP * 300}}})]
    bodies = [response({"text": "I begin."}), *bodies, response({"text": ""}, finish="STOP")]
    up.answer(head(), chunk(events(*bodies, array=array)), end())
    got = (await google(server, client, STREAM if array else f"{STREAM}?alt=sse"))[2]
    answer = gemini_reader.read(got)
    assert (answer.end, answer.error, answer.calls) == ("0:STOP", None, [])
    assert answer.marker is not None and answer.marker["action"] == "cut"
    assert answer.text.startswith("I begin.") and len(got) < 8000


async def test_geminis_dead_upstream_is_not_noticed_once(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
) -> None:
    server = await start(retry=RETRY, provider={"base_url": up.url})
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    starts: list[tuple[Step, ...]] = [
        (reset(),),
        (head(), chunk(events(response({"text": ""}))), reset()),
        (head(), chunk(events(error)), end()),
        (head(), chunk(json.dumps(error, indent=2).encode()), end()),
        whole([error], status=503),
        (head(), end()),
    ]
    for bad in starts:
        up.answer(*bad)
        up.answer(head(), chunk(TEXT), end())
        assert (await google(server, client))[2] == TEXT
    assert len(heard.of(Retrying)) == len(starts)


@pytest.mark.parametrize("array", [False, True])
async def test_what_breaks_after_geminis_text_is_told_as_googles_error(
    up: Upstream, start: Start, client: aiohttp.ClientSession, array: bool
) -> None:
    server = await start(retry=ONCE, provider={"base_url": up.url})
    begun = events(response({"text": "Put the "}), array=array).removesuffix(b"\n]")
    error = {"error": {"code": 500, "message": "It broke.", "status": "INTERNAL"}}
    told = b",\r\n" + json.dumps(error).encode() + b"]" if array else events(error)
    for bad in ((chunk(told), end()), (reset(),), (close(),), (end(),)):
        up.answer(head(), chunk(begun), *bad)
        got = (await google(server, client, STREAM if array else f"{STREAM}?alt=sse"))[2]
        answer = gemini_reader.read(got)
        assert answer.text == "Put the " and answer.error is not None and answer.error["code"] >= 500


async def test_geminis_whole_answers_and_errors(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(retry=ONCE, provider={"base_url": up.url})
    path = "/v1beta/models/gemini-2.5-flash:generateContent"
    up.answer(*whole(response({"text": LOOP * 60}, finish="STOP")))
    cut = json.loads((await google(server, client, path))[2])
    (candidate,) = cut["candidates"]
    assert len(candidate["content"]["parts"][0]["text"]) < 200 and candidate["finishReason"] == "STOP"
    up.answer(head(), chunk(TEXT), end())  # a stream where none was asked for
    got = json.loads((await google(server, client, path))[2])
    assert got["candidates"][0]["content"]["parts"][0]["text"] == "Put the kettle on, wait — then pour. ☕"
    for target in (STREAM, f"{STREAM}?alt=sse"):  # and the other way round
        up.answer(*whole(response({"text": "Yes."}, finish="STOP")))
        assert gemini_reader.read((await google(server, client, target))[2]).text == "Yes."
    own = {"error": {"code": 400, "message": "No.", "status": "INVALID_ARGUMENT"}}
    up.answer(*whole([own], status=400))
    status, _, raw = await google(server, client)
    assert (status, json.loads(raw)) == (400, [own])
    up.answer(*whole(b"<html>", status=502, content_type="text/html"))
    status, _, raw = await google(server, client)
    assert json.loads(raw)["error"]["code"] == status == 502


async def test_geminis_key_in_the_query_is_a_key_and_is_never_told(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard, caplog: pytest.LogCaptureFixture
) -> None:
    server = await start(retry=ONCE, provider={"base_url": up.url})
    up.answer(reset())
    _, _, got = await google(server, client, f"{STREAM}?alt=sse&key={KEY}")
    assert up.requests[-1].target == f"{STREAM}?alt=sse&key={KEY}"
    await heard.until(Ended)
    assert KEY not in got.decode() + repr(list(heard)) + caplog.text
    own = await start(provider={"base_url": up.url, "api_key": "AIza-own"}, auth={"keys": [KEY]})
    up.answer(head(), chunk(TEXT), end())
    for path in (f"{STREAM}?key={KEY}&alt=sse", f"{STREAM}?alt=sse", STREAM.replace("streamG", "g") + f"?key={KEY}"):
        await google(own, client, path)
        assert up.requests[-1].header("x-goog-api-key") == "AIza-own" and KEY not in up.requests[-1].target
    refused = await google(own, client, f"{STREAM}?alt=sse&key=other")
    assert refused[0] == 401 and json.loads(refused[2])["error"]["status"] == "UNAUTHENTICATED"


async def test_a_history_of_gemini_that_loops_is_refused(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(provider={"base_url": up.url})
    up.answer(head(), chunk(TEXT), end())
    step: Line = ("call", "read", '{"path":"a.txt"}', "x")
    await google(server, client, **gemini_form([("user", "Go."), *[step] * 3]))
    assert up.requests[-1].json["contents"][-1]["parts"][-1]["text"].startswith(MARK)
    status, _, got = await google(server, client, **gemini_form([("user", "Go."), *[step] * 18]))
    error = json.loads(got)["error"]
    assert status == 400 and error["details"][0]["reason"] == "streamfuse_loop_refused"
    assert len(up.requests) == 1


@pytest.mark.parametrize(
    ("path", "kind", "raw"),
    [
        ("/v1/chat/completions", "text/event-stream", (STREAMS / "openai_chat/openai_text.sse").read_bytes()),
        ("/api/chat", "application/x-ndjson", CHAT),
        (f"{STREAM}?alt=sse", "text/event-stream", TEXT),
        (STREAM, "application/json", (STREAMS / "gemini/array_text.json").read_bytes()),
    ],
)
async def test_a_stream_that_begins_with_heartbeats_has_the_media_type_of_its_wire(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, path: str, kind: str, raw: bytes
) -> None:
    server = await start(clock=clock, heartbeat={"every": "5s"}, provider={"base_url": up.url})
    up.answer(wait("late"), head(content_type=kind), chunk(raw), end())
    body = {"model": "m", "messages": [USER], "contents": CONTENTS, "stream": True}
    asking = asyncio.create_task(client.post(f"http://127.0.0.1:{server.port}{path}", json=body))
    await up.until(lambda: len(up.requests) == 1)
    for _ in range(40):
        await clock.advance(1.0)
        await asyncio.sleep(0.002)  # what a second sets off crosses a socket
    reply = await asking
    up.go("late")
    got = await reply.read()
    assert reply.headers["Content-Type"].startswith(kind)
    assert got.endswith(raw) and 0 < len(got) - len(raw) < 100


# --- heals -----------------------------------------------------------------------------------------------------------
GEMINI = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
CALLS = {
    "gemini": f"{GEMINI}?alt=sse",
    "gemini array": GEMINI,
    "gemini whole": "/v1beta/models/gemini-2.5-flash:generateContent",
    "ollama": "/api/chat",
    "ollama whole": "/api/chat",
    "generate": "/api/generate",
    "generate whole": "/api/generate",
}
EACH = pytest.mark.parametrize("call", CALLS)


def native_body(call: str) -> dict[str, Any]:
    if call.startswith("gemini"):
        return {"contents": [{"role": "user", "parts": [{"text": "Why was it dark?"}]}]}
    if call.startswith("generate"):  # `raw`: the prompt goes to the model as it is, so an answer can be gone on with
        return {"model": "m", "prompt": "Why was it dark? ", "raw": True, "stream": "whole" not in call}
    return {"model": "m", "messages": [USER], "stream": "whole" not in call}


def generated(raw: bytes) -> bytes:
    """A line of `/api/chat` as `/api/generate` writes it."""
    body = json.loads(raw)
    message = body.pop("message", {})
    thought = {"thinking": message["thinking"]} if message.get("thinking") else {}
    return json.dumps({**body, "response": message.get("content", ""), **thought}).encode() + b"\n"


def speaks(call: str, lines: list[ScriptLine], number: int = 1) -> tuple[Step, ...]:
    """The provider's steps for these lines."""
    kind = native_voice("/api/chat" if call.startswith("generate") else CALLS[call])
    assert kind is not None
    voice = kind({"model": "m", **native_body(call)}, number)
    said, reason = [], "stop"
    for one in lines:
        if isinstance(one, ScriptedFinish):
            reason = one.reason
            said.append(voice.finish(reason))
        else:
            said.append(voice.think(one.text) if isinstance(one, Think) else voice.say(one.text))  # type: ignore[union-attr]
    if "whole" in call:
        body = voice.whole(reason)
        return whole(json.loads(generated(json.dumps(body).encode())) if call.startswith("generate") else body)
    if call.startswith("generate"):
        said = [generated(raw) for raw in said if raw]
    return (head(content_type=kind.media_type), *(chunk(raw) for raw in said if raw), end())


async def gets(port: int, client: aiohttp.ClientSession, call: str) -> tuple[bytes, str, str, dict[str, Any], Any]:
    """(the bytes, the text, its end, the facts of the heal, the usage) as a strict reader reads them."""
    async with client.post(f"http://127.0.0.1:{port}{CALLS[call]}", json=native_body(call)) as reply:
        raw = await reply.read()
        assert reply.status == 200, raw
    if "whole" not in call:
        answer = (gemini_reader if call.startswith("gemini") else ollama_reader).read(raw)
        return raw, answer.text, answer.end.removeprefix("0:"), (answer.marker or {}).get("heal", {}), answer.usage
    body = json.loads(raw)
    heal = body.get("streamfuse", {}).get("heal", {})
    if call.startswith("ollama"):
        return raw, body["message"]["content"], body["done_reason"], heal, body
    if call.startswith("generate"):
        return raw, body["response"], body["done_reason"], heal, body
    one = body["candidates"][0]
    text = "".join(part["text"] for part in one["content"]["parts"] if not part.get("thought"))
    return raw, text, one["finishReason"], heal, body["usageMetadata"]


def spent(usage: Any) -> tuple[int, int]:
    """Tokens of the prompt and of the output."""
    names = ("promptTokenCount", "candidatesTokenCount"), ("prompt_eval_count", "eval_count")
    return next((usage[asked], usage[said]) for asked, said in names if asked in usage)


@EACH
@pytest.mark.parametrize("where", ["thinking", "text"])
async def test_a_loop_is_healed_into_one_legal_answer(
    up: Upstream, start: Start, client: aiohttp.ClientSession, call: str, where: str
) -> None:
    first = thinks() if where == "thinking" else loops()
    second = says(REST if where == "thinking" or "whole" not in call else START + REST)
    bare = await start(provider={"heal": "none"})
    up.answer(*speaks(call, first))
    before = (await gets(bare.port, client, call))[0]
    server = await start(provider={"heal": "auto", "resume": "prefill"})
    up.answer(*speaks(call, first))
    up.answer(*speaks(call, second, 2))
    raw, text, ended, heal, usage = await gets(server.port, client, call)
    assert (heal["result"], ended.lower()) == ("healed", "stop") and len(up.requests) == 3
    assert text.endswith(REST) and text.count(REST) == 1
    assert text == REST if where == "thinking" else text.startswith(START) and text.count(START) == 1
    asked, said = spent(usage)
    assert asked == 10 and said > len(REST.split()), "the first prompt, and the output of both"
    if "whole" not in call:
        shared = before[: before.index(b'"streamfuse"')].rpartition(b'{"' if call != "gemini" else b"data: ")[0]
        assert raw.startswith(shared[: shared.rindex(b"\n")]), "the bytes up to the cut are the same"
        assert raw.count(b'"finishReason"') + raw.count(b'"done":true') == 1 and raw.count(b'"streamfuse"') == 1
    told = up.requests[-1].json
    given = json.dumps(told.get("contents") or told.get("messages") or told["prompt"])
    assert ("eight of them were whole." in given) is (where == "text" and "whole" not in call)


@pytest.mark.parametrize("call", ["ollama", "generate", "openai"])
@pytest.mark.parametrize("tag", ["<think>", "<|th|ink>", "\n|<think|>", ""])
async def test_thinking_in_the_text_is_healed_behind_its_tag(
    up: Upstream, start: Start, client: aiohttp.ClientSession, call: str, tag: str
) -> None:
    """However the opening tag comes, also where the request has it. The client sees one tag, closed once."""
    wire = "ollama" if call != "openai" else call
    ask: dict[str, Any] = native_body(call) if wire == "ollama" else {"model": "m", "messages": [USER], "stream": True}
    if not tag and call == "generate":
        ask["prompt"] = "Why was it dark? <think>\n"
    elif not tag:
        ask["messages"] = [USER, {"role": "assistant", "content": "<think>\n"}]

    def speak(*texts: str) -> tuple[Step, ...]:
        if wire == "ollama":
            said = [line(text) for text in texts] + [last()]
            said = [generated(one) for one in said] if call == "generate" else said
            return (NDJSON, *map(chunk, said), end())
        one = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        role = {"role": "assistant", "content": ""}
        deltas = [(role, None), *(({"content": text}, None) for text in texts), ({}, "stop")]
        choices = [{"index": 0, "delta": delta, "finish_reason": finish} for delta, finish in deltas]
        parts = [event({**one, "choices": [choice]}) for choice in choices]
        return (head(), *parts, done())

    server = await start(provider={"heal": "auto", "resume": "prefill"})
    thought = [one.text for one in thinks() if isinstance(one, Think)]
    up.answer(*speak(*[part for part in tag.split("|") if part], *thought))
    up.answer(*speak("Because ", "of a fuse."))
    path = CALLS.get(call, "/v1/chat/completions")
    async with client.post(f"http://127.0.0.1:{server.port}{path}", json=ask) as reply:
        raw = await reply.read()
    answer = (ollama_reader if wire == "ollama" else chat_reader).read(raw)
    assert (answer.marker or {})["heal"]["result"] == "healed" and answer.end.removeprefix("0:") == "stop"
    assert answer.text.startswith(tag.replace("|", "") + thought[0])
    assert answer.text.endswith("\n</think>\n\nBecause of a fuse.") and answer.text.count("</think>") == 1
    assert len(up.requests) == 2


@pytest.mark.parametrize("call", [one for one in CALLS if "whole" not in one])
async def test_a_second_answer_without_a_word_ends_as_the_first_would_have(
    up: Upstream, start: Start, client: aiohttp.ClientSession, call: str
) -> None:
    server = await start(provider={"heal": "auto", "resume": "prefill"})
    up.answer(*speaks(call, loops()))
    up.answer(*speaks(call, [ScriptedFinish("stop")], 2))
    raw, text, ended, heal, _ = await gets(server.port, client, call)
    assert (heal["result"], ended.lower()) == ("poor", "stop") and text.startswith(START)
    assert raw.count(b'"finishReason"') + raw.count(b'"done":true') == 1


@pytest.mark.parametrize("where", ["thinking", "text"])
async def test_the_official_sdks_read_a_healed_stream_as_one_answer(up: Upstream, start: Start, where: str) -> None:
    genai = pytest.importorskip("google.genai", reason="google-genai is not installed (pip install -e .[test])")
    ollama = pytest.importorskip("ollama", reason="ollama-python is not installed (pip install -e .[test])")
    httpx = pytest.importorskip("httpx2", reason="the official SDKs are not installed (pip install -e .[test])")
    server = await start(provider={"heal": "auto", "resume": "prefill"})
    url = f"http://127.0.0.1:{server.port}"
    first = thinks() if where == "thinking" else loops()

    def google() -> tuple[str, list[str]]:
        with httpx.Client() as http:
            sdk = genai.Client(api_key="k", http_options={"base_url": url, "httpx_client": http})
            got = list(sdk.models.generate_content_stream(model="gemini-2.5-flash", contents="Why?"))
        ones = [one for part in got for one in part.candidates or ()]
        parts = [part for one in ones for part in (one.content and one.content.parts) or ()]
        text = "".join(part.text or "" for part in parts if not part.thought)
        return text, [one.finish_reason.value for one in ones if one.finish_reason]

    def local() -> tuple[str, list[str]]:
        sdk = ollama.Client(host=url)
        got = list(sdk.chat("m", [USER], stream=True))
        sdk._client.close()
        return "".join(one.message.content or "" for one in got), [one.done_reason for one in got if one.done]

    for call, asks in (("gemini", google), ("ollama", local)):
        up.answer(*speaks(call, first))
        up.answer(*speaks(call, says(REST), 2))
        text, ends = await asyncio.to_thread(asks)
        assert text.endswith(REST) and [one.lower() for one in ends] == ["stop"]
        assert (text == REST) is (where == "thinking")
