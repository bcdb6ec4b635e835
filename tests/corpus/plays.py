"""Plays one text of a corpus to a pack, in one of its channels, which its name picks."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import TypeAlias

from rules.detect import packs
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit

from .everyday import CHANNELS, S

Healthy: TypeAlias = tuple[Callable[[Random], str], str, str]
"""(what makes the text, the prompt, its channels)."""
Stuck: TypeAlias = tuple[Callable[[Random], str], str, int]
"""(what makes the loop, its channels, characters of healthy text before it)."""


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


def hit_on(name: str, healthy: Healthy, *, whole: bool = False) -> Hit | None:
    """What `default` says of a healthy text. As an argument it is the content of a file; with `whole`, a text that is
    made for arguments alone is all of one."""
    make, prompt, channels = healthy
    text, where = make(Random(1)), channel_of(name, channels)
    if where == "a" and not (whole and channels == "a"):
        text = json.dumps({"path": "out.txt", "content": text})
    return first("default", CHANNELS[where], text, prompt)


def assert_cut(name: str, stuck: Stuck, *, bare: bool = True) -> None:
    """`default` cuts this loop, and not before it begins. `bare`: an argument holds nothing before the loop."""
    make, channels, size = stuck
    rnd = Random(1)
    lead = ""
    while len(lead) < size:
        lead += S(rnd) + " "
    where = channel_of(name, channels)
    if where == "a" and bare:
        lead = ""
    hit = first("default", CHANNELS[where], lead + make(rnd))
    assert hit is not None and hit.at >= len(lead)
