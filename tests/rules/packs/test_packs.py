"""What one stream of the default pack holds: 64 KiB at most, text and reasoning together, in every script.

Counted is all that the stream's Watch holds after each of 30,000 characters on *both* channels: tails, tables and
objects of the eight monitors (four rules, two channels) and the Watch's own dictionaries.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from rules import packs
from rules.brief import Brief
from rules.delta import Channel

from ..monitors.weigh import weigh

LIMIT = 64 * 1024


def _word(rnd: random.Random) -> str:
    return "".join(rnd.choices("abcdefghijklmnop", k=rnd.randint(2, 9)))


def _latin(rnd: random.Random) -> str:
    return " ".join(_word(rnd) for _ in range(12)).capitalize() + ". "


def _han(rnd: random.Random) -> str:
    return "".join(chr(0x4E00 + rnd.randrange(8000)) for _ in range(30))


SCRIPTS: dict[str, Callable[[random.Random], str]] = {
    "Latin": _latin,
    "Latin with accents": lambda rnd: _latin(rnd) + "é",
    "Chinese": lambda rnd: _han(rnd) + "。",
    "Chinese without an end": _han,
    "prose with emoji": lambda rnd: _latin(rnd) + chr(0x1F600 + rnd.randrange(60)),
    "Chinese with emoji": lambda rnd: _han(rnd) + "。" + chr(0x1F600 + rnd.randrange(60)),
    "emoji only": lambda rnd: "".join(chr(0x1F300 + rnd.randrange(600)) for _ in range(30)),
    "one long token": lambda rnd: f"{rnd.getrandbits(160):040x}",
    "many lines": lambda rnd: _word(rnd) + "\n",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_stream_holds_64_kib_at_most(script: str) -> None:
    rnd = random.Random(script)
    text = ""
    while len(text) < 30_000:
        text += SCRIPTS[script](rnd)
    watch, most = packs.assemble(["default"]).watch(Brief("Tell me.")), 0
    for at in range(0, len(text), 37):
        for channel in (Channel.TEXT, Channel.REASONING):
            assert watch.feed(0, channel, "0", text[at : at + 37]) == ()
        if at // 37 % 8 == 0:
            most = max(most, weigh([watch._choices, watch._feeds]))
    assert 20_000 < most <= LIMIT
