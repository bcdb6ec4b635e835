"""Rules for errors in the data of an answer: a path, a condition on its value, and a number of retries.

The rules of opencode-sse-retry, with `not_null`, numeric `equals` and a `kind` in addition. Rules look at whole events,
whole JSON bodies and error bodies, parsed; never at text that is not JSON. In the order they are written, the first
that matches an event is the one that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from ..values.delta import Fault
from ..values.failures import Failure, Kind
from . import classify
from .jsonpath import JsonPath

RETRIES = 2
"""max_retries of a rule that names none (opencode-sse-retry)."""


class Match(BaseModel):
    """One condition on the value a path leads to.

    `exists`: it is there, null included. `not_null`: it is there and not null (a healthy Responses frame has
    `error: null`). `exact`, `prefix`, `contains`: it is a string that is, begins with, holds `value`, case and all.
    `equals`: it is that number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["exists", "not_null", "exact", "prefix", "contains", "equals"]
    value: StrictStr | StrictInt | StrictFloat | None = None

    @model_validator(mode="before")
    @classmethod
    def _number_as_text(cls, written: Any) -> Any:
        """Convert the value: scalars of a config file come as text."""
        if isinstance(written, dict) and written.get("type") == "equals" and isinstance(written.get("value"), str):
            try:
                return {**written, "value": orjson.loads(written["value"])}
            except orjson.JSONDecodeError:
                return written
        return written

    @model_validator(mode="after")
    def _has_its_value(self) -> Match:
        if self.type in ("exists", "not_null"):
            if self.value is not None:
                raise ValueError(f"{self.type} takes no value")
        elif self.type == "equals":
            if not _number(self.value):
                raise ValueError("equals takes a number")
        elif not isinstance(self.value, str) or not self.value:
            raise ValueError(f"{self.type} takes a text that is not empty")
        return self

    def holds(self, found: Any) -> bool:
        """Does this value satisfy the condition?"""
        kind, value = self.type, self.value
        if kind == "exists":
            return True
        if kind == "not_null":
            return found is not None
        if kind == "equals":
            return _number(found) and bool(found == value)
        if not isinstance(found, str) or not isinstance(value, str):
            return False
        if kind == "exact":
            return found == value
        return found.startswith(value) if kind == "prefix" else value in found


class ErrorRule(BaseModel):
    """One rule. `match`: one or several conditions, of which one must hold; they share the rule's count."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: str = ""
    """Its label in metrics and the key of its count; without one its path and conditions are the name."""
    providers: tuple[str, ...] = ("*",)
    """Glob patterns for the configured providers' names."""
    path: str
    match: tuple[Match, ...] = Field(min_length=1)
    max_retries: Annotated[int, Field(ge=0, le=100)] | None = Field(default=None, alias="maxRetries")
    """Retries after the first request. Without `kind`, 2 where nothing is written; with one, the budget's."""
    kind: Kind | None = None
    """What the failure counts as. None: a kind of its own that may always be tried again within max_retries."""
    title: str = ""
    description: str = ""
    false_positives: str = ""
    references: tuple[str, ...] = ()
    _path: JsonPath = PrivateAttr()

    @field_validator("match", "providers", mode="before")
    @classmethod
    def _one_or_several(cls, written: Any) -> Any:
        return written if isinstance(written, list | tuple) else (written,)

    @field_validator("kind")
    @classmethod
    def _kind_of_a_failure(cls, kind: Kind | None) -> Kind | None:
        if kind in (Kind.LOOP, Kind.RULE, Kind.STALL):
            raise ValueError("a rule's kind is terminal, network, rate_limit, server, stream or unknown")
        return kind

    @model_validator(mode="after")
    def _compiled(self) -> ErrorRule:
        self._path = JsonPath(self.path)
        return self

    @property
    def label(self) -> str:
        """Its name, or one made of what it looks for: the same in every process that has the same rule."""
        return self.name or " ".join([self.path, *(f"{m.type}:{m.value}" if m.value else m.type for m in self.match)])

    @property
    def ready(self) -> bool:
        """Is it one of the built-in rules?"""
        return False

    @property
    def where(self) -> JsonPath:
        """The compiled path."""
        return self._path

    @property
    def limit(self) -> int | None:
        """Retries of its own; None = only its kind's budget counts."""
        if self.max_retries is None and self.kind is None:
            return RETRIES
        return self.max_retries

    def applies(self, provider: str) -> bool:
        """Is this rule for this provider?"""
        return any(fnmatchcase(provider, glob) for glob in self.providers)

    def matches(self, body: Any) -> bool:
        """Does any value at its path satisfy any of its conditions?"""
        return _found(self._path, self.match, body)


class ErrorRules:
    """The rules of one provider, in order, ready for every event of its answers."""

    __slots__ = ("_ready", "heads", "rules")

    def __init__(self, rules: Iterable[ErrorRule], provider: str = "") -> None:
        """`rules` that do not apply to `provider` are left out once and for all ("": none is)."""
        self.rules: Sequence[ErrorRule] = tuple(r for r in rules if not provider or r.applies(provider))
        self._ready = tuple((rule.where, rule.match, rule) for rule in self.rules)
        firsts = {rule.where.head for rule in self.rules}
        self.heads: frozenset[str] | None = None if None in firsts else frozenset(h for h in firsts if h is not None)
        """Members of the root, one of which must be present for any rule to match. None = the root does not decide.
        Empty = there are no rules."""

    def find(self, body: Any) -> ErrorRule | None:
        """The first rule that matches a parsed event or body."""
        heads = self.heads
        # Most events have none of the members that the rules ask for, and are not searched.
        if heads is not None and type(body) is dict and heads.isdisjoint(body):
            return None
        for path, match, rule in self._ready:
            if _found(path, match, body):
                return rule
        return None

    def failure(self, body: Any, base: Failure | None = None) -> Failure | None:
        """The failure that this body means, by the first rule that matches; None where none does.

        `base` is what the body already counts as (an HTTP error): the rule then only changes what may be done.
        """
        rule = self.find(body)
        if rule is None:
            return None
        if base is None:
            fields = body[0] if isinstance(body, list) and body else body
            base = classify.in_band(Fault(None, "", fields if isinstance(fields, dict) else {}))
        if rule.ready and classify.spent(base):
            return base  # a general rule ("429 is a rate limit") does not revive what its body calls hopeless
        return replace(base, kind=rule.kind or Kind.RULE, rule=rule.label, rule_limit=rule.limit)

    def __bool__(self) -> bool:
        return bool(self.rules)


def _found(path: JsonPath, match: tuple[Match, ...], body: Any) -> bool:
    return any(one.holds(found) for found in path.values(body) for one in match)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
