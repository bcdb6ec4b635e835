"""Which runs a bench makes: clients by name, and for each what it is worth meeting."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from . import modelled
from .manners import MANNERS
from .programs import PROGRAMS
from .scenario import CROWDS, DURATIONS, SCENARIOS
from .sdks import SDKS

QUICK = ((3.0, 1), (10.0, 10), (30.0, 50), (120.0, 10))
"""(outage, agents) of modelled agents, which cost least."""
QUICK_SDK = ((10.0, 1), (10.0, 10))
QUICK_PROGRAM = ((10.0, 1),)
QUICK_SCENARIOS = ("500", "529+hint", "cut")
"""For programs, which take real time."""
PATIENT = ("silent", "stall", "slow")
"""Scenarios that take minutes of real time: with programs only where they are asked for by name."""


@dataclass(frozen=True)
class Run:
    """One row to be measured. A plain value: it is sent to other processes."""

    scenario: str
    down: float
    client: str
    agents: int

    @property
    def real(self) -> bool:
        """Does it take real time?"""
        return self.client in PROGRAMS


NAMES = (*SDKS, *(f"~{name}" for name in MANNERS), *PROGRAMS)
"""Every client; `~` marks a model of one."""

USUAL = tuple(name for name in NAMES if name not in ("~openai-2", "~openai-10", "~anthropic-2", "~anthropic-10"))
"""Without the models of SDKs that run themselves."""


def missing(client: str) -> str | None:
    """Why a client cannot run here; None where it can."""
    one = SDKS.get(client) or PROGRAMS.get(client)
    return one.missing() if one is not None else None


def agents(client: str) -> Callable[[str, str], Awaitable[bool]]:
    """(root URL, prompt) → did it get its answer? The same chances at every call of this."""
    if client in SDKS:
        return SDKS[client].ask
    if client in PROGRAMS:
        return PROGRAMS[client].ask
    manner, chance = MANNERS[client.removeprefix("~")], random.Random(client)

    async def ask(base: str, prompt: str) -> bool:
        return await modelled.ask(manner, base, prompt, chance)

    return ask


def chosen(patterns: str, names: Sequence[str]) -> list[str]:
    """The names that fit one of the comma separated patterns. Raises ValueError for a pattern that fits none."""
    found = []
    for pattern in (part.strip() for part in patterns.split(",")):
        fits = [name for name in names if fnmatch(name.lower(), pattern.lower())]
        if pattern and not fits:
            raise ValueError(f"{pattern!r} fits none of {', '.join(names)}")
        found += fits
    return [name for name in names if name in found]


def plan(
    clients: Sequence[str],
    scenarios: Sequence[str] | None,
    downs: Sequence[float] | None,
    crowds: Sequence[int] | None,
    *,
    full: bool,
) -> list[Run]:
    """Every run, in the order of the table. None: what suits the client, all of it with `full`."""
    runs = []
    for client in clients:
        program = PROGRAMS.get(client)
        quick = QUICK_PROGRAM if program else QUICK_SDK if client in SDKS else QUICK
        pairs = [(down, crowd) for down in DURATIONS for crowd in CROWDS] if full else list(quick)
        if downs is not None:
            pairs = [(down, crowd) for down in downs for crowd in dict.fromkeys(crowd for _, crowd in pairs)]
        if crowds is not None:
            pairs = [(down, crowd) for down in dict.fromkeys(down for down, _ in pairs) for crowd in crowds]
        if program is not None:
            pairs = list(dict.fromkeys((down, min(crowd, program.crowd)) for down, crowd in pairs))
        usual: Sequence[str] = list(SCENARIOS)
        if program is not None:
            usual = [name for name in SCENARIOS if name not in PATIENT] if full else QUICK_SCENARIOS
        for scenario in scenarios if scenarios is not None else usual:
            runs += [Run(scenario, down, client, crowd) for down, crowd in pairs]
    return runs
