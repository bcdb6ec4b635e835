"""One file a sink of reports, each exporting `observer(settings)`. The table names them in the order they hear."""

from __future__ import annotations

from dataclasses import dataclass

from ..settings.load import Settings
from . import journal, metrics, recent


@dataclass(frozen=True, slots=True)
class Sinks:
    """The sinks of one process."""

    metrics: metrics.MetricsObserver
    journal: journal.JournalObserver
    recent: recent.RecentObserver


def sinks(settings: Settings) -> Sinks:
    """All of them, as configured."""
    counts = metrics.observer(settings)
    return Sinks(counts, journal.observer(settings, counts.lines_dropped), recent.observer(settings))
