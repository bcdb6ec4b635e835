"""Reads the config into Settings. A flag overrides the environment, which overrides the file, which overrides the
default.

Nothing here opens a socket. Every mistake is collected, with the place where it was written; a value is shown only
where it cannot be a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rules import OLD_MONITOR_NAMES, PackError, PackProblem

from .engine import ruleset
from .itself import itself
from .reading.document import Document, Loc, read
from .reading.environment import beaten, from_environment
from .reading.foreign import owner
from .reading.mistakes import place, problems
from .reading.names import Misnamed, canonical
from .reading.problem import ConfigError, NoProvider, Problem
from .whole import UPSTREAM, Settings

__all__ = ["DEFAULT_FILE", "ConfigError", "NoProvider", "Problem", "Settings", "load"]

DEFAULT_FILE = Path("config.yaml")
SERVING = frozenset(
    {"listen", "ops", "workers", "upstream", "default_provider", "providers", "routes", "state", "auth"}
)
"""Sections that rules, replays and calibration have no use for."""
NO_PROVIDER = (
    "no provider is configured: give --upstream URL (or providers in the config file), "
    "write one with streamfuse init, or see it work without any: streamfuse demo"
)


def load(
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    need_provider: bool = True,
    notes: list[str] | None = None,
) -> Settings:
    """Settings from `file` (None: ./config.yaml if it is there), the environment and `flags` (a tree of fields).

    A flag `upstream` reads no file that was not named. `need_provider`: False where only rules matter: what concerns
    providers, ports and keys is left aside, and variables need not be set. `notes` gains what is no mistake and still
    worth a word. Raises ConfigError with every mistake; NoProvider where all is right but no upstream is named.
    """
    environ = os.environ if environ is None else environ
    said_so = [] if notes is None else notes
    document = _document(file, flags or {}, environ, need_provider, said_so)
    try:
        written = canonical(document.data, Settings, document)
    except Misnamed as wrong:
        raise ConfigError([place(document, wrong.loc, str(wrong))]) from None
    said, variables = from_environment(environ)
    said_so += beaten(written, said, variables, document.name)
    tree = _merge(_merge(written, said), _prune(flags or {}))
    if not need_provider:
        tree = {name: value for name, value in tree.items() if name not in SERVING}
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(problems(error, tree, document, variables, flags or {})) from None
    try:
        ruleset(settings)
    except PackError as error:
        raise ConfigError([_in_rules(problem, document, variables) for problem in error.problems]) from None
    said_so += _renamed(settings)
    if need_provider and not settings.providers:
        raise NoProvider([Problem(str(file or "config"), NO_PROVIDER)])
    if need_provider and (ours := list(itself(settings))):
        raise ConfigError([_ours(name, at, tree, document, variables, flags or {}) for name, at in ours])
    return settings


def _document(
    file: Path | None, flags: Mapping[str, Any], environ: Mapping[str, str], need_provider: bool, notes: list[str]
) -> Document:
    """What is written. Raises ConfigError, also where the file is another program's."""
    named = file is not None
    if file is None:
        # A link that leads nowhere, or a folder, is somebody's config that is not there: not the same as none.
        if flags.get("upstream") or not os.path.lexists(DEFAULT_FILE):
            return Document("config", {})
        file = DEFAULT_FILE
        if not need_provider and file.is_dir():
            notes.append(f"{file} is a folder: it is left aside")
            return Document("config", {})
    document = read(file, environ, lenient=not need_provider)
    if (whose := owner(document.data)) is None:
        return document
    looks = f"this looks like the config of {whose}, not of streamfuse"
    if not named and not need_provider:
        notes.append(f"{file}: {looks}: it is left aside")
        return Document("config", {})
    hint = "" if named else "; name yours with -c FILE, or give --upstream URL, which reads no file"
    raise ConfigError([Problem(str(file), f"{looks}: none of its keys is known here{hint}")])


def _ours(
    name: str, at: str, tree: Any, document: Document, variables: Mapping[Loc, str], flags: Mapping[str, Any]
) -> Problem:
    """A provider that is this proxy itself, at the place where its address was written."""
    loc: Loc = ("upstream",) if name == UPSTREAM and tree.get("upstream") else ("providers", name, "base_url")
    message = (
        f"this is the address of streamfuse itself ({at}): requests would come back without end; give the provider's"
    )
    return place(document, loc, message, variables, flags)


def _in_rules(problem: PackProblem, document: Document, variables: Mapping[Loc, str]) -> Problem:
    """A mistake in the choice of rules, at its line of the config; one inside a packaged pack, at its own."""
    if problem.file.endswith((".yaml", ".yml")):
        return Problem(problem.file, problem.message, problem.field, problem.line or None)
    parts = re.findall(r"[^.\[\]]+", problem.field) or ["packs"]
    loc: Loc = ("rules", *(int(part) if part.isdecimal() else part for part in parts))
    return place(document, loc, problem.message.removeprefix("Value error, "), variables)


def _renamed(settings: Settings) -> Iterator[str]:
    """A hint for each rule of the config's own that names its monitor by an old name, which goes on working."""
    for n, rule in enumerate(settings.rules.add):
        if (new := OLD_MONITOR_NAMES.get(str(rule.get("monitor")))) is not None:
            yield f"rules.add[{n}].monitor: {rule['monitor']} is now called {new}; the old name goes on working"


def _merge(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{k: _merge(below[k], v) if k in below else v for k, v in above.items()}}
    return above


def _prune(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out flags that were not given."""
    out = {k: _prune(v) if isinstance(v, Mapping) else v for k, v in tree.items() if v is not None}
    return {k: v for k, v in out.items() if v != {}}
