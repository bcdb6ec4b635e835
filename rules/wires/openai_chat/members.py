"""The members of a chat delta that hold output: text in parts, reasoning under its vendors' names, and what is left of
a choice where only some of its output may pass.
"""

from __future__ import annotations

from typing import Any

from ...values.delta import Channel, Delta, Piece, Unknown
from ..base import Misshapen
from ..said import Said
from .calls import Side, str_of

TEXT, REASONING = Channel.TEXT, Channel.REASONING
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
"""DeepSeek, SGLang, Kimi, GLM, llama.cpp · OpenRouter, vLLM, Groq · some Ollama builds. Some send one text twice."""
NUMBERS = frozenset({int, float, bool})
SILENT = frozenset({"role", "provider_specific_fields", "token_ids", "matched_stop", "obfuscation"})
"""Members of a delta that a client never shows."""


def read_parts(side: Side, parts: list[Any], deltas: list[Delta]) -> None:
    """Mistral's content: a list of text and thinking parts."""
    for part in parts:
        kind = part.get("type") if type(part) is dict else None
        if type(part) is not dict or (kind == "text" and type(part.get("text")) in NUMBERS):
            raise Misshapen("a part of the content is no object, or holds no text")
        if kind == "text":
            deltas.append(Piece(side.text, TEXT, str_of(part.get("text"))))
        elif kind == "thinking":
            thinking = part.get("thinking")
            if type(thinking) is list:
                thinking = "".join(str_of(p.get("text")) for p in thinking if type(p) is dict)
            deltas.append(Piece(side.reasoning, REASONING, str_of(thinking)))
        else:
            deltas.append(Unknown(f"content.{str_of(kind)}"))


def told_reasoning(details: Any) -> str:
    """OpenRouter's reasoning_details: text and summaries; encrypted ones say nothing."""
    if type(details) is not list:
        return ""
    return "".join(str_of(d.get("text")) or str_of(d.get("summary")) for d in details if type(d) is dict)


def leave(choice: dict[str, Any], said: Said) -> bool:
    """Leave in a choice what is wanted of it. The members are those of `ChatCodec._delta`, in its order. True where
    anything is left."""
    delta: dict[str, Any] = {}
    reasoning: list[Any] = []
    for name, value in choice["delta"].items():
        if not value or name in SILENT:
            delta[name] = value
            continue
        left: Any = value
        if name == "content" and type(value) is list:
            left = [part for part in value if _leave_part(part, said)] or None
        elif name in REASONING_KEYS or name == "reasoning_details":
            if not reasoning and (name == "reasoning_details" or type(value) is str):
                reasoning.append(said.text(value))
            # One text under several names is one piece.
            whole = not reasoning or reasoning[0] == value or (reasoning[0] is not None and type(value) is not str)
            left = value if whole else reasoning[0]
        elif name == "tool_calls":
            left = [call for call in value if said.next() is not None] or None
        elif name in ("content", "refusal"):
            left = said.text(value)
            if left != value and "logprobs" in choice:
                choice["logprobs"] = None
        else:
            kept = said.next() is not None
            if name == "audio" and type(value) is dict and type(value.get("transcript")) is str:
                said.next()
            left = value if kept else None
        if left is not None:
            delta[name] = left
    choice["delta"] = delta
    choice["finish_reason"] = None
    return any(value and name not in SILENT for name, value in delta.items())


def _leave_part(part: dict[str, Any], said: Said) -> bool:
    """Leave in one of Mistral's parts what is wanted of it."""
    left = said.next()
    if isinstance(left, Piece) and part.get("type") == "text":
        part["text"] = left.text
    return left is not None
