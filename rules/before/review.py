"""BEFORE a call: does the history in this request already loop? A pure function of the request.

A *run* is the steps since the newest user message, at most 64. Every step detector walks over the run, oldest step
first, and gives a Hit at each step where the agent goes in circles. The walk is repeated for every request, so nothing
has to be stored between requests.

What a finding does depends on three things, in this order:

1. Did the *newest* step hit? If not, nothing is done: a model that follows a reminder is left alone. A new user
   message starts a new run, so after a refusal the user can always go on.
2. How many hits has the walk had? The first, second and third hit are the rungs of the ladder: by default remind,
   remind with a demand for a new plan, refuse. Each hit is one earlier request in which the agent was, or would have
   been, reminded.
3. How far may this detector go? Its `most`, its mode, and for a refusal `refusal_bar`: the repetition must have lasted
   long enough, and nothing in it may look like a wait.

Every finding is reported. The strongest one whose mode is `on` is acted on; among equals the first in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ..histories.automatic import spoken
from ..values import record
from ..values.delta import Channel
from ..values.steps import Run, Step
from ..values.verdict import Action, Finding, Hit, Mode
from .evidence.facts import Facts, all_facts
from .evidence.outline import STEP, TURN, Outline, Outlines, outline, size
from .evidence.waiting import Sign
from .ladder import Ladder, Pace, Reaction, refusal_bar
from .reminders import Rung, reminder
from .step_detector import DetectorParams
from .step_detectors import STEP_DETECTORS, DetectorKind

T = TypeVar("T")


class DetectorRule(BaseModel):
    """Configuration of one step detector: its parameters and how far it may go."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: str
    mode: Mode = Mode.ON
    most: Reaction = "cancel"
    """The strongest reaction this step detector may have, whatever the ladder says."""
    params: dict[str, Any] = Field(default_factory=dict)


@record(frozen=True, slots=True)
class Review:
    """The outcome. `rung` is set when the request is to be changed or refused, `reminder` when it is to be changed."""

    findings: tuple[Finding, ...] = ()
    levels: tuple[int, ...] = ()
    """For each finding: how often its rule has hit in this run, this hit included."""
    action: Action = Action.PASS
    acting: Finding | None = None
    rung: Rung | None = None
    reminder: str | None = None


@dataclass(frozen=True, slots=True)
class BoundDetector:
    """A step detector bound to its parameters, ready to walk."""

    kind: DetectorKind
    params: DetectorParams
    rule: DetectorRule


def bind(rules: Sequence[DetectorRule] | None = None) -> tuple[BoundDetector, ...]:
    """Build the detectors that `review` takes; None = every step detector with its defaults.

    Raises:
        KeyError: there is no such step detector. pydantic.ValidationError: its parameters are wrong.
    """
    from .step_detectors import get

    chosen = rules if rules is not None else [DetectorRule(detector=kind.name) for kind in STEP_DETECTORS]
    return tuple(BoundDetector(get(rule.detector), get(rule.detector).params(**rule.params), rule) for rule in chosen)


DEFAULT = bind()
_WEIGHT: dict[Reaction, int] = {"warn": 0, "steer": 1, "cancel": 2}


_STREAK = 6
"""Steps between two hits of one repetition, at most: the longest cycle has six calls."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One step detector's walk over a run."""

    hits: int
    """Hits in the whole run."""
    hit: Hit | None
    """The hit at the newest step; None where that step did not hit."""
    warn_only: bool
    doubtful: bool
    standing: int
    """Steps from the beginning of the repetition to the newest step."""


def walk(watcher: BoundDetector, steps: Sequence[Facts]) -> Walk:
    """Walk one step detector over the steps, oldest first."""
    detector = watcher.kind.start(watcher.params)
    hits, since, last, newest = 0, 0, -_STREAK, None
    look = detector.look
    for step in steps:
        newest = look(step)
        if newest is not None:
            hits += 1
            if newest.at - last > _STREAK:
                since = newest.since
            last = newest.at
    return Walk(hits, newest, detector.warn_only, detector.doubtful, len(steps) - since)


def _sign(steps: Sequence[Facts]) -> Sign:
    """The strongest sign of a wait among the calls of these steps."""
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
    """Judge the run that this request continues. Costs O(newest 64 steps) and changes nothing itself.

    `prior`: steps before those of the request, where the client does not resend them (`threads`).
    `read`: computes the facts of steps; replay passes one that remembers, because it sees the same steps many times.
    `pace`: when the requests of the repetition came; None where times play no part (a recording has none).
    """
    return finished(reviewing(run, watchers, ladder, mode, prior, read, pace))


def reviewing(
    run: Run,
    watchers: Sequence[BoundDetector] = DEFAULT,
    ladder: Ladder | None = None,
    mode: Mode = Mode.ON,
    prior: Sequence[Facts] = (),
    read: Callable[[Sequence[Step]], Sequence[Facts]] = all_facts,
    pace: Pace | None = None,
    known: Outlines | None = None,
) -> Generator[None, None, Review]:
    """As `review`, but it yields about every half millisecond, so that other tasks can run. `known`: outlines of steps
    that were looked at before; with them most requests need the facts of no step but the newest."""
    if mode is Mode.OFF or not (run.steps or run.earlier or prior):
        return Review()
    ladder = ladder or Ladder()
    outlines: list[Outline] | None = None
    if known is not None:
        outlines = [*map(outline, prior), *(yield from known.of(run.steps))]
    have = bool(prior or run.steps)
    walked: Sequence[Facts] | None = None
    session: Sequence[Facts] | None = None
    findings: list[Finding] = []
    levels: list[int] = []
    best: tuple[int, int] | None = None
    for watcher in watchers:
        allowed = mode.at_most(watcher.rule.mode)
        if allowed is Mode.OFF:
            continue
        if watcher.kind.session:
            if have or not _asked_again(run):
                continue
            session = session if session is not None else (yield from _in_turns(run.earlier, read))
            looked = session
        else:
            plausible = watcher.kind.plausible
            if outlines is not None and plausible is not None and not plausible(watcher.params, outlines):
                continue
            if walked is None:
                walked = [*prior, *(yield from _in_turns(run.steps, read))]
            looked = walked
        if watcher.kind.may_hit is not None and not watcher.kind.may_hit(watcher.params, looked):
            continue
        went = walk(watcher, looked)
        hits, hit = went.hits, went.hit
        if hit is None:
            continue
        late = 0 if went.doubtful or run.nudged else watcher.kind.late
        if watcher.kind.session and not (pace is not None and pace.fast):
            late = 0  # never refuse answers to a person: only a machine sends messages that quickly
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
    words = None if refused else reminder(acting, rung, ladder.language)
    return Review(tuple(findings), tuple(levels), acting.action, acting, rung, words)


def _in_turns(
    steps: Sequence[Step], read: Callable[[Sequence[Step]], Sequence[Facts]]
) -> Generator[None, None, list[Facts]]:
    """The facts of these steps, some half a millisecond's at a time."""
    found: list[Facts] = []
    spent = 0
    for step in steps:
        found += read((step,))
        spent += STEP + size(step)
        if spent >= TURN:
            spent = 0
            yield
    return found


def finished(looking: Generator[None, None, T]) -> T:
    """Run such a look to its end and return its result."""
    while True:
        try:
            next(looking)
        except StopIteration as end:
            seen: T = end.value
            return seen


def _asked_again(run: Run) -> bool:
    """Does the newest user message repeat the one before the newest step?"""
    if not run.earlier or run.asked is None or run.earlier[-1].nudge is None:
        return False
    return spoken(run.asked) == spoken(run.earlier[-1].nudge)
