"""A YAML file as plain data that remembers where each key stood.

Only the YAML 1.2 core words are special: `on`, `off`, `yes`, `no` stay text (a `mode: off` must not become False),
and 12:30 is no number. A key written twice is a mistake, not a silent choice. `${NAME}` and `${NAME:-default}` are
filled in inside text; `$$` is a dollar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from .problem import ConfigError, Problem

Loc: TypeAlias = tuple[str | int, ...]
MAX_BYTES = 4 << 20
MAX_NODES = 200_000
MAX_DEPTH = 64

_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{")


class _Loader(yaml.SafeLoader):
    """SafeLoader that resolves only what YAML 1.2 calls core."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+0123456789.")),
    ("merge", r"<<", ["<"]),
):  # fmt: skip
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


@dataclass(slots=True)
class Document:
    """`data` as written, `places` (line, column from 1) by path, `filled` the paths whose text came from variables."""

    name: str
    data: Any = None
    places: dict[Loc, tuple[int, int]] = field(default_factory=dict)
    filled: dict[Loc, str] = field(default_factory=dict)

    def place(self, loc: Loc) -> tuple[int | None, int | None]:
        """Line and column of the nearest written ancestor of a path; (None, None) where nothing was written."""
        while loc:
            if loc in self.places:
                return self.places[loc]
            loc = loc[:-1]
        return (None, None)


MISSING = object()
"""A value made of a variable that is not set, where that is no mistake: it counts as not written."""


def read(path: Path, environ: Mapping[str, str], *, lenient: bool = False) -> Document:
    """Read a file. `lenient`: variables need not be set.

    Raises ConfigError: not there, not readable, not YAML, not a mapping, a key twice, …"""
    name = str(path)
    try:
        if path.is_fifo() and not name.startswith(("/dev/", "/proc/")):
            # Nobody may ever write into it, and every later reading would wait behind this one. A shell's <(…) is fine.
            raise ConfigError([Problem(name, "this is a named pipe, not a file")])
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError([Problem(name, "there is no such file")]) from None
    except IsADirectoryError:
        why = "this is a folder, not a file (docker and podman make one where the file to mount is not there)"
        raise ConfigError([Problem(name, why)]) from None
    except OSError as error:
        raise ConfigError([Problem(name, f"cannot be read ({error.strerror or type(error).__name__})")]) from None
    if len(raw) > MAX_BYTES:
        raise ConfigError([Problem(name, "is larger than 4 MB; this is no config")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError([Problem(name, "is not UTF-8 text", line=line)]) from None
    return parse(text, name, environ, lenient=lenient)


def parse(text: str, name: str, environ: Mapping[str, str], *, lenient: bool = False) -> Document:
    """Text of a YAML mapping → Document; an empty text is an empty mapping. Raises ConfigError."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = f"this is not YAML: {error.problem or error.context or 'broken'}"
        if "'\\t'" in why:
            why += " (write blanks instead of the tab)"
        at = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise ConfigError([Problem(name, why, line=at[0], column=at[1])]) from None
    except yaml.YAMLError as error:
        # A character that YAML forbids; the library's words name its position only.
        line = text[: getattr(error, "position", 0)].count("\n") + 1
        raise ConfigError([Problem(name, "this is not YAML: a character that is not allowed", line=line)]) from None
    except RecursionError:
        raise ConfigError([Problem(name, "is nested too deeply")]) from None
    document = Document(name)
    if node is None:
        document.data = {}
        return document
    builder = _Builder(document, environ, lenient)
    document.data = builder.build(node, ())
    if not builder.problems and document.data is None:
        document.data = {}
    if not builder.problems and not isinstance(document.data, dict):
        kind = "list" if isinstance(document.data, list) else "single value"
        builder.problem(node, (), f"a mapping of `key: value` lines is needed at the top, this is a {kind}")
    if builder.problems:
        raise ConfigError(builder.problems)
    return document


class _Builder:
    def __init__(self, document: Document, environ: Mapping[str, str], lenient: bool) -> None:
        self.document = document
        self.lenient = lenient
        self.environ = environ
        self.problems: list[Problem] = []
        self.nodes = 0
        self.maker = yaml.constructor.SafeConstructor()

    def problem(self, node: yaml.Node, loc: Loc, message: str) -> None:
        mark = node.start_mark
        self.problems.append(Problem(self.document.name, message, dotted(loc), mark.line + 1, mark.column + 1))

    def build(self, node: yaml.Node, loc: Loc) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(loc) > MAX_DEPTH:
            # Aliases can unfold a small file into gigabytes.
            raise ConfigError([*self.problems, Problem(self.document.name, "unfolds into too many values")])
        self.document.places.setdefault(loc, (node.start_mark.line + 1, node.start_mark.column + 1))
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, loc)
        if isinstance(node, yaml.SequenceNode):
            items = [self.build(item, (*loc, at)) for at, item in enumerate(node.value)]
            return [item for item in items if item is not MISSING]
        return self.scalar(node, loc)

    def mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, Any]:
        out: dict[str, Any] = {}
        lines: dict[str, int] = {}
        merged: list[yaml.Node] = []
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                merged.extend(value.value if isinstance(value, yaml.SequenceNode) else [value])
                continue
            if not isinstance(key, yaml.ScalarNode):
                self.problem(key, loc, "a key must be a plain word")
                continue
            name = str(key.value)
            if name in lines:
                self.problem(key, (*loc, name), f"is written twice (first on line {lines[name]})")
                continue
            lines[name] = key.start_mark.line + 1
            self.document.places[(*loc, name)] = (key.start_mark.line + 1, key.start_mark.column + 1)
            if (built := self.build(value, (*loc, name))) is not MISSING:
                out[name] = built
        for other in merged:
            if not isinstance(other, yaml.MappingNode):
                self.problem(other, loc, "<< takes a mapping")
                continue
            for name, value in self.mapping(other, loc).items():
                out.setdefault(name, value)
        return out

    def scalar(self, node: yaml.Node, loc: Loc) -> Any:
        kind = node.tag.rpartition(":")[2]
        try:
            if kind == "int":
                return int(node.value, 0) if node.value[:2] in ("0o", "0x") else int(node.value)
            if kind in ("null", "bool", "float"):
                return self.maker.construct_object(node, deep=True)
        except ValueError:
            self.problem(node, loc, "this number cannot be read")
            return None
        if kind != "str":
            self.problem(node, loc, f"the tag !{kind} is not allowed here")
            return None
        return self.fill(node, loc, str(node.value))

    def fill(self, node: yaml.Node, loc: Loc, text: str) -> Any:
        unset = False

        def value(found: re.Match[str]) -> str:
            nonlocal unset
            if found.group(0) == "$$":
                return "$"
            name, default = found.group(1), found.group(2)
            if name is None:
                self.problem(node, loc, "a variable is written ${NAME} or ${NAME:-default}; a plain ${ is $${")
                return ""
            if got := self.environ.get(name):
                return got
            if default is None and self.lenient:
                unset = True
                return ""
            if default is None:
                self.problem(node, loc, f"the environment variable {name} is not set (${{{name}:-}} allows that)")
                return ""
            return default

        if "$" not in text:
            return text
        filled = _VARIABLE.sub(value, text)
        if filled != text:
            self.document.filled[loc] = text
        return MISSING if unset else filled


def dotted(loc: Loc) -> str:
    """("rules", "add", 0, "name") → rules.add[0].name"""
    out = ""
    for part in loc:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else str(part)
    return out
