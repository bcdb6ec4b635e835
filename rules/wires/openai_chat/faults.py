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


CHOICE = ("delta", "finish_reason")
"""Members by which an object shows that it is a choice of a chunk."""
SAYS_NOTHING = frozenset({"type", "choices"})
"""Members of objects that are keep-alives: `{}`, `{"type": "ping"}`."""
OURS = ("", "message", "error")
"""Event names that a chunk or an error may have; any other name is a gateway's own event."""

PROGRESS = frozenset({
    "status", "progress", "info", "log", "notice", "notification", "debug", "warning", "heartbeat", "step", "metadata",
})  # fmt: skip
"""Types of objects in which a gateway tells, in a `message` or `detail`, what it is doing. Errors have other types."""


def choiceless(event: Event, body: dict[str, Any]) -> Sequence[Delta]:
    """An object without a list of choices: usage alone, an error in another shape, a chunk that has lost its choices,
    or an event that a gateway sends beside the answer (sources, citations, timings), which passes as it came."""
    if body.get("choices") or any(map(_holds_choices, body.values())):
        return (Malformed("no choices", True),)
    if event.name not in OURS:
        return ()
    if (verdict := base_resp(body)) is not None:
        return (Fault(verdict[0], verdict[1] or "The upstream ended with an error.", body),)
    if type(body.get("usage")) is dict:
        body["choices"] = []  # null or absent breaks openai-py's helper
        event.rewrite(body)
        event.unname()
        return (Usage(body["usage"]),)
    if body.get("type") in PROGRESS and "code" not in body and body.get("object") != "error":
        return ()
    if body.get("object") == "error" or type(body.get("detail")) is str or type(body.get("message")) is str:
        return (read_fault(body),)
    if body.get("error_code") and type(body.get("error_msg")) is str:
        return (Fault(str(body["error_code"]), body["error_msg"], body),)
    if body.keys() <= SAYS_NOTHING:
        return (Malformed("no choices"),)
    if "choices" in body:
        body["choices"] = []  # null breaks openai-py
        event.rewrite(body)
    return ()


def _holds_choices(value: object) -> bool:
    """Is this a list of choices under a damaged name?"""
    return type(value) is list and any(type(one) is dict and any(name in one for name in CHOICE) for one in value)


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
