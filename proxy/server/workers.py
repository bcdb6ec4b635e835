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

from prometheus_client.multiprocess import mark_process_dead

from ..observers import journal
from ..observers.reports import Observer, Stage
from ..settings.load import Settings
from .serve import CannotListen, why

SOON = 5.0
"""A worker that dies within so many seconds of its start did not start well."""
LONGEST = 30.0
"""Longest wait before a worker that keeps dying is started again."""


def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Supervise `settings.workers` of `python -m proxy serve ARGUMENTS` until a signal; the exit code.

    Raises CannotListen where the port is taken.
    """
    with _reserved(settings) as held, tempfile.TemporaryDirectory(prefix="streamfuse-") as folder:
        port = held.getsockname()[1]
        command = [sys.executable, "-m", "proxy", "serve", *arguments, "--port", str(port), "--worker"]
        environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": folder}
        told = journal.observer(settings)
        try:
            return asyncio.run(_WorkerPool(settings.workers, command, environ, folder, told).run())
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
    def __init__(self, count: int, command: list[str], environ: dict[str, str], folder: str, journal: Observer) -> None:
        self.count = count
        self.command = command
        self.environ = environ
        self.folder = folder
        self.running: set[asyncio.subprocess.Process] = set()
        self.stopping = asyncio.Event()
        self.failed = False
        self.journal = journal

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)
        loop.add_signal_handler(signal.SIGHUP, lambda: self.journal.hear(Stage("sighup_ignored")))
        await asyncio.gather(*(self._keep() for _ in range(self.count)))
        return 1 if self.failed else 0

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
            process = await asyncio.create_subprocess_exec(
                *self.command, env=self.environ, stdin=asyncio.subprocess.PIPE, start_new_session=True
            )
            self.running.add(process)
            if self.stopping.is_set():
                process.send_signal(signal.SIGTERM)
            code = await process.wait()
            self.running.discard(process)
            mark_process_dead(process.pid, self.folder)  # type: ignore[no-untyped-call]
            if self.stopping.is_set():
                return
            soon = time.monotonic() - begun < SOON
            facts = {"pid": process.pid, "code": code, "again_in": wait if soon else 0.0}
            self.journal.hear(Stage("worker_died", facts, wrong=True))
            if soon and code in (1, 2):
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
