"""Built-in error rules, one YAML file for each provider: the errors that it sends inside a 200.

A pack applies where the provider's configured name matches one of its `providers` or the host of its base URL one of
its `hosts`. Each rule carries its passport, and events on which it fires and stays quiet; the tests hold it to both.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from ..error_rules import ErrorRule, ErrorRules


class PackedRule(ErrorRule):
    """A rule with its description (all members are required here) and its test events."""

    name: str = Field(min_length=1)
    title: str = Field(min_length=1)
    description: str = Field(min_length=1)
    false_positives: str = Field(min_length=1)
    references: tuple[str, ...] = Field(min_length=1)
    fires: tuple[Any, ...] = Field(min_length=1)
    """Parsed events it fires on."""
    quiet: tuple[Any, ...] = Field(min_length=1)
    """Parsed events it must not fire on."""

    @property
    def ready(self) -> bool:
        return True


class ErrorPack(BaseModel):
    """One file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    description: str
    hosts: tuple[str, ...]
    """Globs over hosts that are known to be this provider."""
    providers: tuple[str, ...]
    """Globs over configured names that are taken to be this provider."""
    references: tuple[str, ...]
    rules: tuple[PackedRule, ...]

    def binds(self, provider: str, host: str) -> bool:
        """Is this pack for a provider of this name at this host?"""
        name, host = provider.lower(), host.lower()
        return any(fnmatchcase(name, g) for g in self.providers) or any(fnmatchcase(host, g) for g in self.hosts)


@cache
def packs() -> dict[str, ErrorPack]:
    """All packs by name, in order of name, the general one (relays) last. Read once from the package."""
    here = resources.files(__package__)
    files = sorted(
        (f for f in here.iterdir() if f.name.endswith(".yaml")), key=lambda f: (f.name == "relays.yaml", f.name)
    )
    return {f.name[:-5]: ErrorPack.model_validate(yaml.safe_load(f.read_text(encoding="utf-8"))) for f in files}


def rules_for(provider: str, host: str, own: Iterable[ErrorRule] = ()) -> ErrorRules:
    """The rules of one provider: the configured ones first, in their order, then those of the packs that bind."""
    packed: list[ErrorRule] = [rule for pack in packs().values() if pack.binds(provider, host) for rule in pack.rules]
    return ErrorRules([*(rule for rule in own if rule.applies(provider)), *packed])
