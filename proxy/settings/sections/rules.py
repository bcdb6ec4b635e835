"""Which loop rules run, and how far they may go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rules import Mode

from ..base import Names, Section, field


class RuleOver(Section):
    """What differs for one rule."""

    mode: Mode | None = field(None, "off, watch or on for this rule.")
    action: str | None = field(None, "What it does when it fires: note, advise, cut, retry, refuse.")
    params: Mapping[str, Any] = field({}, "Thresholds of its monitor, by name (streamfuse rules lists them).")


class RiskSettings(Section):
    """What a false cut may cost, by channel: a share of texts, see docs/detection.md."""

    text: float | None = field(None, "In visible text and refusals.", ge=0, le=1)
    reasoning: float | None = field(None, "In reasoning.", ge=0, le=1)
    arguments: float | None = field(
        None, "In tool arguments. A false cut loses the whole call there, so every pack says 0.", ge=0, le=1
    )


class Rules(Section):
    """Which loop rules run."""

    packs: Names = field(
        ("default",),
        "Packs of rules, in order: names, or paths of .yaml files of your own. Of two equally strong findings the "
        "first rule's counts.",
    )
    add: tuple[Mapping[str, Any], ...] = field((), "Rules of your own, as in a pack's file.")
    off: Names = field((), "Names of rules that do not run.")
    risk: RiskSettings = field(
        RiskSettings(),
        "What a false cut may cost in each channel: the fitted score convicts where at most this share of the texts "
        "that went on like this stopped by themselves (0 never, 0.1 one in ten; as the pack says where left out).",
    )
    change: Mapping[str, RuleOver] = field({}, "By rule name: what differs from its pack.")
    mode: Mode = field(Mode.ON, "off, watch (report what would have been done, touch nothing) or on.")
