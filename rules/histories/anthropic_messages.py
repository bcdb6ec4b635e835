"""History of /messages: a step is an assistant message and the tool_result blocks of the user message after it.

A user message is a real one if it holds anything but tool results and notes that the agent itself writes there.
Thinking is signed, so a step is kept or dropped whole, and its thinking is never edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from ..values.notices import MARK
from ..values.steps import ToolCall
from .base import History, Json, Pairing, Turn, of_kind, text_of
from .parts import result_of

_TEXT = frozenset({"text"})
_ASIDE = ("<system-reminder>", MARK)
"""How text begins that an agent, or we, put beside tool results without the user having said anything."""
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_RESULT = "tool_result"
_BESIDE = frozenset({"image", "document", "search_result"})
"""Blocks that agents put beside the results of a message, not into them (a screenshot after the word "done")."""
_SERVED = "_tool_result"
"""The ending of the types of results that the provider's own tools give inside the assistant's message."""


def blocks_of(message: Any) -> list[dict[str, Any]]:
    """The content as a list of blocks; a plain string is one text block."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def input_of(block: dict[str, Any]) -> str:
    """The input of a tool_use block as JSON text."""
    given = block.get("input")
    if isinstance(given, str):
        return given
    try:
        return orjson.dumps(given if given is not None else {}).decode()
    except (orjson.JSONEncodeError, UnicodeError):
        return str(given)


class MessagesHistory(History):
    """Results are found by their tool_use_id, is_error included."""

    member = "messages"

    def recognises(self, body: Json) -> bool:
        """Chat has the same member. A system prompt outside it, or blocks that only this wire has, tell them apart."""
        if not isinstance(body.get("messages"), list):
            return False
        blocks = (
            block.get("type")
            for message in body["messages"]
            if isinstance(message, dict) and isinstance(message.get("content"), list)
            for block in message["content"]
            if isinstance(block, dict)
        )
        return "system" in body or any(kind in ("tool_use", "tool_result", "thinking") for kind in blocks)

    def said(self, item: Any) -> str | None:
        if not isinstance(item, dict) or item.get("role") != "user":
            return None
        blocks = blocks_of(item)
        said = [
            str(b.get("text") or "")
            for b in blocks
            if b.get("type") == "text" and not str(b.get("text") or "").lstrip().startswith(_ASIDE)
        ]
        if any(text.strip() for text in said):
            return " ".join(said)
        return None if any(b.get("type") == _RESULT for b in blocks) else ""

    def answers(self, item: Any) -> bool:
        return any(block.get("type") == _RESULT for block in blocks_of(item))

    def is_step(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("role") == "assistant"

    def turns(self, items: Sequence[Any], base: int = 0, pairing: Pairing | None = None) -> list[Turn]:
        turns: list[Turn] = []
        pairing = pairing or Pairing()
        nudge: str | None = None
        for i, message in enumerate(items, base):
            if self.is_step(message):
                turns.append(self._turn(i, message, nudge, pairing))
                nudge = None
            elif isinstance(message, dict) and message.get("role") == "user":
                self._results(i, message, pairing)
                said = self.said(message)
                nudge = nudge if said is None else said
        return turns

    def _turn(self, at: int, message: dict[str, Any], nudge: str | None, pairing: Pairing) -> Turn:
        turn = Turn([at], [], [], [], nudge)
        for block in blocks_of(message):
            kind = str(block.get("type"))
            if kind == "text":
                turn.text.append(str(block.get("text") or ""))
            elif kind == "thinking":
                turn.reasoning.append(str(block.get("thinking") or ""))
            elif of_kind(block, _CALLS):
                call = ToolCall(str(block.get("id") or ""), str(block.get("name") or ""), input_of(block))
                pairing.called(turn, call)
            elif kind.endswith(_SERVED):
                pairing.answer(at, str(block.get("tool_use_id") or ""), result_of(block.get("content")), None)
        return turn

    def _results(self, at: int, message: dict[str, Any], pairing: Pairing) -> None:
        blocks = blocks_of(message)
        beside = [block for block in blocks if of_kind(block, _BESIDE)]
        seen = f" {result_of(beside)}" if beside else ""
        for block in blocks:
            if block.get("type") != _RESULT:
                continue
            ident, failed = str(block.get("tool_use_id") or ""), block.get("is_error")
            pairing.answer(
                at, ident, result_of(block.get("content")) + seen, failed if isinstance(failed, bool) else None
            )

    def text(self, item: Any) -> str:
        return text_of(item.get("content"), _TEXT) if self.is_step(item) else ""

    def with_text(self, item: Any, text: str) -> Any:
        content = item.get("content")
        if isinstance(content, str):
            return {**item, "content": text} if text else None
        kept, put = [], False
        for block in content:
            if isinstance(block, dict) and block.get("type") == "text":
                if text and not put:
                    kept.append({**block, "text": text})
                put = True
            else:
                kept.append(block)
        return {**item, "content": kept} if kept else None

    def without(self, items: Sequence[Any], at: frozenset[int]) -> list[Any]:
        gone: set[str] = set()
        kept: list[Any] = []
        for i, item in enumerate(items):
            if self.is_step(item):
                # Ids may come again in a later step: a result belongs to the newest earlier call with its id.
                called = {str(b.get("id")) for b in blocks_of(item) if of_kind(b, _CALLS)}
                gone = gone | called if i in at else gone - called
                if i in at:
                    continue
            content = item.get("content") if isinstance(item, dict) else None
            if isinstance(content, list) and item.get("role") == "user":
                left = [
                    b
                    for b in content
                    if not (isinstance(b, dict) and b.get("type") == _RESULT and str(b.get("tool_use_id")) in gone)
                ]
                if not left and content:
                    continue
                if len(left) < len(content):
                    kept.append({**item, "content": left})
                    continue
            kept.append(item)
        return kept

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def assistant(self, text: str) -> Any:
        return {"role": "assistant", "content": text}


HISTORY = MessagesHistory()
