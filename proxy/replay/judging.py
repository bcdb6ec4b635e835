"""The rules and the history policy by which recordings are judged, from a config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rules import DEFAULT_DETECTORS as DEFAULT
from rules import BoundDetector, Ladder, Mode, RuleSet

from ..settings.engine import history_policy, ruleset
from ..settings.whole import Settings


@dataclass(frozen=True, slots=True)
class JudgingConfig:
    """Rules of answers, habits of histories, and how far each may go."""

    rules: RuleSet = field(default_factory=RuleSet)
    mode: Mode = Mode.ON
    """The config's `rules.mode`: the strongest mode of any rule."""
    watchers: Sequence[BoundDetector] = DEFAULT
    ladder: Ladder = field(default_factory=Ladder)
    history: Mode = Mode.ON
    """The config's `history.mode`."""


def guard(settings: Settings) -> JudgingConfig:
    """What a config brings; providers' own modes are left aside. Raises PackError."""
    rules = ruleset(settings)
    policy = history_policy(settings, rules)
    return JudgingConfig(rules, settings.rules.mode, policy.watchers, policy.ladder, policy.mode)
