"""What an exchange tells of loops that nobody of ours cut: those of the server, and stutters that end by themselves."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from proxy.observers.metrics import MetricsObserver
from proxy.observers.reports import Ended, LoopFound, NearMissed, Outcome, Retrying, UpstreamCut
from proxy.server.app import Server
from tests.proxy.conftest import Heard, Start
from tests.upstream import Upstream, close, done, end, finish, head, role, text, whole

ASK = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
NEVER = {"request": {"max_retries": 0}, "stream": {"max_retries": 0}}
HALF = "spam and eggs, " * 9
"""More than half of what the default pack's refrain needs, and less than all of it."""
LOOP = "spam and eggs, " * 40


async def ask(server: Server, client: aiohttp.ClientSession, mode: str = "on", **more: Any) -> bytes:
    where = f"http://127.0.0.1:{server.port}/v1/chat/completions"
    async with client.post(where, json={**ASK, **more}, headers={"x-streamfuse-mode": mode}) as answer:
        return await answer.read()


async def test_a_loop_that_the_server_cut(up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard):
    up.answer(head(), role(), text(HALF), finish("repetition"), done())
    body = await ask(proxy, client)
    assert b'"finish_reason":"stop"' in body and b'"repetition"' in body
    ended = await heard.until(Ended)
    assert [(cut.reason, cut.choice) for cut in heard.of(UpstreamCut)] == [("repetition", 0)]
    assert ended.outcome is Outcome.OK and ended.server_cuts == tuple(heard.of(UpstreamCut))
    assert heard.of(NearMissed) == [], "it did not end by itself"


@pytest.mark.parametrize("mode", ["watch", "off"])
async def test_no_byte_is_changed_where_nothing_may_be(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard, mode: str
):
    up.answer(head(), role(), text(HALF), finish("repetition"), done())
    body = await ask(proxy, client, mode)
    assert b'"finish_reason":"repetition"' in body and b"streamfuse" not in body
    await heard.until(Ended)
    assert len(heard.of(UpstreamCut)) == 1


async def test_a_whole_answer_that_the_server_cut(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
):
    message = {"index": 0, "message": {"role": "assistant", "content": "ha"}, "finish_reason": "repetition"}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [message]}
    up.answer(*whole(answer))
    up.answer(*whole(answer))
    told = json.loads(await ask(proxy, client, stream=False))
    assert told["choices"][0]["finish_reason"] == "stop"
    assert told["streamfuse"] == {"action": "server", "reason": "repetition", "choice": 0, "attempts": 1}
    assert json.loads(await ask(proxy, client, "watch", stream=False)) == answer
    await heard.until(Ended)
    assert len(heard.of(UpstreamCut)) == 2


async def test_a_stutter_that_ends_by_itself(up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard):
    up.answer(head(), role(), text(HALF), finish(), done())
    body = await ask(proxy, client)
    ended = await heard.until(Ended)
    (told,) = heard.of(NearMissed)
    assert ended.near_misses == (told,) and ended.outcome is Outcome.OK and not heard.of(LoopFound)
    assert told.numbers["channel"] == "text" and 0.5 <= told.numbers["suspicion"] < 1
    assert b"streamfuse" not in body


async def test_a_stutter_in_the_middle_of_an_answer(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
):
    after = "And then the waiter went on to the next table, where nobody had asked for anything of that kind."
    up.answer(head(), role(), text(HALF), text(after), finish(), done())
    await ask(proxy, client)
    ended = await heard.until(Ended)
    assert [told.near_miss.rule for told in ended.near_misses] == ["refrain"]


async def test_a_calm_answer_and_one_that_went_on_calmly_have_none(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
):
    up.answer(head(), role(), text("All is well."), finish(), done())
    await ask(proxy, client)
    await heard.until(Ended)
    assert heard.of(NearMissed) == []


async def test_what_a_watching_rule_saw_ended_by_itself(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
):
    up.answer(head(), role(), text(LOOP), text("Well, that is all of it."), finish(), done())
    await ask(proxy, client, "watch")
    await heard.until(Ended)
    (told,) = heard.of(NearMissed)
    assert told.near_miss.suspicion == 1 and told.near_miss.rule in {
        found.finding.rule for found in heard.of(LoopFound)
    }


async def test_a_loop_that_was_cut_is_no_stutter(
    up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard
):
    up.answer(head(), role(), text(LOOP), finish(), done())
    await ask(proxy, client)
    ended = await heard.until(Ended)
    assert ended.outcome is Outcome.CUT and ended.near_misses == ()


async def test_an_end_without_a_finish_in_a_repetition_is_counted_and_tried_again(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
):
    server = await start(retry=NEVER)
    up.answer(head(), role(), text(HALF), close())
    await ask(server, client)
    await heard.until(Ended)
    assert [cut.reason for cut in heard.of(UpstreamCut)] == [] and not heard.of(Retrying), "a broken connection is none"
    up.answer(head(), role(), text(HALF), end())
    await ask(server, client)
    async with client.get(f"http://127.0.0.1:{server.port}/healthz"):
        pass
    assert [cut.reason for cut in heard.of(UpstreamCut)] == ["unfinished"]


async def test_both_are_metrics(up: Upstream, proxy: Server, client: aiohttp.ClientSession, heard: Heard):
    up.answer(head(), role(), text(HALF), finish("repetition_truncation"), done())
    up.answer(head(), role(), text(HALF), finish(), done())
    await ask(proxy, client)
    await ask(proxy, client)
    await heard.until(Ended)
    metrics = MetricsObserver()
    for report in heard:
        metrics.hear(report)

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, {"provider": "up", "wire": "openai_chat", **labels})

    assert value("streamfuse_server_cuts_total", reason="repetition_truncation") == 1
    assert value("streamfuse_stutters_total", channel="text") == 1
