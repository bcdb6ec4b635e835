"""Our monitors as loopbench sees a detector: `factory(instruction)` gives an object with `feed(text)`."""

from __future__ import annotations

from collections.abc import Sequence

from rules.brief import Brief
from rules.delta import Channel
from rules.monitors.base import StreamMonitor
from rules.monitors.novelty import Novelty, NoveltyParams
from rules.monitors.refrain import Refrain, RefrainParams
from rules.monitors.slant import Slant, SlantParams
from rules.verdict import Hit


class Together:
    """Several monitors on one text; the first hit counts."""

    def __init__(self, parts: Sequence[StreamMonitor]) -> None:
        self.parts = parts

    def feed(self, text: str) -> Hit | None:
        for part in self.parts:
            hit = part.feed(text, Channel.TEXT)
            if hit:
                return hit
        return None


def refrain(instruction: str | None = None) -> Together:
    return Together([Refrain(RefrainParams(), Brief(instruction or ""))])


def novelty(instruction: str | None = None) -> Together:
    return Together([Novelty(NoveltyParams(), Brief(instruction or ""))])


def both(instruction: str | None = None) -> Together:
    brief = Brief(instruction or "")
    return Together([Refrain(RefrainParams(), brief), Novelty(NoveltyParams(), brief)])


def slant(instruction: str | None = None) -> Together:
    return Together([Slant(SlantParams(), Brief(instruction or ""))])


def three(instruction: str | None = None) -> Together:
    brief = Brief(instruction or "")
    return Together([Refrain(RefrainParams(), brief), Novelty(NoveltyParams(), brief), Slant(SlantParams(), brief)])
