"""One file a way of looking. The table names ours; strangers' come by the entry point group `streamfuse.monitors`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from . import cycle, equal_deltas, exact_repetition, lines, long_passage, novelty, period, same_call, spaced_repetition
from .base import MonitorKind, MonitorScope, Params, StreamMonitor

GROUP = "streamfuse.monitors"

_OURS: tuple[MonitorKind, ...] = (
    exact_repetition.MONITOR,
    novelty.MONITOR,
    spaced_repetition.MONITOR,
    long_passage.MONITOR,
    period.MONITOR,
    equal_deltas.MONITOR,
    lines.MONITOR,
    cycle.MONITOR,
    same_call.MONITOR,
)

TABLE: dict[str, MonitorKind] = {kind.name: kind for kind in _OURS}
OLD_NAMES = {
    "refrain": "exact_repetition",
    "slant": "spaced_repetition",
    "chapter": "long_passage",
    "echo": "equal_deltas",
}
"""What monitors were once called, to their names now. Configs and packs that use the old names go on working."""


class UnknownMonitor(LookupError):
    """No monitor of this name, here or installed."""


def get(name: str) -> MonitorKind:
    """The monitor of this name or old name: ours first, then an installed one. Raises UnknownMonitor."""
    kind = TABLE.get(OLD_NAMES.get(name, name)) or _installed().get(name)
    if kind is None:
        raise UnknownMonitor(f"no monitor is called {name!r}; there are {', '.join(names())}")
    return kind


def names() -> list[str]:
    """Every monitor that a rule may name, ours first."""
    return [*TABLE, *(name for name in sorted(_installed()) if name not in TABLE)]


@cache
def _installed() -> dict[str, MonitorKind]:
    """Monitors of other distributions: an entry point loads to a MonitorKind. Read once, when first missed."""
    found: dict[str, MonitorKind] = {}
    for point in entry_points(group=GROUP):
        kind = point.load()
        if isinstance(kind, MonitorKind):
            found.setdefault(kind.name, kind)
    return found


__all__ = [
    "GROUP", "OLD_NAMES", "TABLE", "MonitorKind", "MonitorScope", "Params", "StreamMonitor", "UnknownMonitor", "get",
    "names",
]  # fmt: skip
