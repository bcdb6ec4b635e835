"""Recordings for these tests."""

from __future__ import annotations

from proxy.replay import Recording
from rules.values.delta import Channel

LOOP = "The function returns the value that the function returns. "
CALM = "It was a bright cold day in April, and the clocks were striking thirteen."


def text(*deltas: str, channel: Channel = Channel.TEXT, name: str = "x", **more: object) -> Recording:
    return Recording(name, pieces=((channel, "0", deltas),), **more)  # type: ignore[arg-type]
