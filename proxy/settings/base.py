"""The base of every config section: frozen, without unknown keys, with durations in seconds and sizes in bytes.

Every field says what it does in `description`; a field that can hurt says how in `json_schema_extra["danger"]`. Both
end up in config.example.yaml and docs/configuration.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema

from rules import parse_seconds as seconds

Move = Callable[[tuple[str, ...], tuple[str, ...]], None]

NOTHING = frozenset({"", "null", "none", "never", "~"})
"""What an environment variable says for "no value", since it cannot say null."""

_SIZES = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", re.IGNORECASE)


class Section(BaseModel):
    """Base of every part of the config."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    also: ClassVar[Mapping[str, str]] = {}
    """Other systems' names of our fields, in snake_case: {theirs: ours}."""

    @classmethod
    def pasted(cls, data: dict[str, Any], move: Move) -> dict[str, Any]:
        """Blocks of other systems brought into our shape, before names are looked at. Never changes `data` itself.

        `move(old, new)` is told of each path (relative, as written) that now stands elsewhere. Raises ValueError
        where a block cannot mean anything here.
        """
        return data


def size(value: object) -> object:
    """`64KB`, `16MB`, `1GiB` or a number of bytes → bytes; K is 1024. Raises ValueError on anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and (found := _SIZE.fullmatch(value.strip())):
        number = int(float(found.group(1)) * _SIZES[found.group(2).upper()])
    else:
        raise ValueError("a size is needed: 64KB, 16MB or a number of bytes")
    if number < 0:
        raise ValueError("a size must not be negative")
    return number


def absent(value: object) -> object:
    """The words for "no value" → None."""
    return None if isinstance(value, str) and value.strip().lower() in NOTHING else value


def _several(value: object) -> object:
    """One name → a list of it, so that `keys: abc` means what it says."""
    return [value] if isinstance(value, str) else value


Seconds = Annotated[float, BeforeValidator(seconds), WithJsonSchema({"type": "string", "format": "duration"})]
Bytes = Annotated[int, BeforeValidator(size), WithJsonSchema({"type": "string", "format": "size"})]
MaybeSeconds = Annotated[Seconds | None, BeforeValidator(absent)]
MaybeText = Annotated[str | None, BeforeValidator(absent)]
Names = Annotated[tuple[str, ...], BeforeValidator(_several)]


def field(default: Any, description: str, *, danger: str | None = None, **limits: Any) -> Any:
    """A config field: its default, what it does, and what goes wrong with a bad value."""
    extra: dict[str, JsonValue] | None = {"danger": danger} if danger else None
    return Field(default, description=description, json_schema_extra=extra, **limits)


def duration(value: float) -> str:
    """Seconds as people write them: 8m, 2s, 250ms."""
    if value and value % 3600 == 0:
        return f"{value / 3600:g}h"
    if value >= 60 and value % 60 == 0:
        return f"{value / 60:g}m"
    return f"{value * 1000:g}ms" if value and value < 1 else f"{value:g}s"
