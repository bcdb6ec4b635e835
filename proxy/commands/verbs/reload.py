"""`streamfuse reload`: the running proxy reads its config again."""

from __future__ import annotations

from typing import Annotated

import typer

from ..console import ConfigOption, err, out, plain, read

EXAMPLES = """Examples:

[cyan]streamfuse reload[/cyan]
    the proxy of ./config.yaml on this machine reads its config again
[cyan]streamfuse reload -c /etc/streamfuse/config.yaml[/cyan]
    another config: its port and its key are used to ask
[cyan]kill -HUP PID[/cyan]
    the same without this command"""


def run(
    config: ConfigOption = None,
    port: Annotated[int | None, typer.Option(metavar="P", help="Port, where it is not the config's.")] = None,
) -> None:
    """Let the running proxy read its config again: new requests get it, open answers keep theirs; a broken config
    changes nothing."""
    from ..ask_reload import ask_reload

    settings = read(config, {}, need_provider=False)  # the port is all that is asked for
    code, said = ask_reload(settings, port)
    (out if code == 0 else err).print(*(plain(line) for line in said), sep="\n")
    raise typer.Exit(code)
