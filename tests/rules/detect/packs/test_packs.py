"""What a stream costs under the default pack: 64 KiB of state at most, and work that grows as the text does.

State: text and reasoning together, in every script. Counted is all that the stream's Watch holds while 30,000
characters come on *both* channels: tails, tables and objects of the rules' monitors, and its own dictionaries.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from rules.detect import packs
from rules.detect.monitors import exact_repetition, long_passage
from rules.detect.monitors.base import MonitorScope
from rules.detect.monitors.novelty import gates, reading
from rules.values.brief import Brief
from rules.values.delta import Channel

from ..monitors.play import cut, lines_run
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
            most = max(most, weigh([watch._choices, watch._slots]))
    assert 20_000 < most <= LIMIT


SIZE = 16 * 1024
"""Characters of each hostile text: more than any table or tail of a monitor holds."""
HOSTILE: dict[str, str] = {
    **{f"only {sign!r}": sign * SIZE for sign in 'a0 \n\t-=_.|*\\"{好😀\ufffd'},
    "two letters": "".join(random.Random(1).choices("ab", k=SIZE)),
    "letters and blanks": "".join(random.Random(2).choices("a ", k=SIZE)),
    "dashes and blanks": "- " * (SIZE // 2),
    "rows of dashes": ("-" * 79 + "\n") * (SIZE // 80),
    "a token without an end": "".join(random.Random(3).choices("abcdefghijklmnopqrstuvwxyzABCDEFGH", k=SIZE)),
    "hexadecimal without an end": f"{random.Random(4).getrandbits(4 * SIZE):0{SIZE}x}",
    "digits without an end": "".join(random.Random(5).choices("0123456789", k=SIZE)),
}
PATTERNS: list[tuple[ModuleType, str]] = [
    *((exact_repetition, name) for name in ("_WORD", "_CODE")),
    *((reading, name) for name in ("TOKEN", "ESCAPE")),
    (long_passage, "_END"),
    *((gates, name) for name in ("_SIGN", "_CODE", "_COMMENT", "_ITEM", "_ORDERED", "_TAG")),
]


class Counted:
    """A pattern that counts the characters it is given to read."""

    read = 0

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern

    def __getattr__(self, method: str) -> Any:
        def call(*args: Any) -> Any:
            text = next(arg for arg in args if isinstance(arg, str) and (len(arg) != 1 or arg is args[-1]))
            found = getattr(self.pattern, method)(*args)
            start = next((arg for arg in args if isinstance(arg, int)), 0)
            Counted.read += (found.end() if isinstance(found, re.Match) else len(text)) - start
            return found

        return call


CUTTINGS = [(name, 10_240) for name in HOSTILE] + [("two letters", 8), ("rows of dashes", 8), ("only '\\n'", SIZE)]


@pytest.mark.parametrize(("name", "size"), CUTTINGS)
def test_no_text_makes_a_rule_work_faster_than_it_grows(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreter lines run, and characters given to patterns, are at most so many a character, whatever comes.

    A look back that grew with the text would be a hundred times over: 16 KiB are 8,192 characters back on average.
    """
    text = HOSTILE[name]
    for module, name in PATTERNS:
        monkeypatch.setattr(module, name, Counted(getattr(module, name)))
    for rule in packs.load("default").rules:
        if rule.kind.scope is MonitorScope.CHOICE:
            continue
        # No gate and no score convicts; validated anew, because a copy would keep the old limits.
        written = {**rule.params.model_dump(), "factor": 1e9}
        written |= {"risk": {}} if "risk" in written else {}
        deaf = rule.kind.start(type(rule.params).model_validate(written), Brief())
        Counted.read = 0
        (lines,) = lines_run(deaf, cut(text, [size]))
        assert lines <= 80 * SIZE, rule.name
        assert Counted.read <= 48 * SIZE, rule.name
