"""`make bench-detect LOOPBENCH=folder`: loopbench's figures for our packs and the reference detectors, side by side.

Loopbench (labelled real answers and files, with its own run.py and baselines.py) is no part of this repository. Every
answer is fed by its own `run_one`. What was measured is kept by answer and by code: a second call is instant, and an
interrupted one goes on where it stopped.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from .detectors import DETECTORS, Broken, Detector, measure
from .figures import ROWS, Figures, in_short, sampled, set_aside
from .measured import Measured, ResultCache

ROOT = Path(__file__).parents[1]
MEMORY = ROOT / ".cache" / "bench-detect"
EPILOG = """Examples:

[cyan]make bench-detect LOOPBENCH=../loopbench[/cyan]
    everything: half an hour of one core the first time (31 minutes for two slow references), then at once
[cyan]make bench-detect LOOPBENCH=../loopbench ARGS="--only default,strict,seeds"[/cyan]
    ours alone: two minutes
[cyan]make bench-detect LOOPBENCH=../loopbench ARGS="--only default --sample 1/20"[/cyan]
    a first impression in seconds; what it measures counts towards the whole
[cyan]make bench-detect LOOPBENCH=../loopbench ARGS="--only refrain,novelty --missed 5"[/cyan]
    single monitors, and which loops and healthy texts to look at
[cyan]make bench-detect LOOPBENCH=../loopbench ARGS=--halves[/cyan]
    models set aside and the others in columns of their own: tune on the others, believe the set aside
[cyan]make bench-detect LOOPBENCH=../loopbench ARGS=--json > figures.json[/cyan]
    for machines

Ctrl-C loses nothing: the next call goes on. Where code of a detector or a text changes, just that is measured again."""


class Missing(Exception):
    """There is no loopbench here; the message says what to do."""


def load(folder: Path | None) -> list[dict[str, Any]]:
    """All rows of loopbench. Raises Missing."""
    if folder is None:
        raise Missing("where is loopbench? Say LOOPBENCH=folder (it is not part of this repository)")
    if not folder.is_dir():
        raise Missing(f"LOOPBENCH={folder}: there is no such folder")
    data = sorted([*folder.glob("outputs*.jsonl.gz"), *folder.glob("files*.jsonl.gz")])
    lacks = [name for name in ("run.py", "baselines.py") if not (folder / name).is_file()]
    lacks += [] if data else ["outputs.*.jsonl.gz"]
    if lacks:
        raise Missing(f"LOOPBENCH={folder} is not loopbench: it lacks {', '.join(lacks)}")
    rows = []
    for path in data:
        try:
            with gzip.open(path, "rt", encoding="utf-8") as lines:
                rows += [json.loads(line) for line in lines]
        except (OSError, EOFError, ValueError) as error:
            raise Missing(f"{path} cannot be read: {error}") from None
    return rows


def chosen(only: str) -> list[Detector]:
    """The detectors of `--only`, in the order of the table. Raises BadParameter for a name that none has."""
    if not only:
        return [one for one in DETECTORS if one.usual]
    names = [name.strip() for name in only.split(",") if name.strip()]
    known = [one.name for one in DETECTORS]
    for name in names:
        if not any(fnmatch(one, name) for one in known):
            raise typer.BadParameter(f"there is no detector {name}; there are {', '.join(known)}")
    return [one for one in DETECTORS if any(fnmatch(one.name, name) for name in names)]


def share(text: str) -> int:
    """N of `1/N`. Raises BadParameter."""
    one, slash, n = text.partition("/")
    if one.strip() != "1" or not slash or not n.strip().isdigit() or int(n) < 1:
        raise typer.BadParameter(f"{text!r} is no 1/N, such as 1/20")
    return int(n)


class Show:
    """Each result as it comes, and on a terminal a bar for each detector that is still to come; all on stderr."""

    def __init__(self, err: Console, detectors: Sequence[Detector], characters: int) -> None:
        self.err = err
        self.bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[says]}", style="dim"),
            TimeRemainingColumn(compact=True),
            console=err,
            disable=not err.is_terminal,
            transient=True,
        )
        self.tasks: dict[str, TaskID] = {
            one.name: self.bars.add_task(one.name, start=False, total=characters, says="waits") for one in detectors
        }
        self.began = 0.0

    def start(self, detector: Detector, known: int) -> None:
        """`known`: characters that need not be measured again."""
        self.began = time.monotonic()
        task = self.tasks[detector.name]
        self.bars.start_task(task)
        self.bars.update(task, completed=known, says="goes on, left" if known else "left")

    def step(self, detector: Detector, characters: int) -> None:
        self.bars.advance(self.tasks[detector.name], characters)

    def done(self, detector: Detector, figures: Figures, known: bool) -> None:
        self.bars.remove_task(self.tasks[detector.name])
        took = "remembered" if known else f"{time.monotonic() - self.began:.0f} s"
        self.err.print(f"[bold]{detector.name}[/bold]: {in_short(figures)} ({took})")


def table(results: dict[str, list[tuple[str, Figures]]]) -> Table:
    """One column for each part of each detector's answers; as Markdown, so that it can be pasted."""
    grid = Table(box=box.MARKDOWN, header_style="bold")
    grid.add_column("figure", no_wrap=True)
    columns = [(name, part, figures) for name, parts in results.items() for part, figures in parts]
    for name, part, _ in columns:
        grid.add_column(f"{name}, {part}" if part else name, justify="right")
    for title, tell in ROWS:
        cells = [tell(figures) for _, _, figures in columns]
        if any(cells):
            grid.add_row(title, *cells)
    return grid


def bench(
    folder: Annotated[
        Path | None, typer.Argument(metavar="LOOPBENCH", envvar="LOOPBENCH", help="Folder of loopbench.")
    ] = None,
    only: Annotated[str, typer.Option(metavar="NAMES", help="Some detectors, e.g. default,strict or 'ref-*'.")] = "",
    sample: Annotated[str, typer.Option(metavar="1/N", help="One in N answers of each kind, always the same.")] = "1/1",
    jobs: Annotated[int, typer.Option(metavar="N", help="Processes. (default: one a core)")] = 0,
    halves: Annotated[bool, typer.Option("--halves", help="A column for models set aside (2 in 5).")] = False,
    missed: Annotated[int, typer.Option(metavar="N", help="Also name N missed loops and N false cuts each.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Forget what was measured before.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines: all figures, also by half.")] = False,
) -> None:
    """How well do our packs tell stuck answers from healthy ones, beside other detectors?"""
    out = Console(highlight=False, width=None if sys.stdout.isatty() else 400)
    err = Console(stderr=True, highlight=False, soft_wrap=True)
    detectors, n = chosen(only), share(sample)
    try:
        rows = sampled(load(folder), n)
    except Missing as wrong:
        err.print(f"[red]error:[/red] {escape(str(wrong))}")
        raise typer.Exit(2) from None
    assert folder is not None
    memory = ResultCache(MEMORY)
    results: dict[str, list[Measured]] = {}
    show = Show(err, detectors, sum(len(row["text"]) for row in rows))
    try:
        with show.bars:
            for one in detectors:
                results[one.name] = list(_measured(one, folder, rows, memory, show, jobs or _cores(), again))
    except KeyboardInterrupt:
        err.print("\nstopped; what was measured is kept, the same command goes on from here")
        raise typer.Exit(130) from None
    except Broken as wrong:
        err.print(f"[red]error:[/red] {escape(str(wrong))}")
        raise typer.Exit(1) from None
    aside, others = _parts(rows)
    told = {
        name: [
            (part, Figures.of(rows, got, which)) for part, which in (("set aside", aside), ("others", others)) if halves
        ]
        or [("", Figures.of(rows, got))]
        for name, got in results.items()
    }
    if as_json:
        whole = {
            name: {
                **Figures.of(rows, got).as_json(),
                "models_set_aside": Figures.of(rows, got, aside).as_json(),
                "other_models": Figures.of(rows, got, others).as_json(),
            }
            for name, got in results.items()
        }
        print(json.dumps({"rows": len(rows), "sample": n, "detectors": whole}, indent=1, ensure_ascii=False))
        return
    out.print(table(told))
    for name, got in results.items() if missed else ():
        figures = Figures.of(rows, got)
        for what, some in (("missed", figures.missed), ("cut wrongly", figures.false)):
            for row, one in some[:missed]:
                at = "" if one.fired is None else f" at {one.fired:,} by {one.why}"
                out.print(f"{name}: {what} {row['id']} ({row.get('kind') or row['label']}){at}", markup=False)


def _measured(
    one: Detector, folder: Path, rows: list[dict[str, Any]], memory: ResultCache, show: Show, jobs: int, again: bool
) -> Iterator[Measured]:
    """What this detector says of each row, in their order; only what is not remembered is measured."""
    with memory.book(one.name, one.digest(folder), again=again) as book:
        left = [row for row in rows if row not in book]
        size = sum(len(row["text"]) for row in rows)
        show.start(one, size - sum(len(row["text"]) for row in left))
        for row, got in measure(one, folder, left, jobs):
            book.add(row, got)
            show.step(one, len(row["text"]))
        results = [book[row] for row in rows]
    show.done(one, Figures.of(rows, results), known=not left)
    return iter(results)


def _parts(rows: list[dict[str, Any]]) -> tuple[list[bool], list[bool]]:
    """(models set aside, other models); files belong to no model, and to neither."""
    aside = [bool(row.get("model")) and set_aside(row["model"]) for row in rows]
    return aside, [bool(row.get("model")) and not away for row, away in zip(rows, aside, strict=True)]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
app.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})(bench)

if __name__ == "__main__":
    app(prog_name="bench-detect")
