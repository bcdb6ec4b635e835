"""How the tests of monitors feed them: whole, character by character, or cut anywhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from rules.detect.monitors import get
from rules.detect.monitors.base import StreamMonitor
from rules.values.brief import Brief
from rules.values.delta import Channel
from rules.values.verdict import Hit


def monitor(name: str, **params: Any) -> StreamMonitor:
    kind = get(name)
    return kind.start(kind.params(**params), Brief())


def play(looking: StreamMonitor, pieces: Iterable[str], channel: Channel = Channel.TEXT) -> Hit | None:
    """The first hit, or None."""
    return next((hit for piece in pieces if piece and (hit := looking.feed(piece, channel))), None)


def cut(text: str, sizes: Iterable[int]) -> Iterator[str]:
    """The text in pieces of these sizes, over and over."""
    at, sizes = 0, list(sizes)
    while at < len(text):
        for size in sizes:
            yield text[at : at + size]
            at += size


def lines_run(looking: StreamMonitor, *pieces: Iterable[str]) -> list[int]:
    """Interpreter lines that were run until the end of each of these stretches of text."""
    lines, ends = 0, []

    def trace(frame: object, event: str, arg: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    for stretch in pieces:
        todo = list(stretch)
        sys.settrace(trace)
        try:
            found = [looking.feed(piece, Channel.TEXT) for piece in todo]
        finally:
            sys.settrace(before)
        assert not any(found), "it hit all the same: give its params a `factor` that multiplies every bar"
        ends.append(lines)
    return ends
