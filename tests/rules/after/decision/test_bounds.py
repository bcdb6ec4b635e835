"""Whatever a provider does that was reached, one logical request makes a bounded number of calls in a bounded time, and
its end is true. Only a provider that cannot be reached is tried for as long as the client waits: that costs it nothing.

A story here is a provider that fails at every call, in ways that Hypothesis chooses, by a clock that the story moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.after.budgets import BUDGETS, Account, BudgetOverrides, Budgets, Reserve, Scope
from rules.after.decision.charge import charged
from rules.after.decision.decide import OVERLOADED, decide
from rules.after.decision.free import STALE
from rules.after.decision.limits import BROKEN_LIMIT, CODE_LIMITS, STATUS_LIMITS
from rules.after.decision.outcome import Decision, Replay, Resume, Surrender
from rules.after.decision.policy import Policy
from rules.errors.likeness import INVALID, SHORT
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Shown

RULES = {"one": 2, "two": 3}
"""Error rules with counts of their own."""
BUDGET = max(Budgets().named(name).max_retries or 0 for name in BUDGETS)
CALLS = 1 + BUDGET + BROKEN_LIMIT + 2 + 2 + sum(RULES.values())
"""The first call and the largest budget; connections that broke; the quick retry, and a rate limit's one more; a stale
connection and a refused prefill; the retries of the rules."""
DEADLINE = max(Budgets().named(name).deadline or 0 for name in BUDGETS)
UNCOUNTED = 3 + BROKEN_LIMIT
"""Retries that no deadline ends: a stale connection, a refused prefill, a silent one, connections that broke."""
LONGEST = 1800.0
"""Seconds that a call may last until one of its timers rings (`first_event_alive`)."""


@dataclass(frozen=True)
class Waiting:
    """A client: what `decide` is told of it. `patience`: seconds within which it must have a status."""

    name: str
    retries: bool = False
    calm: float = 0.0
    patience: float | None = None


CLIENTS = (
    Waiting("a stream of an unknown client"),
    Waiting("a whole answer for an unknown client", patience=30),
    Waiting("an SDK", retries=True, patience=240),
    Waiting("an SDK with a short time-out", retries=True, patience=16),
    Waiting("an agent that waits longer between its tries", retries=True, calm=2.0, patience=240),
)

FAILURES = st.builds(
    Failure,
    phase=st.sampled_from(Phase),
    kind=st.sampled_from([kind for kind in Kind if kind not in (Kind.TERMINAL, Kind.LOOP, Kind.RULE)]),
    message=st.sampled_from(["", "last message must be user", "Overloaded"]),
    status=st.sampled_from([None, 400, 408, 409, 422, 429, 500, 502, 503, 504, 524, 529, *STATUS_LIMITS]),
    code=st.sampled_from([None, STALE, OVERLOADED, INVALID, SHORT, "streamfuse_truncated", *CODE_LIMITS]),
    retry_after=st.none() | st.sampled_from([0.0, 0.001, 2.0, 20.0, 299.0, 300.0]),
    should_retry=st.sampled_from([None, None, True]),
    likeness=st.sampled_from(["", "", "", "a", "b", "c"]),
).filter(lambda failure: failure.kind is not Kind.NETWORK or failure.phase is not Phase.CONNECT)
RULED = st.sampled_from(list(RULES)).map(
    lambda name: Failure(Phase.STREAM, Kind.RULE, "", rule=name, rule_limit=RULES[name])
)
CALL = st.tuples(FAILURES | RULED, st.floats(0, LONGEST), st.floats(0, 1))
"""How a call ends, after how many seconds, and the chance of the wait after it."""


def ends(
    client: Waiting, calls: list[tuple[Failure, float, float]], shown: Shown
) -> tuple[Decision, Failure, int, float]:
    """The decision that ends it, what came last, how many calls were made, and how long it took from the first failure.
    The provider fails as `calls` say, again and again."""
    account, now, made, first = Account(), 1000.0, 0, None
    budgets, reserve = Budgets(), Reserve(floor=1000)
    until = None if client.patience is None else now + client.patience
    while True:
        came, took, jitter = calls[made % len(calls)]
        made += 1
        if until is not None:
            took = min(took, max(0.0, until - now))  # the client would have rung
        now += took
        first = now if first is None else first
        decision = decide(
            came,
            shown,
            account=account,
            budgets=budgets,
            now=now,
            jitter=jitter,
            can_resume=shown is Shown.TEXT,
            prefilled=True,
            model="gpt-5",
            scope=Scope.REQUEST,
            reserve=reserve,
            policy=Policy(replay_reasoning=True),
            until=until,
            client_retries=client.retries,
            client_calm=client.calm,
            took=took,
        )
        after = charged(account, came, decision, now)
        if not isinstance(decision, Replay | Resume):
            return decision, came, made, now - first
        assert after is not None
        account, now = after, now + decision.after
        assert made < 1000, "it does not end"


@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.name)
@given(
    calls=st.lists(CALL, min_size=1, max_size=12), shown=st.sampled_from([Shown.NOTHING, Shown.REASONING, Shown.TEXT])
)
@settings(max_examples=150)
def test_a_provider_that_always_fails_is_asked_so_often_and_no_more(
    client: Waiting, calls: list[tuple[Failure, float, float]], shown: Shown
) -> None:
    decision, came, made, seconds = ends(client, calls, shown)
    assert made <= CALLS
    assert seconds <= DEADLINE + (1 + UNCOUNTED) * LONGEST
    assert isinstance(decision, Surrender)
    assert decision.failure == came, "it tells what came last"
    told = decision.told
    assert (told.kind, told.message, told.body) == (came.kind, came.message, came.body)
    assert told.status in (came.status, 400)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.name)
@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in (Kind.TERMINAL, Kind.LOOP)])
@pytest.mark.parametrize("shown", [Shown.NOTHING, Shown.TEXT])
def test_one_and_the_same_failure_ends_a_request_too(client: Waiting, kind: Kind, shown: Shown) -> None:
    decision, _, made, _ = ends(client, [(Failure(Phase.STREAM, kind, ""), 0.1, 0.5)], shown)
    assert isinstance(decision, Surrender) and made <= 2 + BUDGET


BROKE = Failure(Phase.STREAM, Kind.NETWORK, "", code="streamfuse_stream_broken")


def again(failure: Failure, number: int, policy: Policy = Policy(), **written: object) -> Decision:  # noqa: B008
    """The decision about this failure after it came `number` times before, for a client that waits."""
    account, budgets = Account(), Budgets.merge(BudgetOverrides.model_validate(written))
    for count in range(number + 1):
        decision = decide(failure, Shown.NOTHING, account=account, budgets=budgets, now=100.0 * count, policy=policy)
        account = charged(account, failure, decision, 100.0 * count) or Account()
    return decision


def test_a_provider_that_cannot_be_reached_is_tried_while_the_client_waits() -> None:
    assert isinstance(again(Failure(Phase.CONNECT, Kind.NETWORK, ""), 60), Replay)


def test_connections_that_break_once_made_are_counted_unless_the_budget_is_written() -> None:
    assert isinstance(again(BROKE, BROKEN_LIMIT - 1), Replay)
    assert isinstance(again(BROKE, BROKEN_LIMIT), Surrender)
    assert isinstance(again(BROKE, 60, network={"mode": "persistent"}), Replay)
    assert isinstance(again(BROKE, 60, Policy(equal_answers=0)), Replay), "profile: seeds"
