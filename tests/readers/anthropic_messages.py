"""A strict reader of /messages streams: one block after another, usage, the stop."""

from __future__ import annotations

import json
from typing import Any

from . import Answer, objects, require

DELTAS = {
    "text": {"text_delta": "text", "citations_delta": ""},
    "thinking": {"thinking_delta": "thinking", "signature_delta": ""},
    "tool_use": {"input_json_delta": "partial_json"},
    "server_tool_use": {"input_json_delta": "partial_json"},
}
STOPS = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal")


def read(raw: bytes, *, unended: bool = False) -> Answer:
    """Read a whole stream. `unended`: a prefix is fine. Raises Illegal."""
    answer = Answer()
    done = started = signed = False
    count = 0
    block: dict[str, Any] | None = None
    text = ""
    for name, event in objects(raw):
        kind = event["type"]
        require(name == kind, f"event {name!r} is a {kind!r}")
        require(not done, f"{kind} after the end")
        if kind == "ping":
            continue
        if kind == "error":
            require(isinstance(event["error"]["type"], str) and event["error"]["message"], "an error says what")
            answer.end, answer.error, done = "error", event["error"], True
            answer.marker = event.get("streamfuse")
            continue
        require(started == (kind != "message_start"), f"{kind} as first, or message_start again")
        if kind == "message_start":
            started, message = True, event["message"]
            answer.ident = message["id"]
            require(message["role"] == "assistant" and message["content"] == [], "message_start must be empty")
            require(type(message["usage"]["output_tokens"]) is int, "usage at the start")
        elif kind == "content_block_start":
            require(block is None and not answer.end, "a block inside a block")
            require(event["index"] == count, f"index {event['index']} after {count} blocks")
            block, text, signed = event["content_block"], "", False
        elif kind == "content_block_delta":
            require(block is not None and event["index"] == count, "a delta outside its block")
            assert block is not None
            delta = event["delta"]
            require(delta["type"] in DELTAS.get(block["type"], {}), f"{delta['type']} in {block['type']}")
            require(not signed, "a delta after the signature")
            signed = delta["type"] == "signature_delta"
            member = DELTAS[block["type"]][delta["type"]]
            text += delta[member] if member else ""
        elif kind == "content_block_stop":
            require(block is not None and event["index"] == count, "a stop outside its block")
            assert block is not None
            if block["type"] == "text":
                answer.texts[count] = text
            elif block["type"] == "thinking":
                answer.reasoning += text
            elif block["type"] == "tool_use":
                require(isinstance(json.loads(text or "{}"), dict), "a call that is no JSON")
                answer.calls.append((block["name"], text))
            answer.items.append({**block, "signed": signed})
            block, count = None, count + 1
        elif kind == "message_delta":
            require(block is None, "message_delta inside a block")
            require(type(event["usage"]["output_tokens"]) is int, "message_delta without usage")
            reason = event["delta"]["stop_reason"]
            require(reason in STOPS, f"stop_reason {reason}")
            require((reason == "stop_sequence") == bool(event["delta"].get("stop_sequence")), "stop_sequence")
            answer.end, answer.usage, answer.marker = reason, event["usage"], event.get("streamfuse")
        elif kind == "message_stop":
            require(answer.end, "message_stop without message_delta")
            done = True
        else:
            require(False, f"unknown event {kind}")
    require(done or unended, "no end")
    require((answer.end == "tool_use") <= bool(answer.calls), "tool_use without a call")
    return answer
