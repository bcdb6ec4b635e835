"""The same tool call again and again inside one answer: equal name and arguments, in a row.

Real answers made one call dozens of times as "parallel" calls, each under a new id. The client has been given the calls
before the last one whole; only the repeating call is withheld.
"""

from __future__ import annotations

from pydantic import Field

from ...values.brief import Brief
from ...values.signature import call_signature
from ...values.verdict import Hit
from .base import MonitorKind, MonitorScope, Params, StreamMonitor


class SameCallParams(Params):
    """`equal` calls in a row (OpenCode's doom loop: 3)."""

    equal: int = Field(default=3, ge=2)


class SameCall(StreamMonitor):
    """Keeps one signature and one count."""

    __slots__ = ("_bar", "_chars", "_last", "_row", "_span")
    quiet = 1 << 30

    def __init__(self, params: Params, brief: Brief) -> None:
        assert isinstance(params, SameCallParams)
        self._bar = params.equal
        self._last = ""
        self._row = 0
        self._span = 0
        self._chars = 0

    def called(self, name: str, arguments: str) -> Hit | None:
        """Offsets count the characters of all calls' arguments."""
        signature = call_signature(name, arguments)
        if signature != self._last:
            self._last, self._row, self._span = signature, 0, 0
        self._row += 1
        self._span += len(arguments)
        self._chars += len(arguments)
        if self._row < self._bar:
            return None
        return Hit(
            at=self._chars,
            since=self._chars - self._span,
            span=self._span,
            period=len(arguments) or None,
            copies=self._row,
            evidence={"equal": self._row},
            bars={"equal": self._bar},
        )


MONITOR = MonitorKind(
    "same_call",
    "the same tool call again inside one answer",
    SameCallParams,
    SameCall,
    MonitorScope.CHOICE,
    gathers=True,
)
