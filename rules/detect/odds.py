"""A fitted score over a monitor's measures. It answers: of the texts that went on like this one, how many stopped by
themselves?

The score is a sum of shallow trees, a few hundred numbers in `packs/odds.json`. `benchmarks/fit` makes that file from
labelled public texts and writes beside the trees where they come from and what each score means: how many texts reached
it, and how many of these stopped by themselves, counted with fits that had not seen the texts' model families. Nothing
is learned at run time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from math import inf, log2
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

LOGS: Final = (
    "clean", "calm", "stale", "poor", "lag", "copies", "even", "beat", "rounds", "calms",
)  # fmt: skip
"""Measures that are given as log2(1 + value). clean, calm, stale, poor: see `novelty.gates.Measure`; lag: the median
distance to the previous sighting of a word run; copies: clean / lag; even: characters that came again at one distance;
beat: that distance; rounds: even / beat; calms: calm / lag. All in characters or as plain numbers."""
SHARES: Final = (
    "frames", "slow", "steady", "strides", "letters", "digits", "spaces", "signs", "code", "tags", "items", "ordered",
    "table", "indent", "comments", "lines",
)  # fmt: skip
"""Measures that are given as they are. frames, slow: the share of known frames (two words with one open between them)
among the newest 80 and 400 words; steady: the share of the newest distances that are the median one; strides: numbers
that moved for each copy; the rest: see `novelty.gates.Surroundings`."""
NAMES: Final = (*LOGS, *SHARES)

Node: TypeAlias = float | tuple[int, float, Any, Any]
"""A leaf's score, or (measure, limit, the node where the measure is not above the limit, the node where it is)."""


class CurvePoint(NamedTuple):
    """One point of the curve: what became of the texts that reached a score."""

    score: float
    texts: int
    stopped: int
    """Of these texts, how many stopped by themselves."""
    spans: Mapping[int, tuple[int, int]]
    """(texts, stopped) among those that had said nothing new for so many characters by then."""

    @property
    def share(self) -> float:
        """Expected share of the next such texts that stop (Laplace's rule: 0 of 98 counts as 1 in 100)."""
        return (self.stopped + 1) / (self.texts + 2)


class Odds(NamedTuple):
    """A fitted score and its curve."""

    trees: tuple[Node, ...]
    base: float
    curve: tuple[CurvePoint, ...]
    """Highest score first."""

    def score(self, measures: Sequence[float]) -> float:
        """The sum of the trees: the higher, the fewer such texts stopped by themselves."""
        total = self.base
        for node in self.trees:
            while type(node) is tuple:
                node = node[2] if measures[node[0]] <= node[1] else node[3]
            total += node  # type: ignore[operator]
        return total

    def step(self, risk: float) -> CurvePoint | None:
        """The lowest step of the curve at which at most this share of the texts stopped; None for a risk of 0 or one
        that is less than the curve has texts to tell."""
        return next((step for step in reversed(self.curve) if step.share <= risk), None)

    def past(self, score: float, span: float) -> tuple[int, int, int] | None:
        """(texts that reached this score, with how many characters of nothing new at least, how many of them stopped);
        None below the curve."""
        step = next((one for one in self.curve if one.score <= score), None)
        if step is None:
            return None
        long = max((one for one in step.spans if one <= span), default=0)
        texts, stopped = step.spans[long] if long else (step.texts, step.stopped)
        return texts, long, stopped


def told(counts: Sequence[float], shares: Sequence[float]) -> list[float]:
    """The measures as the score wants them: those of LOGS, of which the logarithm is taken, then those of SHARES."""
    return [*(log2(1.0 + count) for count in counts), *shares]


@cache
def load() -> Odds:
    """The score that comes with streamfuse."""
    return read(orjson.loads(resources.files("rules.detect.packs").joinpath("odds.json").read_bytes()))


@cache
def bound(risk: float) -> float:
    """The score from which on a text is convicted at this price; infinity where it never is."""
    step = load().step(risk)
    return inf if step is None else step.score


def read(data: Mapping[str, Any]) -> Odds:
    """A score from what `benchmarks/fit` wrote."""
    steps = (
        CurvePoint(
            one["score"], one["texts"], one["stopped"], {int(span): tuple(two) for span, two in one["spans"].items()}
        )
        for one in data["curve"]
    )
    return Odds(
        tuple(_node(tree) for tree in data["trees"]), data["base"], tuple(sorted(steps, key=lambda one: -one.score))
    )


def _node(tree: Any) -> Node:
    if isinstance(tree, list):
        return NAMES.index(tree[0]), float(tree[1]), _node(tree[2]), _node(tree[3])
    return float(tree)
