"""The first door, end to end: reminders, refusals, our own cuts coming back, follow-ups, and requests left alone."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from proxy.memory import run_memory
from proxy.observers.reports import Ended, FollowedUp, LoopFound, Outcome, Rewritten
from proxy.server.app import Server
from rules.values.notices import MARK
from tests.clock import FakeClock
from tests.conversations import FORMS, Line
from tests.proxy.conftest import Heard, Start
from tests.proxy.exchange.test_exchange import ask, ends, said
from tests.proxy.redis_server import ABSENT, BINARY, RedisServer
from tests.upstream import Upstream, chat, done, event, finish, head, talk, whole

LOOPING: list[Line] = [("user", "Go."), *[("call", "read", '{"f":"a"}', "x")] * 3]
WORSE = [*LOOPING, *LOOPING[1:] * 5]
STREAM = {"stream": True}
SENTENCE = "The sea is wide and blue and the boat is small. "
STEPS = {"history": {"follow_ups": {"length": 3, "think_only": 2, "text_tool_call": 2, "json_schema": 2}}}


def body(lines: list[Line]) -> dict[str, Any]:
    return {**FORMS["openai_chat"](lines), **STREAM}


async def test_a_reminder_rides_on_the_request_and_the_answer_comes_through(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
) -> None:
    up.answer(*talk("I will try something else."))
    status, _, got = await ask(proxy, client, body(LOOPING))
    assert status == 200 and said(got) == "I will try something else."
    sent = up.requests[0].json["messages"]
    assert sent[:-1] == body(LOOPING)["messages"] and sent[-1]["content"].startswith(MARK)
    (found,) = heard.of(LoopFound)
    assert found.finding.rule == "repeated_action" and found.acted and found.action == "advise"
    assert heard.of(Ended)[0].step == "final"


async def test_the_third_finding_is_refused_without_asking_upstream(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
) -> None:
    up.answer(*talk("never"))
    status, headers, got = await ask(proxy, client, body(WORSE))
    error = json.loads(got)["error"]
    assert (status, error["code"], error["type"]) == (400, "streamfuse_loop_refused", "invalid_request_error")
    assert headers["x-should-retry"] == "false" and not up.requests
    assert heard.of(Ended)[0].outcome is Outcome.REFUSED
    status, _, got = await ask(proxy, client, body([*WORSE, ("user", "Then stop, and sum up.")]))
    assert status == 200 and len(up.requests) == 1


@pytest.mark.parametrize(("apart", "refused_at"), [(2.0, 12), (90.0, None)])
async def test_steps_that_lie_minutes_apart_are_reminded_and_never_refused(
    up: Upstream, start: Start, client: aiohttp.ClientSession, clock: FakeClock, apart: float, refused_at: int | None
) -> None:
    server = await start(clock=clock)
    up.answer(*talk("I look again."))
    step: Line = ("call", "read", '{"path":"a.py"}', "x = 1")
    at = None
    for n in range(1, 25):
        status, _, _ = await ask(server, client, body([("user", "Go."), *[step] * n]), {"x-session-id": "run"})
        if status == 400:
            at = n
            break
        assert (MARK in str(up.requests[-1].json)) == (n >= 3)
        await clock.advance(apart)
    assert at == refused_at


@pytest.mark.parametrize("mode", ["watch", "off"])
async def test_a_request_may_ask_to_be_left_alone(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard, mode: str
) -> None:
    up.answer(*talk("ok"))
    status, _, _ = await ask(proxy, client, body(WORSE), {"x-streamfuse-mode": mode})
    assert status == 200 and up.requests[0].json == body(WORSE)
    assert bool(heard.of(LoopFound)) == (mode == "watch")


async def test_history_can_be_switched_off_by_config(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(history={"mode": "off", "hygiene": False})
    up.answer(*talk("ok"))
    status, _, _ = await ask(server, client, body(WORSE))
    assert status == 200 and up.requests[0].json == body(WORSE)


async def test_a_request_that_no_rule_acts_on_goes_as_it_came(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    up.answer(*talk("ok"))
    raw = json.dumps(body([("user", "Go."), ("say", "I look.")]), indent=3).encode()
    await ask(proxy, client, raw)
    assert up.requests[0].body == raw


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_we_cut_comes_back_shortened(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard, stream: bool
) -> None:
    text = "Once upon a time. " + SENTENCE * 60
    if stream:
        pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
        up.answer(*talk(*pieces))
    else:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        up.answer(*whole({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}))
    _, _, got = await ask(proxy, client, {**FORMS["openai_chat"]([("user", "Go.")]), "stream": stream})
    shown = said(got) if stream else json.loads(got)["choices"][0]["message"]["content"]
    assert len(shown) < len(text)
    up.answer(*talk("Fine."))
    back = body([("user", "Go."), ("say", shown), ("user", "Go on.")])
    await ask(proxy, client, back)
    await ask(proxy, client, back)
    first, again = (r.json["messages"][1]["content"] for r in up.requests[1:])
    assert first == again and first.startswith("Once upon a time.") and len(first) <= len(shown)
    assert first.count(SENTENCE.strip()) <= 2
    # a whole answer went out with one copy already: nothing is left to shorten
    assert not stream or heard.of(Rewritten)[0].tidied


# --- asking again ----------------------------------------------------------------------------------------------------
def thought(*parts: str) -> list[Any]:
    return [head(), event(chat("", role="assistant")), *[event(chat(reasoning_content=p)) for p in parts]]


async def test_reasoning_alone_is_asked_again_and_never_shown(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
) -> None:
    server = await start(**STEPS)
    up.answer(*thought("hm", "well"), finish(), done())
    up.answer(*talk("The answer."))
    _, headers, got = await ask(server, client)
    assert said(got) == "The answer." and b"well" not in got
    assert headers["x-streamfuse-attempts"] == "2" and up.requests[1].json["messages"][-1]["content"].startswith(MARK)
    assert [f.name for f in heard.of(FollowedUp)] == ["think_only"]


async def test_asking_again_ends_with_its_count(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start(history={"follow_ups": {"think_only": 2}})
    up.answer(*thought("hm"), finish(), done())
    _, _, got = await ask(server, client)
    assert len(up.requests) == 3 and b"hm" in got and ends(got) == ["stop"]


async def test_an_answer_at_its_limit_is_continued_in_the_same_stream(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(history={"follow_ups": {"length": 3}})
    up.answer(head(), event(chat("Half an ", role="assistant")), finish("length"), done())
    up.answer(*talk("answer."))
    _, _, got = await ask(server, client)
    assert said(got) == "Half an answer." and ends(got) == ["stop"] and got.count(b"[DONE]") == 1
    again = up.requests[1].json["messages"]
    assert again[-2] == {"role": "assistant", "content": "Half an "} and again[-1]["content"].startswith(MARK)


async def test_a_tool_call_written_as_text_is_left_out(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(**STEPS)
    up.answer(head(), event(chat('<invoke name="read">', role="assistant")), finish("tool_calls"), done())
    up.answer(*talk("Sorry."))
    _, _, got = await ask(server, client)
    assert said(got) == "Sorry." and "<invoke" not in up.requests[1].body.decode()


async def test_an_answer_that_is_not_the_json_asked_for(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(**STEPS)
    wanted = {"model": "m", "stream": True, "messages": [], "response_format": {"type": "json_object"}}
    up.answer(*talk("Sure! Here it is"))
    up.answer(*talk('{"a": 1}'))
    _, _, got = await ask(server, client, wanted)
    assert said(got) == '{"a": 1}' and len(up.requests) == 2


async def test_without_follow_ups_nothing_is_held(up: Upstream, proxy: Server, client: aiohttp.ClientSession) -> None:
    up.answer(*thought("hm"), finish(), done())
    _, _, got = await ask(proxy, client)
    assert b"hm" in got and len(up.requests) == 1


# --- several processes -----------------------------------------------------------------------------------------------
@pytest.mark.skipif(BINARY is None, reason=ABSENT)
async def test_a_cut_by_one_process_is_known_to_the_other(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    async with RedisServer() as redis:
        shared = {"state": {"kind": "redis", "url": redis.url, "timeout": "5s"}}
        one, other = await start(**shared), await start(**shared)
        text = "Once upon a time. " + SENTENCE * 60
        up.answer(*talk(*[text[i : i + 7] for i in range(0, len(text), 7)]))
        _, _, got = await ask(one, client)
        up.answer(*talk("Fine."))
        back = body([("user", "Go."), ("say", said(got)), ("user", "Go on.")])
        for server in (other, one, other):
            await ask(server, client, back)
        sent = {r.json["messages"][1]["content"] for r in up.requests[1:]}
        assert len(sent) == 1 and len(sent.pop()) < len(said(got))


async def test_previous_response_id_is_followed_without_the_history(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession
) -> None:
    call = {
        "type": "function_call",
        "id": "fc",
        "call_id": "c",
        "name": "read",
        "arguments": '{"f":1}',
        "status": "completed",
    }
    statuses = []
    for n in range(19):
        answer = {"id": f"resp_{n}", "object": "response", "status": "completed", "model": "m", "output": [call]}
        up.answer(*whole(answer))
        given: Any = "Go." if n == 0 else [{"type": "function_call_output", "call_id": "c", "output": "x"}]
        sent = {"model": "m", "input": given, **({"previous_response_id": f"resp_{n - 1}"} if n else {})}
        async with client.post(f"http://127.0.0.1:{proxy.port}/v1/responses", json=sent) as got:
            statuses.append(got.status)
    assert statuses == [200] * 18 + [400]
    assert MARK in str(up.requests[3].json["input"]) and MARK not in str(up.requests[2].json["input"])


async def test_no_text_is_digested_where_nobody_has_cut_anything(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_memory, "known_keys", lambda *given: pytest.fail("looked for cuts that cannot be there"))
    up.answer(*talk("ok"))
    status, _, _ = await ask(proxy, client, body([("user", "Go."), ("say", SENTENCE * 3), ("user", "On.")]))
    assert status == 200
