"""A loop in an event that says several things: what stands before the loop goes on, as an event of its own."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from proxy.demo.voices import voice_for
from rules import wires
from rules.during.output import Forward, Halt, Output
from rules.during.stream import Stream
from rules.framing.framing import Framing
from rules.framing.sse import encode
from rules.values.delta import Channel
from rules.values.transcript import Shown
from rules.values.verdict import Finding
from tests.readers import Answer, gemini, ollama, openai_chat

from ..fakes import DONE, WordRules, chunk, finish, role, says, tool

GEMINI, OLLAMA, CHAT = wires.get("gemini"), wires.get("ollama"), wires.get("openai_chat")
SSE = "/models/m:streamGenerateContent?alt=sse"
ARRAY = "/models/m:streamGenerateContent"
A = {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "c2ln"}
B = {"functionCall": {"name": "g", "args": {"b": "LOOP"}}}
C = {"functionCall": {"name": "h", "args": {}}}
USER = {"role": "user", "parts": [{"text": "Tea?"}]}
COUNTS = {"promptTokenCount": 3, "candidatesTokenCount": 40, "totalTokenCount": 43}


def response(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    one = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [{**one, **more}], "usageMetadata": COUNTS, "modelVersion": "m", "responseId": "r1"}


def gemini_stream(call: str = SSE, rules: WordRules | None = None) -> Stream:
    return Stream(GEMINI, GEMINI.ask({"contents": [USER]}, call), rules or WordRules())


def ollama_stream(rules: WordRules | None = None) -> Stream:
    body = {"model": "m", "messages": [{"role": "user", "content": "Tea?"}]}
    return Stream(OLLAMA, OLLAMA.ask(body, "/api/chat"), rules or WordRules())


def chat_stream(**body: Any) -> Stream:
    ask = CHAT.ask({"model": "m-1", "stream": True, "messages": [{"role": "user", "content": "hi"}], **body})
    return Stream(CHAT, ask, WordRules())


def raw(out: list[Output]) -> bytes:
    return b"".join(one.raw for one in out if isinstance(one, Forward))


def cut(stream: Stream, *events: bytes) -> tuple[bytes, Finding]:
    """What the client gets of an answer that is cut in these events, and the finding."""
    out = [one for event in events for one in stream.feed(event, 1.0)]
    while stream.busy:
        out += stream.more(1.0)
    assert isinstance(out[-1], Halt) and isinstance(out[-1].cause, Finding)
    return raw(out) + stream.closing(stream.ending()), out[-1].cause


def line(body: dict[str, Any]) -> bytes:
    return orjson.dumps(body) + b"\n"


def framed(bodies: list[dict[str, Any]], call: str) -> list[bytes]:
    data = [orjson.dumps(body) for body in bodies]
    return [encode(one) for one in data] if call == SSE else [b"[" + data[0], *(b",\r\n" + one for one in data[1:])]


# --- Gemini ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("call", [SSE, ARRAY])
@pytest.mark.parametrize("before", [[], [response({"text": "I look."})]])
def test_calls_before_the_looping_one_go_on_and_those_behind_it_do_not(call: str, before: list[Any]) -> None:
    last = response({"text": " Now.", "thought": True}, A, B, C, finishReason="STOP")
    raw, finding = cut(gemini_stream(call), *framed([*before, last], call))
    assert finding.channel is Channel.TOOL
    answer = gemini.read(raw)
    assert answer.calls == [("f", '{"a":1}')]
    assert answer.reasoning == " Now." and answer.end == "0:STOP" and b'"c2ln"' in raw
    assert b"LOOP" not in raw and b'"h"' not in raw


def test_the_usage_beside_the_loop_is_told() -> None:
    raw, _ = cut(gemini_stream(), encode(orjson.dumps(response(A, B))))
    assert gemini.read(raw).usage == COUNTS


@pytest.mark.parametrize(
    ("parts", "text", "thought"),
    [
        ([{"text": "Yes. "}, {"text": "LOOP"}, {"text": "more"}], "Yes. ", ""),
        ([{"text": "Hm.", "thought": True}, {"text": "LOOP"}], "", "Hm."),
        ([{"text": "Yes."}, {"text": "LOOP", "thought": True}, A], "Yes.", ""),
        ([{"text": "Yes."}, B, {"text": "no"}], "Yes.", ""),
        ([{"text": "Yes."}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}}, B], "Yes.", ""),
    ],
)
def test_parts_before_the_loop_go_on(parts: list[Any], text: str, thought: str) -> None:
    raw, _ = cut(gemini_stream(), encode(orjson.dumps(response(*parts))))
    answer = gemini.read(raw)
    assert (said(answer).removesuffix(notice(said(answer))), answer.reasoning, answer.calls) == (text, thought, [])
    assert b"LOOP" not in raw and (b"inlineData" in raw) is any("inlineData" in part for part in parts)


def said(answer: Answer) -> str:
    return "".join(answer.texts.values())


def notice(text: str) -> str:
    """The notice at the end of a text; "" where there is none."""
    return text[text.index("[streamfuse]") :] if "[streamfuse]" in text else ""


def test_one_of_two_candidates_keeps_its_first_call_and_the_other_goes_on() -> None:
    two = response(A, B)
    two["candidates"].append({"content": {"parts": [{"text": "Tea."}], "role": "model"}, "index": 1})
    stream = Stream(
        GEMINI, GEMINI.ask({"contents": [USER], "generationConfig": {"candidateCount": 2}}, SSE), WordRules()
    )
    first = response({"text": "One"})
    first["candidates"].append({"content": {"parts": [{"text": "Two"}], "role": "model"}, "index": 1})
    out = stream.feed(encode(orjson.dumps(first)), 1.0) + stream.feed(encode(orjson.dumps(two)), 1.0)
    bodies = [one for event in raw(out).split(b"\n\n") if event for one in [orjson.loads(event[6:])]]
    said = [(c["index"], c["content"]["parts"], c.get("finishReason")) for b in bodies[1:] for c in b["candidates"]]
    assert said == [(0, [A], None), (0, [{"text": ""}], "STOP"), (1, [{"text": "Tea."}], None)]


def test_a_whole_call_beside_the_beginning_of_a_looping_one_goes_on() -> None:
    begun = {"functionCall": {"name": "g", "partialArgs": [{"jsonPath": "$.b", "stringValue": "so"}],
                              "willContinue": True}}  # fmt: skip
    more = {"functionCall": {"partialArgs": [{"jsonPath": "$.b", "stringValue": "LOOP"}], "willContinue": True}}
    stream = gemini_stream()
    raw, _ = cut(stream, *framed([response({"text": "So."}, A, begun), response(more)], SSE))
    answer = gemini.read(raw)
    assert said(answer) == "So." and [name for name, _ in answer.calls] == ["f"] and b'"g"' not in raw


# --- Ollama ----------------------------------------------------------------------------------------------------------
def message(done: bool = False, **said: Any) -> dict[str, Any]:
    ends = {"done_reason": "stop", "prompt_eval_count": 3, "eval_count": 9} if done else {}
    return {"model": "m", "created_at": "t", "message": {"role": "assistant", **said}, "done": done, **ends}


@pytest.mark.parametrize("done", [False, True])
def test_the_calls_of_a_line_before_the_looping_one_go_on(done: bool) -> None:
    told = [("f", {"a": 1}), ("g", {"b": "LOOP"}), ("h", {})]
    calls = [{"function": {"name": name, "arguments": given}} for name, given in told]
    raw, _ = cut(ollama_stream(), line(message(done, content="So.", thinking="Hm.", tool_calls=calls)))
    answer = ollama.read(raw)
    assert (said(answer), answer.reasoning, answer.end) == ("So.", "Hm.", "stop")
    assert answer.calls == [("f", '{"a":1}')]
    assert [orjson.loads(one)["done"] for one in raw.splitlines()] == [False, True]
    assert b"LOOP" not in raw and (b'"eval_count":9' in raw) is done


@pytest.mark.parametrize("generates", [False, True])
def test_thinking_before_looping_text_of_the_same_line_goes_on(generates: bool) -> None:
    said = {"model": "m", "created_at": "t", "thinking": "Hm.", "response": "LOOP", "done": False}
    raw, _ = cut(ollama_stream(), line(said if generates else message(content="LOOP", thinking="Hm.")))
    first = orjson.loads(raw.splitlines()[0])
    assert (first if generates else first["message"])["thinking"] == "Hm." and b"LOOP" not in raw


# --- chat, completions ------------------------------------------------------------------------------------------------
def calls(*arguments: str, **more: Any) -> bytes:
    told = [
        {"index": at, "id": f"call_{at}", "type": "function", "function": {"name": "f", "arguments": one}}
        for at, one in enumerate(arguments)
    ]
    return chunk({"index": 0, "delta": {**more, "tool_calls": told}, "finish_reason": None})


def test_of_a_chunk_with_several_calls_those_before_the_looping_one_go_on() -> None:
    raw, _ = cut(chat_stream(), role(), calls('{"a":1}', '{"b":"LOOP"}', "{}", content="So."))
    answer = openai_chat.read(raw)
    assert said(answer) == "So." and [arguments for _, arguments in answer.calls] == ['{"a":1}']
    assert answer.end == "0:tool_calls" and b"LOOP" not in raw


def test_text_beside_the_beginning_of_a_looping_call_goes_on() -> None:
    raw, _ = cut(chat_stream(), role(), calls('{"b":"', content="So."), tool(0, "LOOP"))
    answer = openai_chat.read(raw)
    assert (said(answer), answer.calls, answer.end) == ("So.", [], "0:stop")


def test_text_and_reasoning_of_one_chunk_are_told_apart() -> None:
    told = {"reasoning_content": "Hm.", "reasoning": "Hm.", "content": "LOOP"}
    event = chunk({"index": 0, "delta": told, "finish_reason": None})
    raw, _ = cut(chat_stream(), role(), says(reasoning_content="First. "), event)
    assert b'"reasoning_content":"Hm.","reasoning":"Hm."' in raw and b"LOOP" not in raw


def test_parts_of_a_list_before_the_loop_go_on() -> None:
    parts = [{"type": "text", "text": "Yes."}, {"type": "text", "text": "LOOP"}, {"type": "text", "text": "no"}]
    one = chunk({"index": 0, "delta": {"content": parts}, "finish_reason": None})
    raw, _ = cut(chat_stream(), role(), one)
    assert b'[{"type":"text","text":"Yes."}]' in raw and b"LOOP" not in raw and b'"no"' not in raw


def test_a_call_whose_last_piece_stands_beside_the_loop_goes_on_whole() -> None:
    first = tool(0, '{"a":', "f") + tool(1, '{"b":"', "g")
    both = [{"index": 0, "function": {"arguments": "1}"}}, {"index": 1, "function": {"arguments": "LOOP"}}]
    raw, _ = cut(chat_stream(), role(), first, says(tool_calls=both))
    answer = openai_chat.read(raw)
    assert [arguments for _, arguments in answer.calls] == ['{"a":1}'] and answer.end == "0:tool_calls"


def test_a_length_limit_drops_half_a_call_and_not_what_shares_its_chunk() -> None:
    stream = chat_stream()
    out = stream.feed(role() + calls('{"a":1}', '{"b":"', content="So.") + finish("length") + DONE, 1.0)
    answer = openai_chat.read(raw(out))
    assert said(answer).startswith("So.") and [arguments for _, arguments in answer.calls] == ['{"a":1}']


def test_of_several_choices_in_a_chunk_each_keeps_its_own() -> None:
    stream = chat_stream(n=2)
    both = chunk(
        {"index": 0, "delta": {"content": "So.", "tool_calls": [{"index": 0, "id": "c", "type": "function",
         "function": {"name": "f", "arguments": '{"b":"LOOP"}'}}]}, "finish_reason": None},
        {"index": 1, "delta": {"content": "Tea."}, "finish_reason": None},
    )  # fmt: skip
    out = stream.feed(role(0) + role(1) + both, 1.0)
    told = [(c["index"], c["delta"].get("content")) for b in raw(out).split(b"\n\n")[2:] if b
            for c in orjson.loads(b[6:])["choices"] if not c["finish_reason"]]  # fmt: skip
    assert told == [(0, "So."), (1, "Tea.")] and b"LOOP" not in raw(out)


# --- one long text ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [40, 900, 5000])
@pytest.mark.parametrize("path", ["/chat/completions", "/responses", "/messages", "/completions", "gemini", "ollama"])
def test_of_a_long_text_in_one_event_what_stands_before_the_loop_goes_on(path: str, size: int) -> None:
    healthy = ("The kettle sings. " * size)[:size]
    stream, event = one_event(path, healthy + "LOOP, LOOP, LOOP" + ", LOOP" * 20)
    sent, _ = cut(stream, *event)
    assert orjson.dumps(healthy)[1:-1] + b'LO"' in sent  # one copy, as the rule of these tests counts it
    assert b", LOOP" not in sent and stream.transcript.shown is Shown.FINISHED


def one_event(path: str, text: str) -> tuple[Stream, list[bytes]]:
    if path == "gemini":
        return gemini_stream(), [encode(orjson.dumps(response({"text": text})))]
    if path == "ollama":
        return ollama_stream(), [line(message(content=text))]
    wire = wires.for_path(path)
    body = {"model": "m", "stream": True, "messages": [], "input": [], "prompt": ""}
    speaking = voice_for(path)
    assert speaking is not None
    voice = speaking(body, 1)
    return Stream(wire, wire.ask(body), WordRules()), [voice.head(), voice.say(text)]


def test_framings_are_those_of_the_request() -> None:
    """The tests above rest on it."""
    kinds: list[Framing] = [GEMINI.framing(GEMINI.ask({}, call)) for call in (SSE, ARRAY)]
    assert [kind.name for kind in kinds] == ["sse", "json_array"]
