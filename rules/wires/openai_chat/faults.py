"""Errors inside a chat stream, in all the shapes that upstreams use, and objects that have no choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors.error_body import base_resp
from ...values.delta import Delta, Fault, Malformed, Usage

if TYPE_CHECKING:
    from ...framing.sse import Event

FAULT_REASONS = frozenset({"error", "abort", "network_error", "insufficient_system_resource"})
"""Finish reasons that report a broken answer (OpenRouter, vLLM #57082 and SGLang, Zhipu, DeepSeek)."""


def choiceless(event: Event, body: dict[str, Any]) -> Sequence[Delta]:
    """An object without a list of choices: usage alone, an error in another shape, or nothing of this wire."""
    if (verdict := base_resp(body)) is not None:
        return (Fault(verdict[0], verdict[1] or "The upstream ended with an error.", body),)
    if type(body.get("usage")) is dict:
        body["choices"] = []  # null or absent breaks openai-py's helper
        event.rewrite(body)
        return (Usage(body["usage"]),)
    if body.get("object") == "error" or type(body.get("detail")) is str or type(body.get("message")) is str:
        return (read_fault(body),)
    if body.get("error_code") and type(body.get("error_msg")) is str:
        return (Fault(str(body["error_code"]), body["error_msg"], body),)
    # A chunk that has something, but nothing that could be its choices, has lost them.
    lost = body.get("object") == "chat.completion.chunk" and any(type(v) in (list, dict) and v for v in body.values())
    return (Malformed("no choices", lost or bool(body.get("choices"))),)


def read_fault(body: Mapping[str, Any], reason: str | None = None) -> Fault:
    """Read an error inside a stream, in all the shapes that upstreams use."""
    error = body.get("error") or body
    if type(error) is not dict:
        return Fault(None, str(error), body)
    message = error.get("message") or error.get("detail") or body.get("message")
    code = error.get("code")
    if type(code) not in (int, str) or code == "":
        code = error.get("type") if type(error.get("type")) is str else None
    if code is None and error is body:
        code = reason
    return Fault(code, str(message) if message else f"The upstream ended with {reason or 'an error'}.", body)
