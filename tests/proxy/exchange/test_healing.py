"""Heals through the proxy: a looping answer goes on from a second call, or ends as it would have without it."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import aiohttp
import anthropic
import openai
import pytest

from proxy.demo.script import Line, Say, ScriptedCall, ScriptedFinish, Think, words
from proxy.observers.reports import Ended, Healed, LoopFound, Outcome
from tests.clock import FakeClock
from tests.proxy.conftest import Heard, Start
from tests.upstream import Step, Upstream, done, event, hang, head, reset, whole

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
    assert second["temperature"] == 1.0
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
        assert second == {**up.requests[1].json, "temperature": 1.0}


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
            turn: list[Any] = [
                *words("Then it went on. "),
                *(w for _ in range(COPIES) for w in words(other[:90] + ". ")),
                ScriptedFinish(),
            ]
            return speaks(wire, ask, turn, 2)
        case "loops later":
            turn = [*words(REST + " "), *loops()[len(list(words(START))) :]]
            return speaks(wire, ask, turn, 2)
        case "empty":
            return speaks(wire, ask, [ScriptedFinish()], 2)
        case "dies":
            return speaks(wire, ask, [], 2)
        case "half":
            return speaks(wire, ask, [ScriptedCall("write", ('{"text": "a',))], 2)
        case "half at its limit":
            return speaks(wire, ask, [ScriptedCall("write", ('{"text": "a',)), ScriptedFinish("length")], 2)
        case "blank":
            return speaks(wire, ask, [*words(" \n"), ScriptedFinish()], 2)
        case "thinks only":
            return speaks(wire, ask, [Think("I know it now."), ScriptedFinish()], 2)
        case "says nothing new":
            return speaks(wire, ask, [*words(START if first == "loops" else ""), ScriptedFinish("length")], 2)
        case "withheld":
            return speaks(wire, ask, [ScriptedFinish("content_filter")], 2)
        case "begins anew":
            return speaks(wire, ask, says(START[:130] + "But then it was another box, and nothing like it."), 2)
        case _:
            raise AssertionError(kind)


USELESS = ["refused", "down", "reset", "page", "loops", "loops elsewhere", "loops later", "dies", "half"]
SILENT = ["refused", "down", "reset", "page", "dies", "half"]
USELESS += ["empty", "half at its limit", "blank", "thinks only", "says nothing new", "withheld"]
FIRST = [(w, "thinks") for w in THINKING] + [(w, "loops") for w in PREFILLED]
MATRIX = [
    (wire, first, kind, stream)
    for wire, first in FIRST
    for kind in USELESS
    for stream in (True, False)
    if not kind.startswith("half") or (stream and wire != "openai_completions")
    if kind != "thinks only" or wire != "openai_completions"
    if kind != "says nothing new" or stream
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
    if kind == "loops later" and stream:
        assert got.text.startswith(before.text) or first == "thinks"
        assert REST in got.text and got.text[got.text.index(REST) :].count(UNIT) < COPIES // 2
    elif kind == "loops elsewhere" and stream:
        assert got.text.startswith(before.text if first == "loops" else "Then it went on. Its wire")
    else:
        assert got.text == before.text
    if kind in SILENT:
        assert told(got.raw) == told(before.raw)
    assert got.answer is None or (got.answer.error is None and not got.answer.calls)
    assert got.result in {"refused", "again", "broken", "restarted", "slow", "poor"}
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
@pytest.mark.parametrize("said", ["whole", "last words", "in other case", "in other lines"])
async def test_the_kept_text_said_again_is_left_out(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, said: str
) -> None:
    ask = body(wire, True)
    server = await start(provider=AUTO)
    up.answer(*speaks(wire, ask, loops()))
    kept = {
        "last words": START[-40:],
        "in other case": START.lower(),
        "in other lines": "\n" + START.replace(". ", ".\n"),
    }
    up.answer(*speaks(wire, ask, says(kept.get(said, START) + REST), 2))
    got = await asks(server.port, client, wire, ask)
    assert got.result == "healed" and got.text.lower().count("eight of them") == 1
    assert " ".join(got.text.split()).endswith(UNIT + REST)


# --- and what goes with it -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("wire", THINKING)
async def test_a_tool_call_may_follow_the_thoughts(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str
) -> None:
    ask = body(wire, True)
    server = await start(provider={"heal": "thinking", "resume": "llamacpp"})
    up.answer(*speaks(wire, ask, thinks()))
    call: list[Any] = [*words("I look."), ScriptedCall("read", ('{"a": ', "1}")), ScriptedFinish("tool_calls")]
    up.answer(*speaks(wire, ask, call, 2))
    got = await asks(server.port, client, wire, ask)
    assert got.answer is not None and got.answer.calls == [("read", '{"a": 1}')]
    assert (got.text, got.result) == ("I look.", "healed")
    assert got.end == {"openai_chat": "tool_calls", "anthropic_messages": "tool_use"}.get(wire, "completed")


@pytest.mark.parametrize("wire", ["openai_chat", "anthropic_messages"])
async def test_a_tool_call_may_follow_a_text(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str
) -> None:
    ask = body(wire, True)
    server = await start(provider=AUTO)
    up.answer(*speaks(wire, ask, loops()))
    up.answer(*speaks(wire, ask, [ScriptedCall("read", ('{"a": ', "1}")), ScriptedFinish("tool_calls")], 2))
    got = await asks(server.port, client, wire, ask)
    assert got.answer is not None and got.answer.calls == [("read", '{"a": 1}')]
    assert got.text.startswith(START) and got.result == "healed"


@pytest.mark.parametrize("wire", ["openai_chat", "anthropic_messages"])
async def test_text_before_a_looping_call_is_gone_on_from(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str
) -> None:
    ask = body(wire, True)
    server = await start(provider=AUTO)
    up.answer(*speaks(wire, ask, [*words("I write it down now."), *calls()]))
    good = ScriptedCall("write", ('{"text": ', '"short"}'))
    up.answer(*speaks(wire, ask, [*words(" Here it is."), good, ScriptedFinish("tool_calls")], 2))
    got = await asks(server.port, client, wire, ask)
    assert got.answer is not None and got.answer.calls == [("write", '{"text": "short"}')]
    assert (got.text, got.result) == ("I write it down now. Here it is.", "healed")
    assert up.requests[1].json["messages"][-1]["content"] == "I write it down now."


@BOTH
@pytest.mark.parametrize("wire", THINKING)
async def test_usage_is_the_first_prompt_and_the_output_of_both(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, stream: bool
) -> None:
    ask = body(wire, stream)
    server = await start(provider={"heal": "thinking", "resume": "llamacpp"})
    up.answer(*speaks(wire, ask, thinks()))
    up.answer(*speaks(wire, ask, says(REST), 2))
    got = await asks(server.port, client, wire, ask)
    asked = [got.usage[name] for name in ("prompt_tokens", "input_tokens") if name in got.usage]
    said = [got.usage[name] for name in ("completion_tokens", "output_tokens") if name in got.usage]
    assert asked in ([10], []) and said[0] > len(list(words(REST))) + 40
    assert asked or wire == "anthropic_messages", "there it stands in message_start"


async def test_usage_that_the_second_answer_does_not_tell_is_the_first_ones(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    server = await start(provider=AUTO)
    first = answer([{"message": {"role": "assistant", "content": START + UNIT * COPIES}}], 1, usage=USAGE)
    up.answer(*whole(first))
    up.answer(*whole(answer([{"message": {"role": "assistant", "content": REST}}], 2)))
    got = await asks(server.port, client, "openai_chat", body("openai_chat", False))
    assert (got.text, got.result, got.usage) == (REST, "healed", USAGE)


USAGE = {"prompt_tokens": 10, "completion_tokens": 500, "total_tokens": 510}


def answer(choices: list[dict[str, Any]], number: int, **more: Any) -> dict[str, Any]:
    """A whole chat answer with these choices."""
    numbered = [{"index": at, "finish_reason": "stop", **choice} for at, choice in enumerate(choices)]
    return {"id": f"c{number}", "object": "chat.completion", "created": 1, "model": "m", "choices": numbered, **more}


@BOTH
@pytest.mark.parametrize("first", ["loops", "thinks"])
async def test_what_a_second_answer_has_too_much_is_left_out(
    up: Upstream, start: Start, client: aiohttp.ClientSession, stream: bool, first: str
) -> None:
    """Another choice, and the usage twice."""
    ask = body("openai_chat", stream)
    server = await start(provider=AUTO)
    up.answer(*speaks("openai_chat", ask, loops() if first == "loops" else thinks()))
    if stream:
        said: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": REST}, "finish_reason": None}]},
            {"choices": [{"index": 1, "delta": {"content": "And another one."}, "finish_reason": None}]},
            {"choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": USAGE},
            {"choices": [], "usage": USAGE},
        ]
        chunks = [event({"id": "c2", "object": "chat.completion.chunk", **one}) for one in said]
        up.answer(head(), *chunks, done())
    else:
        two = [{"message": {"role": "assistant", "content": text}} for text in (REST, "And another one.")]
        up.answer(*whole(answer(two, 2, usage=USAGE)))
    got = await asks(server.port, client, "openai_chat", ask)
    assert (got.end, got.result) == ("stop", "healed") and got.text.endswith(REST)
    assert b"another one" not in got.raw and got.raw.count(b'"usage":{') == 1


async def test_a_thought_before_the_second_text_is_an_item_of_its_own(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    """The whole texts at the end of each item are those that came in pieces: with the running sentence completed, and
    without what was said again."""
    ask = body("openai_responses", True)
    server = await start(provider={"heal": "note"})
    up.answer(*speaks("openai_responses", ask, loops()))
    lines: list[Line] = [Think("How does it go on?"), *words(START[-40:] + REST), ScriptedFinish()]
    up.answer(*speaks("openai_responses", ask, lines, 2))
    got = await asks(server.port, client, "openai_responses", ask)
    assert got.result == "healed" and got.text.endswith(REST) and got.text.count("eight of them") == 1


async def test_a_loop_that_came_in_one_event_was_not_shown_but_what_stood_before_it_is(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    """The whole text at the end of the item holds it, too."""
    ask = body("openai_responses", True)
    server = await start(provider={"heal": "note"})
    up.answer(*speaks("openai_responses", ask, [Say(START + UNIT * COPIES), ScriptedFinish()]))
    up.answer(*speaks("openai_responses", ask, says(REST), 2))
    got = await asks(server.port, client, "openai_responses", ask)
    assert (" ".join(got.text.split()), got.result) == (f"{START} {UNIT} {REST}".replace("  ", " "), "healed")


@BOTH
@pytest.mark.parametrize(("wire", "first"), FIRST)
async def test_a_second_answer_may_end_at_its_length(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, first: str, stream: bool
) -> None:
    ask = body(wire, stream)
    server = await start(provider=AUTO)
    up.answer(*speaks(wire, ask, loops() if first == "loops" else thinks()))
    up.answer(*speaks(wire, ask, says(REST, "length"), 2))
    got = await asks(server.port, client, wire, ask)
    # (the scripted provider says of no whole response that it is incomplete)
    ends = {"anthropic_messages": "max_tokens", "openai_responses": "incomplete" if stream else "completed"}
    assert (got.end.partition(":")[0], got.result) == (ends.get(wire, "length"), "healed") and REST in got.text


async def test_a_loop_begun_again_later_is_cut(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    ask = body("openai_chat", True)
    server = await start(provider=AUTO)
    up.answer(*speaks("openai_chat", ask, loops()))
    up.answer(*speaks("openai_chat", ask, [*words(REST + " "), *loops()[len(list(words(START))) :]], 2))
    got = await asks(server.port, client, "openai_chat", ask)
    assert (got.end, got.result) == ("stop", "again")
    assert REST in got.text and UNIT not in got.text[got.text.index(REST) :], "its second copy was enough"


@BOTH
@pytest.mark.parametrize(("wire", "first"), FIRST)
async def test_silence_is_given_up_and_ends_quietly(
    up: Upstream, start: Start, client: aiohttp.ClientSession, wire: str, first: str, stream: bool
) -> None:
    clock = FakeClock()
    ask = body(wire, stream)
    server = await start(clock=clock, provider=AUTO)
    up.answer(*speaks(wire, ask, loops() if first == "loops" else thinks()))
    up.answer(head(), hang())
    asking = asyncio.ensure_future(asks(server.port, client, wire, ask))
    await up.until(lambda: len(up.requests) == 2)
    for _ in range(30):
        await clock.advance(1)
    got = await asking
    assert (got.end, got.result) == (QUIET[wire], "slow")
    await up.until(lambda: up.gone >= 1)


async def test_what_was_refused_is_not_asked_again(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    """One refused call for each provider and model, and none after it."""
    ask = body("openai_chat", True)
    server = await start(provider={"heal": "thinking", "resume": "llamacpp"})
    up.answer(*speaks("openai_chat", ask, thinks()))
    up.answer(*second("refused", "openai_chat", ask, "thinks"))
    up.answer(*speaks("openai_chat", ask, thinks()))
    up.answer(*speaks("openai_chat", ask, thinks()))
    up.answer(*speaks("openai_chat", ask, says(REST)))
    assert (await asks(server.port, client, "openai_chat", ask)).result == "refused"
    assert (await asks(server.port, client, "openai_chat", ask)).result == ""
    assert len(up.requests) == 3
    other = {**ask, "model": "other"}
    assert (await asks(server.port, client, "openai_chat", other)).result == "healed"


async def test_watching_tells_where_it_would_have_healed(
    up: Upstream, start: Start, client: aiohttp.ClientSession, heard: Heard
) -> None:
    for stream in (True, False):
        ask = body("openai_chat", stream)
        server = await start(provider=AUTO, rules={"mode": "watch"})
        up.answer(*speaks("openai_chat", ask, thinks()))
        got = await asks(server.port, client, "openai_chat", ask)
        assert got.marker == {} and heard.of(Healed)[-1].result == "watched"
    assert len(up.requests) == 2 and len(heard.of(Healed)) == 2


@pytest.mark.parametrize(("word", "calls_"), [("off", 1), ("none", 1), ("on", 2), ("thinking", 2)])
async def test_a_request_says_it_for_itself(
    up: Upstream, start: Start, client: aiohttp.ClientSession, word: str, calls_: int
) -> None:
    ask = body("openai_chat", True)
    server = await start(provider={"heal": "none" if calls_ == 2 else "auto", "resume": "llamacpp"})
    up.answer(*speaks("openai_chat", ask, thinks()))
    up.answer(*speaks("openai_chat", ask, says(REST), 2))
    got = await asks(server.port, client, "openai_chat", ask, {"x-streamfuse-heal": word})
    assert len(up.requests) == calls_ and up.requests[-1].header("x-streamfuse-heal") is None
    assert (got.result == "healed") == (calls_ == 2)


async def test_another_word_is_refused(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    server = await start()
    ask = body("openai_chat", True)
    assert (await asks(server.port, client, "openai_chat", ask, {"x-streamfuse-heal": "yes"})).status == 400


@pytest.mark.parametrize("more", [{"reserve": {"ratio": 0, "floor": 0}}, {"replay": {"rounds": 0}}])
async def test_reserve_and_rounds_bind_a_heal(
    up: Upstream, start: Start, client: aiohttp.ClientSession, more: dict[str, Any]
) -> None:
    ask = body("openai_chat", True)
    server = await start(provider=AUTO, **more)
    up.answer(*speaks("openai_chat", ask, thinks()))
    got = await asks(server.port, client, "openai_chat", ask)
    assert got.end == "stop" and len(up.requests) == 1


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_a_limit_of_calls_binds_a_heal(
    up: Upstream, start: Start, client: aiohttp.ClientSession, stream: bool
) -> None:
    """The place is taken for the second call, and given back after it."""
    ask = body("openai_chat", stream)
    server = await start(provider={**AUTO, "concurrency": {"limit": 1}})
    for _ in range(2):
        up.answer(*speaks("openai_chat", ask, thinks()))
        up.answer(*speaks("openai_chat", ask, says(REST), 2))
        assert (await asks(server.port, client, "openai_chat", ask)).result == "healed"
    assert len(up.requests) == 4


async def test_a_provider_that_is_not_known_is_not_asked_again_by_default(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    ask = body("openai_chat", True)
    server = await start()
    up.answer(*speaks("openai_chat", ask, thinks()))
    assert (await asks(server.port, client, "openai_chat", ask)).end == "stop" and len(up.requests) == 1


async def test_an_engine_is_known_by_its_header(up: Upstream, start: Start, client: aiohttp.ClientSession) -> None:
    ask = body("openai_chat", True)
    server = await start()
    _, *steps = speaks("openai_chat", ask, thinks())
    up.answer(head(headers={"Server": "llama.cpp"}), *steps)
    up.answer(*speaks("openai_chat", ask, says(REST), 2))
    got = await asks(server.port, client, "openai_chat", ask)
    assert got.result == "healed" and up.requests[1].json["chat_template_kwargs"]["enable_thinking"] is False


async def test_a_client_that_leaves_ends_the_second_call(
    up: Upstream, start: Start, client: aiohttp.ClientSession
) -> None:
    ask = body("openai_chat", True)
    server = await start(provider=AUTO)
    up.answer(*speaks("openai_chat", ask, thinks()))
    up.answer(head(), hang())
    asking = asyncio.ensure_future(asks(server.port, client, "openai_chat", ask))
    await up.until(lambda: len(up.requests) == 2)
    asking.cancel()
    await up.until(lambda: up.gone >= 1)


# --- the official SDKs -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("first", ["thinks", "loops"])
async def test_the_openai_sdk_sees_one_chat_answer(up: Upstream, start: Start, first: str) -> None:
    ask = body("openai_chat", True)
    server = await start(provider=AUTO)
    up.answer(*speaks("openai_chat", ask, thinks() if first == "thinks" else loops()))
    up.answer(*speaks("openai_chat", ask, says(REST), 2))
    sdk = openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="k", max_retries=0)
    del ask["stream"]
    async with sdk, sdk.chat.completions.stream(**ask) as stream:
        idents = {event.chunk.id async for event in stream if event.type == "chunk"}
        final = await stream.get_final_completion()
    said = final.choices[0].message.content or ""
    assert idents == {"chatcmpl-demo1"} and final.choices[0].finish_reason == "stop"
    assert said == REST if first == "thinks" else said.endswith(UNIT + REST)
    assert final.usage is not None and final.usage.total_tokens > 90


async def test_the_openai_sdk_sees_one_response(up: Upstream, start: Start) -> None:
    ask = body("openai_responses", True)
    server = await start(provider=AUTO)
    up.answer(*speaks("openai_responses", ask, thinks()))
    up.answer(*speaks("openai_responses", ask, says(REST), 2))
    sdk = openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="k", max_retries=0)
    del ask["stream"]
    async with sdk, sdk.responses.stream(**ask) as stream:
        numbers = [event.sequence_number async for event in stream]
        final = await stream.get_final_response()
    assert numbers == list(range(len(numbers))) and final.status == "completed"
    assert [item.type for item in final.output] == ["reasoning", "message"] and final.output_text == REST


@pytest.mark.parametrize("first", ["thinks", "loops"])
async def test_the_anthropic_sdk_sees_one_message(up: Upstream, start: Start, first: str) -> None:
    ask = body("anthropic_messages", True)
    server = await start(provider=AUTO)
    up.answer(*speaks("anthropic_messages", ask, thinks() if first == "thinks" else loops()))
    up.answer(*speaks("anthropic_messages", ask, says(REST), 2))
    sdk = anthropic.AsyncAnthropic(base_url=f"http://127.0.0.1:{server.port}", api_key="k", max_retries=0)
    more = {"temperature": ask.pop("temperature")}
    del ask["stream"]
    async with sdk, sdk.messages.stream(**ask, extra_body=more) as stream:
        final = await stream.get_final_message()
    kinds = [block.type for block in final.content]
    assert kinds == (["thinking", "text"] if first == "thinks" else ["text"])
    assert final.stop_reason == "end_turn" and final.content[-1].text.endswith(REST)  # type: ignore[union-attr]
