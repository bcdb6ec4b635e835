"""The same delta over and over: a provider or a model that emits one piece for ever.

The only monitor that depends on how the stream is cut into events, because it counts events.
"""

from __future__ import annotations

from pydantic import Field

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from ..text import SPACE
from .base import MonitorKind, MonitorScope, Params, StreamMonitor

KEEP = 256
"""Longer deltas are remembered by length and hash."""


class EqualDeltasParams(Params):
    """Defaults: dsh-loop-guard's maxRepeatedText. Providers send 2-3 characters a delta: rarely fires."""

    run: int = Field(default=60, ge=2)
    """Equal deltas in a row, compared without white space at their ends; blank ones equal each other."""


class EqualDeltas(StreamMonitor):
    """Counts a run of equal deltas."""

    __slots__ = ("_at", "_last", "_need", "_run", "_since")

    def __init__(self, params: EqualDeltasParams) -> None:
        self._need = params.run
        self._last: str | tuple[int, int] | None = None
        self._run = 0
        self._at = 0
        self._since = 0

    def feed(self, text: str, channel: Channel) -> Hit | None:
        trimmed: str | tuple[int, int] = text.strip(SPACE)
        if len(text) > KEEP:
            trimmed = (len(trimmed), hash(trimmed))
        if trimmed != self._last:
            self._last = trimmed
            self._run = 1
            self._since = self._at
            self._at += len(text)
            return None
        self._at += len(text)
        self._run += 1
        if self._run < self._need:
            return None
        return Hit(
            at=self._at,
            since=self._since,
            span=self._at - self._since,
            period=len(text),
            copies=float(self._run),
            evidence={"run": float(self._run)},
            bars={"run": float(self._need)},
        )

    def suspicion(self) -> float:
        return min(1.0, self._run / self._need) if self._run > 1 else 0.0


def start(params: Params, brief: Brief) -> EqualDeltas:
    """The request's wishes are not read: the original does not read them, and 60 equal events are rare in any text."""
    assert isinstance(params, EqualDeltasParams)
    return EqualDeltas(params)


MONITOR = MonitorKind(
    "equal_deltas", "Identical deltas in a row", EqualDeltasParams, start, MonitorScope.CHANNEL, by_piece=True
)
