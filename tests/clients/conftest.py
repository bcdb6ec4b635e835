"""A stage for one run of one real agent: scripted upstream, streamfuse before it, an empty home, and a stopwatch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from .agents import AGENTS, Agent, Ran, Room, run
from .fuse import Fuse
from .install import missing
from .upstream import Asked, Plot, Upstream

PROMPT = "Make the file that you are told to make, then say that all is well."


@dataclass
class Stage:
    """What is there after a run."""

    agent: Agent
    upstream: Upstream
    fuse: Fuse | None
    room: Room
    ran: Ran

    @property
    def said(self) -> str:
        """All that the agent printed."""
        return self.ran.out + self.ran.err

    def files(self) -> set[str]:
        """Names of the files that the agent's tools made, wherever in its home or folder."""
        return {path.name for folder in (self.room.home, self.room.work) for path in folder.rglob("*ran-*")}

    def story(self) -> str:
        """For a failing test: who asked what, and how it ended."""
        lines = [f"{self.agent.name}: exit {self.ran.code}"]
        for asked in self.upstream.asked:
            main = "main" if self.upstream.is_main(asked) else "side"
            lines.append(
                f"  {main} {asked.path} {asked.digest} attempt {asked.attempt}: {asked.chars} chars"
                + (", client left" if asked.gone else "")
            )
        log = self.fuse.log.read_text()[-3000:] if self.fuse else ""
        return "\n".join([*lines, "out: " + self.ran.out[-1500:], "err: " + self.ran.err[-1500:], "log: " + log])


def is_main(agent: Agent) -> Callable[[Asked], bool]:
    """Titles and memory calls carry no shell tool; an agent without tools has main requests only."""

    def main(asked: Asked) -> bool:
        if agent.tools and asked.shell is None:
            return False
        return not (agent.side and agent.side in str(asked.body))

    return main


Play = Callable[..., Awaitable[Stage]]


@pytest.fixture
async def play(tmp_path: Path) -> AsyncIterator[Play]:
    """Runs an agent once: `await play("pi", plot)`; `fuse=False` leaves streamfuse out; `config` is YAML for it."""
    opened: list[Upstream | Fuse] = []

    async def play_(
        who: str | Agent, plot: Plot, *, fuse: bool = True, config: str | None = None, limit: float = 0
    ) -> Stage:
        agent = AGENTS[who] if isinstance(who, str) else who
        reason = missing(agent.name)
        if reason:
            pytest.skip(reason)
        if limit:
            agent = replace(agent, limit=limit)
        upstream = Upstream(plot, main=is_main(agent))
        opened.append(upstream)
        url = await upstream.start()
        between = None
        if fuse:
            between = Fuse(url, tmp_path, config)
            opened.append(between)
            await between.start()
            url = between.url
        room = Room(tmp_path / "home", tmp_path / "work", url, PROMPT)
        room.home.mkdir()
        room.work.mkdir()
        stage = Stage(agent, upstream, between, room, await run(agent, room))
        await upstream.settled()
        return stage

    yield play_
    for each in reversed(opened):
        await each.stop()
