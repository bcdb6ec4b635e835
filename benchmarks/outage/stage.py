"""One run: a provider that begins to fail, agents that ask it, streamfuse between them or not.

`skipped` runs agents of this process in a loop whose time skips, with streamfuse in the same loop. `real` runs agents
that are programs of their own in real time, with `python -m proxy serve` between them.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from proxy.server.app import Server
from proxy.settings.load import Settings
from rules.detect.ruleset import RuleSet
from tests.clients.fuse import Fuse

from .provider import Provider
from .row import Met, met
from .scenario import Scenario, Way
from .skipping import SkippedClock, SkippingLoop, run

Ask = Callable[[str, str], Awaitable[bool]]
"""(root URL, prompt) → did the agent get its answer?"""


def skipped(scenario: Scenario, down: float, ask: Ask, agents: int, *, through: bool, rules: RuleSet | None = None,
            settings: dict[str, object] | None = None) -> Met:  # fmt: skip
    """Agents of this process. `rules`: those of the settings, made before, since making them takes its time."""
    random.seed(f"{scenario.name} {down} {agents}")  # the waits of SDKs and ours: the same chances on both sides
    os.environ["NO_PROXY"] = "127.0.0.1,localhost"
    return run(_skipped(scenario, down, ask, agents, through, rules, settings or {}))


async def _skipped(
    scenario: Scenario,
    down: float,
    ask: Ask,
    agents: int,
    through: bool,
    rules: RuleSet | None,
    settings: dict[str, object],
) -> Met:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    provider = Provider(scenario, down)
    await provider.start()
    url, server = provider.url, None
    if through:
        tree = {"upstream": f"{url}/v1", "listen": {"port": 0}, **settings}
        server = Server(Settings.model_validate(tree), clock=SkippedClock(loop), rules=rules)
        await server.start()
        url = f"http://127.0.0.1:{server.port}"
    begun = loop.time()
    provider.begin()
    if scenario.way is Way.REFUSED:
        loop.watch(provider.port)
    survived = await asyncio.gather(*(ask(url, f"Agent {number} asks.") for number in range(agents)))
    seconds = loop.time() - begun
    if server is not None:
        await server.stop()
    await provider.stop()
    calls = provider.calls
    if scenario.way is Way.REFUSED:
        calls = [at - begun for at in loop.dialled]
    return met(sum(survived), calls, seconds, down)


async def real(scenario: Scenario, down: float, ask: Ask, agents: int, *, through: bool) -> Met:
    """Agents that are processes. Refused connections cannot be counted here."""
    loop = asyncio.get_running_loop()
    provider = Provider(scenario, down)
    await provider.start()
    with TemporaryDirectory(prefix="outage-") as folder:
        fuse = Fuse(provider.url, Path(folder)) if through else None
        try:
            if fuse is not None:
                await fuse.start()
            begun = loop.time()
            if scenario.way is Way.REFUSED:
                provider.begin()  # elsewhere the first call begins it: a program takes its time to start
            url = fuse.url if fuse is not None else provider.url
            survived = await asyncio.gather(*(ask(url, f"Agent {number} asks.") for number in range(agents)))
            seconds = loop.time() - begun
        finally:
            if fuse is not None:
                await fuse.stop()
            await provider.stop()
    return met(sum(survived), None if scenario.way is Way.REFUSED else provider.calls, seconds, down)
