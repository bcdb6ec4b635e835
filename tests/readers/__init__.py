"""Strict readers of the wires, written from their grammar alone: they share no code with `rules`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any


class Illegal(AssertionError):
    """The stream breaks the grammar of its wire."""


def require(truth: object, why: str) -> None:
    if not truth:
        raise Illegal(why)


@dataclass
class Answer:
    """What a careful client makes of a stream."""

    end: str = ""
    """The terminal word: completed, incomplete, failed, error, a stop or finish reason."""
    texts: dict[int, str] = field(default_factory=dict)
    reasoning: str = ""
    refusal: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    error: dict[str, Any] | None = None
    marker: dict[str, Any] | None = None
    ident: str = ""
    usage: dict[str, Any] | None = None
    items: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts[index] for index in sorted(self.texts))


def blocks(raw: bytes) -> list[tuple[str, str]]:
    """(event name, data) of every event; comments are allowed as single lines, nothing else is."""
    text = re.sub(r"(?m)^:.*\n", "", raw.decode())
    require(text.endswith("\n\n") or not text, "the last event is not ended by a blank line")
    found = []
    for block in text.split("\n\n"):
        name, data = "", []
        for line in block.split("\n"):
            if not line or line.startswith(":"):
                continue
            key, _, value = line.partition(": ")
            require(key in ("event", "data"), f"a line {key!r}")
            if key == "event":
                name = value
            else:
                data.append(value)
        if name or data:
            require(len(data) == 1, "an event is one line of data")
            found.append((name, data[0]))
    return found


def objects(raw: bytes) -> list[tuple[str, dict[str, Any]]]:
    """As `blocks`, parsed; every data must be an object."""
    found = []
    for name, data in blocks(raw):
        value = json.loads(data)
        require(isinstance(value, dict), "data is no object")
        found.append((name, value))
    return found
