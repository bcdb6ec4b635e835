"""For a run of period p: which rule fires, and at which character. Found by running the real rules on made-up runs.

The units are made of words that no rule knows, the same each time. A run begins at its first character, so the number
is what a client would still have been shown; nothing healthy stands before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rules import Channel, Finding, RuleSet, because

PERIODS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 2000, 4000)
COPIES = 40
LEAST = 8000
"""A run is this long at least, and COPIES copies: past that nothing is going to fire."""
PIECES = (3, 5, 4, 7, 6)
"""Characters of the pieces it is fed in: never two equal ones in a row from a run, which only `echo` looks for."""


class SampleRun(NamedTuple):
    """One way a run can look."""

    title: str
    channel: Channel
    lines: bool


RUNS = (
    SampleRun("text", Channel.TEXT, False),
    SampleRun("text in lines", Channel.TEXT, True),
    SampleRun("reasoning", Channel.REASONING, False),
    SampleRun("reasoning in lines", Channel.REASONING, True),
    SampleRun("tool arguments", Channel.TOOL, False),
)


def unit(period: int, *, lines: bool = False) -> str:
    """`period` characters of words (in lines of about 60) that repeat nothing inside themselves."""
    out = "".join(_words(period))[:period]
    if lines and period > 1:
        cut = list(out)
        for at in [*range(59, period - 30, 60), period - 1]:
            cut[at] = "\n"
        out = "".join(cut)
    return out


def _words(period: int) -> Iterator[str]:
    seed, made = 12345, 0
    while made < period:
        length = 3 + seed % 6
        word = ""
        for _ in range(length):
            seed = (seed * 1103515245 + 12345) % 2**31
            word += "abcdefghijklmnoprstuvw"[(seed >> 16) % 22]
        made += length + 1
        yield word + " "


def first(rules: RuleSet, run: SampleRun, period: int) -> Finding | None:
    """The first finding on a run, None where the rules let it pass."""
    watch = rules.watch()
    text = unit(period, lines=run.lines) * (max(LEAST, period * COPIES) // period)
    at = 0
    for size in cycle(PIECES):
        found = watch.feed(0, run.channel, "0", text[at : at + size])
        if found:
            return found[0]
        at += size
        if at >= len(text):
            return None
    return None


def table(rules: RuleSet, periods: tuple[int, ...] = PERIODS) -> RenderableType:
    """Period by kind of run: the rule and the character at which it fires. Then for each rule that fired, its reason
    on the longest period, as a journal line would tell it."""
    why: dict[str, str] = {}
    out = Table(box=None, pad_edge=False, header_style="bold", title="what fires on a run, and at which character")
    out.add_column("period", justify="right")
    for run in RUNS:
        out.add_column(run.title)
    for period in periods:
        found = [first(rules, run, period) for run in RUNS]
        out.add_row(f"{period:,}", *(_cell(one, period) for one in found))
        why |= {one.rule: f"period {period:,}: {because(one.hit)}" for one in found if one is not None}
    return Group(out, "", *(Text(f"{rule}: {told}") for rule, told in why.items()))


def _cell(found: Finding | None, period: int) -> str:
    if found is None:
        return "[dim]passes[/dim]"
    told = "" if found.acts else f" ({found.mode.value if found.mode.value != 'on' else found.action.name.lower()})"
    return f"{found.hit.at:,} {found.rule}{told} [dim]{found.hit.at / period:.1f}×[/dim]"
