"""When the monitors of an answer are due: behind the characters in which none of them can find or doubt anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from ..values.delta import Channel
from .monitors.base import SHOWN
from .rule import Armed


class Due(NamedTuple):
    """A rule on one channel, and when its monitor is due: with more characters than these."""

    calm: int
    """Of any text."""
    calm_ascii: int
    """Of text that is all ASCII."""
    armed: Armed


Dues: TypeAlias = Mapping[Channel, tuple[tuple[Due, ...], int, int]]
"""For each channel its rules in order, and `first_due` of them."""


def dues(armed: Iterable[Armed]) -> Dues:
    """When the monitors of these rules are due: before that, none can find or doubt anything."""
    armed = tuple(armed)
    found = {}
    for channel in Channel:
        mine = [one for one in armed if channel in one[1].channels]
        due = tuple(Due(*kind.needless(rule.params, channel), (at, rule, kind)) for at, rule, kind in mine)
        found[channel] = due, *first_due(due)
    return found


def first_due(due: Iterable[Due]) -> tuple[int, int]:
    """The characters, of any text and of ASCII text, with which the first of these monitors is due; SHOWN at most."""
    need = plain = SHOWN
    for calm, calm_ascii, _ in due:
        if calm < need:
            need = calm + 1
        if calm_ascii < plain:
            plain = calm_ascii + 1
    return need, plain
