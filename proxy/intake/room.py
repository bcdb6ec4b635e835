"""Room for the bodies of all requests together: how many bytes may be held, and whose turn it is to be worked on.

Parsing and reviewing a body of megabytes takes tens of milliseconds and cannot be interrupted (orjson keeps the
interpreter's lock, so a thread would not help). One such body is worked on at a time, in the order of their asking,
and between two of them everything else that is ready has its turn.
"""

from __future__ import annotations

import asyncio

LARGE = 256 << 10
"""Bytes from which a body waits for its turn: some 2 ms of work."""


class Full(Exception):
    """The bodies of all open requests together are over the limit."""


class Room:
    """Of one process."""

    def __init__(self, most: int) -> None:
        """`most`: bytes that may be held at once; 0 = no limit."""
        self.most = most
        self._line = asyncio.Lock()
        self.held = 0

    def take(self, size: int) -> None:
        """So many bytes more are held. Raises Full, and nothing is taken."""
        if 0 < self.most < self.held + size:
            raise Full
        self.held += size

    def give(self, size: int) -> None:
        """They are not held any more."""
        self.held -= size

    async def turn(self, size: int) -> None:
        """Wait until a body of so many bytes may be worked on, in one go, by whoever asked: nobody else with a large
        one has had this turn of the loop or the one before."""
        if size < LARGE:
            return
        async with self._line:
            # Whoever is next is woken now, and waits for one turn of the loop more: others go on meanwhile.
            await asyncio.sleep(0)
