"""Conversations written once, in a neutral form, and said in the words of every wire that carries a history.

A conversation is a list of ("user", text), ("say", text), ("think", text), ("call", name, arguments, result) and
("calls", [(name, arguments, result), …]) for several calls in one step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

Line = tuple[Any, ...]


def flat(lines: Sequence[Line]) -> list[Line]:
    """Several calls of one step as calls without results, then their results."""
    out: list[Line] = []
    for line in lines:
        if line[0] == "calls":
            first = len(out)
            out += [("call", name, arguments, None) for name, arguments, _ in line[1]]
            out += [("result", first + i, result) for i, (_, _, result) in enumerate(line[1])]
        else:
            out.append(line)
    return out


def chat(lines: Sequence[Line]) -> dict[str, Any]:
    """As /chat/completions messages."""
    messages: list[dict[str, Any]] = []
    for i, line in enumerate(flat(lines)):
        if line[0] == "user":
            messages.append({"role": "user", "content": line[1]})
        elif line[0] == "call":
            call = {"id": f"call_{i}", "type": "function", "function": {"name": line[1], "arguments": line[2]}}
            _assistant(messages).setdefault("tool_calls", []).append(call)
            if line[3] is not None:
                messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": line[3]})
        elif line[0] == "result":
            messages.append({"role": "tool", "tool_call_id": f"call_{line[1]}", "content": line[2]})
        elif line[0] == "say":
            _assistant(messages)["content"] = line[1]
        elif line[0] == "think":
            _assistant(messages)["reasoning_content"] = line[1]
    return {"model": "m", "messages": messages}


def _assistant(messages: list[dict[str, Any]]) -> dict[str, Any]:
    if not messages or messages[-1]["role"] != "assistant":
        messages.append({"role": "assistant", "content": None})
    return messages[-1]


def messages(lines: Sequence[Line]) -> dict[str, Any]:
    """As /messages."""
    out: list[dict[str, Any]] = []

    def turn(role: str) -> list[dict[str, Any]]:
        if not out or out[-1]["role"] != role:
            out.append({"role": role, "content": []})
        blocks: list[dict[str, Any]] = out[-1]["content"]
        return blocks

    for i, line in enumerate(flat(lines)):
        if line[0] == "user":
            turn("user").append({"type": "text", "text": line[1]})
        elif line[0] == "think":
            turn("assistant").append({"type": "thinking", "thinking": line[1], "signature": "sig"})
        elif line[0] == "say":
            turn("assistant").append({"type": "text", "text": line[1]})
        elif line[0] == "call":
            given = json.loads(line[2]) if line[2] else {}
            turn("assistant").append({"type": "tool_use", "id": f"toolu_{i}", "name": line[1], "input": given})
            if line[3] is not None:
                turn("user").append({"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": line[3]})
        elif line[0] == "result":
            turn("user").append({"type": "tool_result", "tool_use_id": f"toolu_{line[1]}", "content": line[2]})
    return {"model": "m", "max_tokens": 100, "messages": out}


def responses(lines: Sequence[Line]) -> dict[str, Any]:
    """As /responses input items."""
    items: list[dict[str, Any]] = []
    for i, line in enumerate(flat(lines)):
        if line[0] == "user":
            items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": line[1]}]})
        elif line[0] == "say":
            items.append(
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": line[1]}]}
            )
        elif line[0] == "think":
            items.append({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": line[1]}]})
        elif line[0] == "call":
            items.append({"type": "function_call", "call_id": f"call_{i}", "name": line[1], "arguments": line[2]})
            if line[3] is not None:
                items.append({"type": "function_call_output", "call_id": f"call_{i}", "output": line[3]})
        elif line[0] == "result":
            items.append({"type": "function_call_output", "call_id": f"call_{line[1]}", "output": line[2]})
    return {"model": "m", "input": items}


def ollama(lines: Sequence[Line]) -> dict[str, Any]:
    """As Ollama's /api/chat: arguments are objects, calls have no ids, results name their tool."""
    messages: list[dict[str, Any]] = []
    names: dict[int, str] = {}
    for i, line in enumerate(flat(lines)):
        if line[0] == "user":
            messages.append({"role": "user", "content": line[1]})
        elif line[0] == "call":
            names[i] = line[1]
            call = {"function": {"name": line[1], "arguments": json.loads(line[2]) if line[2] else {}}}
            _assistant(messages).setdefault("tool_calls", []).append(call)
            if line[3] is not None:
                messages.append({"role": "tool", "tool_name": line[1], "content": line[3]})
        elif line[0] == "result":
            messages.append({"role": "tool", "tool_name": names[line[1]], "content": line[2]})
        elif line[0] == "say":
            _assistant(messages)["content"] = line[1]
        elif line[0] == "think":
            _assistant(messages)["thinking"] = line[1]
    return {"model": "m", "messages": messages}


def gemini(lines: Sequence[Line]) -> dict[str, Any]:
    """As Gemini's contents: parallel calls in one turn, their results in the next."""
    out: list[dict[str, Any]] = []
    names: dict[int, str] = {}

    def turn(role: str) -> list[dict[str, Any]]:
        if not out or out[-1]["role"] != role:
            out.append({"role": role, "parts": []})
        parts: list[dict[str, Any]] = out[-1]["parts"]
        return parts

    def result(name: str, said: str) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": {"output": said}}}

    for i, line in enumerate(flat(lines)):
        if line[0] == "user":
            turn("user").append({"text": line[1]})
        elif line[0] == "think":
            turn("model").append({"text": line[1], "thought": True})
        elif line[0] == "say":
            turn("model").append({"text": line[1]})
        elif line[0] == "call":
            names[i] = line[1]
            given = json.loads(line[2]) if line[2] else {}
            turn("model").append({"functionCall": {"name": line[1], "args": given}, "thoughtSignature": "c2ln"})
            if line[3] is not None:
                turn("user").append(result(line[1], line[3]))
        elif line[0] == "result":
            turn("user").append(result(names[line[1]], line[2]))
    return {"contents": out}


FORMS: dict[str, Callable[[Sequence[Line]], dict[str, Any]]] = {
    "openai_chat": chat,
    "anthropic_messages": messages,
    "openai_responses": responses,
    "gemini": gemini,
    "ollama": ollama,
}
