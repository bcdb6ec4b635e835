"""Judges many files in several processes. Each process takes whole files; the results come in the order of the file
names.

The first process handles Ctrl-C: it ends the others and keeps their finished results.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")
WORTH = 8 << 20
"""Bytes of files from which on a second process is worth its start (half a second)."""


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def wanted(asked: int, todo: Sequence[tuple[Path, int]]) -> int:
    """How many processes: as many as asked for; 0 = one a core where there is enough to do."""
    if asked == 0 and sum(size for _, size in todo) < WORTH:
        return 1
    return max(1, min(asked or cores(), len(todo)))


class Pool(Generic[T]):
    """`look` is called with each path in some process; both it and what it gives must be picklable."""

    def __init__(self, look: Callable[[Path], T], jobs: int) -> None:
        self.look = look
        self.jobs = jobs
        self.done: dict[int, T] = {}
        """What has come so far, by the place of its file."""

    def work(self, todo: Sequence[tuple[Path, int]], step: Callable[[int, int, str], None] | None = None) -> list[T]:
        """All of it, in order. `step` hears of bytes. Raises what `look` raises; after Ctrl-C `done` has what came."""
        total, so_far = sum(size for _, size in todo), 0
        if step is not None:
            step(0, total, "")
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.jobs, context, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
            # The largest first, so that the last to end is no giant.
            places = sorted(range(len(todo)), key=lambda n: -todo[n][1])
            futures: dict[Future[T], int] = {pool.submit(self.look, todo[n][0]): n for n in places}
            try:
                for future in as_completed(futures):
                    n = futures[future]
                    self.done[n] = future.result()
                    so_far += todo[n][1]
                    if step is not None:
                        step(so_far, total, todo[n][0].name)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for child in multiprocessing.active_children():
                    child.terminate()
                raise
        return [self.done[n] for n in range(len(todo))]
