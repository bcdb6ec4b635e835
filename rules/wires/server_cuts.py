"""Recognises loops that servers cut themselves, by their stop reason. They are counted and end quietly for the client.

Names as the servers send them in `finish_reason` (or `stop_reason`); sources: vLLM (`repetition`), DeepSeek
(`repetition_truncation`). Ollama's guard (31 equal tokens) leaves no word on OpenAI's wires: its native last line has
`done` false, which becomes a clean end without a finish.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

LOOP_STOPS: Final = frozenset({"repetition", "repetition_truncation", "repeat", "loop", "repetition_detected"})
"""Finish reasons that mean: the server saw a loop and stopped."""
UNFINISHED: Final = "unfinished"
"""Our word for an answer that ended without a finish inside a repetition, as Ollama's guard ends it."""
DETAILS: Final = ("stop_reason", "finish_details", "finish_reason_detail", "stop_details")
"""Members beside the finish reason that may say more. A string `stop_reason` beside `stop` is vLLM's for the client's
own stop sequence, so it says nothing."""

BROKEN_OFF: Final = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_context_window_exceeded",
        "content_filter",
        "refusal",
        "incomplete",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "OTHER",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "IMAGE_SAFETY",
    }
)
"""Finish reasons of any wire that end an answer anywhere, also inside a call."""

_UNSAID: Final = frozenset({"", "null", "none", "nil", "undefined"})
"""Words that servers write as a finish reason although the answer has not finished; some write them on every chunk."""


class ServerCut(NamedTuple):
    """One choice that the upstream ended because of a loop."""

    choice: int
    reason: str
    """One of LOOP_STOPS, or UNFINISHED: a bounded set, fit for a metric label."""


def details(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The members of a choice, as the wire sent it, that `loop_stop` reads."""
    return {name: fields[name] for name in DETAILS if fields.get(name) is not None}


def unsaid(reason: str) -> bool:
    """Does this finish reason mean none?"""
    return reason.lower() in _UNSAID


def loop_stop(reason: str | None, fields: Mapping[str, Any] | None = None) -> str | None:
    """The word with which the upstream ended this choice because of a loop; None = it did not. `fields`: the choice as
    the wire sent it."""
    if reason is not None and reason.lower() in LOOP_STOPS:
        return reason.lower()
    for name in DETAILS if fields else ():
        said = (fields or {}).get(name)
        if isinstance(said, Mapping):
            said = said.get("type") or said.get("reason")
        elif name == "stop_reason" and reason == "stop":
            continue
        if isinstance(said, str):
            word = said.lower()
            if word in LOOP_STOPS:
                return word
            if word.startswith("repetition"):
                return "repetition"
    return None


def marker(cut: ServerCut, attempts: int) -> dict[str, str | int]:
    """The extra `streamfuse` object for such an end that was made quiet. It holds the server's word."""
    return {"action": "server", "reason": cut.reason, "choice": cut.choice, "attempts": attempts}
