"""From what people wrote to the engine's own values, once per provider, at start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rules import (
    STEP_DETECTORS,
    BudgetOverrides,
    Budgets,
    Crop,
    Cut,
    DetectorRule,
    ErrorRules,
    FollowUps,
    HistoryPolicy,
    Ladder,
    Limits,
    Mode,
    Pack,
    PackError,
    PackProblem,
    Policy,
    RuleSet,
    Takes,
    Timeouts,
    assemble,
    rules_for,
    takes,
)
from rules import bind_detectors as bind
from rules import parse_pack as parse

from .whole import Settings


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine's values for one provider."""

    mode: Mode
    """The weaker of rules.mode and the provider's; a request may weaken it further."""
    budgets: Budgets
    timeouts: Timeouts
    policy: Policy
    cut: Cut
    limits: Limits
    rules: RuleSet
    error_rules: ErrorRules
    history_policy: HistoryPolicy
    follow_ups: FollowUps
    takes: Takes
    """What the provider is known to take in the second request of a heal."""


def engine(settings: Settings, provider: str, rules: RuleSet | None = None) -> Engine:
    """What binds for a provider; `rules` as `ruleset` gave them, to share them. Raises KeyError for an unknown one."""
    mine = settings.providers[provider]
    layers = [BudgetOverrides.model_validate(layer) for layer in (settings.retry.written, mine.retry.written)]
    return Engine(
        mode=mine.mode.at_most(settings.rules.mode),
        budgets=Budgets.merge(*layers),
        timeouts=_timeouts(settings, provider),
        policy=Policy(
            replay_reasoning=settings.replay.reasoning,
            rounds=settings.replay.rounds,
            equal_answers=settings.replay.equal_answers,
            final_limits=settings.replay.final_limits,
        ),
        cut=Cut.model_validate(settings.cut.model_dump()),
        limits=Limits(event=settings.limits.event, hold=settings.limits.hold),
        rules=(chosen := ruleset(settings) if rules is None else rules),
        error_rules=_error_rules(settings, provider),
        history_policy=history_policy(settings, chosen),
        follow_ups=FollowUps.model_validate(settings.history.follow_ups.model_dump()),
        takes=takes(provider, urlsplit(mine.base_url).hostname or "", mine.resume.value),
    )


def _timeouts(settings: Settings, provider: str) -> Timeouts:
    """Whoever writes `idle` means it: comments and pings stretch it only where `idle_alive` is written too."""
    mine = settings.providers[provider].timeouts.written
    written = mine.keys() | settings.timeouts.model_fields_set
    values = settings.timeouts.model_dump() | mine
    if "idle" in written and "idle_alive" not in written:
        values["idle_alive"] = values["idle"]
    return Timeouts.model_validate(values)


def history_policy(settings: Settings, rules: RuleSet) -> HistoryPolicy:
    """How histories are treated."""
    history = settings.history
    over = {name: mine.model_dump(exclude_none=True) for name, mine in history.habits.items()}
    return HistoryPolicy(
        mode=history.mode,
        watchers=bind([DetectorRule(detector=kind.name, **over.get(kind.name, {})) for kind in STEP_DETECTORS]),
        ladder=Ladder(**history.ladder.model_dump(), language=history.language),
        hygiene=history.hygiene,
        collapse=rules if history.collapse else None,
        crop=Crop.model_validate(history.crop.model_dump()),
    )


def _error_rules(settings: Settings, provider: str) -> ErrorRules:
    if not settings.error_packs:
        return ErrorRules(settings.error_rules, provider)
    host = urlsplit(settings.providers[provider].base_url).hostname or ""
    return rules_for(provider, host, settings.error_rules)


def ruleset(settings: Settings) -> RuleSet:
    """The loop rules, the same for all providers. Raises PackError, whose fields are named as below `rules`."""
    rules = settings.rules
    change = {name: over.model_dump(exclude_none=True) for name, over in rules.change.items()}
    risk = rules.risk.model_dump(exclude_none=True)
    return assemble([_pack(name) for name in rules.packs], rules.add, rules.off, change, risk)


def _pack(name: str) -> str | Pack:
    """A packaged pack by its name, one of your own by its path (…/my.yaml)."""
    if not name.endswith((".yaml", ".yml")):
        return name
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PackError([PackProblem(name, 0, "", f"this pack cannot be read: {why}")]) from None
    return parse(text, name)
