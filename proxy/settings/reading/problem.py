"""A mistake in the config, with everything that is needed to correct it: file, line, field, allowed values, the nearest
name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. `source` is a file's name, a flag or an environment variable; `line` counts from 1."""

    source: str
    message: str
    field: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = self.source
        if self.line is not None:
            place += f":{self.line}"
            if self.column is not None:
                place += f":{self.column}"
        return f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"


class ConfigError(Exception):
    """The config cannot be used; `problems` holds every mistake that was found, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class NoProvider(ConfigError):
    """Nothing is wrong, but no upstream is named anywhere."""
