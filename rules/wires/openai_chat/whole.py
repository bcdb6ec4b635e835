"""The JSON form (`stream: false`): read as deltas, cut by editing, turned into a stream and made from one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from ...framing.sse import Event, Whole, encode
from ...values.delta import Block, Channel, Close, Delta, Done, Fault, Malformed, Piece
from ..base import Ask, Ending, Json
from . import endings
from .codec import ChatCodec
from .members import REASONING_KEYS

_STREAMED = frozenset({"object", "choices", "usage"})
_ASK = Ask("", False)


def deltas(body: Json) -> Sequence[Delta]:
    """A whole answer read by the very codec that reads streams; each tool call complete."""
    if body.get("error") or not isinstance(body.get("choices"), list):
        read = _read({**body, "choices": None})
        return [read[0]] if read and type(read[0]) is Fault else [Malformed("no choices")]
    if not all(map(_is_choice, body["choices"])):
        return [Malformed("a choice without a message")]
    out: list[Delta] = []
    for delta in _read(_as_chunk(body)):
        if type(delta) is Fault or type(delta) is Malformed:
            return [delta]
        if type(delta) is not Piece or delta.text:
            out.append(delta)
        if type(delta) is Piece and delta.channel is Channel.TOOL:
            out.append(Close(delta.block))
    return [*out, Done()]


def _is_choice(choice: Any) -> bool:
    return isinstance(choice, dict) and isinstance(choice.get("message"), dict)


def _read(body: dict[str, Any]) -> Sequence[Delta]:
    return ChatCodec(_ASK).read(Whole(body))


def _as_chunk(body: Json) -> dict[str, Any]:
    """A whole body in the shape of one chunk that says everything. Whatever a codec may repair in it is a copy."""
    choices = []
    for position, choice in enumerate(body.get("choices") or ()):
        delta = dict(choice["message"])
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            delta["tool_calls"] = [{**_own(c), "index": i} for i, c in enumerate(calls) if isinstance(c, dict)]
        members = {name: value for name, value in choice.items() if name not in ("message", "index")}
        choices.append({"index": choice.get("index", position), "delta": delta, "finish_reason": None, **members})
    return {**body, "object": "chat.completion.chunk", "choices": choices}


def _own(call: dict[str, Any]) -> dict[str, Any]:
    return {name: dict(value) if type(value) is dict else value for name, value in call.items()}


def trim(body: Json, keep: Mapping[Block, int], ending: Ending) -> Json:
    """Blocks that are named keep so many characters, named calls go; their choices end like a cut stream."""
    cut = {choice for choice, _ in keep}
    choices = []
    for position, choice in enumerate(body["choices"]):
        index = choice.get("index", position)
        choices.append(_trimmed(choice, index, keep, ending) if index in cut else choice)
    marked = {"streamfuse": dict(ending.marker)} if ending.marker else {}
    return {**body, "choices": choices, **marked}


def _trimmed(choice: Json, index: int, keep: Mapping[Block, int], ending: Ending) -> dict[str, Any]:
    message = dict(choice["message"])
    text, reasoning = keep.get((index, "text")), keep.get((index, "reasoning"))
    if isinstance(message.get("content"), str) and text is not None:
        message["content"] = message["content"][:text]
    elif isinstance(message.get("content"), list):
        message["content"] = list(_trim_parts(message["content"], text, reasoning))
    if reasoning is not None:
        for name in REASONING_KEYS:
            if isinstance(message.get(name), str):
                message[name] = message[name][:reasoning]
        message.pop("reasoning_details", None)  # the same text again, in pieces, with signatures that no longer fit
    refusal = keep.get((index, "refusal"))
    if refusal is not None and isinstance(message.get("refusal"), str):
        message["refusal"] = message["refusal"][:refusal]
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [call for at, call in enumerate(calls) if (index, f"tool:{at}") not in keep]
        if not message["tool_calls"]:
            del message["tool_calls"]
    if (index, "function_call") in keep:
        message.pop("function_call", None)
    if ending.notice is not None:
        content = message.get("content")
        if isinstance(content, list):
            message["content"] = [*content, {"type": "text", "text": ending.notice}]
        else:
            message["content"] = f"{content}\n\n{ending.notice}" if content else ending.notice
    reason = "tool_calls" if message.get("tool_calls") else "function_call" if message.get("function_call") else None
    out = {**choice, "message": message, "finish_reason": reason or ending.finish or "stop"}
    if out.get("logprobs"):
        out["logprobs"] = None
    return out


def _trim_parts(parts: Sequence[Any], text: int | None, reasoning: int | None) -> Iterator[Any]:
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text" and text is not None and isinstance(part.get("text"), str):
            left = part["text"][:text]
            text -= len(left)
            if left:
                yield {**part, "text": left}
        elif kind == "thinking" and reasoning is not None:
            thinking = part.get("thinking")
            if isinstance(thinking, list):
                thinking = "".join(p["text"] for p in thinking if isinstance(p, Mapping) and "text" in p)
            left = str(thinking or "")[:reasoning]
            reasoning -= len(left)
            if left:
                yield {**part, "thinking": [{"type": "text", "text": left}]}
        else:
            yield part


def to_events(ask: Ask, body: Json) -> bytes:
    """A whole body as chunks, since SDKs would take it for an empty stream: one chunk with everything, one with the
    finishes, the usage where it was asked for, the end mark."""
    if not isinstance(body.get("choices"), list) or not all(map(_is_choice, body["choices"])):
        return b""
    said = _as_chunk(body)
    usage = said.pop("usage", None)
    head = {name: value for name, value in said.items() if name not in _STREAMED}
    head["object"] = said["object"]
    finishes = []
    for choice in said["choices"]:
        choice["delta"].setdefault("role", "assistant")
        reason = choice["finish_reason"] or "stop"
        choice["finish_reason"] = None
        finishes.append({"index": choice["index"], "delta": {}, "logprobs": None, "finish_reason": reason})
    out = [{**head, "choices": said["choices"]}, {**head, "choices": finishes}]
    if ask.wants_usage and isinstance(usage, Mapping):
        out.append({**head, "choices": [], "usage": usage})
    return b"".join(encode(orjson.dumps(chunk)) for chunk in out) + endings.DONE


def gather(ask: Ask, events: Sequence[Event]) -> Json | None:
    """The chunks of a stream as one body; None where it holds an error or a choice that never finished."""
    codec = ChatCodec(ask)
    body: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    done = False
    for event in events:
        kinds = {type(delta) for delta in codec.read(event)}
        if Fault in kinds:
            return None
        done = done or Done in kinds
        chunk = event.json
        if Malformed in kinds or not isinstance(chunk, dict):
            continue
        for name, value in chunk.items():
            if name not in ("choices", "object") and (value or name not in body):
                body[name] = value
        for choice in chunk["choices"]:
            into = choices.setdefault(choice["index"], {"index": choice["index"], "message": {}, "finish_reason": None})
            _merge(into["message"], choice["delta"])
            if isinstance(choice.get("logprobs"), dict):
                _merge(into.setdefault("logprobs", {}), choice["logprobs"])
            members = {k: v for k, v in choice.items() if k not in ("index", "delta", "logprobs") and v is not None}
            into.update(members)
    for choice in choices.values():
        if not choice["finish_reason"] and done:  # mended as in a stream
            choice["finish_reason"] = "tool_calls" if choice["message"].get("tool_calls") else "stop"
    if not choices or not all(choice["finish_reason"] for choice in choices.values()):
        return None
    for choice in choices.values():
        message = _joined(choice)["message"]
        message.setdefault("role", "assistant")
        message.setdefault("content", None)
        for call in message.get("tool_calls") or ():
            call.pop("index", None)
    return {**body, "object": "chat.completion", "choices": [choices[index] for index in sorted(choices)]}


_NAMES = frozenset({"role", "id", "type", "name"})


class _Text(list[str]):
    """A text in the pieces it came in: joined once, at the end."""


def _joined(value: Any) -> Any:
    """The value, with texts instead of pieces, in place."""
    if type(value) is _Text:
        return "".join(value)
    if isinstance(value, dict):
        value.update((name, _joined(inner)) for name, inner in list(value.items()))
    elif isinstance(value, list):
        value[:] = map(_joined, value)
    return value


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Strings grow, lists grow (tool calls by their index), objects merge, everything else is replaced."""
    for name, value in more.items():
        old = into.get(name)
        if value is None:
            into.setdefault(name, None)
        elif isinstance(value, str) and type(old) is _Text:
            old.append(value)
        elif isinstance(value, str) and isinstance(old, str) and name not in _NAMES:
            into[name] = _Text((old, value))
        elif name == "content" and old and isinstance(value, list | str):
            into[name] = [*_parts(old), *_parts(value)]
        elif isinstance(value, list):
            whole = old if isinstance(old, list) and type(old) is not _Text else []
            into[name] = _grown(whole, value, indexed=name == "tool_calls")
        elif isinstance(value, dict):
            into[name] = dict(old) if isinstance(old, dict) else {}
            _merge(into[name], value)
        elif value != "" or not old:
            into[name] = value


def _parts(content: Any) -> list[Any]:
    """Mistral sends both: strings, and lists of parts."""
    content = "".join(content) if type(content) is _Text else content
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _grown(out: list[Any], more: list[Any], *, indexed: bool) -> list[Any]:
    """`out`, a list of ours, with `more` behind it."""
    for item in more:
        same = None
        if indexed and isinstance(item, dict):
            same = next((o for o in out if o["index"] == item["index"]), None)
        if same is not None:
            _merge(same, item)
        elif indexed and isinstance(item, dict):
            fresh: dict[str, Any] = {}
            _merge(fresh, item)
            out.append(fresh)
        else:
            out.append(item)
    return out
