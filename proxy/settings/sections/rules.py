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


class Rules(Section):
    """Which loop rules run."""

    packs: Names = field(
        ("default",),
        "Packs of rules, in order: names, or paths of .yaml files of your own. Of two equally strong findings the "
        "first rule's counts.",
    )
    add: tuple[Mapping[str, Any], ...] = field((), "Rules of your own, as in a pack's file.")
    off: Names = field((), "Names of rules that do not run.")
    change: Mapping[str, RuleOver] = field({}, "By rule name: what differs from its pack.")
    mode: Mode = field(Mode.ON, "off, watch (report what would have been done, touch nothing) or on.")
