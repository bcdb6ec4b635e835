"""`streamfuse health`: is the proxy alive? For containers and service managers."""

from __future__ import annotations

from typing import Annotated

import typer

from ..console import ConfigOption, err, out, plain, read

EXAMPLES = """Examples:

[cyan]streamfuse health[/cyan]
    exit 0 where the proxy of ./config.yaml answers on this machine, on the port of ops where that is set
[cyan]streamfuse health --ready[/cyan]
    and takes requests: exit 1 while it drains"""


def run(
    config: ConfigOption = None,
    ready: Annotated[bool, typer.Option("--ready", help="Does it also take requests?")] = False,
) -> None:
    """Is the proxy of this config alive? For containers and service managers: exit 0 or 1."""
    from ..ask_health import alive

    good, said = alive(read(config, {}), ready=ready)
    (out if good else err).print(plain(said))
    raise typer.Exit(0 if good else 1)
