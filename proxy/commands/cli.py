"""The command: a file in `verbs` and a line here for each verb.

Exit codes: 0 good, 1 findings or failed, 2 wrong usage or config.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .console import ours
from .verbs import calibrate, check, demo, health, init, reload, replay, rules, serve

VERBS = {
    "serve": serve,
    "reload": reload,
    "health": health,
    "init": init,
    "demo": demo,
    "check": check,
    "replay": replay,
    "calibrate": calibrate,
    "rules": rules,
}
"""In the order of `--help`. A verb's file holds `run`, whose options and docstring typer shows, and EXAMPLES."""


class Command(TyperCommand):
    """A verb. A flag takes no value, so `--help` shows none behind it (`<bool>` invites to write `--json true`)."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _flagged(super().get_params(ctx))


class Group(TyperGroup):
    """The command itself, with its flags."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _flagged(super().get_params(ctx))


def _flagged(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


app = typer.Typer(
    name="streamfuse",
    cls=Group,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="A fuse between an LLM agent and its model: cuts loops legally, retries within a budget, tells what happened.",
    epilog="[dim]Point your agent's base URL at http://127.0.0.1:8787/v1 and work as before.[/dim]",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(ours())
        raise typer.Exit


@app.callback()
def _main(
    show_version: Annotated[
        bool, typer.Option("-V", "--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


for _name, _verb in VERBS.items():
    app.command(_name, cls=Command, epilog=_verb.EXAMPLES)(_verb.run)


def main() -> None:
    """The command's entry point."""
    app(prog_name="streamfuse")
