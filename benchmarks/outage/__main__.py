"""`make bench-outage`: is an agent ever worse off with streamfuse in between? Exit code 1 where a row says so."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import table
from .measure import measure
from .plan import NAMES, USUAL, Run, chosen, missing, plan
from .scenario import SCENARIOS

EPILOG = """A provider fails in one way for some seconds and is well afterwards. Agents ask it, all at the same moment:
once directly, once through streamfuse as it is without a config. A row says

[cyan]FAIL died[/cyan]
    where fewer agents get their answer with streamfuse than without
[cyan]FAIL calls[/cyan]
    where it makes more than 1.2 times the calls and one; an agent that is saved (it dies without streamfuse) may cost
    eleven more, which a column of their own shows
[cyan]FAIL rate[/cyan]
    where fifty agents in an outage of 30 s or more make over 2 calls a second to the dead provider after the first 3 s

Python SDKs, and models of agents (names that begin with ~: a real agent's retry rules, played over a real connection),
run in time that skips ahead while all of them wait. Programs (Node SDKs, Claude Code, Codex, OpenCode) take real time;
python -m tests.clients.install installs them into CLIENTS_CACHE.

Examples:

[cyan]make bench-outage[/cyan]
    the quick half: some minutes
[cyan]make bench-outage ARGS=--full[/cyan]
    every scenario, outage and crowd with every client: hours of real time for the programs
[cyan]make bench-outage ARGS="--client '~*' --failed"[/cyan]
    models only; show only rows that fail
[cyan]make bench-outage ARGS="--client 'Claude*' --scenario '5*' --down 10,30"[/cyan]
    real Claude Code in outages of ten seconds and half a minute
[cyan]make bench-outage ARGS="--client openai-py-10 --agents 50 --down 30 --json" > outage.json[/cyan]
    for machines"""


def bench(
    client: Annotated[str, typer.Option(metavar="NAMES", help="Clients, with * and commas.")] = "",
    scenario: Annotated[str, typer.Option(metavar="NAMES", help="Ways to fail, with * and commas.")] = "",
    down: Annotated[str, typer.Option(metavar="SECONDS", help="Outages, e.g. 3,10.")] = "",
    agents: Annotated[str, typer.Option(metavar="N", help="Crowds, e.g. 1,50.")] = "",
    full: Annotated[bool, typer.Option("--full", help="Everything that was not named above.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Show only rows that fail.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Processes. (default: one a core)")] = None,
    names: Annotated[bool, typer.Option("--list", help="Say which clients and scenarios there are.")] = False,
) -> None:
    """What becomes of agents whose provider fails for a while: directly, and through streamfuse."""
    out = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    err = Console(stderr=True, highlight=False, soft_wrap=True)
    if names:
        for name in NAMES:
            out.print(f"{name:24} {missing(name) or 'ready'}", markup=False)
        for one in SCENARIOS.values():
            out.print(f"{one.name:24} {one.says}", markup=False)
        return
    try:
        clients = chosen(client, NAMES) if client else list(USUAL)
        scenarios = chosen(scenario, list(SCENARIOS)) if scenario else None
        downs = [float(part) for part in down.split(",")] if down else None
        crowds = [int(part) for part in agents.split(",")] if agents else None
        if min([*(downs or [1.0]), *(crowds or [1]), jobs or 1]) <= 0:
            raise ValueError("outages, crowds and processes are more than 0")
    except ValueError as wrong:
        err.print(f"[red]error:[/red] {escape(str(wrong))}")
        raise typer.Exit(2) from None
    absent = {name: reason for name in clients if (reason := missing(name)) is not None}
    for name, reason in absent.items():
        err.print(f"[yellow]left out:[/yellow] {name}: {escape(reason)}")
    runs = plan([name for name in clients if name not in absent], scenarios, downs, crowds, full=full)
    if not runs:
        err.print("[red]error:[/red] nothing is left to run")
        raise typer.Exit(2)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=err, transient=True, disable=not err.is_terminal,
    )  # fmt: skip
    try:
        with bar:
            task = bar.add_task("outages", total=len(runs))

            def done(run: Run) -> None:
                bar.update(task, advance=1, description=f"{run.client}, {run.scenario}")

            measured, broken = asyncio.run(measure(runs, jobs or os.cpu_count() or 1, done))
    except KeyboardInterrupt:
        err.print("\nstopped")
        raise typer.Exit(130) from None
    for one in broken:
        run = one.run
        err.print(f"[red]not measured:[/red] {run.client}, {run.scenario}, {run.down:g} s: {escape(one.reason)}")
    wrong = [row for row in measured if row.verdict.failed]
    if as_json:
        told = {
            "left_out": absent,
            "not_measured": len(broken),
            "failed": len(wrong),
            "rows": [row.as_json() for row in measured],
        }
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        shown = wrong if failed else measured
        if shown:
            out.print(table.rows(shown))
        out.print(table.clients(measured))
        out.print(f"[red]{len(wrong)} of {len(measured)} rows fail[/red]" if wrong else "[green]no row fails[/green]")
    raise typer.Exit(1 if wrong or broken else 0)


app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
app.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})(bench)

if __name__ == "__main__":
    app(prog_name="make bench-outage")
