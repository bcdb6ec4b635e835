"""One unit again and again, if blanks are left out: strokes that move one space a row, indentation that only grows,
cells padded ever wider. The refrain's own machinery and bars, on the text without spaces and tabs.
"""

from __future__ import annotations

from typing import Final

from ..brief import Brief
from ..delta import Channel
from ..verdict import Hit
from ..wanted import Wanted
from .base import MonitorKind, Params, StreamMonitor
from .refrain import Refrain, RefrainParams

_BLANKS: Final = dict.fromkeys(map(ord, " \t\u00a0\u2800\u3000"))


class SlantParams(RefrainParams):
    """As the refrain's; twice its bars, since rows that differ in blanks only are common in drawings and code."""

    factor: float = 1.8


class Slant(StreamMonitor):
    """State: the refrain's, and the count of characters read."""

    __slots__ = ("bare", "fed", "inner")

    def __init__(self, params: SlantParams, brief: Brief) -> None:
        self.inner = Refrain(params, brief)
        self.inner.wanted = Wanted(brief, _BLANKS)
        self.fed = self.bare = 0

    def feed(self, text: str, channel: Channel) -> Hit | None:
        bare = text.translate(_BLANKS)
        hit = self.inner.feed(bare, channel) if bare else None
        if hit is None:
            self.fed += len(text)
            self.bare += len(bare)
            return None
        left, at = hit.at - self.bare, self.fed
        for sign in text:
            at += 1
            left -= ord(sign) not in _BLANKS
            if not left:
                break
        wide = at / hit.at
        """Characters of text for one that is no blank; where the unit began is estimated by it."""
        period = max(1, round((hit.period or 1) * wide))
        span = min(at, round(hit.span * wide))
        return Hit(
            at=at,
            since=at - span,
            span=span,
            period=period,
            copies=hit.copies,
            evidence=hit.evidence,
            bars=hit.bars,
        )

    def suspicion(self) -> float:
        return self.inner.suspicion()


def _start(params: Params, brief: Brief) -> StreamMonitor:
    assert isinstance(params, SlantParams)
    return Slant(params, brief)


MONITOR = MonitorKind("slant", "One unit again and again but for blanks", SlantParams, _start)
