"""A whole answer of Gemini (`:generateContent`): read as deltas, cut by editing, made into a stream and from one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ...framing.sse import Event, encode
from ...values.delta import Block, Delta, Done, Fault, Finish, Malformed, Piece
from ..base import Ask, Ending, Json
from .codec import CODE, GeminiCodec
from .ends import FINISHES
from .request import in_array


def read(body: Json) -> Sequence[Delta]:
    """The deltas of a whole answer, by the codec that reads streams."""
    if "error" not in body and "candidates" not in body and "promptFeedback" not in body:
        return [Malformed("no candidates")]
    data = orjson.dumps(body)
    found = GeminiCodec(Ask("", False)).read(Event(encode(data), "", data))
    if any(type(delta) in (Fault, Malformed) for delta in found):
        return found
    return [*(delta for delta in found if type(delta) is not Piece or delta.text), Done()]


def trim(body: Json, keep: Mapping[Block, int], ending: Ending) -> Json:
    """Blocks that are named keep so many characters, named calls go; their candidates end like a cut stream."""
    cut = {choice for choice, _ in keep}
    candidates = []
    for position, candidate in enumerate(body.get("candidates") or ()):
        index = candidate.get("index", position)
        candidates.append(_trimmed(candidate, index, keep, ending) if index in cut else candidate)
    if not candidates:
        return body
    marked = {"streamfuse": dict(ending.marker)} if ending.marker else {}
    return {**body, "candidates": candidates, **marked}


def _trimmed(candidate: Json, index: int, keep: Mapping[Block, int], ending: Ending) -> dict[str, Any]:
    content = candidate.get("content") or {}
    left = {"text": keep.get((index, "text")), "thought": keep.get((index, "thought"))}
    parts: list[Any] = []
    calls = codes = 0
    runs = True  # the program that comes before a result is still there
    for part in content.get("parts") or ():
        if "functionCall" in part:
            if (index, f"call:{calls}") not in keep:
                parts.append(part)
            calls += 1
            continue
        if CODE in part:
            runs = (index, f"code:{codes}") not in keep
            codes += 1
        if (CODE in part or "codeExecutionResult" in part) and not runs:
            continue
        channel = "thought" if part.get("thought") is True else "text"
        chars = left[channel]
        if "text" in part and chars is not None:
            kept = part["text"][:chars]
            left[channel] = chars - len(kept)
            if not kept:
                continue
            if kept != part["text"]:  # the signature of a thought holds for all of it
                part = {name: value for name, value in part.items() if name != "thoughtSignature"} | {"text": kept}
        parts.append(part)
    if ending.notice is not None:
        visible = any(part.get("text") and part.get("thought") is not True for part in parts)
        parts.append({"text": f"\n\n{ending.notice}" if visible else ending.notice})
    finish = ending.finish or "STOP"
    out = {**candidate, "content": {"role": "model", **content, "parts": parts or [{"text": ""}]}}
    return {**out, "finishReason": FINISHES.get(finish, finish)}


def to_events(ask: Ask, body: Json) -> bytes:
    """A whole answer as a stream of one event."""
    if not isinstance(body.get("candidates"), list) and "promptFeedback" not in body:
        return b""
    candidates = [{"finishReason": "STOP", **candidate} for candidate in body.get("candidates") or ()]
    data = orjson.dumps({**body, **({"candidates": candidates} if candidates else {})})
    return b"[" + data + b"\n]" if in_array(ask) else encode(data)


def gather(ask: Ask, events: Sequence[Event]) -> Json | None:
    """The events of a stream as one body; None where it holds an error or a candidate that never finished."""
    codec = GeminiCodec(ask)
    body: dict[str, Any] = {}
    candidates: dict[int, dict[str, Any]] = {}
    refused = False
    for event in events:
        deltas = codec.read(event)
        kinds = {type(delta) for delta in deltas}
        if Fault in kinds:
            return None
        given = event.json
        if Malformed in kinds or not isinstance(given, dict):
            continue
        body |= {name: value for name, value in given.items() if name != "candidates"}
        refused = refused or (not given.get("candidates") and Finish in kinds)
        for position, candidate in enumerate(given.get("candidates") or ()):
            index = candidate.get("index", position)
            into = candidates.setdefault(index, {"content": {"parts": [], "role": "model"}})
            _merge(into["content"]["parts"], (candidate.get("content") or {}).get("parts") or ())
            into |= {name: value for name, value in candidate.items() if name != "content"}
    if not candidates:
        return body if refused else None
    if any(not candidate.get("finishReason") for candidate in candidates.values()):
        return None
    return {"candidates": [candidates[index] for index in sorted(candidates)], **body}


def _merge(parts: list[Any], more: Sequence[Any]) -> None:
    """Texts of one kind become one part, as long as no signature stands between them."""
    for part in more:
        last = parts[-1] if parts else None
        same = (
            last is not None
            and last.keys() <= {"text", "thought"}
            and "text" in last
            and "text" in part
            and bool(last.get("thought")) == bool(part.get("thought"))
        )
        if same and last is not None:
            parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
        elif part.get("text") != "" or part.keys() - {"text", "thought"}:
            parts.append(dict(part))
