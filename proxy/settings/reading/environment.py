"""Every scalar of the config as an environment variable: STREAMFUSE_SECTION__FIELD. An unknown one is a mistake."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from ..whole import Settings
from .document import Loc, dotted
from .names import is_mapping, model_at, nearest, type_at
from .problem import ConfigError, Problem

PREFIX = "STREAMFUSE_"
UPSTREAM_LOC: Loc = ("upstream",)
_LINK = re.compile(PREFIX + r"(SERVICE_(HOST|PORT\w*)|PORT(_\d+_(TCP|UDP)\w*)?|NAME)", re.IGNORECASE)
"""Variables that Kubernetes and Docker links set for a service called streamfuse. They are neither settings nor
mistakes."""


class _Environment(Settings, BaseSettings):  # type: ignore[misc]
    """Only so that pydantic-settings reads the environment for Settings."""


class _Source(EnvSettingsSource):
    """STREAMFUSE_SECTION__FIELD; a list may be written `a,b` besides JSON and YAML flow style."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = {k.lower(): v for k, v in environ.items() if _is_ours(k, v)}
        super().__init__(_Environment, env_prefix=PREFIX, env_nested_delimiter="__", case_sensitive=False)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._environ

    def decode_complex_value(self, field_name: str, field: Any, value: Any) -> Any:
        """A list, a mapping or a short form, as text."""
        try:
            got = value if value.startswith("*") else yaml.safe_load(value)  # *.example.com is no alias here
        except yaml.YAMLError:
            raise ValueError("not a value") from None
        if isinstance(got, str) and "," in got:
            return [part.strip() for part in got.split(",")]
        return got


def _is_ours(variable: str, value: str) -> bool:
    """Leave out empty variables: `X: ${X:-}` in a compose file means "unless it is set"."""
    return variable.upper().startswith(PREFIX) and value != "" and not _LINK.fullmatch(variable)


def from_environment(environ: Mapping[str, str]) -> tuple[dict[str, Any], dict[Loc, str]]:
    """(tree, path → variable's name) of every STREAMFUSE_ variable. Raises ConfigError for an unknown one."""
    names: dict[Loc, str] = {}
    problems: list[Problem] = []
    for variable in sorted(environ):
        if not _is_ours(variable, environ[variable]):
            continue
        loc, wrong = _walk(variable[len(PREFIX) :].lower().split("__"))
        if wrong:
            problems.append(Problem(variable, wrong))
        else:
            names[loc] = variable
    if problems:
        raise ConfigError(problems)
    try:
        tree = _Source(environ)()
    except SettingsError as error:
        raise ConfigError([Problem("environment", str(error).partition(" from source")[0])]) from None
    return tree, names


def _walk(parts: list[str]) -> tuple[Loc, str]:
    """(path, "") of a variable's parts, or (…, what is wrong with it)."""
    loc: Loc = ()
    for part in parts:
        model = model_at(loc, Settings)
        if not part:
            return loc, "a name is missing between two underscores"
        if model is None and not is_mapping(type_at(loc, Settings)):
            return loc, f"there is nothing below {dotted(loc)}"
        if model is not None and part not in model.model_fields:
            hint = nearest(part, model)
            meant = f"; did you mean {PREFIX}{'__'.join([*map(str, loc), hint]).upper()}?" if hint else ""
            return loc, f"there is no such setting{meant}"
        loc = (*loc, part)
    return loc, ""


def beaten(written: Any, said: Any, variables: Mapping[Loc, str], file: str) -> list[str]:
    """One sentence for each variable that says something else than the file does, values left out."""
    out = []
    for loc, variable in sorted(variables.items(), key=lambda item: item[1]):
        theirs, ours = _at(written, loc), _at(said, loc)
        if theirs is not None and str(theirs) != str(ours):
            out.append(f"the variable {variable} beats {dotted(loc)} in {file}")
    if UPSTREAM_LOC in variables and isinstance(written, Mapping) and written.get("providers"):
        out.append(f"the variable {variables[UPSTREAM_LOC]} is the default provider, before those in {file}")
    return out


def _at(tree: Any, loc: Loc) -> Any:
    for part in loc:
        if not isinstance(tree, Mapping):
            return None
        tree = next((value for name, value in tree.items() if str(name).lower() == str(part).lower()), None)
    return tree
