"""What `streamfuse replay` and `streamfuse rules` do, apart from the command line: rules in, exit code out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from rules.ruleset import RuleSet

from .judge import run
from .listing import listing
from .table import as_json, as_table


def replay(paths: Sequence[Path], rules: RuleSet, wire: str | None, *, json: bool, out: Console, err: Console) -> int:
    """Judge and print. 0 quiet, 1 something fires, 2 nothing could be read. A bar on `err`, on a terminal only.

    Raises Unreadable for a path that is not there, KeyError for an unknown wire.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("replaying", total=None)

        def step(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name)

        report = run(paths, rules, wire, step)
    if json:
        out.print(
            orjson.dumps(as_json(report), option=orjson.OPT_INDENT_2).decode(),
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
    else:
        out.print(as_table(report))
    return report.exit_code


def show_rules(rules: RuleSet, *, out: Console) -> int:
    """Print every rule. Always 0."""
    out.print(listing(rules))
    return 0
