"""What agents write passes the pack `default`, and agents that are stuck are cut by it: each kind in one channel."""

from __future__ import annotations

import json
from random import Random

import pytest

from .everyday import CHANNELS, S
from .handiwork import HANDIWORK
from .test_everyday import channel_of, first
from .treadmill import TREADMILL


def test_the_corpus_is_wide_enough() -> None:
    assert len(HANDIWORK) >= 135
    assert len(TREADMILL) >= 60


@pytest.mark.parametrize("name", HANDIWORK)
def test_what_an_agent_writes_passes(name: str) -> None:
    make, prompt, channels = HANDIWORK[name]
    text, where = make(Random(1)), channel_of(name, channels)
    if where == "a":
        text = json.dumps({"path": "out.txt", "content": text})
    assert first("default", CHANNELS[where], text, prompt) is None


@pytest.mark.parametrize("name", TREADMILL)
def test_an_agent_that_is_stuck_is_cut(name: str) -> None:
    make, channels, size = TREADMILL[name]
    rnd = Random(1)
    lead = ""
    while len(lead) < size:
        lead += S(rnd) + " "
    where = channel_of(name, channels)
    hit = first("default", CHANNELS[where], lead + make(rnd))
    assert hit is not None and hit.at >= len(lead)
