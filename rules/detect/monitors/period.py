"""A block of tokens repeated end to end: MiMo-Code's in-stream monitor, one buffer over a whole choice.

The original reads its window again at every delta. This monitor searches for runs every few tokens, follows the runs
that it found, and decides at the character where the rule becomes true. A growing word counts as soon as it equals the
token that the run needs, so a cut inside a word or after a space changes nothing (the original joined words there).
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ...values.brief import Brief
from ...values.delta import Channel
from ...values.verdict import Hit
from ..text import TOKEN, Word
from .base import MonitorKind, MonitorScope, Params, StreamMonitor

BLOCK = 8
"""Tokens between two searches for runs at most."""


class PeriodParams(Params):
    """Defaults: MIMOCODE_TEXT_NGRAM_N, _REPEAT_THRESHOLD, _WINDOW_TOKENS and the fixed least of 3 distinct tokens."""

    tokens: int = Field(default=4, ge=1)
    """The shortest block, in tokens. A shorter block is found by its multiples."""
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
    """Follows one run per period: where it began (token, character). A run ends with the first token that differs."""

    __slots__ = (
        "_at", "_begin", "_copies", "_count", "_distinct", "_keep", "_longest", "_offsets", "_pair",
        "_periods", "_ring", "_ripe", "_runs", "_step", "_word",
    )  # fmt: skip

    def __init__(self, params: PeriodParams) -> None:
        self._copies = params.copies
        self._distinct = params.distinct
        self._longest = params.window // params.copies
        self._periods = range(params.tokens, self._longest + 1)
        self._pair = params.tokens == 1 and params.copies == 2 and params.distinct == 1  # ripe without any run
        # A run is found at the first whole block in it, so it is followed before it can be long enough.
        self._step = max(1, min(BLOCK, (params.copies - 1) * params.tokens // 2))
        self._keep = self._longest + 2 * self._step
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
        for match in TOKEN.finditer(text):
            start, stop = match.span()
            if start > end and word.length:
                self._commit(word.key)
                word.clear()
            if match.lastindex:
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
        """A token is complete: each followed run goes on or ends. Runs that the next token can complete are ripe."""
        self._ring.append(token)
        self._offsets.append(self._begin)
        self._count += 1
        runs = self._runs
        if runs:
            ring = self._ring
            for period in [p for p in runs if ring[-1 - p] != token]:
                del runs[period]
        if self._count % self._step == 0:
            self._search()
        if runs or self._ripe or self._pair:
            last = self._copies - 1
            self._ripe = [p for p, (first, _) in runs.items() if self._count - first == last * p - 1]
            if self._pair:
                self._ripe.append(1)

    def _search(self) -> None:
        """Which periods do the last tokens have? Their runs are followed from now on, token by token.

        A run never gets other tokens than it has, so one with too few distinct ones is not followed at all.
        """
        ring, step, runs = self._ring, self._step, self._runs
        size = len(ring)
        newest, block = ring[-1], ring[-step:]
        for period in self._periods:
            if period + step > size:
                break
            if (
                newest == ring[-1 - period]
                and period not in runs
                and block == ring[size - step - period : size - period]
                and len({*ring[-period:]}) >= self._distinct
            ):
                first = size - step
                while first > period and ring[first - 1] == ring[first - 1 - period]:
                    first -= 1
                runs[period] = (self._count - (size - first), self._offsets[first - period])
        gone = size - self._keep
        if gone > 0:
            del ring[:gone], self._offsets[:gone]

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
    """The request's wishes are not read, because the original does not read them."""
    assert isinstance(params, PeriodParams)
    return Period(params)


MONITOR = MonitorKind("period", "A block of tokens repeated end to end", PeriodParams, start, MonitorScope.CHOICE)
