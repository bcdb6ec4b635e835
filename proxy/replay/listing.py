"""Every rule with its passport, as a table: what `streamfuse rules` prints."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from rules import packs
from rules.ruleset import Rule, RuleSet


def listing(rules: RuleSet) -> RenderableType:
    """Title, channels, thresholds, action and pack of each rule, in order of precedence."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("rule", "what it looks for", "channels", "thresholds", "does", "mode", "pack"):
        table.add_column(title, overflow="fold")
    for rule in rules:
        table.add_row(
            rule.name,
            rule.title or rule.monitor,
            ", ".join(channel.label for channel in rule.channels),
            f"{rule.monitor}: {thresholds(rule)}",
            rule.action.name.lower(),
            rule.mode.value,
            pack_of(rule.name),
        )
    return table


def thresholds(rule: Rule) -> str:
    """`period 512, span 256, distinct 2`."""
    numbers = rule.params.model_dump().items()
    return ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in numbers)


def pack_of(name: str) -> str:
    """The packaged pack in which the rule is written, "" for one of a config's own."""
    return next((pack for pack in packs.names() if name in [rule.name for rule in packs.load(pack).rules]), "")
