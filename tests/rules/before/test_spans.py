"""Streaks: every maximal one, gaps without a key in between, the same result however long the history grows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rules.before.spans import all_streaks, crop, newest_streak


def entries(keys: str) -> list[tuple[int, str]]:
    return [(i, "" if key == "." else key) for i, key in enumerate(keys)]


def test_every_streak_is_found_oldest_first() -> None:
    spans = all_streaks(entries("aaabccccd"), 3, 64)
    assert [(s.first, s.last, s.key) for s in spans] == [(0, 2, "a"), (4, 7, "c")]
    assert spans[0].anchor is None and spans[1].anchor == 3


def test_steps_without_a_key_do_not_end_a_streak() -> None:
    (span,) = all_streaks(entries("a.a..a"), 3, 64)
    assert (span.first, span.last, span.length) == (0, 5, 3)


def test_a_crop_keeps_what_has_another_key() -> None:
    (span,) = all_streaks(entries("a.a..a"), 3, 64)
    cut = crop([(i, key, 1) for i, key in entries("a.a..a")], span)
    assert cut.omitted == (0, 2, 5) and cut.kept_blocks == 3 and not cut.cache_risk


@given(st.text(alphabet="ab.", max_size=24), st.text(alphabet="ab.", max_size=8))
def test_what_was_cropped_stays_cropped_as_the_history_grows(start: str, more: str) -> None:
    def gone(keys: str) -> set[int]:
        steps = [(i, key, 1) for i, key in entries(keys)]
        return {i for span in all_streaks(entries(keys), 3, 64) for i in crop(steps, span).omitted}

    assert gone(start) <= gone(start + more)


@given(st.text(alphabet="ab", max_size=20), st.integers(2, 4), st.integers(2, 6))
def test_the_newest_streak_is_as_long_as_allowed(keys: str, trigger: int, most: int) -> None:
    span = newest_streak(entries(keys), trigger, most)
    tail = len(keys) - len(keys.rstrip(keys[-1])) if keys else 0
    assert (span is not None) == (tail >= trigger)
    if span is not None:
        assert span.length == min(tail, most) and span.truncated == (tail > most)
