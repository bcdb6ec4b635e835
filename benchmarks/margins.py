"""How near do texts without a loop come to each bar of the default pack, and what does each bar bring?

    python -m benchmarks.margins LOOPBENCH [--healthy PATH]… [--top 3] [--only novelty] [--holdout]

LOOPBENCH is loopbench's folder; --healthy adds .jsonl.gz files with a `text` a line, or folders (the first 32 KiB of
each file). The monitors run deaf: every bar is watched to the end of a text, none convicts. Printed are, for each gate
of `novelty`, each kind and period of `refrain` and `slant`, and for `chapter`: the texts without a loop that came
nearest, in shares of the bar as the request raised it (1.00 would be cut); how many loops reach it; how many reach no
other bar. Then what all bars at 0.8, 0.85, 1 and 1.25 would cut and miss. --holdout splits the loops by a hash of their
model's name into A (60 %) and B (40 %): set bars by A, and look at B only as a number.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rules.detect.monitors.base import StreamMonitor
from rules.detect.monitors.exact_repetition import ExactRepetition, ExactRepetitionParams
from rules.detect.monitors.long_passage import LongPassage, LongPassageParams
from rules.detect.monitors.novelty import Novelty
from rules.detect.monitors.novelty.gates import Surroundings
from rules.detect.monitors.novelty.params import NoveltyParams
from rules.detect.monitors.spaced_repetition import SpacedRepetition, SpacedRepetitionParams
from rules.detect.requested.repetition import RequestedRepetition
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit

FACTORS = (0.8, 0.85, 1.0, 1.25)
FIRST = 32 * 1024
SEEN = 0.5
"""Shares of a bar below this are not kept."""


class Reach:
    """Of one text: for each bar the greatest share of it that was reached, and where each factor was."""

    def __init__(self) -> None:
        self.most: dict[str, tuple[float, int]] = {}
        self.at: dict[str, dict[float, int]] = defaultdict(dict)

    def note(self, bar: str, share: float, at: int) -> None:
        if share < SEEN or share <= self.most.get(bar, (0.0, 0))[0]:
            return
        self.most[bar] = (share, at)
        for factor in FACTORS:
            if share >= factor:
                self.at[bar].setdefault(factor, at)

    def fired(self, factor: float) -> int | None:
        return min((one[factor] for one in self.at.values() if factor in one), default=None)


class _Novelty(Novelty):
    def __init__(self, brief: Brief, reach: Reach) -> None:
        super().__init__(NoveltyParams(), brief)
        self.reach = reach

    def _judge(self, here: Surroundings, channel: Channel) -> Hit | None:
        for gate, value, bar, lag, copies, song in self._open(here, channel):
            if value >= SEEN * bar:
                bar = self._wanted(bar, lag, song, gate.measure == "poor")
                share = min(value / bar, value / lag / copies) if copies else value / bar
                number = self.params.gates.index(gate)
                self.reach.note(f"novelty {number:02} {gate.measure} {gate.bar} {gate.copies}", share, self.fed)
        return None


class _Refrain(ExactRepetition):
    def __init__(self, params: ExactRepetitionParams, wanted: RequestedRepetition, reach: Reach, title: str) -> None:
        super().__init__(params.model_copy(update={"factor": params.factor * SEEN}), Brief())
        self.wanted, self.reach, self.title = wanted, reach, title
        self.outer: SpacedRepetition | None = None

    def _convict(self, channel: Channel) -> bool:
        raised = self._wanted(self.need / SEEN)
        at = self.outer.fed + 64 if self.outer else self.fed
        row = next(one[0] for one in getattr(self.params, self.kind) if self.period <= one[0])
        self.reach.note(f"{self.title} {self.kind} <= {row}", (self.fed - self.since) / raised, at)
        return False


class _Chapter(LongPassage):
    def __init__(self, brief: Brief, reach: Reach) -> None:
        super().__init__(LongPassageParams(factor=SEEN), brief)
        self.reach = reach

    def _sentence(self, sentence: str) -> Hit | None:
        hit = super()._sentence(sentence)
        if hit:
            self.reach.note("chapter", hit.evidence["span"] / (hit.bars["span"] / SEEN), hit.at)
        return None


def watch(text: str, prompt: str) -> Reach:
    """One text to its end, past every bar."""
    reach, brief = Reach(), Brief(prompt)
    slant = SpacedRepetition(SpacedRepetitionParams(), brief)
    slant.inner = inner = _Refrain(SpacedRepetitionParams(), slant.inner.wanted, reach, "slant")
    inner.outer = slant
    monitors: tuple[StreamMonitor, ...] = (
        _Refrain(ExactRepetitionParams(), RequestedRepetition(brief), reach, "refrain"),
        _Novelty(brief, reach),
        slant,
        _Chapter(brief, reach),
    )
    for monitor in monitors:
        for at in range(0, len(text), 512):
            monitor.feed(text[at : at + 512], Channel.TEXT)
    return reach


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Texts of a .jsonl.gz file, or of the files under a folder."""
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)
        return
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        raw = file.read_bytes()[:FIRST]
        if b"\0" not in raw:
            yield {"id": str(file), "label": "extra", "text": raw.decode("utf-8", "ignore")}


def half(model: str) -> str:
    return "A" if int(hashlib.sha256(model.encode()).hexdigest(), 16) % 100 < 60 else "B"


def _late(row: dict[str, Any], at: int | None) -> bool:
    return at is not None and at >= row["onset"] - max(8, row["period"] or 0)


def table(title: str, loops: list[tuple[dict[str, Any], Reach]], calm: list[tuple[dict[str, Any], Reach]]) -> None:
    """What the bars at each factor would cut and miss."""
    for factor in FACTORS:
        fired = [(row, reach.fired(factor)) for row, reach in loops]
        delays = sorted(max(0, at - row["onset"]) for row, at in fired if at is not None and _late(row, at))
        after = sum(len(row["text"]) - row["onset"] for row, _ in loops)
        out = sum(max(0, (at if _late(row, at) and at else len(row["text"])) - row["onset"]) for row, at in fired)
        early = sum(at is not None and not _late(row, at) for row, at in fired)
        kinds: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for row, at in fired:
            kinds[row["kind"]][0] += _late(row, at)
            kinds[row["kind"]][1] += 1
        false: dict[str, int] = defaultdict(int)
        for row, reach in calm:
            false[row["label"]] += reach.fired(factor) is not None
        print(
            f"{title} x{factor}: {len(delays)}/{len(loops)} = {len(delays) / len(loops):.3f}, early {early}, delay "
            f"{statistics.median(delays):.0f} / {delays[int(0.9 * len(delays))]}, delivered {out / after:.3f}, "
            + ", ".join(f"{kind} {a}/{b}" for kind, (a, b) in sorted(kinds.items()))
            + (f"; cut: {dict(false)}" if false else "")
        )


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("loopbench", type=Path)
    ask.add_argument("--healthy", type=Path, action="append", default=[])
    ask.add_argument("--top", type=int, default=3)
    ask.add_argument("--only", default="")
    ask.add_argument("--holdout", action="store_true")
    asked = ask.parse_args()
    paths = [asked.loopbench / "outputs.dev.jsonl.gz", asked.loopbench / "files.dev.jsonl.gz", *asked.healthy]
    loops, calm = [], []
    for path in paths:
        for row in rows(path):
            if row["label"] == "unsure" or row.get("ended"):
                continue
            seen = (row, watch(row["text"], row.get("instruction") or ""))
            if row["label"] == "loop":
                loops.append(seen)
            elif seen[1].most:
                calm.append(seen)
    first = {row["id"]: reach.fired(1.0) for row, reach in loops}
    for bar in sorted({bar for _, reach in loops + calm for bar in reach.most}):
        if asked.only not in bar:
            continue
        near = sorted(((*reach.most[bar], row["id"][-60:]) for row, reach in calm if bar in reach.most), reverse=True)
        mine = [(row, reach) for row, reach in loops if 1.0 in reach.at.get(bar, {})]
        alone = sum(all(1.0 not in one for name, one in reach.at.items() if name != bar) for _, reach in mine)
        soonest = sum(reach.at[bar][1.0] == first[row["id"]] for row, reach in mine)
        print(f"{bar}: {len(mine)} loops, {soonest} soonest, {alone} alone; nearest without a loop:")
        print("   ", "; ".join(f"{share:.2f} {name} at {at}" for share, at, name in near[: asked.top]))
    table("all", loops, calm)
    if asked.holdout:
        for side in "AB":
            table(side, [one for one in loops if half(one[0]["model"]) == side], [])


if __name__ == "__main__":
    main()
