"""Lines for a descriptor that nobody may be reading: a bounded queue, and a thread of its own that writes.

`put` never waits. A pipe that is full, a terminal stopped with Ctrl-S or a log collector that hangs blocks the thread
alone; lines that find the queue full, and lines that the system refuses, are dropped and counted. One line tells how
many once writing works again. A stream without a descriptor (a StringIO in a test) is written at once.
"""

from __future__ import annotations

import io
import os
import select
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TextIO

QUEUE = 1 << 20
"""Bytes that may wait: some 2,000 lines of the journal."""

GATHER = 0.05
"""Seconds for which lines are gathered after a write: under load the thread takes the interpreter's lock 20 times a
second and not once a line. A line that comes alone is written at once."""

LAST = 0.5
"""Seconds for what still waits when the process ends."""


class LineWriter:
    """Writes whole lines to one stream, in order. Its methods may be called from any thread."""

    def __init__(
        self,
        out: TextIO | None,
        *,
        most: int = QUEUE,
        dropped: Callable[[int], None] | None = None,
        told: Callable[[int], str | None] | None = None,
    ) -> None:
        """`out`: None where the process has no such stream, every line is dropped then. `most`: bytes that may wait.
        `dropped` hears of lines at the moment they are lost; `told` gives the line that says how many were."""
        self._out = out
        self._descriptor = _descriptor(out)
        self._most = most
        self._dropped = dropped
        self._told = told
        self._lock = threading.Lock()
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._size = 0
        self._missing = 0
        self._torn = False
        """The last line that was written broke off in its middle."""
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def put(self, line: str | bytes) -> None:
        """Write a line, given without its end, as soon as that is possible. Bytes are UTF-8."""
        if self._descriptor is None:
            self._write_now(line if isinstance(line, str) else line.decode())
            return
        data = (line.encode("utf-8", "backslashreplace") if isinstance(line, str) else line) + b"\n"
        with self._lock:
            fits = self._size + len(data) <= self._most and not self._closing.is_set() and self._started()
            if fits:
                self._size += len(data)
                self._queue.put(data)
        if not fits:
            self._lost(1)

    def close(self, within: float = LAST) -> None:
        """Write what waits, but for so many seconds at most; a thread that is still blocked ends with the process."""
        with self._lock:
            thread = self._thread
            self._closing.set()
            self._queue.put(None)
        if thread is not None:
            thread.join(within)

    def _started(self) -> bool:
        if self._thread is None:
            # Not at the interpreter's mercy when the process ends: it may be blocked for good.
            thread = threading.Thread(target=self._run, name="streamfuse-lines", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads for this user
                return False
            self._thread = thread
        return True

    def _write_now(self, line: str) -> None:
        if self._out is None:
            self._lost(1)
            return
        self._out.write(line + "\n")
        self._out.flush()

    def _lost(self, count: int) -> None:
        with self._lock:
            self._missing += count
        if self._dropped is not None:
            self._dropped(count)

    # --- the thread ---------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        ended = False
        while not ended:
            lines, ended = self._waiting()
            self._write(lines)
            with self._lock:
                self._size -= sum(map(len, lines))
            if not ended:
                self._closing.wait(GATHER)

    def _waiting(self) -> tuple[list[bytes], bool]:
        """All lines that wait, at least one; and whether they are the last ones."""
        lines: list[bytes] = []
        line = self._queue.get()
        while line is not None:
            lines.append(line)
            try:
                line = self._queue.get_nowait()
            except Empty:
                return lines, False
        return lines, True

    def _write(self, lines: list[bytes]) -> None:
        """The lines, and after them how many are missing, where nothing else waits any more."""
        if not self._written(lines) or not self._missing or not self._queue.empty():
            return
        with self._lock:
            missing, self._missing = self._missing, 0
        told = self._told(missing) if self._told is not None else None
        if told is not None and not self._written([told.encode() + b"\n"]):
            with self._lock:
                self._missing += missing - 1  # the line about them was counted by itself

    def _written(self, lines: list[bytes]) -> bool:
        """Were they all written? What was not is counted as lost."""
        assert self._descriptor is not None
        ahead = b"\n" if self._torn else b""
        data = memoryview(ahead + b"".join(lines))
        done = 0
        try:
            while done < len(data):
                try:
                    done += os.write(self._descriptor, data[done:])
                except BlockingIOError:  # somebody who shares the descriptor has made it non-blocking
                    poll = select.poll()
                    poll.register(self._descriptor, select.POLLOUT)
                    poll.poll()
        except OSError:  # the reader is gone, the disk is full: the next lines may have more luck
            end, whole = len(ahead), 0
            while whole < len(lines) and end + len(lines[whole]) <= done:
                end += len(lines[whole])
                whole += 1
            self._torn = done > end if done > len(ahead) else self._torn and done == 0
            self._lost(len(lines) - whole)
            return False
        self._torn = False
        return True


def _descriptor(out: TextIO | None) -> int | None:
    if out is None:
        return None
    try:
        return out.fileno()
    except (OSError, ValueError, AttributeError, io.UnsupportedOperation):
        return None
