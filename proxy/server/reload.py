"""Reads the config again while the process serves. A new config is used whole and checked, or not at all.

Reading and making ready happen in a thread, so that open streams go on. Only requests that come afterwards get the new
config; those that are open keep theirs to the end. Reports hold names of fields and places in the file. Values appear
only in messages about mistakes, which never show a value that could be secret.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ..memory.clock import Clock
from ..observers.reports import Reports, Stage
from ..settings.changes import Changes, changes
from ..settings.load import ConfigError, Settings

Read: TypeAlias = Callable[[], Settings]
"""Reads the config as at the start of the process: the same file, flags and environment. Raises ConfigError."""


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """Where a process has its config from."""

    read: Read
    file: Path | None = None
    """To be watched, where the config says so."""
    taken: Callable[[Settings], None] = lambda _settings: None
    """Told of each new config, for what stands outside the server (the sinks)."""
    spread: Callable[[], None] | None = None
    """Tells all workers to read it again; None = this process is the only one."""


MOST_TOLD = 5
"""Mistakes of one broken config that get a line of the journal each."""


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What came of reading the config again."""

    changes: Changes | None
    """None = it is broken, and nothing has changed."""
    problems: tuple[str, ...] = field(default=())

    def data(self) -> dict[str, Any]:
        """For JSON."""
        if self.changes is None:
            return {"taken": False, "problems": list(self.problems)}
        return {"taken": True, "changed": list(self.changes.changed), "restart": list(self.changes.restart)}


async def reread(read: Read, old: Settings) -> Reloaded:
    """Read it in a thread and compare it with the config that is in force. Never raises."""
    try:
        new = await asyncio.to_thread(read)
    except ConfigError as wrong:
        return Reloaded(None, tuple(str(problem) for problem in wrong.problems))
    except Exception as error:  # a file that vanished between two looks: whatever it is, the old config stands
        return Reloaded(None, (f"the config cannot be read ({type(error).__name__})",))
    return Reloaded(changes(old, new))


def tell(reports: Reports, came: Reloaded) -> None:
    """Say in the journal what came of it."""
    if came.changes is None:
        for problem in came.problems[:MOST_TOLD]:
            reports.tell(Stage("reload_failed", {"problem": problem}, wrong=True))
        return
    facts: dict[str, str] = {"changed": ", ".join(came.changes.changed) or "nothing"}
    if came.changes.restart:
        facts["needs_restart"] = ", ".join(came.changes.restart)
    reports.tell(Stage("reloaded", facts))


async def watch(file: Path, every: Callable[[], float], clock: Clock, changed: Callable[[], Awaitable[object]]) -> None:
    """Call `changed` whenever the file is another one than before and has been the same for two looks, so that a file
    is not read while it is written. `every`: seconds between two looks, 0 = do not look now. Ends when cancelled."""
    taken = before = await asyncio.to_thread(_print, file)
    while True:
        pause = every()
        await clock.sleep(pause or 1.0)
        if not pause:
            continue
        now = await asyncio.to_thread(_print, file)
        if now != taken and now == before and now is not None:
            taken = now
            await changed()
        before = now


def _print(file: Path) -> tuple[int, int, int, int] | None:
    """The identity of a file's present state. It changes also when a link in its path is moved, as Kubernetes does."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
