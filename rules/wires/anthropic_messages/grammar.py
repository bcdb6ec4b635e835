"""The words of /messages: block and delta types, stop reasons, events and errors of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from ...framing.sse import encode
from ...values.delta import Channel, Fault
from ...values.failures import Failure
from ...values.json import loads
from ..base import Ending
from ..error_shapes import http_status, sent_error

QUIET: Final = "end_turn"
REASONS: Final = frozenset(
    {"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"}
)
FROM_CHAT: Final = {"stop": QUIET, "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}
"""`cut.finish` is written in the words of the chat wire."""
ERROR_TYPES: Final = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 408: "timeout_error", 409: "conflict_error", 413: "request_too_large",
    422: "invalid_request_error", 429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error",
    529: "overloaded_error",
}  # fmt: skip
"""Error type by status (docs.claude.com/en/api/errors)."""
_TYPES: Final = frozenset({*ERROR_TYPES.values(), "api_error"})
PIECES: Final = {
    "text_delta": (Channel.TEXT, "text"),
    "thinking_delta": (Channel.REASONING, "thinking"),
    "input_json_delta": (Channel.TOOL, "partial_json"),
}
"""The deltas that carry text. The others (signature, citations, compaction, new ones) pass unread."""
BLOCKS: Final = {"text": (Channel.TEXT, "text"), "thinking": (Channel.REASONING, "thinking")}


def channel_of(kind: object) -> Channel | None:
    """The channel of a content block type; None = a block we only pass on (server tools and their results)."""
    if not isinstance(kind, str):
        return None
    if kind in BLOCKS:
        return BLOCKS[kind][0]
    if kind.endswith("tool_use") and not kind.startswith(("server_", "mcp_")):
        return Channel.TOOL
    return None


def pack(kind: str, **members: Any) -> bytes:
    """One event of this wire."""
    return encode(orjson.dumps({"type": kind, **members}), kind)


def message_object(ident: str, model: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": ident, "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": dict(usage),
    }  # fmt: skip


def stop(ending: Ending, called: bool) -> dict[str, Any]:
    """stop_reason and stop_sequence of a cut. A complete call that was shown is to be run: tool_use."""
    reason = FROM_CHAT.get(ending.finish or QUIET, ending.finish or QUIET)
    if reason not in REASONS:
        reason = QUIET
    if called and reason == QUIET:
        reason = "tool_use"
    elif reason == "tool_use" and not called:
        reason = QUIET
    mark = f"streamfuse:{ending.marker.get('rule', 'cut')}" if reason == "stop_sequence" else None
    return {"stop_reason": reason, "stop_sequence": mark}


def fault(data: Mapping[str, Any]) -> Fault:
    error = data.get("error")
    if type(error) is dict:
        code = error.get("type") or error.get("code")
        return Fault(code, str(error.get("message", "")), data)
    return Fault(None, str(error or ""), data)


def status_of(failure: Failure) -> int:
    """Overload has a number of its own here: 529, which SDKs and Claude Code retry by themselves."""
    status = http_status(failure)
    return 529 if status == 503 or (failure.status is None and _said(failure) == "overloaded_error") else status


def error_body(failure: Failure, status: int) -> dict[str, Any]:
    kind = _said(failure) or ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    error: dict[str, Any] = {"type": kind, "message": failure.message or "The upstream failed."}
    if failure.code is not None and failure.code != kind:
        error["code"] = failure.code
    given, beside = sent_error(failure)
    typed = beside.get("type") == "error" and isinstance(given.get("type"), str)
    error |= {name: value for name, value in given.items() if value is not None and (typed or name != "type")}
    return {**beside, "type": "error", "error": error}


def _said(failure: Failure) -> str | None:
    """The type in Anthropic's own words: the failure's code, or what its body says where the code is one of ours."""
    if failure.code in _TYPES:
        return failure.code
    try:
        given = loads(failure.body) if failure.body else None
    except ValueError:
        return None
    error = given.get("error") if isinstance(given, dict) and given.get("type") == "error" else None
    kind = error.get("type") if isinstance(error, dict) else None
    return kind if isinstance(kind, str) and kind in _TYPES else None


def heartbeat(started: bool) -> bytes:
    """A ping where the message has begun; a comment before."""
    return b'event: ping\ndata: {"type":"ping"}\n\n' if started else b": hb\n"
