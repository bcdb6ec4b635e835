"""Heals through the proxy: a looping answer goes on from a second call, or ends as it would have without it."""

from __future__ import annotations

import os
from typing import Any

import aiohttp
import pytest

from proxy.demo.script import Line, ScriptedCall, ScriptedFinish, words
from proxy.observers.reports import Ended, Healed, LoopFound, Outcome
from tests.proxy.conftest import Heard, Start
from tests.upstream import Step, Upstream, reset, whole

from .heals import COPIES, QUIET, REST, START, UNIT, asks, body, calls, loops, says, speaks, thinks

THINKING = ["openai_chat", "anthropic_messages", "openai_responses"]
PREFILLED = ["openai_chat", "openai_completions", "anthropic_messages"]
BOTH = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
AUTO = {"heal": "auto", "resume": "llamacpp"}


async def plain(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, lines: list[Line], ask: Any
) -> Any:
    """The same first answer without a heal."""
    server = await start(provider={"heal": "none"})
    up.answer(*speaks(wire, ask, lines))
    return await asks(server.port, client, wire, ask)


# --- it goes on ------------------------------------------------------------------------------------------------------
@BOTH
@pytest.mark.parametrize("wire", THINKING)
async def test_a_loop_in_reasoning_ends_there_and_the_answer_comes(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard, wire: str, stream: bool
) -> None:
    ask = body(wire, stream)
    before = await plain(up, start, client, wire, thinks(), ask)
    server = await start(provider={"heal": "thinking", "resume": "llamacpp"})
    up.answer(*speaks(wire, ask, thinks()))
    up.answer(*speaks(wire, ask, says(REST), 2))
    got = await asks(server.port, client, wire, ask)
    assert (got.text, got.end, got.result) == (REST, QUIET[wire], "healed")
    assert got.marker["action"] == "heal" and got.marker["heal"]["style"] == "thinking"
    assert len(up.requests) == 3
    first, second = up.requests[1].json, up.requests[2].json
    assert second != first and got.marker["heal"]["changed"]
    assert {**second, **dict.fromkeys(got.marker["heal"]["changed"])}.keys() >= first.keys()
    if stream:
        assert shared(before.raw, got.raw), "the bytes up to the cut are the same"
    assert heard.of(Ended)[-1].outcome is Outcome.OK
    assert [one.result for one in heard.of(Healed)] == ["healed"]


def told(raw: bytes) -> bytes:
    """What comes before the extra object, without pings."""
    return raw.split(b'"streamfuse"')[0].replace(b'event: ping\ndata: {"type":"ping"}\n\n', b"")


def shared(before: bytes, after: bytes) -> bool:
    """Is the cut answer's beginning, up to its end of a few events, the beginning of the healed one?"""
    events = before.split(b"\n\n")
    same = next(
        (i for i, (one, other) in enumerate(zip(events, after.split(b"\n\n"), strict=False)) if one != other), 0
    )
    return same >= len(events) - 9 and same > 10


@BOTH
@pytest.mark.parametrize("wire", PREFILLED)
async def test_a_text_goes_on_from_before_the_loop(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, stream: bool
) -> None:
    ask = body(wire, stream)
    before = await plain(up, start, client, wire, loops(), ask)
    server = await start(provider=AUTO)
    up.answer(*speaks(wire, ask, loops()))
    up.answer(*speaks(wire, ask, says(REST if stream else START + REST), 2))
    got = await asks(server.port, client, wire, ask)
    assert (got.end, got.result) == (QUIET[wire], "healed")
    second = up.requests[2].json
    assert second["temperature"] == 0.9
    if stream:
        assert got.text.startswith(START) and got.text.endswith(UNIT + REST)
        assert got.text == START + UNIT * ((len(got.text) - len(START + REST)) // len(UNIT)) + REST
        kept = second.get("prompt") or second["messages"][-1]["content"]
        assert str(kept).endswith("eight of them were whole."), "what stood before the first copy"
        assert UNIT.strip() not in str(kept)
        assert got.marker["heal"]["style"] == "prefill" and got.marker["heal"]["kept"] == len(START) - 1
        assert before.text and got.text.startswith(before.text) and shared(before.raw, got.raw)
    else:
        assert got.text == START + REST
        assert second == {**up.requests[1].json, "temperature": 0.9}


@BOTH
@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses", "anthropic_messages"])
async def test_a_call_that_was_never_shown_is_asked_for_again(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, stream: bool
) -> None:
    server = await start(provider=AUTO)
    tools = {"name": "write", "parameters": {}, "type": "function", "function": {"name": "write"}}
    ask = body(wire, stream, tools=[tools])
    up.answer(*speaks(wire, ask, calls()))
    up.answer(
        *speaks(wire, ask, [ScriptedCall("write", ('{"text": ', '"a short one"}')), ScriptedFinish("tool_calls")], 2)
    )
    got = await asks(server.port, client, wire, ask)
    assert got.result == "healed" and got.marker["heal"]["style"] == "scratch"
    assert b"a short one" in got.raw and b"ninth one" not in got.raw
    if got.answer is not None:
        assert got.answer.calls == [("write", '{"text": "a short one"}')]


# --- it does not -----------------------------------------------------------------------------------------------------
def second(kind: str, wire: str, ask: dict[str, Any], first: str) -> tuple[Step, ...]:
    """A second answer that is of no use."""
    error = {
        "error": {"message": "temperature, thinking and prefill are not supported", "type": "invalid_request_error"}
    }
    match kind:
        case "refused":
            return whole(error, 400)
        case "down":
            return whole({"error": {"message": "overloaded"}}, 503)
        case "reset":
            return (reset(),)
        case "page":
            return whole(b"<html>no</html>", 200, "text/html")
        case "loops":
            return speaks(wire, ask, thinks() if first == "thinks" else loops()[len(list(words(START))) :], 2)
        case "loops elsewhere":
            other = REST.replace("a", "o") + " "
            turn = [
                *words("Then it went on. "),
                *(w for _ in range(COPIES) for w in words(other[:90] + ". ")),
                ScriptedFinish(),
            ]
            return speaks(wire, ask, turn, 2)
        case "empty":
            return speaks(wire, ask, [ScriptedFinish()], 2)
        case "dies":
            return speaks(wire, ask, [], 2)
        case "half":
            return speaks(wire, ask, [ScriptedCall("write", ('{"text": "a',))], 2)
        case "begins anew":
            return speaks(wire, ask, says(START[:130] + "But then it was another box, and nothing like it."), 2)
        case _:
            raise AssertionError(kind)


USELESS = ["refused", "down", "reset", "page", "loops", "loops elsewhere", "dies", "half"]
FIRST = [(w, "thinks") for w in THINKING] + [(w, "loops") for w in PREFILLED]
MATRIX = [
    (wire, first, kind, stream)
    for wire, first in FIRST
    for kind in USELESS
    for stream in (True, False)
    if kind != "half" or (stream and wire != "openai_completions")
]
if os.environ.get("HEALS") != "all":  # `make heals` runs them all
    MATRIX = [case for at, case in enumerate(MATRIX) if at % 3 == 0]


@pytest.mark.parametrize(("wire", "first", "kind", "stream"), MATRIX)
async def test_a_heal_never_makes_it_worse(
    up: Upstream,
    start: Start,
    client: aiohttp.ClientSession,
    heard: Heard,
    wire: str,
    first: str,
    kind: str,
    stream: bool,
) -> None:
    """The answer ends with the quiet end that it would have had, and is otherwise the same."""
    ask = body(wire, stream)
    lines = thinks() if first == "thinks" else loops()
    before = await plain(up, start, client, wire, lines, ask)
    server = await start(provider=AUTO)
    up.answer(*speaks(wire, ask, lines))
    up.answer(*second(kind, wire, ask, first))
    got = await asks(server.port, client, wire, ask)
    assert got.status == 200 and got.end == before.end == QUIET[wire]
    stale = kind == "reset"  # a request that was never read goes once more
    assert 3 <= len(up.requests) <= 3 + stale, "one call more at most"
    if kind == "loops elsewhere" and stream:
        assert got.text.startswith(before.text if first == "loops" else "Then it went on. Its wire")
    else:
        assert got.text == before.text
    if not kind.startswith("loops"):
        assert told(got.raw) == told(before.raw)
    assert got.answer is None or (got.answer.error is None and not got.answer.calls)
    assert got.result in {"refused", "again", "broken", "restarted", "slow"}
    assert heard.of(Ended)[-1].outcome is Outcome.CUT
    assert [one.result for one in heard.of(Healed)] == [got.result]
    assert heard.of(LoopFound)[-1].acted


@pytest.mark.parametrize("wire", PREFILLED)
async def test_an_answer_that_begins_anew_is_not_shown(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str
) -> None:
    ask = body(wire, True)
    server = await start(provider=AUTO)
    up.answer(*speaks(wire, ask, loops()))
    up.answer(*second("begins anew", wire, ask, "loops"))
    got = await asks(server.port, client, wire, ask)
    assert got.result == "restarted" and got.text.count("The lamp") == 1 and "another box" not in got.text


@pytest.mark.parametrize("wire", PREFILLED)
@pytest.mark.parametrize("said", ["whole", "last words"])
async def test_the_kept_text_said_again_is_left_out(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, said: str
) -> None:
    ask = body(wire, True)
    server = await start(provider=AUTO)
    up.answer(*speaks(wire, ask, loops()))
    up.answer(*speaks(wire, ask, says((START if said == "whole" else START[-40:]) + REST), 2))
    got = await asks(server.port, client, wire, ask)
    assert got.result == "healed" and got.text.endswith(UNIT + REST) and got.text.count("eight of them") == 1
