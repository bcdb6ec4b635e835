"""Runs measured: those in skipped time in processes side by side, those in real time a few at once."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

from proxy.settings.engine import ruleset
from proxy.settings.load import Settings
from rules.detect.ruleset import RuleSet

from . import stage
from .plan import Run, agents
from .row import Row
from .scenario import SCENARIOS


@cache
def _rules() -> RuleSet:
    """The rules of a proxy without a config; making them takes longer than most runs."""
    return ruleset(Settings.model_validate({"upstream": "http://h/v1"}))


def skipped(run: Run) -> Row:
    """Both halves of a run in skipped time."""
    meet = partial(stage.skipped, SCENARIOS[run.scenario], run.down, agents=run.agents)
    direct = meet(ask=agents(run.client), through=False)
    through = meet(ask=agents(run.client), through=True, rules=_rules())
    return Row(run.scenario, run.down, run.client, run.agents, direct, through)


async def real(run: Run) -> Row:
    """Both halves of a run in real time."""
    meet = partial(stage.real, SCENARIOS[run.scenario], run.down, agents(run.client), run.agents)
    return Row(run.scenario, run.down, run.client, run.agents, await meet(through=False), await meet(through=True))


@dataclass(frozen=True)
class Broken:
    """A run that could not be measured, and why."""

    run: Run
    reason: str


async def measure(runs: Sequence[Run], jobs: int, done: Callable[[Run], None]) -> tuple[list[Row], list[Broken]]:
    """The rows of these runs, in their order, and what could not be measured. `done` hears of each as it ends."""
    few = asyncio.Semaphore(max(2, jobs))
    loop = asyncio.get_running_loop()

    async def one(run: Run, pool: ProcessPoolExecutor) -> Row | Broken:
        try:
            if not run.real:
                return await loop.run_in_executor(pool, skipped, run)
            async with few:
                return await real(run)
        except (OSError, RuntimeError) as error:  # a proxy or program that does not start: the other rows go on
            return Broken(run, f"{type(error).__name__}: {error}")
        finally:
            done(run)

    # Fresh processes: a fork of this one would share its loop's file descriptors.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        tasks = [asyncio.create_task(one(run, pool)) for run in runs]
        try:
            ends = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            pool.shutdown(wait=False, cancel_futures=True)
    return [end for end in ends if isinstance(end, Row)], [end for end in ends if isinstance(end, Broken)]
