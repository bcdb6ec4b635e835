"""A table where the terminal is wide enough, else a few lines for each row: columns of one letter help nobody."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

ENOUGH = 132
"""Columns from which on a table of findings is easy to read: with names of some 40 characters."""


class ResponsiveTable:
    """Either form of the same rows, by the room there is."""

    def __init__(self, table: Table, blocks: Sequence[RenderableType]) -> None:
        self.table = table
        self.blocks = blocks

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width >= ENOUGH:
            yield self.table
        else:
            yield from self.blocks


def block(title: str, *lines: str) -> list[RenderableType]:
    """A name (none where it has just been said), and what is to be said of it, indented. The terminal wraps."""
    head: list[RenderableType] = [Text(title, style="bold")] if title else []
    return [*head, *(Text(f"  {line}") for line in lines if line)]
