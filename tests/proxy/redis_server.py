"""A real redis-server on a socket in a directory of its own; it can be killed and started again."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

BINARY = shutil.which("redis-server") or shutil.which("valkey-server")
ABSENT = "no redis-server (or valkey-server) on this machine: apt-get install redis-server"


class RedisServer:
    """Use as an async context manager."""

    def __init__(self) -> None:
        # Short: a socket's path has a limit of about 100 characters, which pytest's own directories reach.
        self._directory = Path(tempfile.mkdtemp(prefix="fuse"))
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"unix://{self._directory / 's'}"

    async def start(self) -> None:
        """Return when it takes connections."""
        assert BINARY is not None, ABSENT
        self._process = await asyncio.create_subprocess_exec(
            BINARY,
            *("--port", "0", "--unixsocket", str(self._directory / "s"), "--dir", str(self._directory)),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(20):
            while line := await self._process.stdout.readline():
                if b"eady to accept connections" in line:
                    return
        raise AssertionError("redis-server ended at once")

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
