"""`streamfuse init`: three questions, and a first config."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...settings.load import DEFAULT_FILE
from .. import first_config
from ..console import fail, out, plain
from ..first_config import Callers

EXAMPLES = """Examples:

[cyan]streamfuse init[/cyan]
    three questions: which provider, where its key is, who calls
[cyan]streamfuse init --yes --provider anthropic[/cyan]
    no questions: what is not given is the default
[cyan]streamfuse init --yes --provider https://llm.example.com/v1 --key MY_KEY --callers network[/cyan]
    another provider, its key in the variable MY_KEY, callers from the network with a key of streamfuse's"""


def run(
    file: Annotated[Path, typer.Argument(help="Where to write the config.")] = DEFAULT_FILE,
    provider: Annotated[
        str | None,
        typer.Option(metavar="P", help="openai, anthropic, openrouter, deepseek, google, local (Ollama), or a URL."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="K", help="The variable that holds the provider's key; none: the client's own passes."),
    ] = None,
    callers: Annotated[
        Callers | None, typer.Option(help="me: this machine only. network: others too, with a key.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing; take the defaults for what is not given.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a first config, with comments; `streamfuse check` accepts it."""
    asks = not yes and sys.stdin.isatty()
    if not yes and not asks and None in (provider, key, callers):
        fail("nobody can be asked here: give --yes, or all of --provider, --key and --callers", 2)
    if file.exists() and not force:
        fail(f"{file} is there already; --force replaces it", 2)
    if provider is None:
        known = ", ".join(first_config.PROVIDERS)
        provider = typer.prompt(f"Which provider? ({known}, or its URL)", "openai") if asks else "openai"
    if key is None:
        usual = first_config.usual_key(provider)
        question = "Which variable holds its key? (none: the client's own key passes)"
        key = typer.prompt(question, usual or "none") if asks else usual if callers is Callers.NETWORK else ""
    if callers is None:
        who = typer.prompt("Who calls? (me: this machine; network: others too)", "me") if asks else "me"
        callers = Callers.NETWORK if who.lower().startswith("n") else Callers.ME
    answers = first_config.Answers(provider, "" if key in ("none", "-") else key, callers)
    try:
        first_config.write(answers, file, replace=force)
    except first_config.NotPossible as wrong:
        fail(str(wrong), 2)
    except OSError as wrong:
        fail(f"{file}: {wrong.strerror}", 2)
    for line in first_config.next_steps(answers, file):
        out.print(plain(line))
