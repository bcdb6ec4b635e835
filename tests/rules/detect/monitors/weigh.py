"""Bytes that one answer's state takes: every object that only its Watch holds, by `sys.getsizeof`.

Left out is what all answers share (rules, parameters, classes) or what others hold anyway (the request's text).
"""

from __future__ import annotations

import sys
from array import array
from typing import Any

from pydantic import BaseModel

from rules.values.brief import Brief

SHARED = (type, BaseModel, Brief)


def weigh(thing: Any, seen: set[int] | None = None) -> int:
    """Bytes of `thing` and of everything that hangs on it."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, SHARED):
        return 0
    seen.add(id(thing))
    size = sys.getsizeof(thing)
    if isinstance(thing, str | bytes | bytearray | int | float | array):
        return size
    parts: list[Any] = []
    if isinstance(thing, dict):
        parts = [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set):
        parts = [*thing]
    elif hasattr(thing, "__self__"):
        parts = [thing.__self__]
    for one in type(thing).__mro__:
        parts += [getattr(thing, slot) for slot in getattr(one, "__slots__", ()) if hasattr(thing, slot)]
    parts += vars(thing).values() if hasattr(thing, "__dict__") else ()
    return size + sum(weigh(part, seen) for part in parts)
