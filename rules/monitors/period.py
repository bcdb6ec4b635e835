"""A block of tokens repeated end to end: MiMo-Code's in-stream monitor (seeds §1.4), one buffer over a whole choice.

The seed re-reads its window at every delta. This one keeps a run per period and decides at the character where the
rule becomes true. A growing word counts as soon as it equals the token it should be, so a cut inside a word or
after a space changes nothing (the seed glued words together there).
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ..brief import Brief
from ..delta import Channel
from ..text import SINGLE, Word, pieces
from ..verdict import Hit
from .base import MonitorKind, Params, Scope, StreamMonitor


class PeriodParams(Params):
    """Defaults: MIMOCODE_TEXT_NGRAM_N, _REPEAT_THRESHOLD, _WINDOW_TOKENS and the fixed least of 3 distinct tokens."""

    tokens: int = Field(default=4, ge=1)
    """Shortest block, in tokens. A shorter one is seen through its multiples."""
    copies: int = Field(default=20, ge=2)
    """Copies in a row."""
    window: int = Field(default=500, ge=2, le=20_000)
    """Tokens looked back over: the longest block is window // copies (25; one of 26 never fires)."""
    distinct: int = Field(default=3, ge=1)
    """Distinct tokens the block must have."""

    @model_validator(mode="after")
    def _can_fire(self) -> Self:
        if self.window < self.tokens * self.copies:
            raise ValueError(
                f"window {self.window} holds no {self.copies} copies of {self.tokens} tokens: it would never fire"
            )
        return self


class Period(StreamMonitor):
    """One run per period: where it began (token, character). Runs not continued by a token are dropped."""

    __slots__ = (
        "_at",
        "_begin",
        "_copies",
        "_count",
        "_distinct",
        "_longest",
        "_offsets",
        "_pair",
        "_periods",
        "_ring",
        "_ripe",
        "_runs",
        "_word",
    )  # fmt: skip

    def __init__(self, params: PeriodParams) -> None:
        self._copies = params.copies
        self._distinct = params.distinct
        self._longest = params.window // params.copies
        self._periods = range(params.tokens, self._longest + 1)
        self._pair = params.tokens == 1 and params.copies == 2 and params.distinct == 1  # ripe without any run
        self._ring: list[str] = []
        self._offsets: list[int] = []
        self._count = 0
        self._runs: dict[int, tuple[int, int]] = {}
        self._ripe: list[int] = []
        self._word = Word()
        self._begin = 0
        self._at = 0

    def feed(self, text: str, channel: Channel) -> Hit | None:
        base = self._at
        self._at = base + len(text)
        word = self._word
        if text.isascii() and text.isprintable() and not self._ripe:  # one-token events of western text
            if " " not in text:
                if not word.length:
                    self._begin = base
                word.grow(text)
                return None
            if text[0] == " " and " " not in text[1:]:
                if word.length:
                    self._commit(word.key)
                    word.clear()
                if len(text) > 1 and not self._ripe:
                    self._begin = base + 1
                    word.grow(text[1:])
                    return None
                if len(text) == 1:
                    return None
        end = 0
        for start, stop in pieces(text):
            if start > end and word.length:
                self._commit(word.key)
                word.clear()
            if SINGLE.match(text, start):
                if word.length:
                    self._commit(word.key)
                    word.clear()
                self._begin = base + start
                token = text[start].lower()
                if self._ripe and (hit := self._tips(token, base + stop)):
                    return hit
                self._commit(token)
            else:
                if not word.length:
                    self._begin = base + start
                if self._ripe:
                    for i in range(start, stop):
                        word.grow(text[i])
                        if hit := self._tips(word.key, base + i + 1):
                            return hit
                else:
                    word.grow(text[start:stop])
            end = stop
        if word.length and end < len(text):
            self._commit(word.key)
            word.clear()
        return None

    def _commit(self, token: str) -> None:
        """A token is complete: the runs it continues live on; those that the next token can complete are ripe."""
        ring, offsets = self._ring, self._offsets
        if token in ring:
            old, new = self._runs, {}
            count, held = self._count, len(ring)
            for period in self._periods:
                if period > held:
                    break
                if ring[-period] == token:
                    new[period] = old.get(period) or (count, offsets[-period])
            self._runs = new
        elif self._runs:
            self._runs = {}
        ring.append(token)
        offsets.append(self._begin)
        self._count += 1
        if len(ring) > self._longest:
            del ring[0], offsets[0]
        if self._runs or self._ripe or self._pair:
            last = self._copies - 1
            self._ripe = [
                period
                for period, (first, _) in self._runs.items()
                if self._count - first == last * period - 1 and len({*ring[-period:]}) >= self._distinct
            ]
            if self._pair:
                self._ripe.append(1)

    def _tips(self, token: str, at: int) -> Hit | None:
        """Does this token, complete or not, finish a run?"""
        for period in self._ripe:
            if self._ring[-period] == token:
                return self._hit(period, at)
        return None

    def _hit(self, period: int, at: int) -> Hit:
        since = self._runs[period][1] if period in self._runs else self._offsets[-period]
        return Hit(
            at=at,
            since=since,
            span=at - since,
            period=self._begin - self._offsets[-period],
            copies=float(self._copies),
            evidence={
                "tokens": float(period),
                "copies": float(self._copies),
                "distinct": float(len({*self._ring[-period:]})),
            },
            bars={
                "tokens": float(self._periods[0]),
                "copies": float(self._copies),
                "distinct": float(self._distinct),
            },
        )

    def suspicion(self) -> float:
        last = self._copies - 1
        return max((min(1.0, (self._count - first) / (last * p)) for p, (first, _) in self._runs.items()), default=0.0)


def start(params: Params, brief: Brief) -> Period:
    """Wanted repetition is not looked at: the seed does not."""
    assert isinstance(params, PeriodParams)
    return Period(params)


MONITOR = MonitorKind("period", "A block of tokens repeated end to end", PeriodParams, start, Scope.CHOICE)
