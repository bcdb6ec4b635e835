"""One file a wire protocol, and the table of them: the first that speaks a path has it, opaque takes the rest."""

from __future__ import annotations

from . import opaque
from .base import Wire

WIRES: tuple[Wire, ...] = (opaque.WIRE,)


def get(name: str) -> Wire:
    """The wire of this name. Raises KeyError."""
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
