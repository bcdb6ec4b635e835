"""Everyday texts pass the pack `default`, and everyday loops are cut by it: each kind in one of its channels."""

from __future__ import annotations

import json
from random import Random

import pytest

from rules.detect import packs
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit

from .everyday import CHANNELS, EVERYDAY, S
from .stuck import STUCK

UNSEEN = {
    "emoji_mix": "emoji in irregular order have no words that could be counted",
    "formula": "a counter in formulas has hardly any letters",
    "json_rows_counter": "rows of a file in which everything counts may be data",
    "names": "fresh pairs of names look like a list of people",
    "slots": "a hundred names and places in one frame are found by `early` only",
}
"""Loops that `default` does not see, and why."""


def first(pack: str, channel: Channel, text: str, prompt: str = "") -> Hit | None:
    """The first hit, fed in pieces of 24 characters."""
    watch = packs.assemble([pack]).watch(Brief(prompt))
    for at in range(0, len(text), 24):
        found = watch.feed(0, channel, "0", text[at : at + 24])
        if found:
            return found[0].hit
    return None


def channel_of(name: str, channels: str) -> str:
    return channels[sum(name.encode()) % len(channels)]


def test_the_corpus_is_wide_enough() -> None:
    assert len(EVERYDAY) >= 150
    assert len(STUCK) >= 70


@pytest.mark.parametrize("name", EVERYDAY)
def test_an_everyday_text_passes(name: str) -> None:
    make, prompt, channels = EVERYDAY[name]
    text, where = make(Random(1)), channel_of(name, channels)
    if where == "a" and channels != "a":
        text = json.dumps({"path": "out.txt", "content": text})
    assert first("default", CHANNELS[where], text, prompt) is None


@pytest.mark.parametrize("name", [name for name in STUCK if name not in UNSEEN])
def test_an_everyday_loop_is_cut(name: str) -> None:
    make, channels, size = STUCK[name]
    rnd = Random(1)
    lead = ""
    while len(lead) < size:
        lead += S(rnd) + " "
    where = channel_of(name, channels)
    hit = first("default", CHANNELS[where], ("" if where == "a" else lead) + make(rnd))
    assert hit is not None
    assert where == "a" or hit.at >= len(lead)
