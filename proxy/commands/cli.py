"""The command. Exit codes: 0 good, 1 findings or failed, 2 wrong usage or config."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from ..settings.cautions import cautions
from ..settings.load import DEFAULT_FILE, ConfigError, NoProvider, Settings, load
from .first_config import Callers

if TYPE_CHECKING:
    from rules import Wire

    from ..replay import JudgingConfig

app = typer.Typer(
    name="streamfuse",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="A fuse between an LLM agent and its model: cuts loops legally, retries within a budget, tells what happened.",
    epilog="[dim]Point your agent's base URL at http://127.0.0.1:8787/v1 and work as before.[/dim]",
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In a pipe nothing says how wide the reader is; 80 columns would fold every table.
_WIDE = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160
out = Console(highlight=False, soft_wrap=True, width=_WIDE)
err = Console(stderr=True, highlight=False, soft_wrap=True)


class LogFormat(StrEnum):
    """How the journal is written."""

    CONSOLE = "console"
    JSON = "json"


ConfigOption = Annotated[
    Path | None,
    typer.Option("-c", "--config", metavar="FILE", help="Config file. Without it ./config.yaml, if it is there."),
]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(ours())
        raise typer.Exit


def ours() -> str:
    """Name and version."""
    try:
        return f"streamfuse {version('streamfuse')}"
    except PackageNotFoundError:  # run from a checkout
        return "streamfuse (not installed)"


@app.callback()
def _main(
    show_version: Annotated[
        bool, typer.Option("-V", "--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


SERVE = """Examples:

[cyan]streamfuse serve --upstream https://api.openai.com/v1[/cyan]
    one provider; the agent's own key passes through
[cyan]streamfuse serve --upstream http://127.0.0.1:8080/v1 --port 9000[/cyan]
    in front of a local llama.cpp or vLLM
[cyan]STREAMFUSE_RULES__MODE=watch streamfuse serve -c config.yaml[/cyan]
    only report, touch nothing; any setting is such a variable
[cyan]streamfuse serve -c config.yaml --workers 4 --log-format json[/cyan]
    several providers, keys, budgets; four processes

Then point the agent's base URL at http://127.0.0.1:8787/v1 (or …:8787/NAME/v1 for the provider NAME)."""


@app.command(epilog=SERVE)
def serve(
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
        _caution(*notes)
    from ..server import serve as serving
    from ..server.workers import run as run_workers

    reread = partial(load, config, flags)
    file = config if config is not None else None if upstream or not DEFAULT_FILE.exists() else DEFAULT_FILE

    try:
        if settings.workers > 1 and not worker:
            _greet(settings)
            again = _again(config=config, host=host, upstream=upstream, workers=workers, log_format=log_format)
            raise typer.Exit(run_workers(settings, again, reread, file))
        serving.run(settings, *([] if worker else [_Greeter(settings)]), worker=worker, read=reread, file=file)
    except serving.CannotListen as problem:
        fail(str(problem), 1)


RELOAD = """Examples:

[cyan]streamfuse reload[/cyan]
    the proxy of ./config.yaml on this machine reads its config again
[cyan]streamfuse reload -c /etc/streamfuse/config.yaml[/cyan]
    another config: its port and its key are used to ask
[cyan]kill -HUP PID[/cyan]
    the same without this command"""


@app.command(epilog=RELOAD)
def reload(
    config: ConfigOption = None,
    port: Annotated[int | None, typer.Option(metavar="P", help="Port, where it is not the config's.")] = None,
) -> None:
    """Let the running proxy read its config again: new requests get it, open answers keep theirs; a broken config
    changes nothing."""
    from .ask_reload import ask_reload

    settings = read(config, {})
    code, said = ask_reload(settings, port)
    (out if code == 0 else err).print(*(_plain(line) for line in said), sep="\n")
    raise typer.Exit(code)


HEALTH = """Examples:

[cyan]streamfuse health[/cyan]
    exit 0 where the proxy of ./config.yaml answers on this machine, on the port of ops where that is set
[cyan]streamfuse health --ready[/cyan]
    and takes requests: exit 1 while it drains"""


@app.command(epilog=HEALTH)
def health(
    config: ConfigOption = None,
    ready: Annotated[bool, typer.Option("--ready", help="Does it also take requests?")] = False,
) -> None:
    """Is the proxy of this config alive? For containers and service managers: exit 0 or 1."""
    from .ask_health import alive

    good, said = alive(read(config, {}), ready=ready)
    (out if good else err).print(_plain(said))
    raise typer.Exit(0 if good else 1)


INIT = """Examples:

[cyan]streamfuse init[/cyan]
    three questions: which provider, where its key is, who calls
[cyan]streamfuse init --yes --provider anthropic[/cyan]
    no questions: what is not given is the default
[cyan]streamfuse init --yes --provider https://llm.example.com/v1 --key MY_KEY --callers network[/cyan]
    another provider, its key in the variable MY_KEY, callers from the network with a key of streamfuse's"""


@app.command(epilog=INIT)
def init(
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
    from . import first_config

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
        out.print(_plain(line))


def _again(**given: object) -> list[str]:
    """The options that were given, for the workers."""
    named = ((name.replace("_", "-"), value) for name, value in given.items() if value is not None)
    return [part for name, value in named for part in (f"--{name}", str(value))]


class _Greeter:
    """Says where to point an agent, once the port is open; on a terminal only, the journal says it anyway."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def hear(self, report: Any) -> None:
        """Greet when the process has started."""
        from ..observers.reports import Stage

        if isinstance(report, Stage) and report.name == "started":
            _greet(self.settings, int(report.facts["port"]))


def _greet(settings: Settings, port: int | None = None) -> None:
    """Say it without waiting for a terminal that is stopped, or a pipe that nobody reads."""
    from ..observers.writer import LineWriter

    # Not `err.capture()`: when it ends it writes an empty string to the terminal, and waits where that is stopped.
    page = Console(file=io.StringIO(), force_terminal=err.is_terminal, width=err.width, highlight=False, soft_wrap=True)
    _greeting(settings, port, page)
    assert isinstance(page.file, io.StringIO)
    if text := page.file.getvalue().rstrip("\n"):
        writer = LineWriter(sys.stderr)
        writer.put(text)
        writer.close(0)


def _greeting(settings: Settings, port: int | None, to: Console) -> None:
    _caution(*cautions(settings), to=to)
    if not to.is_terminal:
        return
    at = f"http://{settings.listen.host}:{port or settings.listen.port}"
    to.print(f"[bold]{ours()}[/bold] on {at}")
    for name, provider in settings.providers.items():
        path = "/v1" if name == settings.default_provider else f"/{name}/v1"
        to.print(f"  {at}{path} → {provider.address}", markup=False)
    to.print(f"  what your agents do: {_page(settings, port)}", markup=False)


def _page(settings: Settings, port: int | None) -> str:
    """The address of the page."""
    at = settings.ops if settings.ops is not None else settings.listen
    return f"http://{at.host}:{(settings.ops is None and port) or at.port}/-/"


def _caution(*said: str, to: Console = err) -> None:
    for caution in said:
        to.print(f"[yellow]caution:[/yellow] {_plain(caution)}")


DEMO = """Examples:

[cyan]streamfuse demo[/cyan]
    six troubles, each without and with the fuse, side by side
[cyan]streamfuse demo --keep[/cyan]
    then leaves both running, with a curl line to try"""


@app.command(epilog=DEMO)
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave the provider and the proxy running.")] = False,
) -> None:
    """See it work: a scripted provider, no key, no network."""
    from .. import demo as playing

    raise typer.Exit(playing.run(keep))


CHECK = """Examples:

[cyan]streamfuse check[/cyan]
    ./config.yaml, else environment variables alone
[cyan]streamfuse check config.yaml && streamfuse serve -c config.yaml[/cyan]
    never start with a broken config
[cyan]streamfuse check --probe[/cyan]
    also ask each provider one harmless question: is it there, does it take the key?
[cyan]streamfuse check --explain[/cyan]
    how long a loop may run before it is cut, by its period"""


@app.command(epilog=CHECK)
def check(
    file: Annotated[Path | None, typer.Argument(help="Config file. Without it ./config.yaml, if it is there.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="For a run of period p: which rule fires, at which character.")
    ] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Also ask each provider for its list of models: reachable, TLS, key.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("-c", "--config", metavar="FILE", help="The same as FILE, written as for serve.")
    ] = None,
) -> None:
    """Validate a config and all packs; say what is wrong (file, line, field), what is risky, what binds for whom."""
    from ..settings.engine import ruleset
    from .binding import show

    if file is not None and config is not None and file != config:
        raise typer.BadParameter(f"two config files are named: {file} and {config}")
    notes: list[str] = []
    settings = read(config if config is not None else file, {}, notes=notes)
    show(settings, out)
    out.print(f"packs: {', '.join(_packs())}")
    if explain:
        from ..calibration.explain import table

        out.print(table(ruleset(settings)))
    _caution(*notes, *cautions(settings), to=out)
    if probe and not _probed(settings):
        raise typer.Exit(1)
    out.print("[green]good[/green]")


def _probed(settings: Settings) -> bool:
    """Ask every provider and say what came of it; will all of them do?"""
    import asyncio

    from .probe import probe

    try:
        found = asyncio.run(probe(settings))
    except KeyboardInterrupt:
        fail("stopped", 130)
    for name, one in found.items():
        mark = "[green]probe:[/green]" if one.good else "[red]probe:[/red]"
        out.print(f"{mark} {_plain(name)}: {_plain('; '.join(one.said))}")
    return all(one.good for one in found.values())


REPLAY = """Examples:

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


WireOption = Annotated[
    str | None,
    typer.Option("--wire", metavar="W", help="openai_chat, anthropic_messages, … (default: told from the events)"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="For machines.")]


@app.command(epilog=REPLAY)
def replay(
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
    from . import offline as replaying

    mine, other = _guard(config), _guard(diff) if diff is not None else None
    with _told(wire):
        code = replaying.replay(paths, mine, wire, json=json, out=out, err=err, other=other, html=html, jobs=jobs)
    raise typer.Exit(code)


def _guard(config: Path | None) -> JudgingConfig:
    from ..replay.judging import guard

    notes: list[str] = []
    settings = read(config, {}, need_provider=False, notes=notes)
    _caution(*notes)
    return guard(settings)


@contextmanager
def _told(wire: str | None) -> Iterator[None]:
    """Wrong paths and names as one sentence and exit 2."""
    from ..replay import Unreadable

    if wire is not None and wire not in (names := [w.name for w in _wires() if w.reads]):
        fail(f"there is no wire called {wire}; there are {', '.join(names)}", 2)
    try:
        yield
    except Unreadable as wrong:
        fail(str(wrong), 2)
    except OSError as wrong:
        fail(f"{wrong.filename}: {wrong.strerror}", 2)
    except KeyboardInterrupt:
        fail("stopped", 130)


def _wires() -> Sequence[Wire]:
    from rules import wires

    return wires.WIRES


CALIBRATE = """Examples:

[cyan]streamfuse calibrate sessions/[/cyan]
    would the default rules have cut any of my own answers? and by how much did they not?
[cyan]streamfuse calibrate sessions/ -c config.yaml && echo safe[/cyan]
    exit 1 where something healthy would be cut
[cyan]streamfuse calibrate sessions/ labelled.jsonl --json > calibration.json[/cyan]
    rows with label loop are what must stay caught; everything else is taken to be healthy

Reads what replay reads; every bar is moved alone. Nothing is asked, nothing is sent, no text is shown."""


@app.command(epilog=CALIBRATE)
def calibrate(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Healthy recordings or folders of them.")],
    wire: WireOption = None,
    json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Measure a config on your own healthy sessions: false cuts per 1,000 answers, and the room that each bar has."""
    from . import offline as replaying

    mine = _guard(config)
    with _told(wire):
        code = replaying.calibrate(paths, mine, wire, json=json, out=out, err=err)
    raise typer.Exit(code)


RULES = """Examples:

[cyan]streamfuse rules[/cyan]
    what watches an answer, a history and a failure now
[cyan]streamfuse rules -c config.yaml[/cyan]
    with a config's packs, changes and own rules
[cyan]streamfuse rules --json > rules.json[/cyan]
    for machines: every threshold and passport"""


@app.command(epilog=RULES)
def rules(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Every rule with its passport: title, channels, thresholds, action, pack; the habits; the packs of error rules."""
    from . import offline as replaying

    raise typer.Exit(replaying.show_rules(_guard(config), json=json, out=out))


def _packs() -> list[str]:
    """The names of all packaged packs, each of them read; every mistake on stderr and exit 2."""
    from rules import packs, provider_packs

    problems = [str(problem) for name in packs.names() for problem in _wrong(name)]
    for problem in problems:
        err.print(f"[red]error:[/red] {_plain(problem)}")
    if problems:
        raise typer.Exit(2)
    return [*packs.names(), *(f"errors/{name}" for name in provider_packs.packs())]


def _wrong(name: str) -> Sequence[object]:
    from rules import packs

    try:
        packs.gather(packs.load(name))
    except packs.PackError as error:
        return error.problems
    return ()


def read(
    file: Path | None, flags: dict[str, Any], *, need_provider: bool = True, notes: list[str] | None = None
) -> Settings:
    """The settings, or every mistake on stderr and exit 2. `notes` gains what is worth a word."""
    try:
        return load(file, flags, need_provider=need_provider, notes=notes)
    except NoProvider as none:
        fail(none.problems[0].message, 2)
    except ConfigError as wrong:
        for problem in wrong.problems:
            err.print(f"[red]error:[/red] {_plain(str(problem))}")
        raise typer.Exit(2) from None


def fail(message: str, code: int) -> NoReturn:
    """One sentence on stderr, and out."""
    err.print(f"[red]error:[/red] {_plain(message)}")
    raise typer.Exit(code)


def _plain(text: str) -> str:
    """Without rich's markup."""
    from rich.markup import escape

    return escape(text)


def main() -> None:
    """The command's entry point."""
    app(prog_name="streamfuse")
