"""Our packs and monitors as loopbench sees a detector: `factory(instruction)` gives an object with `feed(text)`."""

from __future__ import annotations

from rules.detect import packs
from rules.detect.monitors.base import StreamMonitor
from rules.detect.monitors.exact_repetition import ExactRepetition, ExactRepetitionParams
from rules.detect.monitors.long_passage import LongPassage, LongPassageParams
from rules.detect.monitors.novelty import Novelty
from rules.detect.monitors.novelty.params import NoveltyParams
from rules.detect.monitors.spaced_repetition import SpacedRepetition, SpacedRepetitionParams
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit


class Packed:
    """A whole pack on visible text, as the proxy runs it."""

    def __init__(self, pack: str, instruction: str | None) -> None:
        self.watch = packs.assemble([pack]).watch(Brief(instruction or ""))

    def feed(self, text: str) -> object:
        return self.watch.feed(0, Channel.TEXT, "0", text)


class Alone:
    """One monitor."""

    def __init__(self, monitor: StreamMonitor) -> None:
        self.monitor = monitor

    def feed(self, text: str) -> Hit | None:
        return self.monitor.feed(text, Channel.TEXT)


def default(instruction: str | None = None) -> Packed:
    return Packed("default", instruction)


def calm(instruction: str | None = None) -> Packed:
    return Packed("calm", instruction)


def early(instruction: str | None = None) -> Packed:
    return Packed("early", instruction)


def strict(instruction: str | None = None) -> Packed:
    return Packed("strict", instruction)


def seeds(instruction: str | None = None) -> Packed:
    return Packed("seeds", instruction)


def refrain(instruction: str | None = None) -> Alone:
    return Alone(ExactRepetition(ExactRepetitionParams(), Brief(instruction or "")))


def novelty(instruction: str | None = None) -> Alone:
    return Alone(Novelty(NoveltyParams(), Brief(instruction or "")))


def slant(instruction: str | None = None) -> Alone:
    return Alone(SpacedRepetition(SpacedRepetitionParams(), Brief(instruction or "")))


def chapter(instruction: str | None = None) -> Alone:
    return Alone(LongPassage(LongPassageParams(), Brief(instruction or "")))
