"""The reference pages, written from the models themselves: config.example.yaml, docs/configuration.md,
docs/metrics.md, docs/commands.md.

`python -m proxy.commands.reference` writes them; a test holds them equal to what is written here.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from rules import Budgets

from ..observers.metric_table import METRICS
from ..settings.base import duration, size
from ..settings.reading.environment import PREFIX
from ..settings.reading.names import bare, has_validator, is_duration
from ..settings.sections.retry import BudgetOver, RetryOver
from ..settings.whole import Settings

WIDTH = 116
SAMPLES = {"providers": "openai", "change": "rule-name", "habits": "repeated_action"}
"""What a mapping with names of one's own is shown with."""
OVERRIDES: dict[tuple[str, ...], str] = {
    ("providers", "*", "retry"): "{rate_limit: {max_retries: 8}}",
    ("providers", "*", "timeouts"): "{idle: 2m}",
    ("error_rules",): '[{path: /error/*, match: {type: prefix, value: "upstream stream error:"}, max_retries: 2}]',
}
"""Sections that stand again, whole, inside another: only an example of them is shown there."""
PARTS: dict[tuple[str, ...], dict[str, str]] = {
    ("error_rules",): {
        "name": "Its label in metrics and the key of its count; made of the other fields where it has none.",
        "providers": "Provider names, * and ? as in file names.",
        "path": "Where to look in the JSON data of an event or body: /error/*, with * for one member or element.",
        "match": "One condition or a list of them (any will do); type exists, not_null, exact, prefix, contains "
        "or equals (a number), and value.",
        "max_retries": "Retries after the first request; 2 where neither this nor kind is written.",
        "kind": "The kind of failure it counts as, whose budget then binds too; not stall, rule or loop.",
        "title": "For people.",
        "description": "For people.",
        "false_positives": "For people: when it may be wrong.",
        "references": "For people: where it was seen.",
    },
}
"""What the fields of the engine's own models do."""
REQUIRED = {
    "base_url": "https://api.openai.com/v1",
    "model": '"deepseek-*"',
    "provider": "openai",
}
"""What a field without a default is shown with."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One field: its path (`*` for a name of one's own, `[]` for an item), and what there is to say about it."""

    path: tuple[str, ...]
    default: str
    allowed: str
    text: str
    danger: str
    section: bool
    commented: bool
    """Shown as a comment: its default is to be absent."""
    explained: bool = False
    """Only explained here; the fields it stands for are written on the lines below."""


def entries(
    model: type[BaseModel] = Settings,
    path: tuple[str, ...] = (),
    default: BaseModel | None = None,
    commented: bool = False,
) -> Iterator[Entry]:
    """Every field of the config, sections before their fields, in the order of the models."""
    for name, info in model.model_fields.items():
        here = (*path, name)
        annotation = bare(info.annotation)
        value = getattr(default, name) if default is not None else info.get_default(call_default_factory=True)
        inner, mark = _inner(annotation)
        if here in OVERRIDES:
            yield _entry(here, info, OVERRIDES[here], True)
            for part, text in PARTS.get(here, {}).items():
                field = inner.model_fields[part] if inner is not None else info
                yield replace(_entry((*here, "[]", part), field, "", True), text=text, explained=True)
        elif here == ("retry",):
            yield _entry(here, info, "", True, section=True)
            yield from _budgets()
        elif inner is None:
            needed = info.is_required() and here[0] == "providers"
            yield _entry(here, info, _shown(name, info, value), (commented or value is None) and not needed)
        else:
            off = commented or (mark != "" and name != "providers") or value is None or _says_nothing(value)
            yield _entry(here, info, "", off, section=True)
            nested = value if isinstance(value, inner) else None
            yield from entries(inner, (*here, mark) if mark else here, nested, off or mark != "")


def _says_nothing(value: Any) -> bool:
    """A section all of whose fields are left out: written without them it would be no mapping."""
    return isinstance(value, BaseModel) and all(getattr(value, name) is None for name in type(value).model_fields)


def _budgets() -> Iterator[Entry]:
    """The fields of a budget once, then the eight, each on one line with its built-in values."""
    for name, info in BudgetOver.model_fields.items():
        yield replace(_entry(("retry", "*", name), info, "", True), explained=True)
    built = Budgets()
    for name, info in RetryOver.model_fields.items():
        budget = getattr(built, name).model_dump(exclude_none=True)
        for key in ("deadline", "initial_delay", "max_delay"):
            if key in budget:
                budget[key] = duration(budget[key])
        if "deadline" not in budget:
            budget["no_deadline"] = True
        line = ", ".join(f"{key}: {_yaml(value)}" for key, value in budget.items())
        yield _entry(("retry", name), info, f"{{{line}}}", True)


def _entry(path: tuple[str, ...], info: FieldInfo, default: str, commented: bool, *, section: bool = False) -> Entry:
    extra = info.json_schema_extra
    danger = str(extra["danger"]) if isinstance(extra, dict) and "danger" in extra else ""
    return Entry(path, default, _allowed(info), info.description or "", danger, section, commented)


def _inner(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """(model of the fields below, "*" for a mapping, "[]" for a list of it)"""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    arguments = [bare(a) for a in get_args(annotation)]
    for argument in arguments:
        if isinstance(argument, type) and issubclass(argument, BaseModel):
            origin = get_origin(annotation)
            return argument, "*" if isinstance(origin, type) and issubclass(origin, Mapping) else "[]"
    return None, ""


def _is_size(info: FieldInfo) -> bool:
    return has_validator(info.metadata, info.annotation, size)


def _shown(name: str, info: FieldInfo, value: Any) -> str:
    if value is PydanticUndefined:
        return REQUIRED.get(name, "")
    if value is None:
        return "null"
    if is_duration(info.metadata, info.annotation):
        return duration(float(value))
    if _is_size(info):
        return sized(int(value))
    return _yaml(value)


def _yaml(value: Any) -> str:
    """One line of YAML 1.2."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if value is None:
        return "null"
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).strip().removesuffix("\n...").strip()
    return text.strip("'") if text.strip("'") in ("on", "off") else text


def sized(value: int) -> str:
    """Bytes as people write them: 64KB, 16MB."""
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if value and value % factor == 0:
            return f"{value // factor}{unit}"
    return str(value)


def _allowed(info: FieldInfo) -> str:
    annotation = bare(info.annotation)
    bounds = {k: v for m in info.metadata for k in ("gt", "ge", "lt", "le") if (v := getattr(m, k, None)) is not None}
    span = " ".join(
        f"{sign} {bounds[k]:g}" for k, sign in (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤")) if k in bounds
    )
    words = _words(annotation)
    if words:
        return " · ".join(words)
    if is_duration(info.metadata, info.annotation):
        return f"duration {span}".strip()
    if _is_size(info):
        return f"size {span}".strip()
    if annotation is bool:
        return "true · false"
    if annotation in (int, float):
        return f"{'whole number' if annotation is int else 'number'} {span}".strip()
    if get_origin(annotation) is tuple:
        return "list"
    if _inner(annotation)[0] is not None or get_origin(annotation) is not None:
        return "mapping"
    return "text"


def _words(annotation: Any) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [str(member.value) for member in annotation]
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    parts = [bare(a) for a in get_args(annotation)]
    if any(get_origin(p) is Literal for p in parts) and get_origin(annotation) is not tuple:
        return [w for p in parts for w in (["true", "false"] if p is bool else _words(p))]
    return []


# config.example.yaml ----------------------------------------------------------------------------------------

_HEAD = """\
# Everything that can be configured, with its default. Written by `python -m proxy.commands.reference` from the models.
#
# A line that begins with # and a key is absent by default. Durations: 50ms, 10s, 2m, 1h or a number of seconds.
# Sizes: 64KB, 16MB (K is 1024). ${NAME} and ${NAME:-default} are filled in from the environment; $$ is a dollar.
# Every scalar is also a variable: listen.port is STREAMFUSE_LISTEN__PORT. A flag wins over a variable, a variable
# over this file. Keys may be written in camelCase too, and durations with Ms: initialDelayMs: 500.
"""


def example() -> str:
    """The text of config.example.yaml."""
    out = [_HEAD.rstrip()]
    for entry in entries():
        out.extend(_lines(entry))
    return "\n".join(out) + "\n"


def _lines(entry: Entry) -> Iterator[str]:
    indent = "  " * (len(entry.path) - 1)
    name = entry.path[-1]
    if len(entry.path) == 1:
        yield ""
    if entry.explained:
        indent = indent[2:] if "*" in entry.path else "  "
        yield from _comment(indent, f"{name} ({entry.allowed}): {entry.text}")
        yield from _comment(indent, entry.danger and f"    Danger: {entry.danger}")
        return
    yield from _comment(indent, entry.text)
    yield from _comment(indent, entry.danger and f"Danger: {entry.danger}")
    key = f"{name}:" if entry.section else f"{name}: {entry.default}"
    mark = "#" if entry.commented else ""
    if entry.path[-2:-1] == ("[]",):
        first = next(e for e in entries() if e.path[:-1] == entry.path[:-1])
        indent, key = indent[2:], ("- " if first.path == entry.path else "  ") + key
    yield f"{indent}{mark}{key}"
    if entry.section and name in SAMPLES:
        yield f"{indent}  {mark}{SAMPLES[name]}:"


def _comment(indent: str, text: str) -> Iterator[str]:
    hang = " " * (len(text) - len(text.lstrip()))
    yield from wrap(text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# {hang}")


# docs -------------------------------------------------------------------------------------------------------


_CONFIGURATION = f"""\
# Configuration
Written by `python -m proxy.commands.reference` from the models in `proxy/settings/`. `config.example.yaml` is the same
as a file to start from. A flag wins over an environment variable, a variable over the file, the file over the default.
`streamfuse check FILE` says what is wrong, what is risky, and what binds.

Durations are written `50ms`, `10s`, `2m`, `1h` or as a number of seconds; sizes `64KB`, `16MB` (K is 1024).
`${{NAME}}` and `${{NAME:-default}}` are filled in from the environment. Every scalar is also an environment variable,
its path in capitals with two underscores between: `listen.port` is `{PREFIX}LISTEN__PORT`. Unknown keys are errors.
Keys may be written in camelCase, and durations in milliseconds as `…Ms`.

## Top level
{{table}}"""

_TABLE = "| field | default | allowed | what it does |\n|---|---|---|---|"


def configuration_page() -> str:
    """The text of docs/configuration.md."""
    top = [_row(entry) for entry in entries() if len(entry.path) == 1 and not entry.section and entry.path not in PARTS]
    out = [_CONFIGURATION.replace("{table}", "\n".join([_TABLE, *top]))]
    for entry in entries():
        if len(entry.path) == 1 and (entry.section or entry.path in PARTS):
            out += ["", f"## `{entry.path[0]}`", entry.text, ""]
            out += ([f"For example `{entry.default}`.", ""] if entry.default else []) + [_TABLE]
        elif len(entry.path) > 1:
            out.append(_row(entry))
    return "\n".join(out) + "\n"


def _row(entry: Entry) -> str:
    danger = f" **Danger:** {entry.danger}" if entry.danger else ""
    default = "" if entry.section or not entry.default or "*" in entry.path[-1:] else f"`{entry.default}`"
    return f"| `{_dotted(entry.path)}` | {default} | {entry.allowed} | {entry.text}{danger} |"


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".[]", "[]").replace(".*", ".NAME")


def metrics_page() -> str:
    """The text of docs/metrics.md."""
    out = [
        "# Metrics",
        "Written by `python -m proxy.commands.reference` from `proxy/observers/metric_table.py`. On `/metrics`, as",
        "Prometheus text, with the usual process and Python metrics. Labels have few values: names from the config and",
        "fixed words; only `model` comes from clients, and it is capped by `metrics.models`.",
        "",
        "| metric | kind | labels | what it counts |",
        "|---|---|---|---|",
    ]
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        out.append(f"| `{metric.name}` | {metric.kind.__name__.lower()} | {labels} | {metric.text} |")
    return "\n".join(out) + "\n"


def commands_page() -> str:
    """The text of docs/commands.md."""
    import typer.main

    from .cli import app

    out = [
        "# Commands",
        "Written by `python -m proxy.commands.reference` from the command itself; `streamfuse COMMAND --help` says the",
        "same.",
        "Exit codes: 0 good, 1 findings or failed, 2 wrong usage or config. Colours only on a terminal, none with",
        "`NO_COLOR`.",
    ]
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        shown = [p for p in command.params if not getattr(p, "hidden", False)]
        usage = [_argument(p) if p.param_type_name == "argument" else _option(p) for p in shown]
        out += ["", f"## `streamfuse {name}`", command.help or "", "", "```text"]
        out += [" ".join(["streamfuse", name, *usage]), "```", ""]
        for param in shown:
            label = ", ".join(param.opts) if param.param_type_name == "option" else _argument(param)
            out.append(f"- `{label}`: {getattr(param, 'help', '') or ''}")
        examples = re.sub(r"\[/?[a-z]+\]", "", command.epilog or "").partition("\n\n")[2]
        out += ["", "```text", examples, "```"]
    return "\n".join(out) + "\n"


def _argument(param: Any) -> str:
    name = (param.metavar or param.name).upper() + ("…" if param.nargs == -1 else "")
    return str(name) if param.required else f"[{name}]"


def _option(param: Any) -> str:
    metavar = "" if param.is_flag else f" {param.metavar or param.name.upper()}"
    return f"[{param.opts[0]}{metavar}]"


def pages() -> dict[str, str]:
    """Every written page, by its path in the repository."""
    return {
        "config.example.yaml": example(),
        "docs/configuration.md": configuration_page(),
        "docs/metrics.md": metrics_page(),
        "docs/commands.md": commands_page(),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write every page into the working directory. `--help` says so and writes nothing; any argument is an error."""
    ArgumentParser(
        prog="python -m proxy.commands.reference",
        description=f"Write {', '.join(pages())} from the models, into the working directory. Run it in the root of "
        "the repository.",
    ).parse_args(arguments)
    for name, text in pages().items():
        Path(name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
