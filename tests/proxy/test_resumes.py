"""An answer that breaks off in its text and goes on from a second call: one stream, one identity, nothing twice."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from proxy.observers.reports import Retrying
from tests.proxy.conftest import Heard, Start
from tests.readers import Answer
from tests.readers.anthropic_messages import read as read_messages
from tests.readers.openai_chat import read as read_chat
from tests.readers.openai_completions import read as read_completions
from tests.rules.wires.play import STREAMS
from tests.upstream import Step, Upstream, chunk, done, end, finish, head, reset, role, text

FAST = {"stream": {"max_retries": 2, "initial_delay": "10ms"}, "network": {"max_retries": 2, "initial_delay": "10ms"}}
USER = {"role": "user", "content": "Tea?"}


def half(wire: str, piece: bytes) -> tuple[Step, ...]:
    """A recording that breaks off behind the event with this piece."""
    raw = (STREAMS / wire / "text.sse").read_bytes()
    at = raw.index(b"\n\n", raw.index(piece)) + 2
    return head(), chunk(raw[:at]), reset()


def anew(wire: str, ident: bytes) -> tuple[Step, ...]:
    """The recording under another id."""
    raw = (STREAMS / wire / "text.sse").read_bytes()
    return head(), chunk(raw.replace(ident, ident + b"9")), end()


async def asked(server: Any, client: aiohttp.ClientSession, path: str, body: dict[str, Any]) -> bytes:
    async with client.post(f"http://127.0.0.1:{server.port}/v1/{path}", json=body) as reply:
        assert reply.status == 200
        return await reply.read()


def good(answer: Answer, said: str, end_: str) -> None:
    assert (answer.text, answer.end, answer.error) == (said, end_, None)


async def test_messages_go_on_by_prefill(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
) -> None:
    server = await start(provider={"resume": "prefill"}, retry=FAST)
    up.answer(*half("anthropic_messages", "wait —".encode()))
    up.answer(*anew("anthropic_messages", b"msg_01"))
    body = {"model": "m", "max_tokens": 99, "stream": True, "messages": [USER]}
    answer = read_messages(await asked(server, client, "messages", body))
    good(answer, "Put the kettle on, wait — then pour. ☕", "end_turn")
    assert answer.ident == "msg_01"
    assert len(answer.texts) == 1
    sent = up.requests[1].json["messages"]
    told = [{"type": "text", "text": "Put the kettle on, wait —"}]
    assert sent == [USER, {"role": "assistant", "content": told}]
    assert [retry.resume for retry in heard.of(Retrying)] == [True]


async def test_completions_go_on_behind_the_prompt(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(provider={"resume": "llamacpp"}, retry=FAST)
    up.answer(*half("openai_completions", b"the kettle"))
    up.answer(*anew("openai_completions", b"cmpl-7a"))
    body = {"model": "m", "stream": True, "prompt": "Tea? "}
    answer = read_completions(await asked(server, client, "completions", body))
    good(answer, "Put the kettle on. ☕", "0:stop")
    assert up.requests[1].json["prompt"] == "Tea? Put the kettle"


@pytest.mark.parametrize("style", ["llamacpp", "prefix", "prefill", "continue_final_message"])
async def test_chat_goes_on_in_the_providers_style(
    up: Upstream, start: Start, client: aiohttp.ClientSession, style: str
) -> None:
    server = await start(provider={"resume": style}, retry=FAST)
    up.answer(head(), role(), text("Put "), reset())
    up.answer(head(), role(), text("the kettle on."), finish(), done())
    body = {"model": "m", "stream": True, "messages": [USER]}
    answer = read_chat(await asked(server, client, "chat/completions", body))
    good(answer, "Put the kettle on.", "0:stop")
    sent = up.requests[1].json
    assert sent["messages"][-1] == {
        "role": "assistant",
        "content": "Put",
        **({"prefix": True} if style == "prefix" else {}),
    }
    assert sent.get("continue_final_message", False) == (style == "continue_final_message")


@pytest.mark.parametrize(("wire", "path"), [("anthropic_messages", "messages"), ("openai_responses", "responses")])
async def test_without_a_style_a_break_in_the_text_is_told(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, path: str
) -> None:
    server = await start(retry=FAST)
    up.answer(*half(wire, "wait —".encode()))
    body = {"model": "m", "max_tokens": 99, "stream": True, "messages": [USER], "input": "x"}
    sent = await asked(server, client, path, body)
    assert (b"event: error" in sent) or (b"event: response.failed" in sent)
    assert len(up.requests) == 1


async def test_reasoning_alone_may_be_asked_for_again(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    """The first, unsigned thinking is closed, and the second attempt's comes behind it."""
    raw = (STREAMS / "anthropic_messages" / "thinking.sse").read_bytes()
    at = raw.index(b"\n\n", raw.index(b" first,")) + 2
    server = await start(retry=FAST, replay={"reasoning": True})
    up.answer(head(), chunk(raw[:at]), reset())
    up.answer(head(), chunk(raw), end())
    body = {"model": "m", "max_tokens": 99, "stream": True, "messages": [USER]}
    answer = read_messages(await asked(server, client, "messages", body))
    good(answer, "Boil water.", "end_turn")
    assert [(item["type"], item["signed"]) for item in answer.items] == [
        ("thinking", False),
        ("thinking", True),
        ("text", False),
    ]
