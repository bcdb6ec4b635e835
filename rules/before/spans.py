"""Streaks of equal keys, and the parts that are cut out of a history because of them (MiMo-Code's crop). Works on any
ids and keys.

MiMo-Code stores the spans it once found; here they are found anew in every request. Every maximal streak is cropped,
not only the newest, so a later user message never brings one back and the same history always gives the same result.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Id = TypeVar("Id", bound=Hashable)
CACHE_RISK_BLOCKS = 20
"""MiMo-Code: more dropped blocks than this are likely to cost the provider's prompt cache."""


@dataclass(frozen=True, slots=True)
class Span(Generic[Id]):
    """A streak: first and last id, the entry before it, its key, its length; `truncated` if longer than allowed."""

    first: Id
    last: Id
    anchor: Id | None
    key: str
    length: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class Cropped(Generic[Id]):
    """What a crop did. Blocks: 2 for each call, 1 for each text or reasoning part."""

    omitted: tuple[Id, ...]
    omitted_blocks: int
    kept_blocks: int
    similar_before: int

    @property
    def cache_risk(self) -> bool:
        """More than 20 blocks went."""
        return self.omitted_blocks > CACHE_RISK_BLOCKS


def newest_streak(entries: Sequence[tuple[Id, str]], trigger: int, max_span: int) -> Span[Id] | None:
    """The streak that ends at the newest entry; None below `trigger`, for an empty key, or for a trigger under 2."""
    if trigger < 2 or len(entries) < trigger:
        return None
    key = entries[-1][1]
    if not key:
        return None
    start = len(entries)
    while start > 0 and entries[start - 1][1] == key:
        start -= 1
    if len(entries) - start < trigger:
        return None
    truncated = len(entries) - start > max_span
    start = max(start, len(entries) - max_span)
    return Span(
        entries[start][0],
        entries[-1][0],
        entries[start - 1][0] if start else None,
        key,
        len(entries) - start,
        truncated,
    )


def all_streaks(entries: Sequence[tuple[Id, str]], trigger: int, max_span: int) -> list[Span[Id]]:
    """Every maximal streak, oldest first. Entries without a key stand between streaks without ending them."""
    keyed = [entry for entry in entries if entry[1]]
    spans: list[Span[Id]] = []
    for i in range(len(keyed)):
        if i + 1 == len(keyed) or keyed[i + 1][1] != keyed[i][1]:
            span = newest_streak(keyed[: i + 1], trigger, max_span)
            if span is not None:
                spans.append(span)
    return spans


def crop(steps: Sequence[tuple[Id, str, int]], span: Span[Id]) -> Cropped[Id]:
    """Which of these (id, key, blocks) a span takes out: those within it that have its key; all else stays."""
    ids = [step[0] for step in steps]
    first = ids.index(span.first) if span.first in ids else 0
    last = ids.index(span.last) if span.last in ids else -1
    inside = [step for step in steps[first : last + 1] if step[1] == span.key]
    gone = {step[0] for step in inside}
    return Cropped(
        omitted=tuple(step[0] for step in inside),
        omitted_blocks=sum(step[2] for step in inside),
        kept_blocks=sum(step[2] for step in steps if step[0] not in gone),
        similar_before=sum(1 for step in steps[:first] if step[1] == span.key),
    )
