"""Healthy answers of all wires and framings, each event with the place that a fault may be put at."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from rules import wires
from rules.wires.base import Ask

from .forms import ARRAY as IN_ARRAY
from .forms import CRLF, LINES, SSE, Form

TEXTS = ("Sure, ", "I will ", "look at the ", "readme now. ", "Here goes: ", "one two three.")
THOUGHTS = ("Let me think. ", "The user wants a file. ", "I will read it first. ")
PIECES = ('{"pa', 'th": "/tmp/', 'a.txt", "n"', ": 12}")
TEXT, THOUGHT, ARGUMENTS = "".join(TEXTS), "".join(THOUGHTS), "".join(PIECES)


class Said(NamedTuple):
    """One event. `place`: start, thought, text, tool, finish, usage or done."""

    place: str
    raw: bytes


event = SSE.event


def openai_chat() -> list[Said]:
    def chunk(delta: Any, finish: str | None = None, **more: Any) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if delta is not None else []
        return event({**_chunk("chat.completion.chunk"), "choices": choices, **more})

    def call(**function: str) -> dict[str, Any]:
        begins = {"id": "call_1", "type": "function"} if "name" in function else {}
        return {"tool_calls": [{"index": 0, **begins, "function": function}]}

    return [
        Said("start", chunk({"role": "assistant", "content": ""})),
        *(Said("thought", chunk({"reasoning_content": word})) for word in THOUGHTS),
        *(Said("text", chunk({"content": word})) for word in TEXTS),
        Said("tool", chunk(call(name="read", arguments=""))),
        *(Said("tool", chunk(call(arguments=piece))) for piece in PIECES),
        Said("finish", chunk({}, "tool_calls")),
        Said("usage", chunk(None, usage={"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8})),
        Said("done", b"data: [DONE]\n\n"),
    ]


def openai_completions() -> list[Said]:
    def chunk(text: str, finish: str | None = None) -> bytes:
        choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": None}
        return event({**_chunk("text_completion"), "choices": [choice]})

    return [
        Said("start", chunk("")),
        *(Said("text", chunk(word)) for word in TEXTS),
        Said("finish", chunk("", "stop")),
        Said("done", b"data: [DONE]\n\n"),
    ]


def anthropic_messages() -> list[Said]:
    said: list[Said] = []

    def tell(place: str, kind: str, **more: Any) -> None:
        said.append(Said(place, event({"type": kind, **more}, kind)))

    def block(place: str, index: int, begins: Any, kind: str, field: str, words: tuple[str, ...]) -> None:
        tell(place, "content_block_start", index=index, content_block=begins)
        for word in words:
            tell(place, "content_block_delta", index=index, delta={"type": kind, field: word})
        if place == "thought":
            signed = {"type": "signature_delta", "signature": "abc="}
            tell(place, "content_block_delta", index=index, delta=signed)
        tell(place, "content_block_stop", index=index)

    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    usage = {"input_tokens": 3, "output_tokens": 1}
    tell("start", "message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})
    tell("start", "ping")
    block("thought", 0, {"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", THOUGHTS)
    block("text", 1, {"type": "text", "text": ""}, "text_delta", "text", TEXTS)
    tool = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    block("tool", 2, tool, "input_json_delta", "partial_json", PIECES)
    stop = {"stop_reason": "tool_use", "stop_sequence": None}
    tell("finish", "message_delta", delta=stop, usage={"output_tokens": 9})
    tell("done", "message_stop")
    return said


def openai_responses() -> list[Said]:
    said: list[Said] = []

    def tell(place: str, kind: str, **more: Any) -> None:
        said.append(Said(place, event({"type": kind, "sequence_number": len(said), **more}, kind)))

    items: list[dict[str, Any]] = [
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": THOUGHT}]},
        {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [_output(TEXT)]},
        _call("completed", ARGUMENTS),
    ]
    tell("start", "response.created", response=_response("in_progress", []))
    tell("start", "response.in_progress", response=_response("in_progress", []))

    at: dict[str, Any] = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    tell("thought", "response.output_item.added", output_index=0, item={**items[0], "summary": []})
    tell("thought", "response.reasoning_summary_part.added", **at, part={"type": "summary_text", "text": ""})
    for word in THOUGHTS:
        tell("thought", "response.reasoning_summary_text.delta", **at, delta=word)
    tell("thought", "response.reasoning_summary_text.done", **at, text=THOUGHT)
    tell("thought", "response.reasoning_summary_part.done", **at, part=items[0]["summary"][0])
    tell("thought", "response.output_item.done", output_index=0, item=items[0])

    at = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    tell(
        "text", "response.output_item.added", output_index=1, item={**items[1], "status": "in_progress", "content": []}
    )
    tell("text", "response.content_part.added", **at, part=_output(""))
    for word in TEXTS:
        tell("text", "response.output_text.delta", **at, delta=word, logprobs=[])
    tell("text", "response.output_text.done", **at, text=TEXT, logprobs=[])
    tell("text", "response.content_part.done", **at, part=_output(TEXT))
    tell("text", "response.output_item.done", output_index=1, item=items[1])

    at = {"item_id": "fc_1", "output_index": 2}
    tell("tool", "response.output_item.added", output_index=2, item=_call("in_progress", ""))
    for piece in PIECES:
        tell("tool", "response.function_call_arguments.delta", **at, delta=piece)
    tell("tool", "response.function_call_arguments.done", **at, arguments=ARGUMENTS, name="read")
    tell("tool", "response.output_item.done", output_index=2, item=items[2])
    tell("finish", "response.completed", response=_response("completed", items))
    return said


def ollama() -> list[Said]:
    def line(text: str = "", done: bool = False, **more: Any) -> bytes:
        counts = {"done_reason": "stop", "prompt_eval_count": 3, "eval_count": 5} if done else {}
        return LINES.event({**_OLLAMA, "message": {**_SPOKEN, "content": text, **more}, "done": done, **counts})

    return [
        Said("start", line()),
        *(Said("thought", line(thinking=word)) for word in THOUGHTS),
        *(Said("text", line(word)) for word in TEXTS),
        Said("tool", line(tool_calls=[_OLLAMA_CALL])),
        Said("finish", line(done=True)),
    ]


def gemini(form: Form, pieces: bool) -> list[Said]:
    """`pieces`: the call comes in parts, as where `streamFunctionCallArguments` was asked for."""

    def said(place: str, *parts: Any, **more: Any) -> Said:
        return Said(place, form.event(_gemini(list(parts), **more)))

    calls: list[dict[str, Any]] = [{"name": "read", "args": json.loads(ARGUMENTS)}]
    if pieces:
        parts: list[dict[str, Any]] = [
            {"jsonPath": "$.path", "stringValue": "/tmp/", "willContinue": True},
            {"jsonPath": "$.path", "stringValue": "a.txt"},
            {"jsonPath": "$.n", "numberValue": 12},
        ]
        goes_on = {"willContinue": True}
        calls = [{"name": "read", **goes_on}, *({"partialArgs": [one], **goes_on} for one in parts), {}]
    return [
        said("start", {"text": ""}),
        *(said("thought", {"text": word, "thought": True}) for word in THOUGHTS),
        *(said("text", {"text": word}) for word in TEXTS),
        *(said("tool", {"functionCall": call}) for call in calls),
        said("finish", {"text": "", "thoughtSignature": "c2ln"}, finishReason="STOP"),
        *([] if form.end else [Said("done", b"\n]")]),
    ]


def _gemini(parts: list[Any], **more: Any) -> dict[str, Any]:
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **more}
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 8}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r1"}


def _chunk(kind: str) -> dict[str, Any]:
    return {"id": "c1", "object": kind, "created": 1700000000, "model": "m"}


def _output(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(status: str, arguments: str) -> dict[str, Any]:
    call = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "read"}
    return {**call, "arguments": arguments, "status": status}


def _response(status: str, output: list[Any]) -> dict[str, Any]:
    usage = {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 8}  # fmt: skip
    rest: dict[str, Any] = {
        "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1.0,
        "top_p": 1.0, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True,
    }  # fmt: skip
    named = {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": "m", "status": status}
    return {**named, "output": output, "usage": usage if status == "completed" else None, **rest}


class Wire(NamedTuple):
    path: str
    said: list[Said]
    asks: dict[str, Any]
    whole: bytes
    tools: bool = True
    form: Form = SSE
    wire: str = ""
    """Its name in the product, where it is another one."""
    whole_path: str = ""
    """Where a whole answer is asked for, if the body does not say it."""

    @property
    def events(self) -> list[bytes]:
        """What is sent, event by event."""
        return self.form.joined(raw for _, raw in self.said)

    @property
    def stream(self) -> bytes:
        return b"".join(self.events)

    def body(self, stream: bool) -> dict[str, Any]:
        """A request."""
        return self.asks if self.whole_path else {**self.asks, "stream": stream}

    def to(self, stream: bool) -> str:
        """The path of a request."""
        return self.whole_path if self.whole_path and not stream else self.path


def known(name: str, stream: bool = True) -> tuple[wires.base.Wire, Ask]:
    """The product's wire of this name, and the request as it reads it."""
    one = WIRES[name]
    wire = wires.get(one.wire or name)
    return wire, wire.ask(one.body(stream), one.to(stream).removeprefix("/v1beta"))


_CHAT: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
_TOKENS = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
_FUNCTION = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": ARGUMENTS}}
_WHOLE_CHAT = {"message": {"role": "assistant", "content": TEXT, "tool_calls": [_FUNCTION]}}
_WHOLE_MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [
        {"type": "text", "text": TEXT},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": json.loads(ARGUMENTS)},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 5},
}
_OLLAMA = {"model": "m", "created_at": "2026-11-30T10:00:00Z"}
_SPOKEN = {"role": "assistant", "content": TEXT}
_OLLAMA_CALL = {"function": {"name": "read", "arguments": json.loads(ARGUMENTS)}}
_WHOLE_OLLAMA = {**_OLLAMA, "message": {**_SPOKEN, "tool_calls": [_OLLAMA_CALL]}, "done": True, "done_reason": "stop"}
_GEMINI_CALL = {"functionCall": {"name": "read", "args": json.loads(ARGUMENTS)}}
_WHOLE_GEMINI = json.dumps(_gemini([{"text": TEXT}, _GEMINI_CALL], finishReason="STOP"), indent=2).encode()
_CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
_STREAMED, _WHOLE = "/v1beta/models/m:streamGenerateContent", "/v1beta/models/m:generateContent"
_MESSAGE_ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}


def _whole(kind: str, **choice: Any) -> bytes:
    one = {"index": 0, **choice}
    return json.dumps({**_chunk(kind), "choices": [one], "usage": _TOKENS}).encode()


WIRES = {
    "openai_chat": Wire(
        "/v1/chat/completions",
        openai_chat(),
        _CHAT,
        _whole("chat.completion", **_WHOLE_CHAT, finish_reason="tool_calls"),
    ),
    "openai_completions": Wire(
        "/v1/completions",
        openai_completions(),
        {"model": "m", "prompt": "hi"},
        _whole("text_completion", text=TEXT, finish_reason="stop"),
        tools=False,
    ),
    "openai_responses": Wire(
        "/v1/responses",
        openai_responses(),
        {"model": "m", "input": "hi"},
        json.dumps(
            _response("completed", [{**_MESSAGE_ITEM, "content": [_output(TEXT)]}, _call("completed", ARGUMENTS)])
        ).encode(),
    ),
    "anthropic_messages": Wire("/v1/messages", anthropic_messages(), _CHAT, json.dumps(_WHOLE_MESSAGE).encode()),
    "ollama": Wire("/api/chat", ollama(), _CHAT, json.dumps(_WHOLE_OLLAMA).encode(), form=LINES),
    "gemini": Wire(
        f"{_STREAMED}?alt=sse",
        gemini(CRLF, pieces=True),
        _CONTENTS,
        _WHOLE_GEMINI,
        form=CRLF,
        whole_path=_WHOLE,
    ),
    "gemini_array": Wire(
        _STREAMED,
        gemini(IN_ARRAY, pieces=False),
        _CONTENTS,
        _WHOLE_GEMINI,
        form=IN_ARRAY,
        wire="gemini",
        whole_path=_WHOLE,
    ),
}
