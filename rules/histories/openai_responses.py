"""History of /responses: `input`; a step is a row of assistant items (reasoning, message, calls) and its outputs.

A new step begins with the first assistant item after an output or a user message. Reasoning is often encrypted and
then has no text: such a step is known by its calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from ..values.steps import ToolCall
from .base import History, Json, Pairing, Turn, of_kind, text_of
from .parts import result_of

_TEXT = frozenset({"input_text", "output_text", "text"})
_THINKING = frozenset({"summary_text", "reasoning_text", "text"})
_SERVED = ("output", "outputs", "results", "result", "error")
"""Members with the result of the provider's own tools (MCP, code interpreter, file search), in the call's own item."""


def kind_of(item: Any) -> str:
    """The item's kind: user, step, call, output or other."""
    if not isinstance(item, dict):
        return "other"
    kind = item.get("type", "message")
    if kind == "message":
        role = item.get("role")
        return "user" if role == "user" else "step" if role == "assistant" else "other"
    if kind == "reasoning":
        return "step"
    if isinstance(kind, str):
        return "output" if kind.endswith("_output") else "call" if kind.endswith("_call") else "other"
    return "other"


def call_of(item: dict[str, Any]) -> ToolCall:
    """A call item of any kind. Hosted tools are named by their type; their action counts as arguments."""
    given = item.get("arguments", item.get("input", item.get("action")))
    if not isinstance(given, str):
        try:
            given = orjson.dumps(given if given is not None else {}).decode()
        except (orjson.JSONEncodeError, UnicodeError):
            given = str(given)
    ident = item.get("call_id") or item.get("id") or ""
    served = next((item[name] for name in _SERVED if item.get(name) is not None), None)
    result = None if served is None else result_of(served)
    return ToolCall(str(ident), str(item.get("name") or item.get("type") or ""), given, result)


class ResponsesHistory(History):
    """An `input` that is a plain string is one user message and no history."""

    member = "input"
    items_per_step = 3

    def recognises(self, body: Json) -> bool:
        return isinstance(body.get("input"), list)

    def outputs(self, body: Json) -> dict[str, str]:
        found = (item for item in self.items(body) if kind_of(item) == "output")
        return {str(item.get("call_id") or item.get("id") or ""): result_of(item.get("output")) for item in found}

    def said(self, item: Any) -> str | None:
        return text_of(item.get("content"), _TEXT) if kind_of(item) == "user" else None

    def answers(self, item: Any) -> bool:
        return kind_of(item) == "output"

    def is_step(self, item: Any) -> bool:
        return kind_of(item) in ("step", "call")

    def turns(self, items: Sequence[Any], base: int = 0, pairing: Pairing | None = None) -> list[Turn]:
        turns: list[Turn] = []
        pairing = pairing or Pairing()
        nudge: str | None = None
        fresh = True
        for i, item in enumerate(items, base):
            kind = kind_of(item)
            if kind in ("step", "call"):
                if fresh:
                    turns.append(Turn([], [], [], [], nudge))
                    nudge, fresh = None, False
                self._add(turns[-1], i, item, pairing)
            elif kind == "output":
                fresh = True
                ident = str(item.get("call_id") or item.get("id") or "")
                pairing.answer(i, ident, result_of(item.get("output")), None)
            elif kind == "user":
                fresh = True
                nudge = self.said(item)
        return turns

    def _add(self, turn: Turn, at: int, item: dict[str, Any], pairing: Pairing) -> None:
        turn.at.append(at)
        kind = item.get("type", "message")
        if kind == "message":
            turn.text.append(text_of(item.get("content"), _TEXT))
        elif kind == "reasoning":
            turn.reasoning.append(text_of(item.get("content"), _THINKING) or text_of(item.get("summary"), _THINKING))
        else:
            pairing.called(turn, call_of(item))

    def text(self, item: Any) -> str:
        if isinstance(item, dict) and item.get("role") == "assistant" and kind_of(item) == "step":
            return text_of(item.get("content"), _TEXT)
        return ""

    def with_text(self, item: Any, text: str) -> Any:
        content = item.get("content")
        if not text:
            return None
        if isinstance(content, str):
            return {**item, "content": text}
        first = next((p for p in content if of_kind(p, _TEXT)), {"type": "output_text"})
        other = [p for p in content if not of_kind(p, _TEXT)]
        return {**item, "content": [{**first, "text": text}, *other]}

    def without(self, items: Sequence[Any], at: frozenset[int]) -> list[Any]:
        return [item for i, item in enumerate(items) if i not in at]

    def user(self, text: str) -> Any:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def assistant(self, text: str) -> Any:
        return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


HISTORY = ResponsesHistory()
