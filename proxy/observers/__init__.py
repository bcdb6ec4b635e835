"""One file a sink of reports, each exporting `observer(settings)`. SINKS names them in the order in which they hear.

A new sink is one file here and one line in SINKS. What it needs of a request comes to `hear` as a record of `reports`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..settings.load import Settings
from . import journal, metrics, notify, recent, telemetry
from .journal import JournalObserver
from .metrics import MetricsObserver
from .notify import NotifyObserver
from .recent import RecentObserver
from .reports import Observer
from .telemetry import TelemetryObserver

Sink = TypeVar("Sink", bound=Observer)

SINKS: tuple[Callable[[Settings], Observer], ...] = (
    metrics.observer,
    journal.observer,
    recent.observer,
    notify.observer,
    telemetry.observer,
)
"""The table."""


class Sinks:
    """The sinks of one process, as configured."""

    def __init__(self, settings: Settings) -> None:
        self.all = tuple(make(settings) for make in SINKS)
        self.metrics = self.only(MetricsObserver)
        self.journal = self.only(JournalObserver)
        self.recent = self.only(RecentObserver)
        self.telemetry = self.only(TelemetryObserver)
        self.journal.tell_dropped(self.metrics.lines_dropped)
        notified = self.only(NotifyObserver)
        notified.told, notified.counted = self.journal.hear, self.metrics.notified

    def only(self, kind: type[Sink]) -> Sink:
        """The one sink of this class. Raises StopIteration where SINKS does not name it."""
        return next(sink for sink in self.all if isinstance(sink, kind))

    def renew(self, settings: Settings) -> None:
        """Another config is in force. What a sink cannot change while it runs, it leaves as it is."""
        for sink in self.all:
            renew = getattr(sink, "renew", None)
            if renew is not None:
                renew(settings)
