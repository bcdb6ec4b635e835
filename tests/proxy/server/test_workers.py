"""Several processes on one port, for real: they serve, they count together, one that dies is replaced, all end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import aiohttp

ROOT = Path(__file__).parents[3]
LIMIT = 60.0
"""Seconds; only a hung test needs them."""


async def hear(parent: asyncio.subprocess.Process, event: str) -> dict[str, Any]:
    """The next line of the journal with this event."""
    assert parent.stderr is not None
    async with asyncio.timeout(LIMIT):
        while line := await parent.stderr.readline():
            if line.startswith(b"{") and (said := json.loads(line))["event"] == event:
                return said
    raise AssertionError(f"the process ended and never said {event}")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def test_workers(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path / "config.yaml"
    config.write_text("upstream: http://127.0.0.1:9/v1\nworkers: 2\n")
    environ = {k: v for k, v in os.environ.items() if not k.startswith("STREAMFUSE_")} | {"PYTHONPATH": str(ROOT)}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proxy", "serve", "-c", "config.yaml", "--port", str(port),
        "--log-format", "json",
        cwd=tmp_path, env=environ, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        for _ in range(2):
            assert (await hear(parent, "started"))["port"] == port
        first = children(parent.pid)
        os.kill(first[0], signal.SIGKILL)
        died = await hear(parent, "worker_died")
        assert (died["pid"], died["code"]) == (first[0], -signal.SIGKILL)
        await hear(parent, "started")
        assert len(children(parent.pid)) == 2 and children(parent.pid) != first
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
            for _ in range(4):
                async with session.get(f"http://127.0.0.1:{port}/v1/models") as answer:
                    assert answer.status == 502
            counted = 0.0
            async with asyncio.timeout(LIMIT):
                # A worker counts a request when it is over, which its client may learn a moment earlier.
                while counted < 4:
                    async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
                        text = await answer.text()
                    lines = [line for line in text.splitlines() if line.startswith("streamfuse_requests_total{")]
                    counted = sum(float(line.rsplit(" ", 1)[1]) for line in lines)
            assert counted == 4
            assert 'outcome="failed",provider="upstream",wire="' in text
        config.write_text("upstream: http://127.0.0.1:9/v1\nlistne: {}\n")
        parent.send_signal(signal.SIGHUP)
        assert "listne" in (await hear(parent, "reload_failed"))["problem"]
        config.write_text("upstream: http://127.0.0.1:9/v1\ndrain: {grace: 1s}\nworkers: 3\n")
        parent.send_signal(signal.SIGHUP)
        for _ in range(2):
            told = await hear(parent, "reloaded")
            assert (told["changed"], told["needs_restart"]) == ("drain", "workers")
        assert len(children(parent.pid)) == 2
        parent.terminate()
        for _ in range(2):
            await hear(parent, "stopped")
        async with asyncio.timeout(LIMIT):
            assert await parent.wait() == 0
    finally:
        if parent.returncode is None:
            parent.kill()
            await parent.wait()
