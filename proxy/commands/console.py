"""What every command says and reads: the consoles, errors with exit codes, the options they share, the config.

Exit codes: 0 good, 1 findings or failed, 2 wrong usage or config.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from ..settings.load import ConfigError, NoProvider, Settings, load

# In a pipe nothing says how wide the reader is; 80 columns would fold every table.
_WIDE = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160
out = Console(highlight=False, soft_wrap=True, width=_WIDE)
err = Console(stderr=True, highlight=False, soft_wrap=True)

ConfigOption = Annotated[
    Path | None,
    typer.Option("-c", "--config", metavar="FILE", help="Config file. Without it ./config.yaml, if it is there."),
]
WireOption = Annotated[
    str | None,
    typer.Option("--wire", metavar="W", help="openai_chat, anthropic_messages, … (default: told from the events)"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="For machines.")]


def ours() -> str:
    """Name and version."""
    try:
        return f"streamfuse {version('streamfuse')}"
    except PackageNotFoundError:  # run from a checkout
        return "streamfuse (not installed)"


def read(
    file: Path | None, flags: dict[str, Any], *, need_provider: bool = True, notes: list[str] | None = None
) -> Settings:
    """The settings, or every mistake on stderr and exit 2. `notes` gains what is worth a word."""
    try:
        return load(file, flags, need_provider=need_provider, notes=notes)
    except NoProvider as none:
        fail(none.problems[0].message, 2)
    except ConfigError as wrong:
        for problem in wrong.problems:
            err.print(f"[red]error:[/red] {plain(str(problem))}")
        raise typer.Exit(2) from None


def fail(message: str, code: int) -> NoReturn:
    """One sentence on stderr, and out."""
    err.print(f"[red]error:[/red] {plain(message)}")
    raise typer.Exit(code)


def plain(text: str) -> str:
    """Text that rich shows as it is, without reading markup in it."""
    return escape(text)


def caution(*said: str, to: Console = err) -> None:
    """One line each: this works, but may not be what is wanted."""
    for one in said:
        to.print(f"[yellow]caution:[/yellow] {plain(one)}")
