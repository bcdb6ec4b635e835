"""`streamfuse serve`: run the proxy."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from ...settings.load import DEFAULT_FILE, load
from ..console import ConfigOption, caution, fail, read
from ..greeting import Greeter, greet

EXAMPLES = """Examples:

[cyan]streamfuse serve --upstream https://api.openai.com/v1[/cyan]
    one provider; the agent's own key passes through
[cyan]streamfuse serve --upstream http://127.0.0.1:8080/v1 --port 9000[/cyan]
    in front of a local llama.cpp or vLLM
[cyan]STREAMFUSE_RULES__MODE=watch streamfuse serve -c config.yaml[/cyan]
    only report, touch nothing; any setting is such a variable
[cyan]streamfuse serve -c config.yaml --workers 4 --log-format json[/cyan]
    several providers, keys, budgets; four processes

Then point the agent's base URL at http://127.0.0.1:8787/v1 (or …:8787/NAME/v1 for the provider NAME)."""


class LogFormat(StrEnum):
    """How the journal is written."""

    CONSOLE = "console"
    JSON = "json"


def run(
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(metavar="H", help="Address to listen on. (default: 127.0.0.1)")] = None,
    port: Annotated[int | None, typer.Option(metavar="P", help="Port; 0 takes a free one. (default: 8787)")] = None,
    upstream: Annotated[
        str | None, typer.Option(metavar="URL", help="The provider; reads no config file that -c does not name.")
    ] = None,
    workers: Annotated[int | None, typer.Option(metavar="N", help="Processes on the port. (default: 1)")] = None,
    log_format: Annotated[
        LogFormat | None, typer.Option(help="Journal format. (default: console on a terminal, else json)")
    ] = None,
    worker: Annotated[bool, typer.Option("--worker", hidden=True)] = False,
) -> None:
    """Run the proxy until SIGTERM or Ctrl-C; open answers then finish within drain.grace."""
    flags = {
        "listen": {"host": host, "port": port},
        "upstream": upstream,
        "workers": workers,
        "journal": {"format": log_format.value if log_format else None},
    }
    notes: list[str] = []
    settings = read(config, flags, notes=notes)
    if not worker:
        caution(*notes)
    from ...server import serve as serving
    from ...server.workers import run as run_workers

    reread = partial(load, config, flags)
    file = config if config is not None else None if upstream or not DEFAULT_FILE.exists() else DEFAULT_FILE

    try:
        if settings.workers > 1 and not worker:
            greet(settings)
            again = _again(config=config, host=host, upstream=upstream, workers=workers, log_format=log_format)
            raise typer.Exit(run_workers(settings, again, reread, file))
        serving.run(settings, *([] if worker else [Greeter(settings)]), worker=worker, read=reread, file=file)
    except serving.CannotListen as problem:
        fail(str(problem), 1)


def _again(**given: object) -> list[str]:
    """The options that were given, for the workers."""
    named = ((name.replace("_", "-"), value) for name, value in given.items() if value is not None)
    return [part for name, value in named for part in (f"--{name}", str(value))]
