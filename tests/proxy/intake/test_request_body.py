"""A large body is there once: its history is let go while the answer comes, and is read again where it is needed."""

from __future__ import annotations

import gzip
import json
from typing import Any

import aiohttp
import pytest

from proxy.exchange.context import Context
from proxy.intake import request_body
from proxy.intake.request_body import LargeBody
from proxy.memory.run_memory import RunMemory
from proxy.server.app import Server
from rules.framing.think_tags import begun
from rules.values.json import newest
from tests.proxy.conftest import Start
from tests.readers.openai_chat import read as read_chat
from tests.upstream import Upstream, close, event, head, reset, role, talk, text

WHOLE = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True, "tools": []}


def test_what_was_let_go_is_read_again_when_it_is_asked_for():
    reads = 0

    def again() -> dict[str, Any]:
        nonlocal reads
        reads += 1
        return dict(WHOLE)

    body = LargeBody(dict(WHOLE), again)
    assert body["messages"] == WHOLE["messages"] and reads == 0
    body.shrink()
    assert (body["model"], body.get("tools"), body.get("no"), "messages" in body, len(body)) == ("m", [], None, True, 4)
    with pytest.raises(KeyError):
        body["no"]
    body.shrink()
    assert list(body) == list(WHOLE), "in the client's order"
    assert {**body, "n": 1} == {**WHOLE, "n": 1} and reads == 1


@pytest.fixture
def shrunk(monkeypatch: pytest.MonkeyPatch) -> list[LargeBody]:
    """Every body counts as large. The bodies that were let go."""
    monkeypatch.setattr(request_body, "LARGE", 0)
    gone: list[LargeBody] = []
    shrink = LargeBody.shrink

    def told(self: LargeBody) -> None:
        shrink(self)
        gone.append(self)

    monkeypatch.setattr(LargeBody, "shrink", told)
    return gone


async def post(server: Server, client: aiohttp.ClientSession, body: Any, path: str = "chat/completions") -> bytes:
    async with client.post(f"http://127.0.0.1:{server.port}/v1/{path}", data=json.dumps(body)) as answer:
        assert answer.status == 200, await answer.read()
        return await answer.read()


async def test_an_ordinary_answer_asks_nothing_of_it(
    up: Upstream, start: Start, client: aiohttp.ClientSession, shrunk: list[LargeBody]
) -> None:
    up.answer(*talk(*(f"word {n} " for n in range(30))))
    server = await start()
    await post(server, client, WHOLE)
    assert [sorted(body._here) for body in shrunk] == [["model", "stream", "tools"]]
    assert up.requests[0].json == WHOLE


async def test_an_answer_of_responses_is_remembered_all_the_same(
    up: Upstream, start: Start, client: aiohttp.ClientSession, shrunk: list[LargeBody], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    monkeypatch.setattr(
        RunMemory, "answered", lambda _self, _order, _ask, _transcript, steps: kept.append(len(steps())) or None
    )
    call = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
    items = [{"role": "user", "content": "go"}, call, {"type": "function_call_output", "call_id": "c1", "output": "x"}]
    response = {"id": "r", "object": "response", "status": "completed", "output": []}
    up.answer(
        head(),
        event({"type": "response.created", "sequence_number": 0, "response": {**response, "status": "in_progress"}}),
        event({"type": "response.completed", "sequence_number": 1, "response": response}),
        close(),
    )
    server = await start()
    await post(server, client, {"model": "m", "stream": True, "input": items}, "responses")
    assert kept == [1]
    assert [sorted(body._here) for body in shrunk] == [["model", "stream"]]


@pytest.mark.parametrize("coding", ["", "gzip"])
async def test_an_answer_is_resumed_with_the_history_that_was_let_go(
    up: Upstream, start: Start, client: aiohttp.ClientSession, shrunk: list[LargeBody], coding: str
) -> None:
    up.answer(head(), role(), text("The first half, "), reset())
    up.answer(*talk("and the second."))
    fast = {"stream": {"max_retries": 2, "initial_delay": "1ms"}, "network": {"max_retries": 2, "initial_delay": "1ms"}}
    server = await start(provider={"resume": "prefill"}, retry=fast)
    raw = json.dumps(WHOLE).encode()
    async with client.post(
        f"http://127.0.0.1:{server.port}/v1/chat/completions",
        data=gzip.compress(raw) if coding else raw,
        headers={"Content-Encoding": coding} if coding else {},
    ) as answer:
        read = read_chat(await answer.read())
    assert (read.text, read.end) == ("The first half, and the second.", "0:stop")
    told = {"role": "assistant", "content": "The first half,"}
    assert up.requests[1].json["messages"] == [*WHOLE["messages"], told]  # type: ignore[misc]
    assert len(shrunk) == 1


async def test_seats_are_given_back_whatever_happens(
    up: Upstream, start: Start, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.intake.room.LARGE", 1)
    up.answer(*talk("hi"))
    up.answer(*talk("hi"))
    server = await start(provider={"wires": ["openai_chat"]})
    fuse: Context = server.fuse
    await post(server, client, WHOLE)
    await post(server, client, {"model": "m", "prompt": "x"}, "completions")  # passes unread
    assert fuse.room._seated == 0
    monkeypatch.setattr(RunMemory, "look", None)
    async with client.post(f"http://127.0.0.1:{server.port}/v1/chat/completions", data=json.dumps(WHOLE)) as answer:
        assert answer.status == 500
    assert fuse.room._seated == 0


def test_the_newest_item_is_told_without_the_history() -> None:
    def again() -> Any:
        raise AssertionError("all of it is parsed anew")

    last = {"role": "assistant", "content": "<think>\nSo"}
    for history in ({"messages": [{"role": "user", "content": "Why?"}, last]}, {"prompt": "Why? " * 100 + "<think>"}):
        body = LargeBody({"model": "m", **history}, again)
        body.shrink()
        assert begun(body)
    body = LargeBody({"messages": [last, {"role": "user", "content": "Why?"}]}, again)
    body.shrink()
    assert not begun(body) and newest(body, "prompt") is None


def grown(steps: int) -> dict[str, Any]:
    """An agent's request at this step."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look. " * 2000}]
    for step in range(steps):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "read", "arguments": f'{{"n":"{step}"}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": f"line {step} of {step * step}"})
    return {"model": "m", "messages": messages, "stream": True}


async def test_a_conversation_that_goes_on_is_not_parsed_again(
    up: Upstream, start: Start, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[int] = []
    loads = request_body.loads
    monkeypatch.setattr(request_body, "loads", lambda data: parsed.append(len(data)) or loads(data))
    server = await start()
    named = {"x-session-id": "one"}
    for steps in range(1, 8):
        up.answer(*talk("And on."))
        sent = json.dumps(grown(steps))
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        async with client.post(url, data=sent, headers=named) as answer:
            assert answer.status == 200
            await answer.read()
        assert up.requests[-1].body == sent.encode(), "it is sent as it came"
    assert not parsed, "who wants all of a body parses it anew"
    assert len(server.fuse.prefixes) >= 1


async def test_a_loop_in_a_conversation_that_goes_on_is_seen(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start()
    body = grown(9)
    same = body["messages"][-2:]
    for _ in range(3):
        up.answer(*talk("And on."))
        await post(server, client, body)
        body = {**body, "messages": [*body["messages"], *same]}
    assert len(up.requests[-1].json["messages"]) == 1 + 2 * 11 + 1, "with a reminder at the third"
