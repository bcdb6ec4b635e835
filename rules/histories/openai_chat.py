"""History of /chat/completions: `messages`; a step is an assistant message and the tool messages that answer it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..values.steps import ToolCall
from .base import History, Json, Pairing, Turn, of_kind, text_of
from .parts import result_of

_TEXT = frozenset({"text", "output_text", "input_text"})
_THINKING = frozenset({"thinking", "reasoning", "reasoning.text", "reasoning_text"})


_THOUGHTS = frozenset({"reasoning_content", "reasoning", "thinking", "reasoning_details"})


def reasoning_of(message: dict[str, Any]) -> str:
    """Thinking under all its vendor names."""
    if _THOUGHTS.isdisjoint(message) and type(message.get("content")) is not list:
        return ""  # so are most messages of an agent
    for key in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(message.get(key), str) and message[key]:
            return str(message[key])
    details = message.get("reasoning_details")
    if isinstance(details, list):
        return "".join(d["text"] for d in details if isinstance(d, dict) and isinstance(d.get("text"), str))
    content = message.get("content")
    parts = [p for p in content if of_kind(p, _THINKING)] if isinstance(content, list) else []
    return "".join(text_of(p.get("thinking", p.get("text")), _TEXT) for p in parts)


def calls_of(message: dict[str, Any]) -> list[ToolCall]:
    """The calls of an assistant message; the legacy `function_call` is a call with an empty id."""
    listed = message.get("tool_calls")
    old = message.get("function_call")
    calls = []
    for call in listed if isinstance(listed, list) else [{"function": old}] if old else []:
        if not isinstance(call, dict):
            continue
        function, ident = call.get("function"), call.get("id")
        if type(function) is dict and type(ident) is str:
            name, given = function.get("name"), function.get("arguments")
            if type(name) is str and type(given) is str:  # as every server writes them
                calls.append(ToolCall(ident, name, given))
                continue
        function = call.get("function") if isinstance(call.get("function"), dict) else call.get("custom")
        if not isinstance(function, dict):
            continue
        given = function.get("arguments", function.get("input"))
        arguments = given if isinstance(given, str) else "" if given is None else str(given)
        calls.append(ToolCall(str(call.get("id") or ""), str(function.get("name") or ""), arguments))
    return calls


class ChatHistory(History):
    """A tool message is paired with its call by id, newest step first. One without a call is skipped."""

    member = "messages"

    def recognises(self, body: Json) -> bool:
        return isinstance(body.get("messages"), list)

    def said(self, item: Any) -> str | None:
        if (type(item) is dict or isinstance(item, dict)) and item.get("role") == "user":
            return text_of(item.get("content"), _TEXT)
        return None

    def answers(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("role") in ("tool", "function")

    def is_step(self, item: Any) -> bool:
        # The type is asked first in what follows, too: each message is looked at six times, of all of a history.
        return (type(item) is dict or isinstance(item, dict)) and item.get("role") == "assistant"

    def turns(self, items: Sequence[Any], base: int = 0, pairing: Pairing | None = None) -> list[Turn]:
        turns: list[Turn] = []
        pairing = pairing or Pairing()
        nudge: str | None = None
        for i, message in enumerate(items, base):
            if type(message) is not dict and not isinstance(message, dict):
                continue
            role = message.get("role")
            if role == "assistant":
                content = message.get("content")
                text = "" if content is None else content if type(content) is str else text_of(content, _TEXT)
                turns.append(Turn([i], [text], [reasoning_of(message)], [], nudge))
                if "tool_calls" in message or "function_call" in message:
                    for call in calls_of(message):
                        pairing.called(turns[-1], call)
                nudge = None
            elif role == "user":
                nudge = self.said(message)
            elif role in ("tool", "function"):
                pairing.answer(i, str(message.get("tool_call_id") or ""), result_of(message.get("content")), None)
        return turns

    def text(self, item: Any) -> str:
        if type(item) is dict and type(item.get("content")) is not list:
            content = item.get("content")
            return content if type(content) is str and item.get("role") == "assistant" else ""
        return text_of(item.get("content"), _TEXT) if self.is_step(item) else ""

    def with_text(self, item: Any, text: str) -> Any:
        content = item.get("content")
        kept: Any = text
        if isinstance(content, list):
            kept = [p for p in content if not of_kind(p, _TEXT, "text")]
            if text:
                kept.append({"type": "text", "text": text})
        if not kept and not item.get("tool_calls") and not item.get("function_call"):
            return None
        return {**item, "content": kept}

    def without(self, items: Sequence[Any], at: frozenset[int]) -> list[Any]:
        return [item for i, item in enumerate(items) if i not in at]

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def assistant(self, text: str) -> Any:
        return {"role": "assistant", "content": text}


HISTORY = ChatHistory()
