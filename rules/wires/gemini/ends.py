"""The events that end an answer of Gemini, in both framings: a finish, an error, the closing bracket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from ...framing.sse import encode
from ...values.delta import Channel
from ...values.failures import Failure, Kind, Phase
from ...values.transcript import Transcript
from ..base import Ask, Ending
from ..error_shapes import http_status, sent_error
from .request import in_array

ELEMENTS: Final = "elements"
"""In the transcript's memory: how many elements of the array the client has."""
UNFINISHED: Final = frozenset({"streamfuse_empty_stream", "streamfuse_not_an_answer", "streamfuse_truncated"})
"""The codes of answers that ended cleanly, without a finish: Gemini CLI alone reads an empty body and a web page so,
too."""
FINISHES: Final = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
"""The config's words in Google's. Words of Google's own stay as they are."""
STATUS: Final = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
    413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE",
    502: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE",
}  # fmt: skip
"""https://cloud.google.com/apis/design/errors#handling_errors"""


def framed(ask: Ask, transcript: Transcript, body: Mapping[str, Any]) -> bytes:
    """One event of ours."""
    data = orjson.dumps(body)
    if not in_array(ask):
        return encode(data)
    count = transcript.memory.get(ELEMENTS, 0)
    transcript.memory[ELEMENTS] = count + 1
    return (b",\r\n" if count else b"[") + data


def bracket(ask: Ask, transcript: Transcript) -> bytes:
    """The end of the array; b"" for server-sent events, which have none."""
    if not in_array(ask):
        return b""
    return b"\n]" if transcript.memory.get(ELEMENTS) else b"[]"


def close_choice(
    ask: Ask, transcript: Transcript, choice: int, ending: Ending, more: Mapping[str, Any] | None = None
) -> bytes:
    """The notice, where there is one, and the finish. b"" if the candidate has finished already."""
    if choice in transcript.finished:
        return b""
    text = ending.notice or ""
    if text and any(s.block == (choice, "text") and s.chars for s in transcript.shapes.values()):
        text = "\n\n" + text
    finish = ending.finish or "STOP"
    candidate = {
        "content": {"parts": [{"text": text}], "role": "model"},
        "finishReason": FINISHES.get(finish, finish),
        "index": choice,
    }
    body: dict[str, Any] = {"candidates": [candidate], **(more or {}), **_known(ask, transcript)}
    if ending.marker:
        body["streamfuse"] = dict(ending.marker)
    return framed(ask, transcript, body)


def finish(ask: Ask, transcript: Transcript, choice: int, reason: str, marker: Mapping[str, Any] | None) -> bytes:
    """The finish of a candidate, in an event of its own."""
    content = {"parts": [{"text": ""}], "role": "model"}
    candidate = {"content": content, "finishReason": reason, "index": choice}
    usage = {"usageMetadata": transcript.usage} if transcript.usage else {}
    told = {"streamfuse": dict(marker)} if marker else {}
    return framed(ask, transcript, {"candidates": [candidate], **usage, **_known(ask, transcript), **told})


def close(ask: Ask, transcript: Transcript, ending: Ending) -> bytes:
    """Every open candidate, the newest usage, the closing bracket."""
    if transcript.done or transcript.fault:
        return b""
    choices = transcript.unfinished or ([] if transcript.choices else [0])
    half = any(
        s.open and s.channel is Channel.TOOL and s.block[0] in choices and s.block[0] not in transcript.finished
        for s in transcript.shapes.values()
    )
    if half:
        message = "The answer was cut inside a function call that had already been sent in part; the call is void."
        return fail(ask, transcript, Failure(Phase.STREAM, Kind.LOOP, message, code="streamfuse_loop"), ending.marker)
    quiet = Ending(marker=ending.marker, finish=ending.finish)
    out = []
    for choice in choices:
        noted = len(choices) == 1 or not transcript.visible(choice)
        usage = {"usageMetadata": transcript.usage} if transcript.usage and choice == choices[-1] else {}
        out.append(close_choice(ask, transcript, choice, ending if noted else quiet, usage))
    return b"".join(out) + bracket(ask, transcript)


def fail(ask: Ask, transcript: Transcript, failure: Failure, marker: Mapping[str, Any] | None) -> bytes:
    """The error as an event of its own. Google has no error event: where its stream dies it writes the bare error
    object. Newer SDKs raise at either form; older ones of google-genai for Node only at the bare one (the event of an
    error is an event without candidates to them), so it stands behind the event, unfinished, where no reader of
    server-sent events sees it. Gemini CLI ends its run at the bare object and asks again where it is not: so it is left
    out after a silence and after an end without a finish, after which the CLI asks again by itself."""
    if transcript.done or transcript.fault:
        return b""
    if transcript.choices and not transcript.unfinished:
        return bracket(ask, transcript)
    given, beside = sent_error(failure)
    error = {**error_object(failure), **given}
    error = {name: error.pop(name) for name in ("code", "message", "status") if name in error} | error
    more = {"streamfuse": dict(marker)} if marker else {}
    raw = framed(ask, transcript, {"error": error, **beside, **more})
    if in_array(ask):
        return raw + bracket(ask, transcript)
    if ask.asks_again and (failure.kind is Kind.STALL or failure.code in UNFINISHED):
        return raw
    return raw + orjson.dumps({"error": error})


def error_object(failure: Failure) -> dict[str, Any]:
    """Google's error; our code is the reason of an ErrorInfo."""
    status = http_status(failure)
    reason = failure.code or f"upstream_{failure.kind.value}"
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "streamfuse"}
    return {
        "code": status,
        "message": failure.message or "The upstream failed.",
        "status": STATUS.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT"),
        "details": [info],
    }


def summed(usage: Mapping[str, Any], earlier: int) -> dict[str, Any]:
    """The usage of an answer that several upstreams gave: the output of all."""
    out = dict(usage)
    for name in ("candidatesTokenCount", "totalTokenCount"):
        if type(out.get(name)) is int:
            out[name] += earlier
    return out


def both(first: Any, second: Any) -> dict[str, Any] | None:
    """The usage of an answer that was asked for twice: the first prompt, and the output of both."""
    if not isinstance(second, Mapping):
        return None
    asked, said = "promptTokenCount", "candidatesTokenCount"
    if not isinstance(first, Mapping) or not all(type(u.get(n)) is int for u in (first, second) for n in (asked, said)):
        return dict(second)
    out = {**second, asked: first[asked], said: first[said] + second[said]}
    thoughts = [usage.get("thoughtsTokenCount") for usage in (first, second)]
    thought = sum(count for count in thoughts if type(count) is int)
    if thought:
        out["thoughtsTokenCount"] = thought
    return {**out, "totalTokenCount": out[asked] + out[said] + thought}


def _known(ask: Ask, transcript: Transcript) -> dict[str, Any]:
    head = transcript.head
    return {"modelVersion": head.get("modelVersion") or ask.model} | {
        name: head[name] for name in ("responseId", "createTime") if name in head
    }
