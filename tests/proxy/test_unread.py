"""The command whose journal nobody reads: it answers, it says that it lives, it ends when it is asked to."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import aiohttp
import pytest

ROOT = Path(__file__).parents[2]
LIMIT = 240.0
"""Seconds; only a hung test needs them."""


def full_pipe() -> tuple[int, int]:
    """(read end, write end) of a pipe that takes nothing more."""
    read_end, written = os.pipe()
    os.set_blocking(written, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(written, b"x" * 4096)
    os.set_blocking(written, True)
    return read_end, written


def stopped_terminal() -> tuple[int, int]:
    """A terminal that takes nothing more, as after Ctrl-S."""
    primary, secondary = os.openpty()
    os.set_blocking(secondary, False)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(secondary, b"x" * 4096)
    os.set_blocking(secondary, True)
    return primary, secondary


@pytest.mark.parametrize("unread", [full_pipe, stopped_terminal])
async def test_a_journal_that_nobody_reads(tmp_path, unread):
    held, out = unread()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("STREAMFUSE_")} | {"PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "proxy", "serve", "--upstream", "http://127.0.0.1:9/v1", "--port", str(port),
        cwd=tmp_path, env=environ, stdout=out, stderr=out, stdin=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    os.close(out)
    try:
        url = f"http://127.0.0.1:{port}"
        async with asyncio.timeout(LIMIT), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"{url}/healthz"):
                        break
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)  # another process: there is nothing to wait for but itself
            for _ in range(40):
                async with session.get(f"{url}/v1/models") as answer:
                    assert answer.status == 502
            async with session.get(f"{url}/healthz") as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    finally:
        os.close(held)
        if process.returncode is None:
            process.kill()
            await process.wait()
