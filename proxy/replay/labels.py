"""Recordings with labels (loopbench-style), summed up by label: what fires where it should, and where it should not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .judge import JudgedRecording

LOOP = "loop"
SLACK = 8
"""Characters by which a label's onset may be off, beside one copy."""


@dataclass(slots=True)
class Tally:
    """The recordings of one label."""

    recordings: int = 0
    fired: int = 0
    acted: int = 0
    early: int = 0
    """Acted more than a copy before the onset: a false cut."""
    delays: list[int] = field(default_factory=list)
    """Characters from the onset to the cut."""
    delivered: int = 0
    """Characters behind the onset that a client still gets."""
    looping: int = 0
    """Characters behind the onset in all."""

    def add(self, seen: JudgedRecording) -> None:
        """One more."""
        acting = seen.acting
        self.recordings += 1
        self.fired += bool(seen.found)
        self.acted += acting is not None
        if seen.onset is None or seen.history:
            return
        after = max(0, seen.chars - seen.onset)
        self.looping += after
        if acting is None:
            self.delivered += after
            return
        at = seen.chars - acting.saved
        early = at < seen.onset - max(SLACK, seen.period)
        self.early += early
        self.delivered += max(0, at - seen.onset)
        if not early:
            self.delays.append(max(0, at - seen.onset))

    def delay(self, share: float) -> int | None:
        """The delay that this share of the cut loops does not exceed; None without any."""
        ranked = sorted(self.delays)
        return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else None

    @property
    def passed(self) -> float | None:
        """Share of the looping characters that a client still gets."""
        return self.delivered / self.looping if self.looping else None

    def as_json(self) -> dict[str, Any]:
        """Numbers only."""
        return {
            "recordings": self.recordings,
            "fired": self.fired,
            "acted": self.acted,
            "early": self.early,
            "delay_median": self.delay(0.5),
            "delay_p90": self.delay(0.9),
            "delivered": self.passed,
        }


def tally(seen: Iterable[JudgedRecording]) -> dict[str, Tally]:
    """By label, loops first; recordings without one are not in it."""
    out: dict[str, Tally] = {}
    for one in seen:
        if one.label:
            out.setdefault(one.label, Tally()).add(one)
    return dict(sorted(out.items(), key=lambda entry: (entry[0] != LOOP, entry[0])))
