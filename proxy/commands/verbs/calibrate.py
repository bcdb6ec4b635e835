"""`streamfuse calibrate`: how a config judges your own healthy sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..console import ConfigOption, JsonOption, WireOption, err, out
from ..recordings import judging, told

EXAMPLES = """Examples:

[cyan]streamfuse calibrate sessions/[/cyan]
    would the default rules have cut any of my own answers? and by how much did they not?
[cyan]streamfuse calibrate sessions/ -c config.yaml && echo safe[/cyan]
    exit 1 where something healthy would be cut
[cyan]streamfuse calibrate sessions/ labelled.jsonl --json > calibration.json[/cyan]
    rows with label loop are what must stay caught; everything else is taken to be healthy

Reads what replay reads; every bar is moved alone. Nothing is asked, nothing is sent, no text is shown."""


def run(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Healthy recordings or folders of them.")],
    wire: WireOption = None,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Measure a config on your own healthy sessions: false cuts per 1,000 answers, and the room that each bar has."""
    from .. import offline as replaying

    mine = judging(config)
    with told(wire):
        code = replaying.calibrate(paths, mine, wire, json=json, out=out, err=err)
    raise typer.Exit(code)
