"""Joins a character that a server has split between two events. Any other broken UTF-8 is damage.

Servers that stream the bytes of tokens may end one event's string in the middle of a character and begin the next one's
with the rest. The first bytes are moved into the later event. Other bytes that are not UTF-8 mean lost characters.
"""

from __future__ import annotations

import codecs
from typing import Final

_MOST: Final = 8
"""The most flaws that split characters leave in one event: three bytes at its beginning, and some at its end."""
_QUOTE: Final = b'"'


def joined(block: bytes, owed: bytes) -> tuple[bytes, bytes] | None:
    """Returns (the event with whole characters, the bytes that move into the next event); None where characters are
    lost. `owed`: the bytes that move from the event before into this one."""
    runs = _flaws(block)
    if runs is None or len(runs) > 2 or (owed and not runs):
        return None
    owes = b""
    shift = 0
    if owed:
        start, end = runs.pop(0)
        character = owed + block[start:end]
        whole = _whole(character)
        if block[start - 1 : start] != _QUOTE or whole is None:
            return None
        if whole:
            block = block[:start] + owed + block[start:]
            shift = len(owed)
        elif runs or block[end : end + 1] != _QUOTE:
            return None
        else:
            return block[:start] + block[end:], character
    if runs:
        start, end = (at + shift for at in runs.pop())
        owes = block[start:end]
        if runs or block[end : end + 1] != _QUOTE or _whole(owes) is not False:
            return None
        block = block[:start] + block[end:]
    return block, owes


def _flaws(data: bytes) -> list[tuple[int, int]] | None:
    """Runs of bytes that are no UTF-8, in order; None where there are too many."""
    runs: list[tuple[int, int]] = []
    at = 0
    for _ in range(_MOST):
        try:
            data[at:].decode()
            return runs
        except UnicodeDecodeError as flaw:
            start, end = at + flaw.start, at + flaw.end
            if runs and runs[-1][1] == start:
                runs[-1] = runs[-1][0], end
            else:
                runs.append((start, end))
            at = end
    return None


def _whole(data: bytes) -> bool | None:
    """True for one whole character, False for the beginning of one, None for anything else."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data)
    except UnicodeDecodeError:
        return None
    pending = bool(decoder.getstate()[0])
    if pending:
        return None if text else False
    return len(text) == 1
