"""One upstream answer through a Stream into the reply: as many events as a read brings, one write for all of them.

Start-up events (a role chunk, message_start, comments) are held until the first event that the client could not
un-see, or until the hold is full: a stream that dies before is asked again and the client never knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from rules import Failure, Finding, Forward, Halt, Noted, Output, Stream, Watchdog, likeness

from ...upstream.client import UpstreamResponse
from ..reply import Reply


class Relay:
    """From the answer's head to its end, a halt or a failure."""

    __slots__ = (
        "_answer", "_begin", "_came", "_counts", "_first", "_held", "_held_bytes", "_hold", "_hold_all", "_left",
        "_now", "_reply", "_tell", "_until", "_watchdog", "bytes_in", "first_at", "holding", "stream",
    )  # fmt: skip

    def __init__(
        self,
        answer: UpstreamResponse,
        stream: Stream,
        reply: Reply,
        watchdog: Watchdog,
        now: Callable[[], float],
        begin: Callable[[bytes], Awaitable[None]],
        tell: Callable[[Finding], None],
        hold: int,
        hold_all: int = 0,
        first: Callable[[], None] = lambda: None,
        held: bytes = b"",
        until: Callable[[], bool] | None = None,
    ) -> None:
        """`begin`: start the reply with these first bytes. `tell`: a finding that only reports. `hold`: bytes of
        start-up events; `hold_all`: of everything, output too, where the answer may be asked for again. `first`: told
        once, when the first output is written. `held`: bytes of an earlier attempt that go out before the first.
        `until`: asked after each read whether `hold_all` may end."""
        self._answer = answer
        self.stream = stream
        self._reply = reply
        self._watchdog = watchdog
        self._now = now
        self._begin = begin
        self._tell = tell
        self._first = first
        self._hold = hold
        self._hold_all = hold_all
        self._until = until
        self._counts = False
        """Among what is held is output."""
        self._held: list[bytes] = [held] if held else []
        self._held_bytes = len(held)
        self._left: list[Output] = []
        """What came of the last bytes that were poured, where it takes more than a write."""
        self.holding = True
        """Nothing of this answer has been handed to the client."""
        self.first_at: float | None = None
        self.bytes_in = 0
        self._came: list[bytes] = []
        """What has come before the first output, to know it again (`likeness`)."""

    async def run(self, data: bytes | Failure | None) -> Failure | Finding | None:
        """Relay from `data`, which has been read already. None = a clean, legal end; what is held is then still to be
        flushed. Raises ClientGone."""
        stream, watchdog, read = self.stream, self._watchdog, self._answer.read
        while True:
            now = self._now()
            if data is None:
                outs = stream.eof(now)
            elif isinstance(data, Failure):
                await self._forward(stream.rest())
                return data
            else:
                self.bytes_in += len(data)
                if self.first_at is None and self.bytes_in <= likeness.MOST:
                    self._came.append(data)
                outs = stream.feed(data, now)
                watchdog.heard(now, stream.last_data == now)
            while True:
                if outs:
                    halt = await self._forward(outs)
                    if halt is not None:
                        return halt.cause
                if self._hold_all and self.holding and self._until is not None and self._until():
                    self._hold_all = 0
                    if self._counts:
                        await self.flush()
                        self._noted()
                if stream.busy:
                    # Much has come at once: others have their turn before we go on with it.
                    await asyncio.sleep(0)
                    now = self._now()
                    outs = stream.more(now)
                    watchdog.heard(now, stream.last_data == now)
                    continue
                if stream.finished or data is None:
                    return None
                if self.holding or self.first_at is None:
                    break
                # The answer is on its way: from here on most events are a read, a look and a write.
                await self._answer.pour(self._take)
                outs, self._left = self._left, []
                if not outs and not stream.busy:
                    break
            data = await read()

    def _take(self, data: bytes) -> bool:
        """Relay these bytes on the spot; False where it takes more than a write that need not wait."""
        now = self._now()
        self.bytes_in += len(data)
        stream = self.stream
        outs = stream.feed(data, now)
        self._watchdog.heard(now, stream.last_data == now)
        if not outs:
            return not (stream.finished or stream.busy)
        if len(outs) == 1 and not (stream.finished or stream.busy):
            out = outs[0]
            if type(out) is Forward and self._reply.put(out.raw):
                return True
        self._left = outs
        return False

    async def _forward(self, outs: list[Output]) -> Halt | None:
        parts: list[bytes] = []
        counts = False
        halt = None
        for out in outs:
            if isinstance(out, Forward):
                parts.append(out.raw)
                counts = counts or out.counts
            elif isinstance(out, Noted):
                self._tell(out.finding)
            else:
                halt = out
                break
        if parts:
            await self._put(parts[0] if len(parts) == 1 else b"".join(parts), counts)
        return halt

    async def _put(self, raw: bytes, counts: bool) -> None:
        if self.stream.finished:
            # The last bytes wait for the end of the body, which is decided at once: one packet instead of two.
            self._held.append(raw)
            if counts:
                self._noted()
            return
        if self.holding:
            self._held.append(raw)
            self._held_bytes += len(raw)
            self._counts = self._counts or counts
            if self._held_bytes <= (self._hold_all or (0 if counts else self._hold)):
                return
            await self.flush()
        else:
            await self._reply.write(raw)
        if counts:
            self._noted()

    def _noted(self) -> None:
        if self.first_at is None:
            self.first_at = self._now()
            self._came.clear()
            self._first()

    @property
    def came(self) -> bytes | None:
        """All that has come, where nothing of it was output and it was not too much to be compared; else None."""
        few = self.first_at is None and self.bytes_in <= likeness.MOST
        return b"".join(self._came) if few else None

    def release(self) -> bytes:
        """What is held, to be written by whoever asks; b"" where there is nothing. Nothing is held any longer then."""
        if not self.holding or not self._held:
            return b""
        self.holding = False
        raw, self._held = b"".join(self._held), []
        return raw

    async def flush(self) -> None:
        """Hand out what is held, and hold no longer."""
        raw = self.rest()
        if self._reply.started:
            await self._reply.write(raw)
        else:
            await self._begin(raw)

    def rest(self) -> bytes:
        """What is still held, to be written by whoever ends the body."""
        self.holding = False
        raw, self._held = b"".join(self._held), []
        return raw
