"""Shared windows: the quick probe never says yes, and says no only far below the threshold."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from rules.before.evidence.similarity import containment, restates, windows


def test_short_texts_are_their_own_window() -> None:
    assert windows("") == set() and windows("ab") == {"ab"} and windows("abcde") == {"abcd", "bcde"}
    assert containment("", "abcd") == 0.0


@given(st.text(max_size=80), st.text(max_size=80))
def test_containment_is_symmetric_and_a_share(a: str, b: str) -> None:
    assert containment(a, b) == containment(b, a)
    assert 0 <= containment(a, b) <= 1


def words(seed: int, count: int = 600) -> str:
    rnd = random.Random(seed)
    return " ".join("".join(rnd.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(count))


def test_the_probe_agrees_with_the_full_count() -> None:
    same, other = words(1), words(2)
    assert restates(same, same, 0.8) and not restates(same, other, 0.8)
    assert restates(same[: len(same) // 2], same, 0.8), "a part of the old text is the old text"
    mixed = words(1, 540) + " " + words(3, 60)
    assert restates(mixed, same, 0.8) == (containment(mixed, same) >= 0.8)
