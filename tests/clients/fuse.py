"""A real streamfuse process for one test, and what its metrics say."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
from pathlib import Path

import aiohttp

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Fuse:
    """`python -m proxy serve` in front of an upstream."""

    def __init__(self, upstream: str, folder: Path, config: str | None = None) -> None:
        """`upstream`: the root URL, without /v1. `config`: YAML instead of `--upstream`; {upstream} is filled in."""
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "streamfuse.log"
        argv = ["serve", "--host", "127.0.0.1", "--port", str(self.port), "--log-format", "json"]
        if config is None:
            argv += ["--upstream", f"{upstream}/v1"]
        else:
            file = folder / "config.yaml"
            file.write_text(config.replace("{upstream}", f"{upstream}/v1"))
            argv += ["-c", str(file)]
        self._argv = argv
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Raises RuntimeError, with the log, where it is not alive within a minute."""
        env = {"PATH": os.environ.get("PATH", ""), "HOME": str(self._folder), "PYTHONPATH": str(ROOT)}
        with self.log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "proxy", *self._argv, cwd=self._folder, env=env, stdout=log, stderr=log
            )
        async with aiohttp.ClientSession() as http:
            for _ in range(600):
                if self._process.returncode is not None:
                    break
                try:
                    async with http.get(f"{self.url}/healthz") as answer:
                        if answer.status == 200:
                            return
                except aiohttp.ClientError:
                    pass
                await asyncio.sleep(0.1)
        raise RuntimeError(f"streamfuse did not start: {self.log.read_text()[-2000:]}")

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL where it does not drain within ten seconds."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of all series of a metric that carry these labels."""
        async with aiohttp.ClientSession() as http, http.get(f"{self.url}/metrics") as answer:
            text = await answer.text()
        total = 0.0
        for line in text.splitlines():
            series = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
            if series and all(f'{key}="{value}"' in (series[1] or "") for key, value in labels.items()):
                total += float(series[2])
        return total
