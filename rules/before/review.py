"""BEFORE one ask: does the history in this request already loop? A pure function of the request.

Every habit walks over the newest run. The number of its hits is the rung of the ladder: each hit is one request in
which the agent was, or would have been, told. A habit acts only if the *newest* step hit, so a model that heeds a
reminder is left alone, and a new user message starts a new run: after a refusal the user can always go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..histories.automatic import spoken
from ..values.delta import Channel
from ..values.steps import Run, Step
from ..values.verdict import Action, Finding, Hit, Mode
from .evidence.facts import Facts, all_facts
from .evidence.waiting import Sign
from .ladder import Ladder, Pace, Reaction, refusal_bar
from .reminders import Rung, reminder
from .step_detector import DetectorParams
from .step_detectors import HABITS, DetectorKind


class DetectorRule(BaseModel):
    """One habit with its numbers and how far it may go."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    habit: str
    mode: Mode = Mode.ON
    most: Reaction = "cancel"
    """The strongest reaction this habit may have, whatever the ladder says."""
    params: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Review:
    """The outcome. `rung` and `reminder` are set when the request is to be changed or refused."""

    findings: tuple[Finding, ...] = ()
    levels: tuple[int, ...] = ()
    """For each finding, how often its rule has now hit in this run."""
    action: Action = Action.PASS
    acting: Finding | None = None
    rung: Rung | None = None
    reminder: str | None = None


@dataclass(frozen=True, slots=True)
class BoundDetector:
    """A habit bound to its parameters, ready to walk."""

    kind: DetectorKind
    params: DetectorParams
    rule: DetectorRule


def bind(rules: Sequence[DetectorRule] | None = None) -> tuple[BoundDetector, ...]:
    """Rules ready for `review`; None = every habit at its defaults.

    Raises:
        KeyError: no such habit. pydantic.ValidationError: its parameters are wrong.
    """
    from .step_detectors import get

    chosen = rules if rules is not None else [DetectorRule(habit=kind.name) for kind in HABITS]
    return tuple(BoundDetector(get(rule.habit), get(rule.habit).params(**rule.params), rule) for rule in chosen)


DEFAULT = bind()
_WEIGHT: dict[Reaction, int] = {"warn": 0, "steer": 1, "cancel": 2}


_STREAK = 6
"""Steps between two hits of one repetition: a cycle is that long at most."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A habit's walk over a run: its hits, the one at the newest step, and how long that repetition has lasted."""

    hits: int
    hit: Hit | None
    warn_only: bool
    doubtful: bool
    standing: int
    """Steps from where the repetition began to the newest."""


def walk(watcher: BoundDetector, steps: Sequence[Facts]) -> Walk:
    """One habit over the steps, oldest first."""
    habit = watcher.kind.start(watcher.params)
    hits, since, last, newest = 0, 0, -_STREAK, None
    look = habit.look
    for step in steps:
        newest = look(step)
        if newest is not None:
            hits += 1
            if newest.at - last > _STREAK:
                since = newest.since
            last = newest.at
    return Walk(hits, newest, habit.warn_only, habit.doubtful, len(steps) - since)


def _sign(steps: Sequence[Facts]) -> Sign:
    """The strongest sign of a wait."""
    return max((call.sign for step in steps for call in step.calls), default=Sign.NONE)


def review(
    run: Run,
    watchers: Sequence[BoundDetector] = DEFAULT,
    ladder: Ladder | None = None,
    mode: Mode = Mode.ON,
    prior: Sequence[Facts] = (),
    read: Callable[[Sequence[Step]], Sequence[Facts]] = all_facts,
    pace: Pace | None = None,
) -> Review:
    """Look at the run that this request continues. Costs O(newest 64 steps); changes nothing itself.

    `prior`: steps that come before those of the request, where the client does not resend them (rules/threads.py).
    `read`: gives the facts of steps, from memory where the same ones come again and again (replay).
    `pace`: when the requests of the repetition came; None where times play no part (a recording has none).
    """
    if mode is Mode.OFF or not (run.steps or run.earlier or prior):
        return Review()
    ladder = ladder or Ladder()
    steps = [*prior, *read(run.steps)]
    session: Sequence[Facts] | None = None
    findings: list[Finding] = []
    levels: list[int] = []
    best: tuple[int, int] | None = None
    for watcher in watchers:
        allowed = mode.at_most(watcher.rule.mode)
        if allowed is Mode.OFF:
            continue
        looked: Sequence[Facts] = steps
        if watcher.kind.session:
            if steps or not _asked_again(run):
                continue
            session = session if session is not None else read(run.earlier)
            looked = session
        if watcher.kind.may_hit is not None and not watcher.kind.may_hit(watcher.params, looked):
            continue
        went = walk(watcher, looked)
        hits, hit = went.hits, went.hit
        if hit is None:
            continue
        late = 0 if went.doubtful or run.nudged else watcher.kind.late
        if watcher.kind.session and not (pace is not None and pace.fast):
            late = 0  # answers to user messages: only a machine sends them so quickly
        bar = refusal_bar(ladder, late, _sign(looked[-went.standing :]), pace) if hits > 2 else None
        reaction = min(ladder.reaction(hits, went.standing, bar), watcher.rule.most, key=_WEIGHT.__getitem__)
        action = Action.NOTE if went.warn_only else (Action.NOTE, Action.ADVISE, Action.REFUSE)[_WEIGHT[reaction]]
        findings.append(Finding(watcher.kind.name, action, allowed, Channel.STEPS, 0, hit))
        levels.append(hits)
        if allowed is Mode.ON and action > Action.NOTE and (best is None or action > best[0]):
            best = (action, len(findings) - 1)
    if best is None:
        return Review(tuple(findings), tuple(levels))
    acting, level = findings[best[1]], levels[best[1]]
    refused = acting.action is Action.REFUSE
    rung = Rung.REFUSE if refused else Rung.REMIND if level == 1 else Rung.REPLAN
    told = None if refused else reminder(acting, rung, ladder.language)
    return Review(tuple(findings), tuple(levels), acting.action, acting, rung, told)


def _asked_again(run: Run) -> bool:
    """Is the newest user message the same as the one before the newest step?"""
    if not run.earlier or run.asked is None or run.earlier[-1].nudge is None:
        return False
    return spoken(run.asked) == spoken(run.earlier[-1].nudge)
