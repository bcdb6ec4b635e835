"""A whole JSON message through the same rules: read, trimmed, turned into a stream and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ...values.delta import Channel, Close, Delta, Done, Finish, Head, Malformed, Open, Piece, Unknown, Usage
from ..base import Ask, Ending, Json
from ..server_cuts import BROKEN_OFF, details, unsaid
from .grammar import BLOCKS, PIECES, QUIET, channel_of, fault, message_object, pack, stop

if TYPE_CHECKING:
    from ...framing.sse import Event


def read(body: Json) -> Sequence[Delta]:
    if body.get("error"):
        return [fault(body)]
    content = body.get("content")
    if not isinstance(content, list):
        return [Malformed("neither a message nor an error")]
    found: list[Delta] = [Head({key: body[key] for key in ("id", "model", "role", "usage") if key in body})]
    for index, block in enumerate(content):
        where = (0, str(index))
        kind = block.get("type") if isinstance(block, dict) else None
        channel = channel_of(kind)
        if channel is None:
            found += [Open(where, Channel.TEXT), Unknown(str(kind)), Close(where)]
            continue
        found.append(Open(where, channel, str(block.get("name", ""))))
        text = text_of(block, channel)
        if text:
            found.append(Piece(where, channel, text))
        # The API says no more than this of a call that its limit cut off.
        half = channel is Channel.TOOL and index == len(content) - 1 and body.get("stop_reason") in BROKEN_OFF
        found.append(Close(where, {"half": True} if half else {}))
    if isinstance(body.get("usage"), dict):
        found.append(Usage(body["usage"]))
    if isinstance(body.get("stop_reason"), str) and not unsaid(body["stop_reason"]):
        found.append(Finish(0, body["stop_reason"], details({**body, "stop_reason": None})))
    return [*found, Done()]


def trim(body: Json, keep: Mapping[tuple[int, str], int], ending: Ending) -> Json:
    content: list[Any] = []
    given = body.get("content")
    for index, block in enumerate(given if isinstance(given, list) else ()):
        chars = keep.get((0, str(index)))
        kind = block.get("type") if isinstance(block, dict) else None
        if chars is None or kind not in BLOCKS:
            if chars is None:
                content.append(block)
            continue
        member = BLOCKS[kind][1]
        cut = {**block, member: str(block.get(member) or "")[:chars]}
        if "signature" in cut:
            cut["signature"] = ""  # it vouches for the whole text only; `clean` drops the block later
        if chars:
            content.append(cut)
    called = any(isinstance(block, dict) and channel_of(block.get("type")) is Channel.TOOL for block in content)
    if ending.notice:
        if content and content[-1].get("type") == "text":
            content[-1] = {**content[-1], "text": f"{content[-1].get('text', '')}\n\n{ending.notice}"}
        else:
            content.append({"type": "text", "text": ending.notice})
    trimmed = {**body, "content": content, **stop(ending, called)}
    if ending.marker:
        trimmed["streamfuse"] = dict(ending.marker)
    return trimmed


def to_events(ask: Ask, body: Json) -> bytes:
    usage = body.get("usage") if isinstance(body.get("usage"), dict) else {}
    usage = {"input_tokens": 0, "output_tokens": 0, **(usage or {})}
    head = {
        **body,
        **message_object(str(body.get("id") or "msg_streamfuse"), str(body.get("model") or ask.model), usage),
    }
    out = [pack("message_start", message=head)]
    content = body.get("content")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        channel = channel_of(block.get("type")) if isinstance(block, dict) else None
        if channel is None:
            out.append(pack("content_block_start", index=index, content_block=block))
        else:
            text = text_of(block, channel)
            member, empty = ("input", {}) if channel is Channel.TOOL else (BLOCKS[block["type"]][1], "")
            bare = {key: value for key, value in block.items() if key not in ("citations", "signature")}
            out.append(pack("content_block_start", index=index, content_block={**bare, member: empty}))
            kind, key = next((kind, key) for kind, (of, key) in PIECES.items() if of is channel)
            if text:
                delta: dict[str, Any] = {"type": kind, key: text}
                out.append(pack("content_block_delta", index=index, delta=delta))
            for citation in block.get("citations") or ():
                delta = {"type": "citations_delta", "citation": citation}
                out.append(pack("content_block_delta", index=index, delta=delta))
            if block.get("signature"):
                delta = {"type": "signature_delta", "signature": block["signature"]}
                out.append(pack("content_block_delta", index=index, delta=delta))
        out.append(pack("content_block_stop", index=index))
    delta = {"stop_reason": body.get("stop_reason") or QUIET, "stop_sequence": body.get("stop_sequence")}
    out.append(pack("message_delta", delta=delta, usage=usage))
    return b"".join([*out, pack("message_stop")])


def gather(ask: Ask, events: Sequence[Event]) -> Json | None:
    body: dict[str, Any] | None = None
    blocks: dict[int, dict[str, Any]] = {}
    ended = False
    for event in events:
        data = event.json
        if not isinstance(data, dict):
            continue
        kind, delta, index = data.get("type"), data.get("delta"), data.get("index")
        if kind == "error":
            return None
        if kind == "message_start" and body is None and isinstance(data.get("message"), dict):
            body = dict(data["message"])
        elif kind == "content_block_start" and isinstance(index, int) and isinstance(data.get("content_block"), dict):
            blocks[index] = dict(data["content_block"])
        elif kind == "content_block_delta" and isinstance(index, int) and isinstance(delta, dict):
            _grow(blocks.setdefault(index, {"type": "text", "text": ""}), delta)
        elif kind == "message_delta" and isinstance(delta, dict) and body is not None:
            body.update(delta)
            both = (body.get("usage"), data.get("usage"))
            body["usage"] = {key: value for usage in both if isinstance(usage, dict) for key, value in usage.items()}
        elif kind == "message_stop":
            ended = True
    if body is None or not ended:
        return None
    for block in blocks.values():
        partial = block.pop("\0json", None)
        if partial is not None:
            try:
                block["input"] = orjson.loads(partial or "{}")
            except orjson.JSONDecodeError:
                block["input"] = partial  # half of it: whoever looks at whole answers drops the call
    return {**body, "content": list(blocks.values())}


def text_of(block: Mapping[str, Any], channel: Channel) -> str:
    if channel is Channel.TOOL:
        given = block.get("input") or {}
        return given if isinstance(given, str) else orjson.dumps(given).decode()
    text = block.get(BLOCKS[block["type"]][1])
    return text if isinstance(text, str) else ""


def _grow(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add one delta to a block that is being gathered."""
    kind = delta.get("type")
    if kind == "input_json_delta":
        block["\0json"] = block.get("\0json", "") + str(delta.get("partial_json", ""))
    elif kind == "signature_delta":
        block["signature"] = delta.get("signature")
    elif kind == "citations_delta":
        so_far = block.get("citations")
        block["citations"] = [*(so_far if isinstance(so_far, list) else ()), delta.get("citation")]
    elif isinstance(kind, str) and kind in PIECES:
        member = PIECES[kind][1]
        block[member] = str(block.get(member, "")) + str(delta.get(member, ""))
