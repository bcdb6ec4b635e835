"""Everything that watches, as tables or JSON: rules of answers, habits of histories, packs of error rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from rich.console import Group, RenderableType
from rich.table import Table

from rules import Mode, RuleSet, odds, packs
from rules import provider_pack_names as error_packs

from ..judging import JudgingConfig
from .table import FORMAT


def listing(guard: JudgingConfig) -> RenderableType:
    """Rules in order of precedence, habits in theirs, error packs by name."""
    rules = _table(
        "rules of an answer", ("rule", "what it looks for", "channels", "thresholds", "does", "mode", "pack")
    )
    for rule in guard.rules:
        channels = ", ".join(channel.label for channel in rule.channels)
        numbers = f"{rule.monitor}: {thresholds(rule.params)}"
        mode = rule.mode.at_most(guard.mode)
        does = rule.action.name.lower()
        rules.add_row(rule.name, rule.title or rule.monitor, channels, numbers, does, mode.value, pack_of(rule.name))
    habits = _table("habits of a history", ("habit", "what it looks for", "thresholds", "at most", "mode"))
    for watcher in guard.watchers:
        mode = watcher.rule.mode.at_most(guard.history)
        most = "reminds" if watcher.rule.most == "steer" else "refuses" if watcher.rule.most == "cancel" else "tells"
        habits.add_row(watcher.kind.name, watcher.kind.title, thresholds(watcher.params), most, mode.value)
    errors = _table("error rules of a provider", ("pack", "what it is for", "providers", "hosts", "rules"))
    for name, pack in error_packs().items():
        named = ", ".join(rule.name for rule in pack.rules)
        errors.add_row(name, pack.title, ", ".join(pack.providers), ", ".join(pack.hosts), named)
    return Group(rules, "", *_odds(guard.rules), habits, "", errors)


def _odds(rules: RuleSet) -> Iterator[RenderableType]:
    """What the fitted score's curve says at the price that a false cut may have in each channel."""
    table = _table("the fitted score", ("rule", "channel", "price of a false cut", "convicts from", "because"))
    for row in _prices(rules):
        past = f"of {row['texts']:,} texts that reached this, {row['stopped']:,} stopped by themselves"
        price = f"{100 * row['risk']:g} in 100 stop"
        table.add_row(row["rule"], row["channel"], price, f"score {row['score']:g}", past)
    if table.row_count:
        yield from (table, "")


def _prices(rules: RuleSet) -> Iterator[dict[str, Any]]:
    for rule in rules:
        prices = getattr(rule.params, "risk", None)
        for channel, risk in prices.model_dump().items() if prices is not None else ():
            step = odds().step(risk)
            if step is not None:
                told = {"score": step.score, "texts": step.texts, "stopped": step.stopped}
                yield {"rule": rule.name, "channel": channel, "risk": risk, **told}


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def thresholds(params: BaseModel) -> str:
    """`period 512, span 256, distinct 2`; tables of bars are only counted."""
    return ", ".join(f"{name} {_short(value)}" for name, value in params.model_dump().items())


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "/".join(map(_short, value)) if all(isinstance(one, int | float) for one in value) else f"({len(value)})"
    if isinstance(value, dict):
        return "/".join(f"{name} {_short(one)}" for name, one in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def listing_json(guard: JudgingConfig) -> dict[str, Any]:
    """The same, whole: every threshold and every passport."""
    return {
        "format": FORMAT,
        "rules": list(_rules(guard.rules, guard.mode)),
        "score": list(_prices(guard.rules)),
        "habits": [
            {
                "name": watcher.kind.name,
                "title": watcher.kind.title,
                "mode": watcher.rule.mode.at_most(guard.history).value,
                "most": watcher.rule.most,
                "params": watcher.params.model_dump(mode="json"),
                "defaults": watcher.kind.params().model_dump(mode="json"),
            }
            for watcher in guard.watchers
        ],
        "ladder": guard.ladder.model_dump(mode="json"),
        "errors": [
            {"pack": name, **pack.model_dump(mode="json", exclude={"rules"}), "rules": [r.name for r in pack.rules]}
            for name, pack in error_packs().items()
        ],
    }


def _rules(rules: RuleSet, mode: Mode) -> Iterator[dict[str, Any]]:
    for rule in rules:
        yield {
            **rule.model_dump(mode="json", exclude={"fires", "quiet"}),
            "mode": rule.mode.at_most(mode).value,
            "pack": pack_of(rule.name),
        }


def pack_of(name: str) -> str:
    """The packaged pack in which the rule is written, "" for one of a config's own."""
    return next((pack for pack in packs.names() if name in [rule.name for rule in packs.load(pack).rules]), "")
