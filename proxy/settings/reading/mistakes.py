"""From pydantic's errors to problems that name the place where the value was written and what is allowed there.

A value is shown only where it cannot be a secret, and as it was written: `${NAME}`, not what NAME held.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..whole import UPSTREAM, Settings
from .document import Document, Loc, dotted
from .names import model_at, nearest
from .problem import Problem

_SECRET = re.compile(r"key|token|secret|password|url|headers|state|upstream", re.IGNORECASE)
_SHOWN = frozenset(
    (
        "bool_parsing",
        "bool_type",
        "enum",
        "float_parsing",
        "float_type",
        "greater_than",
        "greater_than_equal",
        "int_from_float",
        "int_parsing",
        "int_type",
        "less_than",
        "less_than_equal",
        "literal_error",
        "string_type",
        "value_error",
    )
)


def problems(
    error: ValidationError, tree: Any, document: Document, variables: Mapping[Loc, str], flags: Mapping[str, Any]
) -> list[Problem]:
    out: list[Problem] = []
    found = error.errors(include_url=False)
    for item in found:
        at = item["loc"]
        if item["type"] == "too_short" and any(o["loc"][: len(at)] == at and len(o["loc"]) > len(at) for o in found):
            continue  # pydantic counts only the good items; the bad ones are told below
        loc = _plain(item["loc"], tree)
        if item["loc"][:3] == ("providers", UPSTREAM, "base_url") and tree.get("upstream"):
            loc = ("upstream",)
        ctx = item.get("ctx") or {}
        loc = (*loc, *ctx.get("at", ()))
        message = _message(item, loc, tree, document)
        problem = place(document, loc, message, variables, flags)
        if problem not in out:
            out.append(problem)
    return sorted(out, key=lambda p: (p.line or 0, p.column or 0))


def _plain(loc: tuple[str | int, ...], tree: Any) -> Loc:
    """pydantic's path without the names of union members and validators that it puts in between."""
    out: Loc = ()
    here = tree
    for part in loc:
        if isinstance(here, dict) and (part in here or model_at(out, Settings) is not None):
            model = model_at(out, Settings)
            if part not in here and model is not None and part not in model.model_fields:
                continue
            here = here.get(part)
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            continue
        out = (*out, part)
    return out


def place(
    document: Document,
    loc: Loc,
    message: str,
    variables: Mapping[Loc, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Problem:
    flag: Any = flags or {}
    for part in loc:
        flag = flag.get(part) if isinstance(flag, Mapping) else None
    if flag is not None and not isinstance(flag, Mapping):
        return Problem(f"--{str(loc[-1]).replace('_', '-')}", message, dotted(loc))
    for length in range(len(loc), 0, -1):
        if variables and loc[:length] in variables:
            return Problem(variables[loc[:length]], message, dotted(loc))
    line, column = document.place(loc)
    return Problem(document.name, message, dotted(loc), line, column)


def _message(item: ErrorDetails, loc: Loc, tree: Any, document: Document) -> str:
    if item["type"] == "extra_forbidden":
        model = model_at(loc[:-1], Settings)
        hint = nearest(str(loc[-1]), model) if model is not None else None
        allowed = "" if hint or model is None else f"; known here: {', '.join(model.model_fields)}"
        return f"unknown key{f'; did you mean {hint}?' if hint else allowed}"
    if item["type"] == "missing":
        return "is needed and not there"
    message = item["msg"].removeprefix("Value error, ")
    message = re.sub(r"^Input should be (a |an )?", "must be \\1", message)
    message = message.replace("valid dictionary or instance of", "mapping of").replace(
        "a valid dictionary", "a mapping"
    )
    message = re.sub(r"mapping of \w+", "mapping (`key: value` lines)", message)
    if item["type"] in _SHOWN and not any(_SECRET.search(str(part)) for part in (*item["loc"], *loc)):
        shown = document.filled.get(loc, item.get("input"))
        if isinstance(shown, str | int | float | bool):
            message += f", not {str(shown)[:60]!r}" if isinstance(shown, str) else f", not {shown}"
    return message
