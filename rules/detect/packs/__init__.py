"""Packs of rules, one YAML file each, and the changes that a config makes to them. Every mistake in a pack is reported
with its file, line and field, all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...values.verdict import Mode
from ..rule import Rule
from ..ruleset import RuleSet

Loc = tuple[str | int, ...]


class PackProblem(NamedTuple):
    """One mistake. `line` counts from 1, 0 where there is none."""

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"


class PackError(ValueError):
    """A pack, or a choice of packs, that cannot be used."""

    def __init__(self, problems: Iterable[PackProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class Pack(BaseModel):
    """One file: a passport and rules, in order of precedence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    """The file's name; not written in it."""
    title: str = Field(min_length=1)
    status: str = Field(default="stable", pattern="^(stable|experimental|deprecated)$")
    description: str = ""
    false_positives: tuple[str, ...] = ()
    """Healthy text it is known to fire on."""
    references: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    """Packs whose rules come before its own."""
    mode: Mode = Mode.ON
    """The strongest mode of any of its rules, included ones too: `watch` makes a pack that only reports."""
    rules: tuple[Rule, ...] = ()


def names() -> list[str]:
    """The packs that come with streamfuse."""
    return sorted(
        f.name.removesuffix(".yaml") for f in resources.files(__package__).iterdir() if f.name.endswith(".yaml")
    )


@cache
def load(name: str) -> Pack:
    """A packaged pack. Raises PackError."""
    if name not in names():
        raise PackError([PackProblem("packs", 0, "", f"no pack is called {name!r}; there are {', '.join(names())}")])
    file = f"{name}.yaml"
    return parse(resources.files(__package__).joinpath(file).read_text(encoding="utf-8"), file)


def parse(text: str, file: str) -> Pack:
    """A pack from YAML. Raises PackError with every mistake."""
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        what = str(getattr(e, "problem", None) or e)
        raise PackError([PackProblem(file, mark.line + 1 if mark else 0, "", what)]) from None
    if not isinstance(data, dict):
        raise PackError([PackProblem(file, 1, "", "a pack is a mapping with title and rules")])
    if isinstance(data.get("mode"), bool):  # YAML 1.1 reads a bare on and off as booleans
        data["mode"] = Mode.ON if data["mode"] else Mode.OFF
    if isinstance(data.get("include"), str):
        data["include"] = [data["include"]]
    try:
        pack = Pack.model_validate({**data, "name": file.rpartition("/")[2].removesuffix(".yaml")})
    except ValidationError as e:
        raise PackError(_problem(file, tree, x["loc"], x["msg"]) for x in e.errors()) from None
    called = [rule.name for rule in pack.rules]
    twice = [n for n, name in enumerate(called) if name in called[:n]]
    if twice:
        message = "a rule before it has the same name"
        raise PackError(_problem(file, tree, ("rules", n, "name"), message) for n in twice)
    return pack


def gather(pack: Pack) -> list[Rule]:
    """The rules of a pack and of those it includes, no stronger than its mode. Raises PackError."""
    return list(_gathered(pack, ()).values())


def assemble(
    packs: Iterable[str | Pack] = ("default",),
    add: Iterable[Mapping[str, Any] | Rule] = (),
    off: Iterable[str] = (),
    change: Mapping[str, Mapping[str, Any]] | None = None,
    risk: Mapping[str, float] | None = None,
) -> RuleSet:
    """The rules of a config: packs in order (the first of two equal names stays), rules of its own, what differs, what
    is off, and what a false cut may cost in each channel (laid over `risk` of the rules that have one). Raises
    PackError with every mistake; fields are named as below `rules:` of a config."""
    problems: list[PackProblem] = []
    rules: dict[str, Rule] = {}
    for named in packs:
        try:
            pack = load(named) if isinstance(named, str) else named
            rules |= _new(rules, _gathered(pack, ()))
        except PackError as e:
            problems += e.problems
    for n, written in enumerate(add):
        try:
            rule = written if isinstance(written, Rule) else Rule.model_validate(written)
        except ValidationError as e:
            problems += (PackProblem("rules", 0, _field(("add", n, *x["loc"])), x["msg"]) for x in e.errors())
            continue
        if rule.name in rules:
            problems.append(
                PackProblem("rules", 0, _field(("add", n, "name")), f"{rule.name} is there already: change it")
            )
        rules[rule.name] = rule
    for name, rule in rules.items() if risk else ():
        if (own := getattr(rule.params, "risk", None)) is not None:
            rules[name] = changed(rule, {"params": {"risk": {**own.model_dump(), **(risk or {})}}})
    for name, differs in (change or {}).items():
        if name not in rules:
            problems.append(_nobody(rules, ("change", name), name))
            continue
        try:
            rules[name] = changed(rules[name], differs)
        except ValidationError as e:
            problems += (PackProblem("rules", 0, _field(("change", name, *x["loc"])), x["msg"]) for x in e.errors())
    for n, name in enumerate(off):
        if name not in rules:
            problems.append(_nobody(rules, ("off", n), name))
    if problems:
        raise PackError(problems)
    gone = set(off)
    return RuleSet(rule for rule in rules.values() if rule.name not in gone)


def changed(rule: Rule, differs: Mapping[str, Any]) -> Rule:
    """The rule with other values; `params` are laid over its own. Raises pydantic's ValidationError."""
    written = rule.model_dump()
    params = {**written["params"], **(differs.get("params") or {})}
    return Rule.model_validate({**written, **{k: v for k, v in differs.items() if v is not None}, "params": params})


def _gathered(pack: Pack, above: tuple[str, ...]) -> dict[str, Rule]:
    if pack.name in above:
        raise PackError(
            [PackProblem(f"{pack.name}.yaml", 0, "include", f"goes round: {' > '.join((*above, pack.name))}")]
        )
    rules: dict[str, Rule] = {}
    for name in pack.include:
        rules |= _new(rules, _gathered(load(name), (*above, pack.name)))
    rules |= _new(rules, {rule.name: rule for rule in pack.rules})
    return {n: r.model_copy(update={"mode": r.mode.at_most(pack.mode)}) for n, r in rules.items()}


def _new(old: Mapping[str, Rule], more: Mapping[str, Rule]) -> dict[str, Rule]:
    return {name: rule for name, rule in more.items() if name not in old}


def _nobody(rules: Mapping[str, Rule], loc: Loc, name: str) -> PackProblem:
    return PackProblem("rules", 0, _field(loc), f"no rule is called {name!r}; there are {', '.join(rules) or 'none'}")


def _problem(file: str, tree: yaml.Node | None, loc: Loc, message: str) -> PackProblem:
    return PackProblem(file, _line(tree, loc), _field(loc), message.removeprefix("Value error, "))


def _field(loc: Loc) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")


def _line(node: yaml.Node | None, loc: Loc) -> int:
    """The line of the value at `loc`, or of the last part of the way that is there."""
    line = node.start_mark.line + 1 if node is not None else 0
    for part in loc:
        below: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    line, below = key.start_mark.line + 1, value
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            below = node.value[part]
            line = below.start_mark.line + 1
        if below is None:
            return line
        node = below
    return line
