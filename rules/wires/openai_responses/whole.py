"""A whole JSON response through the same rules: read, trimmed, turned into a stream and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ...values.delta import Delta, Done, Finish, Head, Malformed, Usage
from ..base import Ask, Ending, Json
from .endings import INCOMPLETE, OURS, Pen, marked, response_object
from .grammar import PARTS, TERMINAL, deltas, events, fault, parts

if TYPE_CHECKING:
    from ...framing.sse import Event


def read(body: Json) -> Sequence[Delta]:
    if body.get("error"):
        return [fault(body)]
    if not isinstance(body.get("output"), list):
        return [Malformed("neither a response nor an error")]
    found: list[Delta] = [Head({key: body[key] for key in ("id", "model", "created_at") if key in body})]
    found += deltas(body["output"])
    if isinstance(body.get("usage"), dict):
        found.append(Usage(body["usage"]))
    details = body.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return [*found, Finish(0, str(reason or body.get("status") or "completed")), Done()]


def trim(body: Json, keep: Mapping[tuple[int, str], int], ending: Ending) -> Json:
    output: list[dict[str, Any]] = []
    for index, item in enumerate(body.get("output") or ()):
        named = (0, str(index)) in keep  # a call to be dropped, or an item that begins behind the cut
        cut = _trimmed(item, index, keep) if isinstance(item, dict) and not named else None
        if cut is not None:
            output.append(cut)
    if ending.notice:
        said: dict[str, Any] = {"type": "output_text", "text": ending.notice, "annotations": [], "logprobs": []}
        content = output[-1].get("content") if output and output[-1].get("type") == "message" else None
        if content and content[-1].get("type") == "output_text":
            told = {**content[-1], "text": f"{content[-1].get('text', '')}\n\n{ending.notice}"}
            output[-1] = {**output[-1], "content": [*content[:-1], told]}
        else:
            ident = OURS + sha256(str(body.get("id")).encode()).hexdigest()[:24]
            output.append(
                {"id": ident, "type": "message", "role": "assistant", "status": "completed", "content": [said]}
            )
    reason = INCOMPLETE.get(ending.finish or "")
    ended = {"status": "incomplete" if reason or ending.finish == "incomplete" else "completed"}
    details = {"reason": reason} if reason else None
    return {**body, **ended, "incomplete_details": details, "output": output, **marked(ending.marker)}


def _trimmed(item: Mapping[str, Any], index: int, keep: Mapping[tuple[int, str], int]) -> dict[str, Any] | None:
    """An item with as much of its parts as is kept; None where nothing is left of what was cut."""
    cut = dict(item)
    touched = False
    for part, key in list(parts(item)):
        chars = keep.get((0, f"{index}.{key}"))
        if chars is None:
            continue
        touched = True
        _, member, home = PARTS[part["type"]]
        kept = {**part, member: str(part.get(member) or "")[:chars]}
        cut[home] = [kept if old is part else old for old in cut[home] if old is not part or chars]
    if not touched:
        return cut
    if item.get("type") == "reasoning":
        cut.pop("encrypted_content", None)
        cut["status"] = "incomplete"
    return cut if cut.get("content") or cut.get("summary") else None


def to_events(ask: Ask, body: Json) -> bytes:
    pen = Pen({"seq": -1})
    whole = {**response_object("resp_streamfuse", ask, 0), **body}
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "error": None}
    out = [pen.write(name, response=begun) for name in ("response.created", "response.in_progress")]
    for index, item in enumerate(whole["output"] or ()):
        out += [pen.write(kind, **members) for kind, members in events(item, index)]
    status = whole.get("status")
    if status not in ("incomplete", "failed"):
        whole["status"] = status = "completed"
    return b"".join([*out, pen.write(f"response.{status}", response=whole)])


def gather(ask: Ask, given: Sequence[Event]) -> Json | None:
    items: list[Any] = []
    for event in given:
        data = event.json
        if not isinstance(data, dict):
            continue
        kind = data.get("type")
        if kind == "error":
            return None
        if kind == "response.output_item.done":
            items.append(data.get("item"))
        elif type(kind) is str and kind in TERMINAL and isinstance(data.get("response"), dict):
            return {**data["response"], "output": data["response"].get("output") or items}
    return None
