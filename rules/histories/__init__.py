"""One file for each wire whose requests carry a history. A wire without a history has nothing to review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import anthropic_messages, gemini, ollama, openai_chat, openai_responses
from .base import History

HISTORIES: dict[str, History] = {
    "openai_chat": openai_chat.HISTORY,
    "openai_responses": openai_responses.HISTORY,
    "anthropic_messages": anthropic_messages.HISTORY,
    "gemini": gemini.HISTORY,
    "ollama": ollama.HISTORY,
}


def get(wire: str) -> History | None:
    """The history of a wire, by the wire's name; None where it has none."""
    return HISTORIES.get(wire)


def of_body(body: Mapping[str, Any]) -> str | None:
    """The wire whose requests look like this body; None where it holds no history. Responses before the others, and
    Anthropic's messages and Ollama's before chat, which has the same member and less to know it by."""
    for wire in ("openai_responses", "anthropic_messages", "ollama", *HISTORIES):
        if HISTORIES[wire].recognises(body):
            return wire
    return None


__all__ = ["HISTORIES", "History", "get", "of_body"]
