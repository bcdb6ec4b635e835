"""One file or folder for each wire protocol, and their table. The first wire that speaks a path gets it; `opaque` takes
the rest.
"""

from __future__ import annotations

from functools import lru_cache

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


LONGEST = 64
"""The longest path, in characters, whose wires are cached. Clients ask for the same few paths thousands of times."""


def for_path(path: str) -> Wire:
    """The wire that speaks a normalised path (`/chat/completions`), opaque for unknown ones."""
    return _known(path)[0] if len(path) <= LONGEST else _for_path(path)


def error_wire(path: str) -> Wire:
    """The wire whose error shape is used on a path: the wire that speaks it, else the one that claims its beginning
    (Anthropic's /messages/count_tokens), else opaque, which uses OpenAI's shape."""
    return _known(path)[1] if len(path) <= LONGEST else _error_wire(path)


@lru_cache(256)
def _known(path: str) -> tuple[Wire, Wire]:
    return _for_path(path), _error_wire(path)


def _for_path(path: str) -> Wire:
    for wire in WIRES:
        if wire.matches(path):
            return wire
    return opaque.WIRE


def _error_wire(path: str) -> Wire:
    wire = _for_path(path)
    claims = (other for other in WIRES if other.claims(path))
    return next(claims, wire) if wire is opaque.WIRE else wire
