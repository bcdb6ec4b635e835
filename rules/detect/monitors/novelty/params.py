"""The numbers of `novelty`: what a false cut may cost, its gates, and what raises their bars."""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import Final

from pydantic import Field

from ....values.delta import Channel
from ...odds import bound
from ..base import Params
from .gates import GATES, Measure, NoveltyGate

LEAST_DOUBT: Final = 0.75
"""The doubt begins so far below a conviction, at least."""


class Risk(Params):
    """What a false cut may cost in each channel: the score convicts where at most this share of the texts that reached
    it stopped by themselves. 0: never."""

    text: float = Field(default=0.0, ge=0.0, le=1.0)
    """In visible text and refusals."""
    reasoning: float = Field(default=0.0, ge=0.0, le=1.0)
    arguments: float = Field(default=0.0, ge=0.0, le=1.0)
    """Nothing was shown yet, a false cut loses the whole call, and no labelled texts tell what is usual there."""

    def of(self, channel: Channel) -> float:
        """The price in a channel."""
        if channel is Channel.REASONING:
            return self.reasoning
        return self.arguments if channel is Channel.TOOL else self.text


class NoveltyParams(Params):
    """Gates: docs/detection.md names for each the texts without a loop that came nearest."""

    risk: Risk = Risk()
    """Beside the gates, a fitted score over all measures together convicts at this price (`odds`)."""
    doubt: float = Field(default=0.14, ge=0.0, le=1.0)
    """From this price on the score is half convinced, and text waits (`rules.detect.doubt`). 0: the score never doubts,
    and is not asked where it cannot convict."""
    few: bool = False
    """The score also judges text of eight different words at most (verdicts, grades, cells), of few letters (drums,
    grids) and of many blanks (columns, indented code), as the gates do."""
    asked: float = 1.0
    """Where the request asks for verses, plans, drawings or filler, or is quoted, the score must be so much higher."""
    factor: float = 1.0
    """Multiplies the bar of every gate: below 1 stricter, above 1 calmer."""
    gates: tuple[NoveltyGate, ...] = GATES
    counting: float = 2.0
    """Factor where a number inside the lines (not the number of a list item) counts on: that may be progress."""
    count: float = 12.0
    """The same where a copy has `unit` characters at most: "Check number 7 is fine." and `test_7 ... ok` are counts;
    and for copies of any length where the request may want a counting song."""
    unit: int = 48
    rows: int = 150
    """Copies of a row in which numbers count on, at least: generated data, test cases, calls."""
    row: int = 120
    """Letters and signs of such a row, at most: one line, with figures or signs of code in it."""
    file: float = 4.0
    """Factor for all but sentences without figures in tool arguments: nothing was shown yet, and a cut loses all of
    it."""
    filler: float = 3.0
    """Factor where the request asks for filler, samples or blank forms, or the words are those of filler text."""
    thought: float = 0.58
    """Share of letters from which on indented lines of reasoning are thoughts, not code."""
    redraft: float = 1.2
    """Copies that every gate asks for in reasoning, where a draft is often said again word for word."""
    wanted: float = 1.2
    """What is asked for, or quoted, may be exceeded by a fifth."""
    quoted: float = 1.5
    """Factor where what repeats stands in the request, and so may come with words of its own."""
    week: int = 500
    """Characters at most of what may be the same in a plan's next part."""
    roster: float = 4.0
    """Factor where a schedule, a plan by days, a truth table or a verdict for each of many is asked for."""
    verse: float = 4.8
    """Factor where the request is about songs, poems or tunes."""
    least: int = 470
    """The bar that is multiplied, at least, where numbers count on or verses are wanted."""

    @cached_property
    def lows(self) -> tuple[int, int, int]:
        """What clean or calm, stale, and poor must reach at least for a gate to open: all else only raises bars."""
        return (
            min(self._low("clean"), self._low("calm")),
            self._low("stale"),
            self._low("poor"),
        )

    @cached_property
    def lines(self) -> dict[Channel, tuple[float, float]]:
        """By channel, the score that convicts and the score that is half convinced; infinity where there is none."""
        found = {}
        for channel in Channel:
            line = bound(self.risk.of(channel))
            doubt = inf if channel is Channel.TOOL else bound(self.doubt)  # a call is held back anyway
            found[channel] = line, min(doubt, line - LEAST_DOUBT)
        return found

    def _low(self, measure: Measure) -> int:
        return int(min((gate.bar for gate in self.gates if gate.measure == measure), default=1 << 30) * self.factor)
