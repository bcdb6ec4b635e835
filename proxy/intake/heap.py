"""Memory that the C library keeps after large bodies, given back to the system.

glibc holds what was freed between two blocks that are still in use: after bodies of megabytes the process stayed at
several times its size for good (measured: 380 MB, of which `malloc_trim` gave back 290). And each time it frees a large
block it takes larger ones from its heap from then on, up to 32 MB, where they leave holes; with a fixed bound they come
from the system and go back at once, and grow without being copied. Elsewhere (musl, macOS) there are no such calls, and
nothing is done.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

WORTH = 16 << 20
"""Bytes of bodies after which it is worth asking; a call takes some milliseconds."""

APART = 1 << 20
"""Bytes from which a block is taken from the system by itself."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""mallopt(3)."""

OFTEN = 10.0
"""Seconds between two calls while bodies go on coming."""


class Heap:
    """When to ask, by how much has come since it was asked last."""

    def __init__(self, trim: Callable[[], None] | None = None) -> None:
        self.trim = trim if trim is not None else _trim()
        self._came = 0
        self._since_idle = 0
        self._asked = float("-inf")

    def came(self, size: int) -> None:
        """A body, or a part of one, has come."""
        self._came += size
        self._since_idle += size

    def due(self, now: float, held: int) -> bool:
        """Is it time? `held`: bytes of bodies that are in use. What was counted begins anew then."""
        if not held and self._since_idle >= WORTH:
            self._since_idle = 0
        elif self._came < WORTH or now - self._asked < OFTEN:
            return False
        self._came, self._asked = 0, now
        return True


def keep_apart() -> None:
    """Take large blocks from the system, one by one. For the whole process, once."""
    try:
        call = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    # Both: who sets one of them switches off that glibc moves the other.
    call(_M_MMAP_THRESHOLD, APART)
    call(_M_TRIM_THRESHOLD, 2 * APART)


def _trim() -> Callable[[], None]:
    try:
        call = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return lambda: None

    def trim() -> None:
        call(0)  # other threads run meanwhile: ctypes lets go of the interpreter's lock

    return trim
