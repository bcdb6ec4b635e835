"""Several processes on one port: a parent that starts them, starts them again when they die, and ends them with itself.

The kernel shares out connections (SO_REUSEPORT). Each worker is this same command with a hidden flag; metrics of all
meet in PROMETHEUS_MULTIPROC_DIR, accounts only with `state: redis://…`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead

from ..memory.clock import LoopClock
from ..observers import journal
from ..observers.reports import Observer, Reports, Stage
from ..settings.load import Settings
from .hangup import hold, let_through
from .reload import ConfigSource, Read, reread, tell, watch
from .serve import CannotListen, why

SOON = 5.0
"""A worker that dies within so many seconds of its start did not start well."""
LONGEST = 30.0
"""Longest wait before a worker that keeps dying is started again."""


def run(settings: Settings, arguments: Sequence[str], read: Read | None = None, file: Path | None = None) -> int:
    """Supervise `settings.workers` of `python -m proxy serve ARGUMENTS` until a signal; the exit code. `read` reads
    the config again, `file` is where it stands.

    Raises CannotListen where the port is taken.
    """
    with _reserved(settings) as held, tempfile.TemporaryDirectory(prefix="streamfuse-") as folder:
        port = held.getsockname()[1]
        command = [sys.executable, "-m", "proxy", "serve", *arguments, "--port", str(port), "--worker"]
        environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": folder}
        told = journal.observer(settings)
        try:
            pool = _WorkerPool(
                settings, command, environ, folder, told, ConfigSource(read, file) if read is not None else None
            )
            return asyncio.run(pool.run())
        finally:
            told.close()


def _reserved(settings: Settings) -> socket.socket:
    """A socket that holds the port without listening: others see it taken, workers may share it."""
    host, port = settings.listen.host, settings.listen.port
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        # Tried alone first: with SO_REUSEPORT a second streamfuse of this user would silently share the port.
        with socket.socket(info[0], info[1]) as alone:
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind(info[4])
        held = socket.socket(info[0], info[1])
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(info[4])
    except OSError as error:
        raise CannotListen(why(error, settings)) from None
    return held


class _WorkerPool:
    def __init__(
        self,
        settings: Settings,
        command: list[str],
        environ: dict[str, str],
        folder: str,
        journal: Observer,
        source: ConfigSource | None,
    ) -> None:
        self.settings = settings
        self.count = settings.workers
        self.command = command
        self.environ = environ
        self.folder = folder
        self.source = source
        self.running: set[asyncio.subprocess.Process] = set()
        self.stopping = asyncio.Event()
        self.asked = asyncio.Event()
        """To read the config again."""
        self.failed = False
        self.served = False
        """A worker has served for a while: one that cannot start any more has met a config that was changed since."""
        self.journal = journal

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)
        loop.add_signal_handler(signal.SIGHUP, self._hung_up)
        let_through()
        more = [asyncio.create_task(self._reload_when_asked())]
        if self.source is not None and self.source.file is not None:
            look = watch(self.source.file, lambda: self.settings.reload.watch, LoopClock(loop), self._ask)
            more.append(asyncio.create_task(look))
        try:
            await asyncio.gather(*(self._keep() for _ in range(self.count)))
        finally:
            for task in more:
                task.cancel()
            await asyncio.gather(*more, return_exceptions=True)
        return 1 if self.failed else 0

    def _hung_up(self) -> None:
        if self.source is None:
            self.journal.hear(Stage("sighup_ignored"))
        self.asked.set()

    async def _ask(self) -> None:
        self.asked.set()

    async def _reload_when_asked(self) -> None:
        """Check the config here, and only where it is good tell every worker to read it."""
        while True:
            await self.asked.wait()
            self.asked.clear()
            if self.source is None:
                continue
            came = await reread(self.source.read, self.settings)
            if came.changes is None:
                tell(Reports([self.journal]), came)
                continue
            self.settings = came.changes.settings
            for process in self.running:
                process.send_signal(signal.SIGHUP)

    def _signalled(self) -> None:
        """The first signal lets workers drain, the next ones hurry them: they count signals themselves."""
        self.stopping.set()
        for process in self.running:
            process.send_signal(signal.SIGTERM)

    async def _keep(self) -> None:
        """One worker's place, filled again and again."""
        wait = 1.0
        while not self.stopping.is_set():
            begun = time.monotonic()
            hold()  # it inherits that: the word to read the config again may come before it listens
            try:
                process = await asyncio.create_subprocess_exec(
                    *self.command, env=self.environ, stdin=asyncio.subprocess.PIPE, start_new_session=True
                )
            finally:
                let_through()
            self.running.add(process)
            if self.stopping.is_set():
                process.send_signal(signal.SIGTERM)
            code = await process.wait()
            self.running.discard(process)
            mark_process_dead(process.pid, self.folder)  # type: ignore[no-untyped-call]
            if self.stopping.is_set():
                return
            soon = time.monotonic() - begun < SOON
            self.served = self.served or not soon
            facts = {"pid": process.pid, "code": code, "again_in": wait if soon else 0.0}
            self.journal.hear(Stage("worker_died", facts, wrong=True))
            if soon and code in (1, 2) and not self.served:
                # It said itself why it cannot start; starting it again would say so for ever.
                self.failed = True
                self._signalled()
                return
            if soon:
                try:
                    await asyncio.wait_for(self.stopping.wait(), wait)
                except TimeoutError:
                    wait = min(LONGEST, wait * 2)
            else:
                wait = 1.0
