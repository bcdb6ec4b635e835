"""`streamfuse demo`: see it work, with no key and no network."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = """Examples:

[cyan]streamfuse demo[/cyan]
    six troubles, each without and with the fuse, side by side
[cyan]streamfuse demo --keep[/cyan]
    then leaves both running, with a curl line to try"""


def run(
    keep: Annotated[bool, typer.Option("--keep", help="Leave the provider and the proxy running.")] = False,
) -> None:
    """See it work: a scripted provider, no key, no network."""
    from ... import demo as playing

    raise typer.Exit(playing.run(keep))
