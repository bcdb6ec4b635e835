"""History of Ollama's /api/chat: `messages` as on chat, but calls have no ids and their arguments are objects.

A result names its tool (`tool_name`, or `name`); it answers the first open call of that name, or the first open call
where it names none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from ..values.steps import ToolCall
from .base import Json, Pairing, Turn, text_of
from .openai_chat import ChatHistory, reasoning_of
from .parts import result_of

_TEXT = frozenset({"text"})


def calls_of(message: dict[str, Any]) -> list[ToolCall]:
    """The calls of an assistant message; the id is the tool's name where there is none."""
    listed = message.get("tool_calls")
    calls = []
    for call in listed if isinstance(listed, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        name = str(function.get("name") or "")
        given = function.get("arguments")
        try:
            arguments = given if isinstance(given, str) else orjson.dumps({} if given is None else given).decode()
        except (TypeError, ValueError):
            arguments = str(given)
        calls.append(ToolCall(str(call.get("id") or name), name, arguments))
    return calls


def _seen(message: dict[str, Any]) -> str:
    """What a message brings: its words, and its pictures by digest, which stand beside them in `images`."""
    words, images = result_of(message.get("content")), message.get("images")
    if not isinstance(images, list) or not images:
        return words
    return f"{words} {result_of([{'type': 'image', 'data': image} for image in images])}"


class OllamaHistory(ChatHistory):
    """As the chat wire's, with results paired by the tool's name."""

    def shown(self, item: Any) -> str:
        return _seen(item) if isinstance(item, dict) else ""

    def recognises(self, body: Json) -> bool:
        """Chat has the same member; its arguments are text, and its results do not name their tool."""
        messages = body.get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                if "tool_name" in message:
                    return True
                calls = message.get("tool_calls")
                functions = [c.get("function") for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
                if any(isinstance(f, dict) and isinstance(f.get("arguments"), dict) for f in functions):
                    return True
        return False

    def turns(self, items: Sequence[Any], base: int = 0, pairing: Pairing | None = None) -> list[Turn]:
        turns: list[Turn] = []
        pairing = pairing or Pairing()
        unanswered: list[str] = []
        nudge: str | None = None
        for i, message in enumerate(items, base):
            if not isinstance(message, dict):
                continue
            role = message.get("role")
            if role == "assistant":
                text = text_of(message.get("content"), _TEXT)
                turns.append(Turn([i], [text], [reasoning_of(message)], [], nudge))
                unanswered = []
                for call in calls_of(message):
                    pairing.called(turns[-1], call)
                    unanswered.append(call.id)
                nudge = None
            elif role == "user":
                nudge = self.said(message)
            elif role == "tool":
                named = message.get("tool_call_id") or message.get("tool_name") or message.get("name")
                ident = named if isinstance(named, str) and named in unanswered else next(iter(unanswered), "")
                if ident in unanswered:
                    unanswered.remove(ident)
                pairing.answer(i, ident, _seen(message), None)
        return turns


HISTORY = OllamaHistory()
