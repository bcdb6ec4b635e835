"""What breaks off in its text goes on, and the official SDKs take it for one answer; what could not go on is told.

Waits pass at once; the timers ring when the test moves the clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import openai
import pytest

from proxy.observers.reports import Ended, LoopFound, Outcome, Retrying
from tests.proxy.conftest import Heard, Start
from tests.proxy.test_faults import (
    BLOCK,
    MESSAGE_START,
    OVERLOADED,
    STEADY,
    STOP,
    Claude,
    Program,
    SwiftClock,
    named,
    streamed,
)
from tests.upstream import (
    Step,
    Upstream,
    chat,
    close,
    done,
    end,
    event,
    finish,
    hang,
    head,
    reset,
    role,
    text,
    wait,
    whole,
)

STORY = "Once upon a time there was a fuse that never blew."
FIRST, REST = STORY[:27], STORY[27:]
BROKEN = event({"error": {"message": "engine died", "type": "server_error", "code": 500}})
STYLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "continue_final_message": ({}, {"continue_final_message": True, "add_generation_prompt": False}),
    "llamacpp": ({}, {}),
    "prefix": ({"prefix": True}, {}),
    "prefill": ({}, {}),
}
"""Style: members of the assistant message, members of the body (vLLM, llama.cpp, DeepSeek and Mistral, Claude)."""


@pytest.fixture
def clock() -> SwiftClock:
    return SwiftClock()


Begin = Callable[..., Any]


@pytest.fixture
async def begin(start: Start, clock: SwiftClock) -> AsyncIterator[Begin]:
    """Starts a proxy whose provider continues in a style, and a program on an SDK in front of it."""
    programs: list[Any] = []

    async def beginning(style: str = "prefix", program: type[Any] = Program, **more: Any) -> Any:
        programs.append(program(await start(clock, provider={"resume": style}, **{"retry": STEADY, **more})))
        return programs[-1]

    yield beginning
    for one in programs:
        await one.sdk.close()


def usage(prompt: int, completion: int) -> Step:
    total = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return event({**chat(), "id": "chatcmpl-9", "choices": [], "usage": total})


# --- however it breaks -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dies", [[reset()], [close()], [end()], [BROKEN, end()]], ids=["rst", "fin", "clean", "error"])
@pytest.mark.parametrize("said", [REST, FIRST + REST], ids=["plain", "echo"])
async def test_a_break_in_the_text_is_not_noticed(
    up: Upstream, begin: Begin, clock: SwiftClock, heard: Heard, dies: list[Step], said: str
) -> None:
    program = await begin()
    up.answer(head(), role(), text(FIRST[:9]), text(FIRST[9:]), wait("break"), *dies)
    up.answer(head(), *streamed(*[said[at : at + 5] for at in range(0, len(said), 5)]), finish(), done())
    asking = asyncio.ensure_future(program.asks())
    await program.hears(FIRST)
    up.go("break")
    assert await asking == STORY
    assert program.idents == {"chatcmpl-1"} and program.roles == 1
    assert len(up.requests) == 2 and len(clock.waits) == 1
    assert [retry.resume for retry in heard.of(Retrying)] == [True]
    assert (await heard.until(Ended)).outcome is Outcome.OK


async def test_a_stall_in_the_text_is_not_noticed(up: Upstream, begin: Begin, clock: SwiftClock) -> None:
    program = await begin(timeouts={"idle": "60s"})
    up.answer(head(), role(), text(FIRST), hang())
    up.answer(head(), *streamed(REST), finish(), done())
    asking = asyncio.ensure_future(program.asks())
    await program.hears(FIRST)
    await clock.advance(62)
    assert await asking == STORY
    await up.until(lambda: up.gone == 1)


@pytest.mark.parametrize("style", STYLES)
async def test_each_style_asks_as_its_provider_wants_it(up: Upstream, begin: Begin, style: str) -> None:
    program = await begin(style)
    up.answer(head(), role(), text(FIRST), reset())
    up.answer(head(), *streamed(REST), finish(), done())
    assert await program.asks(max_tokens=50) == STORY
    first, second = (request.json for request in up.requests)
    in_message, in_body = STYLES[style]
    said = {"role": "assistant", "content": FIRST.rstrip(), **in_message}
    assert second == {**first, **in_body, "max_tokens": 49, "messages": [*first["messages"], said]}


async def test_usage_is_the_prompt_of_the_first_and_the_output_of_both(up: Upstream, begin: Begin) -> None:
    program = await begin()
    up.answer(head(), role(), text(FIRST[:9]), text(FIRST[9:]), reset())
    up.answer(head(), *streamed(REST), finish(), usage(prompt=42, completion=7), done())
    stream = await program.sdk.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "hi"}], stream=True, stream_options={"include_usage": True}
    )
    told = [part.usage async for part in stream if part.usage is not None]
    assert [(one.prompt_tokens, one.completion_tokens, one.total_tokens) for one in told] == [(40, 9, 49)]


async def test_reasoning_that_was_shown_is_not_asked_for_again(up: Upstream, begin: Begin) -> None:
    program = await begin("llamacpp")
    up.answer(head(), role(), event(chat(reasoning_content="Hm.")), text(FIRST), reset())
    up.answer(head(), *streamed(REST), finish(), done())
    assert await program.asks() == STORY
    second = up.requests[1].json
    assert second["messages"][-1] == {"role": "assistant", "content": FIRST.rstrip()}
    assert second["chat_template_kwargs"] == {"enable_thinking": False}


async def test_breaks_without_end_spend_the_budget(up: Upstream, begin: Begin) -> None:
    program = await begin(retry={"network": {"mode": "bounded", "max_retries": 2, "deadline": "1h"}})
    for word in ("one ", "two ", "three "):
        up.answer(head(), *streamed(word), reset())
    with pytest.raises(openai.APIError):
        await program.asks()
    assert program.heard == "one two three " and len(up.requests) == 3
    assert [one.json["messages"][-1]["content"] for one in up.requests] == ["hi", "one", "one two"]


async def test_a_stale_connection_costs_nothing(up: Upstream, begin: Begin, clock: SwiftClock) -> None:
    """The request that was to continue went into a connection that the other side had given up: it was never read."""
    program = await begin()
    up.answer(head(), role(), text(FIRST), end())
    up.answer(reset())
    up.answer(head(), *streamed(REST), finish(), done())
    assert await program.asks() == STORY
    assert [request.connection for request in up.requests] == [1, 1, 2]
    assert len(clock.waits) == 2 and clock.waits[1] == 0
    assert up.requests[1].body == up.requests[2].body


# --- where it cannot go on -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "more",
    [
        {"n": 2},
        {"logprobs": True},
        {"response_format": {"type": "json_object"}},
        {"extra_body": {"guided_regex": "a+"}},
    ],
    ids=["n", "logprobs", "json", "form"],
)
async def test_what_cannot_go_on_exactly_is_told(up: Upstream, begin: Begin, more: dict[str, Any]) -> None:
    program = await begin()
    up.answer(head(), role(), text(FIRST), reset())
    with pytest.raises(openai.APIError):
        await program.asks(**more)
    assert program.heard == FIRST and len(up.requests) == 1


async def test_after_a_tool_call_nothing_goes_on(up: Upstream, begin: Begin) -> None:
    program = await begin()
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    up.answer(head(), role(), text(FIRST), event(chat(tool_calls=[call])), reset())
    with pytest.raises(openai.APIError):
        await program.asks()
    assert len(up.requests) == 1


async def test_half_a_call_that_was_never_shown_is_made_anew(up: Upstream, begin: Begin) -> None:
    program = await begin()
    half = {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    call = {"index": 0, "id": "c2", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    up.answer(head(), role(), text(FIRST), event(chat(tool_calls=[half])), reset())
    up.answer(head(), *streamed(REST), event(chat(tool_calls=[call])), finish("tool_calls"), done())
    async with program.sdk.chat.completions.stream(model="m", messages=[{"role": "user", "content": "hi"}]) as stream:
        final = await stream.get_final_completion()
    message = final.choices[0].message
    assert message.content == STORY
    assert [(c.id, c.function.arguments) for c in message.tool_calls or ()] == [("c2", '{"a": 1}')]


LONG = "Once upon a time there was a fuse that never blew and never slept, not even once in a thousand nights."
REFUSED = {"error": {"message": "Prefill is not supported.", "type": "invalid_request_error"}}


@pytest.mark.parametrize(
    "answer",
    [whole(REFUSED, 400), (head(), *streamed(LONG[:80], "but no."), finish(), done())],
    ids=["refused", "anew"],
)
async def test_a_provider_that_cannot_after_all_is_no_news_to_the_client(
    up: Upstream, begin: Begin, answer: tuple[Step, ...]
) -> None:
    """It is told what broke its answer, which may pass, and nothing of our own request."""
    program = await begin()
    up.answer(head(), role(), text(LONG), BROKEN, end())
    up.answer(*answer)
    with pytest.raises(openai.APIError, match="engine died"):
        await program.asks()
    assert program.heard == LONG and len(up.requests) == 2


async def test_what_ends_a_continuation_for_good_is_told(up: Upstream, begin: Begin) -> None:
    """It had gone on: what came then is the client's own affair."""
    program = await begin()
    filtered = {"error": {"message": "Content policy.", "type": "invalid_request_error", "code": "content_filter"}}
    up.answer(head(), role(), text(FIRST), BROKEN, end())
    up.answer(head(), *streamed(REST), event(filtered), end())
    with pytest.raises(openai.APIError, match="Content policy"):
        await program.asks()
    assert program.heard == STORY and len(up.requests) == 2


# --- loops -----------------------------------------------------------------------------------------------------------
UNIT = "and the fuse went round and round again, "


async def test_a_loop_across_the_seam_is_cut(up: Upstream, begin: Begin, heard: Heard) -> None:
    program = await begin()
    half = [text(UNIT) for _ in range(5)]
    up.answer(head(), role(), text("Once: "), *half, reset())
    up.answer(head(), *(text(UNIT) for _ in range(60)), hang())
    said = await program.asks()
    found = heard.of(LoopFound)[0].finding
    assert found.hit.since <= len("Once: ") + len(UNIT), "it began before the break"
    assert said.startswith("Once: " + UNIT * 5) and len(up.requests) == 2


RETRY = {"change": {name: {"action": "retry"} for name in ("refrain", "nothing-new")}}


async def test_a_rule_with_retry_heals(up: Upstream, begin: Begin, heard: Heard) -> None:
    """The public name from before `heal` goes on working: as `heal: auto` where nobody has written `heal`."""
    opening = "There was a fuse in a house by the sea, and it had been there for as long as anybody knew. "
    program = await begin("continue_final_message", rules=RETRY)
    up.answer(head(), role(), text(opening), *[text(UNIT)] * 60, hang())
    up.answer(head(), *streamed("And so it ended."), finish(), done())
    said = await program.asks()
    assert said.startswith(opening) and said.endswith("And so it ended.")
    _, second = (request.json for request in up.requests)
    assert second["messages"][1:] == [{"role": "assistant", "content": opening.strip()}]
    assert second["temperature"] == 1.0 and second["continue_final_message"] is True
    assert program.idents == {"chatcmpl-1"}
    assert [found.acted for found in heard.of(LoopFound)] == [True]


# --- Messages --------------------------------------------------------------------------------------------------------
def says(*words: str) -> list[Step]:
    deltas = ({"type": "text_delta", "text": word} for word in words)
    return named(*({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas))


def second_message(*words: str) -> tuple[Step, ...]:
    start = {"type": "message_start", "message": {**MESSAGE_START["message"], "id": "msg_2"}}  # type: ignore[dict-item]
    return head(), *named(start, BLOCK), *says(*words), *named(*STOP), end()


@pytest.mark.parametrize("fault", [named(OVERLOADED), [reset()], [end()]], ids=["error", "rst", "clean"])
@pytest.mark.parametrize("words", [[REST], [FIRST, REST], [" there was", REST]], ids=["plain", "echo", "words"])
@pytest.mark.parametrize("style", ["prefill", "llamacpp"])
async def test_messages_go_on(up: Upstream, begin: Begin, style: str, words: list[str], fault: list[Step]) -> None:
    claude = await begin(style, Claude)
    up.answer(head(), *named(MESSAGE_START, BLOCK), *says(FIRST), *fault)
    up.answer(*second_message(*words))
    async with claude.sdk.messages.stream(
        model="m", max_tokens=99, messages=[{"role": "user", "content": "hi"}]
    ) as stream:
        final = await stream.get_final_message()
    expected = STORY if words[0] != " there was" else FIRST + "there was" + REST
    assert [block.text for block in final.content] == [expected]
    assert final.id == "msg_1" and final.stop_reason == "end_turn"
    assert final.usage.input_tokens == 1 and final.usage.output_tokens > 2
    sent = up.requests[1].json
    said = {"role": "assistant", "content": [{"type": "text", "text": FIRST.rstrip()}]}
    assert sent["messages"] == [{"role": "user", "content": "hi"}, said]
    assert sent["max_tokens"] < 99


async def test_messages_with_thinking_do_not_go_on(up: Upstream, begin: Begin) -> None:
    claude = await begin("prefill", Claude)
    up.answer(head(), *named(MESSAGE_START, BLOCK), *says(FIRST), *named(OVERLOADED), end())
    with pytest.raises(anthropic.APIError, match="Overloaded"):
        async with claude.sdk.messages.stream(
            model="m",
            max_tokens=2048,
            thinking={"type": "enabled", "budget_tokens": 1024},
            messages=[{"role": "user", "content": "hi"}],
        ) as stream:
            await stream.get_final_message()
    assert len(up.requests) == 1
