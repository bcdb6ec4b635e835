"""A whole answer of Ollama (`stream: false`): the same object as the last line of a stream, with all of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ...framing.ndjson import Line, encode
from ...framing.sse import Event
from ...values.delta import Block, Delta, Done, Fault, Malformed, Piece
from ..base import Ask, Ending, Json
from .codec import TEXT, THINKING, OllamaCodec


def read(body: Json) -> Sequence[Delta]:
    """The deltas of a whole answer, by the codec that reads streams."""
    if not {"message", "response", "done", "error"} & body.keys():
        return [Malformed("no message")]
    data = orjson.dumps(body)
    read = OllamaCodec(Ask("", False)).read(Line(data, data))
    return [delta for delta in read if type(delta) is not Piece or delta.text]


def trim(body: Json, keep: Mapping[Block, int], ending: Ending) -> Json:
    """Blocks that are named keep so many characters, named calls go; the answer ends like a cut stream."""
    if not keep:
        return body
    chats = isinstance(body.get("message"), Mapping)
    said = dict(body["message"]) if chats else dict(body)
    text, thinking = ("content" if chats else "response"), keep.get(THINKING)
    if (chars := keep.get(TEXT)) is not None and isinstance(said.get(text), str):
        said[text] = said[text][:chars]
    if thinking is not None and isinstance(said.get("thinking"), str):
        said["thinking"] = said["thinking"][:thinking]
    if isinstance(said.get("tool_calls"), list):
        said["tool_calls"] = [call for at, call in enumerate(said["tool_calls"]) if (0, f"tool:{at}") not in keep]
        if not said["tool_calls"]:
            del said["tool_calls"]
    if ending.notice is not None:
        said[text] = f"{said[text]}\n\n{ending.notice}" if said.get(text) else ending.notice
    out = {**body, "message": said} if chats else said
    out.pop("context", None)  # the tokens of the whole answer, which the next request would send back
    out["done_reason"] = ending.finish or "stop"
    return {**out, "streamfuse": dict(ending.marker)} if ending.marker else out


def healed(first: Json, second: Json, marker: Mapping[str, Any]) -> Json:
    """The second whole answer with the tokens of both."""
    out = {**second, "streamfuse": dict(marker)}
    counts = [answer.get("eval_count") for answer in (first, second)]
    if all(type(count) is int for count in counts):
        out["eval_count"] = sum(counts)
        if type(first.get("prompt_eval_count")) is int:
            out["prompt_eval_count"] = first["prompt_eval_count"]
    return out


def to_events(ask: Ask, body: Json) -> bytes:
    """A whole answer as a stream of one line."""
    if not any(type(delta) is Done for delta in read(body)):
        body = {**body, "done": True, "done_reason": "stop"}
    return encode(orjson.dumps(body))


def gather(ask: Ask, events: Sequence[Event]) -> Json | None:
    """The lines of a stream as one body; None where it holds an error, or never says `done`."""
    codec = OllamaCodec(ask)
    body: dict[str, Any] = {}
    message: dict[str, Any] = {}
    texts: dict[str, list[str]] = {"content": [], "response": [], "thinking": []}
    calls: list[Any] = []
    done = False
    for event in events:
        kinds = {type(delta) for delta in codec.read(event)}
        if Fault in kinds:
            return None
        line = event.json
        if Malformed in kinds or not isinstance(line, dict):
            continue
        done = done or Done in kinds
        body |= line
        said = line["message"] if isinstance(line.get("message"), dict) else line
        message |= said if said is not line else {}
        for name, parts in texts.items():
            if isinstance(said.get(name), str):
                parts.append(said[name])
        calls += said.get("tool_calls") or () if said is not line else ()
    if not done:
        return None
    whole = {name: "".join(parts) for name, parts in texts.items() if parts}
    if isinstance(body.get("message"), dict):
        body["message"] = {**message, **whole, **({"tool_calls": calls} if calls else {})}
        return body
    return {**body, **whole}
