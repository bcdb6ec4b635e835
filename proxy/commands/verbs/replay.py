"""`streamfuse replay`: recorded answers through the rules, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..console import ConfigOption, JsonOption, WireOption, err, out
from ..recordings import judging, told

EXAMPLES = """Examples:

[cyan]streamfuse replay recorded.sse[/cyan]
    one answer as it came on the wire; the wire is told from its events
[cyan]streamfuse replay sessions/ --json > findings.json[/cyan]
    every .sse, .jsonl and .json below a folder: requests, answers, an agent's own sessions
[cyan]streamfuse replay ~/.claude/projects ~/.codex/sessions[/cyan]
    what Claude Code and Codex have kept; of OpenCode: opencode export ID > session.json
[cyan]streamfuse replay answers.jsonl -c config.yaml && echo quiet[/cyan]
    by the rules of a config; exit 1 where something fires
[cyan]streamfuse replay sessions/ -c now.yaml --diff new.yaml[/cyan]
    what only one of two configs finds; exit 0 where they find the same
[cyan]streamfuse replay sessions/ --html report.html[/cyan]
    one local page with the text around each finding

Nothing is asked and nothing is sent. Texts of recordings are shown nowhere but on that page."""


def run(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Recordings or folders of them.")],
    wire: WireOption = None,
    json: JsonOption = False,
    config: ConfigOption = None,
    diff: Annotated[
        Path | None, typer.Option("--diff", metavar="CONFIG_B", help="Compare with what another config finds.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write a page that shows the texts.")
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            "-j",
            "--jobs",
            metavar="N",
            min=0,
            help="Processes, where there is no --diff. (0: one a core for many files)",
        ),
    ] = 0,
) -> None:
    """Run recorded answers through the rules, offline: what fires, where, why, and what it would have saved."""
    from .. import offline as replaying

    mine, other = judging(config), judging(diff) if diff is not None else None
    with told(wire):
        code = replaying.replay(paths, mine, wire, json=json, out=out, err=err, other=other, html=html, jobs=jobs)
    raise typer.Exit(code)
