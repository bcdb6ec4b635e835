"""Room for the bodies of all requests together: how many bytes may be held, and whose turn it is to be worked on.

Parsing and reviewing a body of megabytes takes tens of milliseconds and cannot be interrupted (the parser keeps the
interpreter's lock, so a thread would not help). One such body is worked on at a time, in the order of their asking,
and between two of them everything else that is ready has its turn. From its parsing to the end of its review a body
has a seat: there are few, because what is parsed takes several times its bytes, and the garbage collector walks over
all of it (200 bodies of 2 MB at once: 280 ms in one go).
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractAsyncContextManager, nullcontext

LARGE = 256 << 10
"""Bytes from which a body waits for its turn: some 2 ms of work."""

SEATS = 5 << 20
"""Bytes of bodies that may be parsed and not yet reviewed; a larger one sits alone."""

PIECES = 1 << 20
"""Bytes of bodies that are taken from all connections in one turn of the loop: some 3 ms. What comes beyond waits, and
aiohttp stops reading a connection whose bytes wait."""

BREATH = 4
"""Turns of the loop between two pieces of work on large bodies: as many as a small request needs from its connection to
its answer."""


class Full(Exception):
    """The bodies of all open requests together are over the limit."""


class Room:
    """Of one process."""

    def __init__(self, most: int) -> None:
        """`most`: bytes that may be held at once; 0 = no limit."""
        self.most = most
        self._line = asyncio.Lock()
        self._door = asyncio.Lock()
        self._one = asyncio.Lock()
        self._left = asyncio.Event()
        self._seated = 0
        self._taken = 0
        """Bytes, in this turn of the loop."""
        self._pieces: deque[tuple[int, asyncio.Future[None]]] = deque()
        """Who waits to take so many bytes. Only those whose turn it is are woken: two hundred tasks that look in each
        turn of the loop whether it is theirs cost more than the bytes."""
        self.held = 0

    def take(self, size: int) -> None:
        """So many bytes more are held. Raises Full, and nothing is taken."""
        if 0 < self.most < self.held + size:
            raise Full
        self.held += size

    def give(self, size: int) -> None:
        """They are not held any more."""
        self.held -= size

    async def piece(self, size: int) -> None:
        """Wait until so many bytes of a body may be taken, in the order of asking."""
        if self._taken >= PIECES or self._pieces:
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._pieces.append((size, mine))
            await mine
        else:
            self._count(size)

    def _count(self, size: int) -> None:
        if not self._taken:
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._taken += size

    def _next_turn(self) -> None:
        self._taken = 0
        while self._pieces and self._taken < PIECES:
            size, mine = self._pieces.popleft()
            if not mine.done():  # else its client has left
                self._count(size)
                mine.set_result(None)

    async def sit(self, size: int) -> bool:
        """Wait for a seat, in the order of asking; True: it has one, which `rise` gives back."""
        if size < LARGE:
            return False
        async with self._door:
            while self._seated and self._seated + size > SEATS:
                self._left.clear()
                await self._left.wait()
            self._seated += size
        return True

    def rise(self, size: int) -> None:
        """A body that had a seat is reviewed, or gone."""
        self._seated -= size
        self._left.set()

    async def turn(self, size: int) -> None:
        """Wait until a body of so many bytes may be worked on, in one go, by whoever asked: nobody else with a large
        one has had this turn of the loop or the ones before."""
        if size < LARGE:
            return
        async with self._line:
            for _ in range(BREATH):
                await asyncio.sleep(0)

    def alone(self, size: int) -> AbstractAsyncContextManager[object]:
        """While a body of so many bytes is compared with the ones before, piece by piece: one large body at a time.
        Two hundred pieces of half a millisecond would else come in one turn of the loop."""
        return self._one if size >= LARGE else nullcontext()
