"""Nothing new is being said: every run of four words stood in this answer before, and counters only step.

Sees what no period can: loops whose numbers, names or order drift, paragraphs again with small edits, pools of
phrases. Words are compared, not characters; a number folds into one sign and is known only while it stays or steps.
Read and judged at every 64th character, whatever the pieces were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Final, NamedTuple

from ....values.brief import Brief
from ....values.delta import Channel
from ....values.verdict import Hit
from ...odds import load
from ...requested.repetition import FILLER
from ..base import MonitorKind, Params, StreamMonitor
from .gates import ROWS, NoveltyGate, Surroundings, same_sentence
from .params import NoveltyParams
from .reading import ASKED, BLOCK, FRAMED, LAGS, VIEW, NoveltyReading

LETTERS: Final = 0.3
"""Share of letters from which on the score is asked: it was fitted on words, and knows nothing of drums and grids."""
SIGNS: Final = 0.05
JOINTS: Final = 0.02
NUMERIC: Final = 0.4
"""Shares of signs and joints of code, and of digits, from which on it has no say: little new is the rule in code and
data."""
BLANKS: Final = 0.25
"""Share of blanks from which on the same holds of columns and indented code, unless `few`. (Prose has some 0.17.)"""
FIGURES: Final = 0.03
"""Share of digits from which on lines in a tool's arguments are a log or a table, whatever words they have."""
COUNTED: Final = 0.4
"""Numbers that moved for each copy, from which on rows count."""
DENSE: Final = 24
"""A text is little else than a count where a number moves so often, in characters."""


class Score(NamedTuple):
    """What the fitted score says of a text."""

    value: float
    bound: float
    """From this value on it convicts; infinity where it never does."""
    doubt: float
    """From this value on it is half convinced."""
    lag: int
    """The median distance to the previous sighting."""

    @property
    def near(self) -> float:
        """0 … 1, 0.5 at `doubt`."""
        if self.value < self.doubt:
            return 0.0
        return 0.5 if self.bound == inf else min(1.0, 1.0 - (self.bound - self.value) / (self.bound - self.doubt) / 2)


class Novelty(NoveltyReading):
    """Judges by gates, and by the fitted score."""

    __slots__ = ()

    def _judge(self, here: Surroundings, channel: Channel) -> Hit | None:
        near = 0.0
        for gate, value, bar, lag, copies, counted in self._open(here, channel):
            if gate.spoken and (2 * value < bar or not same_sentence(self.view, gate.spoken)):
                continue
            if value >= bar and value >= copies * lag:
                bar = self._wanted(bar, lag, counted, gate.measure == "poor")
                if value >= bar:
                    return self._hit(gate, value, bar, lag, copies, here.letters)
            near = max(near, min(value / bar, value / lag / copies if copies else 1.0))
        score = self._odds(here, channel)
        if score is not None:
            near = max(near, score.near)
            if score.value >= score.bound and not self._granted(score):
                return self._sure(score)
        self.near = near
        return None

    def _odds(self, here: Surroundings, channel: Channel) -> Score | None:
        """The fitted score; None where it has nothing to say."""
        if self.doubted == inf or (self.calm < ASKED and self.framed < FRAMED):
            return None
        if here.signs >= SIGNS or here.code >= JOINTS or here.digits >= NUMERIC:
            return None
        if not self.params.few and (here.letters < LETTERS or here.spaces >= BLANKS or self.poor >= VIEW):
            return None
        measures = self.measures(here)
        lag = max(1, round(2 ** measures[4] - 1))
        if self.progress(here, lag):
            return None
        return Score(load().score(measures), self.line, self.doubted, lag)

    def progress(self, here: Surroundings, lag: int) -> bool:
        """Do numbers count on here, and not yet so far that no count is likely? Then the score has no say: labelled
        collections hold too few healthy counts to fit anything."""
        params, short = self.params, lag <= self.params.unit
        moved = self.strides + (self.leading if here.items < 0.5 else 0)
        if moved * lag < COUNTED * self.clean:
            return False
        least = params.least * (params.count if short else params.counting)
        if lag <= params.row and (here.signs >= 0.04 or here.digits >= 0.06):
            least = max(least, params.rows * lag)
        if moved * DENSE >= self.clean:
            least = max(least, 2.0 * lag)  # a long count said once more, to the end
        return max(self.clean, self.calm) < least

    def _granted(self, score: Score) -> bool:
        """Does the request want it so?"""
        wanted, params, lag = self.wanted.look(), self.params, score.lag
        unit = self.view[-max(1, lag * self.fed // self.said) :]
        if max(self.clean, self.calm) < params.wanted * wanted.span(lag, unit):
            return True
        if wanted.verse and (self.strides + self.leading) * lag >= COUNTED * self.clean:
            return True  # a counting song: the gates say how long it may be
        if score.value >= score.bound + params.asked:
            return False
        soft = wanted.verse or wanted.drawing or wanted.roster or wanted.filler or FILLER.search(self.view) is not None
        return soft or self.wanted.quoted(self.view[-min(len(self.view), max(96, lag)) :], share=0.35) > 0

    def _sure(self, score: Score) -> Hit:
        stale = max(self.clean, self.calm, self.even)
        return self._placed(
            stale,
            score.lag,
            evidence={"odds": round(score.value, 3), "nothing_new": stale * self.fed // self.said},
            bars={"odds": score.bound},
        )

    def _open(self, here: Surroundings, channel: Channel) -> Iterator[tuple[NoveltyGate, int, float, int, float, bool]]:
        """The gates that these surroundings open: gate, what it measures, its bar, the distance, copies, counted."""
        params = self.params
        lags = sorted(lag << 2 for lag in self.lags[: min(LAGS, self.seen)])
        lag = max(1, lags[len(lags) // 2]) if lags else 1
        steady = sum(abs(one - lag) <= 6 for one in lags) / max(1, len(lags))
        self.steady = steady
        # the numbers of a list are no progress; "12 files left" is
        short, tool = lag <= params.unit, channel is Channel.TOOL
        if channel is Channel.REASONING and here.letters >= params.thought:
            here = here._replace(indent=0.0)
        strides = self.strides + (self.leading if short and here.items < 0.5 else 0)
        row = lag <= params.row and (here.signs >= 0.04 or here.digits >= 0.06) and here.lines * lag < 1.5
        for gate in params.gates:
            if steady < gate.steady or lag > gate.lag or not gate.where.holds(here):
                continue
            value = self._measure(gate.measure)
            bar = gate.bar * params.factor
            counted = (strides + (strides > 1)) * lag >= (0.4 if short else 0.8) * value
            if (
                counted and gate.copies < ROWS and not gate.spoken and not gate.where.tags
            ):  # hashtags that count on say nothing new
                bar = max(bar, params.least) * (params.count if short else params.counting)
                if row:
                    bar = max(bar, params.factor * params.rows * lag)
            data = gate.where.code > 0.02 or (here.digits >= FIGURES and here.lines > 0)
            if tool and data and self.fed - self.outer > VIEW // 2:
                bar *= params.file
            copies = max(gate.copies, params.redraft) if channel is Channel.REASONING else gate.copies
            yield gate, value, bar, lag, copies, counted and not short

    def _wanted(self, bar: float, lag: int, song: bool, poor: bool) -> float:
        """The bar as the request raises it; `song`: numbers count on in long copies."""
        params, view = self.params, self.view
        wanted = self.wanted.look()
        # blanks are not in the distance, but in what is poor
        unit = view[-max(1, lag * self.fed // self.said) :]
        bar = max(bar, params.wanted * wanted.span(lag, unit) * (1.6 if poor else 1.0))
        if wanted.roster and lag <= params.week:
            bar *= params.roster
        if wanted.filler or FILLER.search(view):
            bar *= params.filler
        if wanted.verse:
            bar = max(bar, params.least)
            bar *= params.verse * (params.count / params.counting if song else 1.0)
        # what is said after the request's words need not be their copy
        quoted = self.wanted.quoted(view[-min(len(view), max(96, lag)) :], share=0.35)
        return bar * params.quoted + params.wanted * lag * quoted if quoted else bar

    def _hit(self, gate: NoveltyGate, value: int, bar: float, lag: int, copies: float, letters: float) -> Hit:
        return self._placed(
            value,
            lag,
            evidence={gate.measure: value, "copies": round(value / lag, 2), "letters": round(letters, 3)},
            bars={gate.measure: round(bar), "copies": copies, "letters": gate.where.letters},
        )

    def _placed(self, value: int, lag: int, evidence: Mapping[str, float], bars: Mapping[str, float]) -> Hit:
        """The hit where `value` characters said nothing new, `lag` behind their like. Both leave out blanks."""
        period = max(1, lag * self.fed // self.said)
        span = min(self.fed, value * self.fed // self.said + period)
        return Hit(
            at=self.fed,
            since=self.fed - span,
            span=span,
            period=period,
            copies=round(span / period, 2),
            evidence=evidence,
            bars=bars,
        )


def _start(params: Params, brief: Brief) -> StreamMonitor:
    assert isinstance(params, NoveltyParams)
    return Novelty(params, brief)


def _calm(_params: Params) -> int:
    # One block is read, in which no character counts more than twice: less than ASKED, STALE or VIEW.
    return 2 * BLOCK - 1


def _calm_ascii(_params: Params) -> int:
    # Three blocks are read: 192 characters, each once (twice for STALE); FRAMED is passed in the fifth at the earliest.
    return 4 * BLOCK - 1


MONITOR = MonitorKind(
    "novelty",
    "Nothing new is being said",
    NoveltyParams,
    _start,
    gathers=True,
    calm=_calm,
    calm_ascii=_calm_ascii,
)
