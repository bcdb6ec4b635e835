"""What agents write passes the pack `default`, and agents that are stuck are cut by it: each kind in one channel."""

from __future__ import annotations

import pytest

from .handiwork import HANDIWORK
from .plays import assert_cut, hit_on
from .treadmill import TREADMILL


def test_the_corpus_is_wide_enough() -> None:
    assert len(HANDIWORK) >= 135
    assert len(TREADMILL) >= 60


@pytest.mark.parametrize("name", HANDIWORK)
def test_what_an_agent_writes_passes(name: str) -> None:
    assert hit_on(name, HANDIWORK[name]) is None


@pytest.mark.parametrize("name", TREADMILL)
def test_an_agent_that_is_stuck_is_cut(name: str) -> None:
    assert_cut(name, TREADMILL[name], bare=False)
