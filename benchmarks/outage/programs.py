"""Agents that are programs of their own and run in real time: the Node SDKs, and real agents where they are installed.

`python -m tests.clients.install` installs them, pinned, into CLIENTS_CACHE.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.clients import agents
from tests.clients.install import NODE, home, missing

from .provider import ANSWER

SCRIPT = Path(__file__).with_name("sdks.mjs")
LIMIT = 900.0
"""Seconds until a program counts as hanging."""


@dataclass(frozen=True)
class Program:
    """A program that asks one prompt. `kit`: what is installed for it."""

    name: str
    kit: str
    ask: Callable[[str, str], Awaitable[bool]]
    crowd: int
    """How many of it this machine bears at once."""

    def missing(self) -> str | None:
        """Why it cannot run here; None where it can."""
        return missing(self.kit)


def _node(sdk: str, retries: int) -> Callable[[str, str], Awaitable[bool]]:
    async def ask(base: str, prompt: str) -> bool:
        with TemporaryDirectory(prefix="outage-") as folder:
            script = Path(shutil.copy(SCRIPT, folder))
            (Path(folder) / "node_modules").symlink_to(home("node-sdks") / "node_modules")
            process = await asyncio.create_subprocess_exec(
                str(NODE), str(script), sdk, str(retries), base, prompt, ANSWER,
                env={"PATH": os.environ.get("PATH", ""), "HOME": folder, "NO_PROXY": "127.0.0.1,localhost"},
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            try:
                return await asyncio.wait_for(process.wait(), LIMIT) == 0
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()

    return ask


def _agent(name: str) -> Callable[[str, str], Awaitable[bool]]:
    async def ask(base: str, prompt: str) -> bool:
        with TemporaryDirectory(prefix="outage-", ignore_cleanup_errors=True) as folder:
            room = agents.Room(Path(folder) / "home", Path(folder) / "work", base, prompt)
            room.home.mkdir()
            room.work.mkdir()
            ran = await agents.run(replace(agents.AGENTS[name], limit=LIMIT), room)
            return ran.code == 0 and ANSWER in ran.out

    return ask


PROGRAMS = {
    one.name: one
    for one in (
        *(
            Program(f"{title}-{retries}", "node-sdks", _node(sdk, retries), 10)
            for title, sdk in (("openai-node", "openai"), ("anthropic-node", "anthropic"), ("ai-sdk", "ai"))
            for retries in (2, 10)
        ),
        *(Program(title, kit, _agent(kit), 2) for title, kit in (
            ("Claude Code", "claude"), ("Codex", "codex"), ("OpenCode", "opencode")
        )),
    )
}  # fmt: skip
