"""Everyday texts pass the pack `default`, and everyday loops are cut by it: each kind in one of its channels."""

from __future__ import annotations

import pytest

from .everyday import EVERYDAY
from .plays import assert_cut, hit_on
from .stuck import STUCK

UNSEEN = {
    "emoji_mix": "emoji in irregular order have no words that could be counted",
    "formula": "a counter in formulas has hardly any letters",
    "json_rows_counter": "rows of a file in which everything counts may be data",
    "names": "fresh pairs of names look like a list of people",
    "slots": "a hundred names and places in one frame are found by `early` only",
}
"""Loops that `default` does not see, and why."""


def test_the_corpus_is_wide_enough() -> None:
    assert len(EVERYDAY) >= 150
    assert len(STUCK) >= 70


@pytest.mark.parametrize("name", EVERYDAY)
def test_an_everyday_text_passes(name: str) -> None:
    assert hit_on(name, EVERYDAY[name], whole=True) is None


@pytest.mark.parametrize("name", [name for name in STUCK if name not in UNSEEN])
def test_an_everyday_loop_is_cut(name: str) -> None:
    assert_cut(name, STUCK[name])
