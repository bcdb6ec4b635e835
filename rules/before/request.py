"""The first door as a whole: tidies, crops and reviews a request's history, and decides what is sent upstream.

A request without a notice, a known cut, a streak or a finding is not changed: the body that is returned is the very
same object, and the client's own bytes are sent.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..detect.ruleset import RuleSet
from ..histories.base import History, Json
from ..values import record
from ..values.failures import Failure, Kind, Phase
from ..values.verdict import Action, Mode
from ..wires.base import Wire
from .evidence.outline import Outlines
from .hygiene import Crop, collapse, crop_streaks, keys, tidy, was_cut
from .ladder import Ladder, Pace
from .past import Past, pasts_of, went_on
from .reminders import correction, refusal
from .review import DEFAULT, BoundDetector, Review, finished, reviewing
from .threads import Thread

MANY = 64
"""From so many items on, reading a history takes a turn alone, some 0.3 ms."""
REFUSED = "streamfuse_loop_refused"
"""Code of the answer that ends a run."""


@dataclass(frozen=True, slots=True)
class HistoryPolicy:
    """How histories are treated; the same for all requests to a provider."""

    mode: Mode = Mode.ON
    watchers: Sequence[BoundDetector] = DEFAULT
    ladder: Ladder = field(default_factory=Ladder)
    hygiene: bool = True
    collapse: RuleSet | None = None
    """Rules whose findings shorten assistant texts that we did not cut; None = only our own cuts."""
    crop: Crop = field(default_factory=Crop)


@record(frozen=True, slots=True)
class Before:
    """What to do with a request. `body` None: send the client's own bytes. `refusal`: send nothing upstream."""

    body: Json | None = None
    refusal: Failure | None = None
    review: Review = field(default_factory=Review)
    cropped: int = 0
    """Steps that the streak crop removed."""
    cache_risk: bool = False
    tidied: bool = False
    pasts: tuple[Past, ...] = field(default=(), compare=False)
    """What to remember of the history and of its beginnings, where that was asked for and the request is sent as it
    came."""


def known_keys(history: History | None, body: Json, policy: HistoryPolicy, mode: Mode) -> dict[int, str]:
    """Position → key of the texts to look up among our own cuts; empty where nothing has to be looked up."""
    if history is None or not policy.hygiene or mode is not Mode.ON:
        return {}
    return keys(history, body)


_AS_IT_CAME = Before()


def unanswered(wire: Wire, history: History | None, body: Json, mode: Mode) -> Before | None:
    """What to do with a request whose history holds no answer, so that there is nothing to tidy, crop or judge. None:
    it holds one."""
    if mode is Mode.OFF:
        return _AS_IT_CAME
    new = wire.clean(body) if mode is Mode.ON else body
    if history is not None and any(map(history.is_step, history.items(new))):
        return None
    if new is body:
        return _AS_IT_CAME
    return Before(new, tidied=history is not None)


def before(
    wire: Wire,
    history: History | None,
    body: Json,
    policy: HistoryPolicy,
    mode: Mode,
    *,
    found: Mapping[int, str] | None = None,
    cuts: Mapping[str, int] | None = None,
    prior: Thread | None = None,
    pace: Pace | None = None,
) -> Before:
    """Decide. `mode` is the request's own; `found` and `cuts` as `known_keys` and the state gave them; `prior`: what is
    remembered of the steps before, where the client does not resend them (previous_response_id);
    `pace`: when the requests of a repetition came."""
    return finished(
        in_turns(wire, history, body, policy, mode, found=found, cuts=cuts, prior=prior, pace=pace, known=None)
    )


def in_turns(
    wire: Wire,
    history: History | None,
    body: Json,
    policy: HistoryPolicy,
    mode: Mode,
    *,
    found: Mapping[int, str] | None = None,
    cuts: Mapping[str, int] | None = None,
    prior: Thread | None = None,
    pace: Pace | None = None,
    known: Outlines | None,
    keep: bool = False,
) -> Generator[None, None, Before]:
    """As `before`, but it yields about every half millisecond, so that other tasks can run. `known`: outlines of steps
    that this process has looked at before. `keep`: say what to remember of this history (`Before.pasts`)."""
    if (history is None or prior is None or mode is Mode.OFF) and (
        asked := unanswered(wire, history, body, mode)
    ) is not None:
        return asked
    assert history is not None
    new = wire.clean(body) if mode is Mode.ON else body
    cropped, risk = 0, False
    tidied = False
    if mode is Mode.ON:
        if policy.hygiene:
            # The positions are those of the original body; `clean` may have moved them.
            new = tidy(history, new, cuts or {}, found if new is body else None)
        if policy.collapse is not None:
            new = collapse(history, new, policy.collapse)
        tidied = new is not body
        cropping = crop_streaks(history, new, policy.crop)
        new, risk = cropping.body, cropping.cache_risk
        cropped = sum(len(crop.omitted) for crop in cropping.crops)
    many = len(history.items(new)) > MANY
    if many:
        yield
    run = history.run(new)
    if many:
        yield
    earlier = prior.answered(history.outputs(new)) if prior is not None and run.asked is None else ()
    pasts: tuple[Past, ...] = ()
    if keep and new is body and prior is None:
        pasts = pasts_of(wire, history, body, run, mode is Mode.ON and policy.hygiene)
    mode = mode.at_most(policy.mode)
    looked = yield from reviewing(run, policy.watchers, policy.ladder, mode, earlier, pace=pace, known=known)
    if looked.action is Action.REFUSE and looked.acting is not None:
        failure = Failure(
            phase=Phase.HEADERS,
            kind=Kind.LOOP,
            message=refusal(looked.acting, policy.ladder.language),
            status=400,
            code=REFUSED,
            should_retry=False,
            rule=looked.acting.rule,
        )
        return Before(None, failure, looked, cropped, risk, tidied)
    if looked.reminder is not None:
        new = wire.advise(new, looked.reminder)
    elif mode is Mode.ON and policy.hygiene and was_cut(history, body, cuts or {}, found or {}):
        new = wire.advise(new, correction(policy.ladder.language))
    if new is not body:
        return Before(new, None, looked, cropped, risk, tidied)
    return Before(None, None, looked, cropped, risk, tidied, pasts)


def going_on(
    wire: Wire,
    history: History,
    members: Json,
    new: Sequence[Any],
    past: Past,
    policy: HistoryPolicy,
    mode: Mode,
    known: Outlines,
) -> Generator[None, None, Before | None]:
    """As `in_turns`, for a history of which only these `new` items were not seen before. None: look at all of it."""
    if mode is Mode.OFF:
        return Before()
    if policy.collapse is not None or policy.crop.enabled:
        return None
    allowed = mode.at_most(policy.mode)
    watchers = [one for one in policy.watchers if allowed.at_most(one.rule.mode) is not Mode.OFF]
    later = yield from went_on(wire, history, members, new, past, watchers, mode is Mode.ON, known)
    return None if later is None else Before(pasts=later)
