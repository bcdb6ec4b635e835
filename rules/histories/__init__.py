"""One file for each wire whose requests carry a history. A wire without a history has nothing to review."""

from __future__ import annotations

from . import anthropic_messages, openai_chat, openai_responses
from .base import History

HISTORIES: dict[str, History] = {
    "openai_chat": openai_chat.HISTORY,
    "openai_responses": openai_responses.HISTORY,
    "anthropic_messages": anthropic_messages.HISTORY,
}


def get(wire: str) -> History | None:
    """The history of a wire, by the wire's name; None where it has none."""
    return HISTORIES.get(wire)


__all__ = ["HISTORIES", "History", "get"]
