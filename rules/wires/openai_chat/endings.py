"""The chunks that end a chat stream: the quiet finish, the in-band error, the end mark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from ...framing.sse import encode
from ...values.delta import Channel
from ...values.failures import Failure, Kind, Phase
from ...values.transcript import Transcript
from ..base import Ask, Ending
from ..error_shapes import openai_error_object, sent_error

DONE = encode(b"[DONE]")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def chunk(ask: Ask, transcript: Transcript, choices: list[dict[str, Any]], **more: Any) -> bytes:
    """One chunk with the identity that the client knows; clients refuse a change of id."""
    head = transcript.head
    body: dict[str, Any] = {
        "id": head.get("id") or "chatcmpl-streamfuse",
        "object": "chat.completion.chunk",
        "created": head.get("created") or 0,
        "model": head.get("model") or ask.model,
    }
    for name in ("system_fingerprint", "service_tier"):
        if name in head:
            body[name] = head[name]
    body["choices"] = choices
    body.update(more)
    return encode(orjson.dumps(body))


def half(transcript: Transcript, choices: Iterable[int]) -> bool:
    """Was a tool call of these choices shown that is not complete? Then no normal end is safe: two agents repair and
    run it whatever the finish (pi, Qwen Code)."""
    return any(
        s.open and s.channel is Channel.TOOL and s.block[0] in choices and s.block[0] not in transcript.finished
        for s in transcript.shapes.values()
    )


def finish_reason(transcript: Transcript, choice: int, ending: Ending) -> str:
    """The finish reason of the choice: `tool_calls` where complete calls were shown, so that the client runs them."""
    keys = [s.block[1] for s in transcript.shapes.values() if s.block[0] == choice and s.channel is Channel.TOOL]
    if keys:
        return "function_call" if keys == ["function_call"] else "tool_calls"
    return ending.finish or "stop"


def close_choice(ask: Ask, transcript: Transcript, choice: int, ending: Ending) -> bytes:
    """The notice, where there is one, and the finish. b"" if the choice has finished already."""
    if choice in transcript.finished:
        return b""
    out = b""
    delta: dict[str, Any] = {}
    if choice not in transcript.choices:
        delta["role"] = "assistant"
        delta["content"] = ""
    if ending.notice is not None:
        # After shown text the notice is a paragraph of its own.
        lead = "\n\n" if any(s.block == (choice, "text") and s.chars for s in transcript.shapes.values()) else ""
        delta["content"] = lead + ending.notice
    if delta:
        out = chunk(ask, transcript, [{"index": choice, "delta": delta, "logprobs": None, "finish_reason": None}])
    reason = finish_reason(transcript, choice, ending)
    last = {"index": choice, "delta": {}, "logprobs": None, "finish_reason": reason}
    more = {"streamfuse": dict(ending.marker)} if ending.marker else {}
    return out + chunk(ask, transcript, [last], **more)


def close(ask: Ask, transcript: Transcript, ending: Ending) -> bytes:
    """Every open choice, the usage where it was asked for and is known, the end mark."""
    if transcript.done:
        return b""
    open_choices = transcript.unfinished or ([] if transcript.choices else [0])
    if half(transcript, open_choices):
        message = "The answer was cut inside a tool call that had already been sent in part; the call is void."
        return fail(ask, transcript, Failure(Phase.STREAM, Kind.LOOP, message, code="streamfuse_loop"), ending.marker)
    out = []
    quiet = Ending(marker=ending.marker, finish=ending.finish)
    for choice in open_choices:
        # Of several choices only those that would be empty need the notice.
        noted = len(open_choices) == 1 or not transcript.visible(choice)
        out.append(close_choice(ask, transcript, choice, ending if noted else quiet))
    usage = transcript.usage
    if out and ask.wants_usage and usage and all(type(usage.get(name)) is int for name in _COUNTS):
        out.append(chunk(ask, transcript, [], usage=usage))
    return b"".join(out) + DONE


def fail(ask: Ask, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None) -> bytes:
    """An error for clients that read `error`, an end for clients that read choices, then the end mark (LiteLLM #39748:
    clients hang without it). The error comes once without choices, because @ai-sdk/openai takes an event with choices
    for a chunk and would end the answer normally."""
    if transcript.done:
        return b""
    choices = transcript.unfinished or ([] if transcript.choices else [0])
    if not choices:
        return DONE
    ends: list[dict[str, Any]] = [
        {"index": i, "delta": {}, "logprobs": None, "finish_reason": "error"} for i in choices
    ]
    if not transcript.choices:
        ends[0]["delta"] = {"role": "assistant", "content": ""}
    error = openai_error_object(failure)
    _, beside = sent_error(failure)
    more = {"streamfuse": dict(marker)} if marker else {}
    return encode(orjson.dumps({**beside, "error": error})) + chunk(ask, transcript, ends, error=error, **more) + DONE
