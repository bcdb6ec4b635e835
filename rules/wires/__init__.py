"""One file or folder for each wire protocol, and their table. The first wire that speaks a path gets it; `opaque` takes
the rest.
"""

from __future__ import annotations

from . import anthropic_messages, gemini, ollama, opaque, openai_chat, openai_completions, openai_responses
from .base import Wire

WIRES: tuple[Wire, ...] = (
    openai_chat.WIRE,
    openai_responses.WIRE,
    anthropic_messages.WIRE,
    openai_completions.WIRE,
    gemini.WIRE,
    ollama.WIRE,
    opaque.WIRE,
)


def get(name: str) -> Wire:
    """Return the wire of this name. Raises KeyError."""
    for wire in WIRES:
        if wire.name == name:
            return wire
    raise KeyError(name)


def for_path(path: str) -> Wire:
    """The wire that speaks a normalised path (`/chat/completions`), opaque for unknown ones."""
    for wire in WIRES:
        if wire.matches(path):
            return wire
    return opaque.WIRE


def error_wire(path: str) -> Wire:
    """The wire in whose shape a path's errors are told: the one that speaks it, else the one that claims its beginning
    (Anthropic's /messages/count_tokens), else opaque, which tells them as OpenAI does."""
    wire = for_path(path)
    claims = (other for other in WIRES if other.claims(path))
    return next(claims, wire) if wire is opaque.WIRE else wire
