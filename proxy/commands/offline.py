"""What `replay`, `calibrate` and `rules` do, apart from the command line: recordings and configs in, exit code out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from ..calibration.calibrate import calibrate as measured
from ..calibration.calibrate import calibration_json
from ..calibration.table import calibration_table
from ..replay.judge import Step, run
from ..replay.judging import JudgingConfig
from ..replay.report.comparison import compare, diff_json, diff_table
from ..replay.report.listing import listing, listing_json
from ..replay.report.page import diff_page, possible, report_page, write
from ..replay.report.table import as_json, as_table


def replay(
    paths: Sequence[Path],
    guard: JudgingConfig,
    wire: str | None,
    *,
    json: bool,
    out: Console,
    err: Console,
    other: JudgingConfig | None = None,
    html: Path | None = None,
    jobs: int = 1,
) -> int:
    """Judge and print, or compare with an `other` guard. A bar on `err`, on a terminal only. Exit code: 0 quiet (the
    same), 1 something fires (differs), 2 nothing could be read, 130 stopped by Ctrl-C (what was seen is printed).

    Raises Unreadable for a path that is not there, KeyError for an unknown wire, OSError for a page.
    """
    if html is not None:
        possible(html)
    with progress(err, "replaying") as step:
        if other is not None:
            told = compare(paths, guard, other, wire, step, excerpts=html is not None)
            code = told.exit_code
        else:
            report = run(paths, guard, wire, step, excerpts=html is not None, jobs=jobs)
            code = report.exit_code
    if html is not None:
        write(diff_page(told) if other is not None else report_page(report), html)
        if err.is_terminal:
            err.print(f"page with the texts: {html}", markup=False)
    if json:
        print_json(diff_json(told) if other is not None else as_json(report), out)
    else:
        out.print(diff_table(told) if other is not None else as_table(report))
    return code


def calibrate(
    paths: Sequence[Path], guard: JudgingConfig, wire: str | None, *, json: bool, out: Console, err: Console
) -> int:
    """Measure and print. Exit code: 0 nothing healthy is cut, 1 something is, 2 nothing could be read. Raises as
    `replay`."""
    with progress(err, "measuring") as step:
        told = measured(paths, guard, wire, step)
    if json:
        print_json(calibration_json(told), out)
    else:
        out.print(calibration_table(told))
    return told.exit_code


def show_rules(guard: JudgingConfig, *, json: bool, out: Console) -> int:
    """Print every rule, habit and pack of error rules. Always 0."""
    if json:
        print_json(listing_json(guard), out)
    else:
        out.print(listing(guard))
    return 0


_DOING = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis"))


@contextmanager
def progress(err: Console, doing: str) -> Iterator[Step]:
    """A bar that goes away when the work is done."""
    columns = (BarColumn(24), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn(compact=True), _DOING)
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(doing, total=None)

        def step(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=max(total, 1), description=f"{doing} {name}")

        yield step


def print_json(told: Mapping[str, Any], out: Console) -> None:
    """For machines: no wrapping, no colours."""
    text = orjson.dumps(told, option=orjson.OPT_INDENT_2).decode()
    out.print(text, markup=False, highlight=False, soft_wrap=True)
