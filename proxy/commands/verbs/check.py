"""`streamfuse check`: what is wrong in a config, what is risky, and what binds for whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ...settings.cautions import cautions
from ...settings.load import Settings
from ..console import caution, err, fail, out, plain, read

EXAMPLES = """Examples:

[cyan]streamfuse check[/cyan]
    ./config.yaml, else environment variables alone
[cyan]streamfuse check config.yaml && streamfuse serve -c config.yaml[/cyan]
    never start with a broken config
[cyan]streamfuse check --probe[/cyan]
    also ask each provider one harmless question: is it there, does it take the key?
[cyan]streamfuse check --explain[/cyan]
    how long a loop may run before it is cut, by its period"""


def run(
    file: Annotated[Path | None, typer.Argument(help="Config file. Without it ./config.yaml, if it is there.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="For a run of period p: which rule fires, at which character.")
    ] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Also ask each provider for its list of models: reachable, TLS, key.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("-c", "--config", metavar="FILE", help="The same as FILE, written as for serve.")
    ] = None,
) -> None:
    """Validate a config and all packs; say what is wrong (file, line, field), what is risky, what binds for whom."""
    from ...settings.engine import ruleset
    from ..binding import show

    if file is not None and config is not None and file != config:
        raise typer.BadParameter(f"two config files are named: {file} and {config}")
    notes: list[str] = []
    settings = read(config if config is not None else file, {}, notes=notes)
    show(settings, out)
    out.print(f"packs: {', '.join(_packs())}")
    if explain:
        from ...calibration.explain import table

        out.print(table(ruleset(settings)))
    caution(*notes, *cautions(settings), to=out)
    if probe and not _probed(settings):
        raise typer.Exit(1)
    out.print("[green]good[/green]")


def _probed(settings: Settings) -> bool:
    """Ask every provider and say what came of it; will all of them do?"""
    import asyncio

    from ..probe import probe

    try:
        found = asyncio.run(probe(settings))
    except KeyboardInterrupt:
        fail("stopped", 130)
    for name, one in found.items():
        mark = "[green]probe:[/green]" if one.good else "[red]probe:[/red]"
        out.print(f"{mark} {plain(name)}: {plain('; '.join(one.said))}")
    return all(one.good for one in found.values())


def _packs() -> list[str]:
    """The names of all packaged packs, each of them read; every mistake on stderr and exit 2."""
    from rules import packs, provider_packs

    problems = [str(problem) for name in packs.names() for problem in _wrong(name)]
    for problem in problems:
        err.print(f"[red]error:[/red] {plain(problem)}")
    if problems:
        raise typer.Exit(2)
    return [*packs.names(), *(f"errors/{name}" for name in provider_packs.packs())]


def _wrong(name: str) -> Sequence[object]:
    from rules import packs

    try:
        packs.gather(packs.load(name))
    except packs.PackError as error:
        return error.problems
    return ()
