"""Budgets, their merge, their delays; the account; the provider's reserve."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rules.after.budgets import BUDGETS, Budget, BudgetOverride, BudgetOverrides, Budgets, Reserve, Scope
from rules.values.failures import Kind, Phase
from tests.vectors import vectors

_NAMES = {"maxCandidate": "max_candidate", "maxJudge": "max_judge", "rateLimit": "rate_limit"}


def _id(row: Any) -> str:
    return str(row["id"])


def _as_seed(budget: Budget) -> dict[str, Any]:
    return {
        "mode": budget.mode,
        "maxRetries": budget.max_retries,
        "maxElapsedMs": round((budget.deadline or 0) * 1000),
        "initialDelayMs": round(budget.initial_delay * 1000),
        "maxDelayMs": round(budget.max_delay * 1000),
        "jitterRatio": budget.jitter_ratio,
    }


@pytest.mark.parametrize("row", vectors("retry", "retry.budget.default"), ids=_id)
def test_defaults_are_the_seeds(row: Any) -> None:
    name = row["in"]["budget"]
    assert _as_seed(Budgets().named(_NAMES.get(name, name))) == row["out"]


@pytest.mark.parametrize("row", vectors("retry", "retry.budget.merge"), ids=_id)
def test_merge_like_the_seed(row: Any) -> None:
    name = row["in"]["budget"]
    layers = [BudgetOverrides.model_validate({name: row["in"][layer] or {}}) for layer in ("global", "provider")]
    assert _as_seed(Budgets.merge(*layers).named(_NAMES.get(name, name))) == row["out"]


@pytest.mark.parametrize("row", vectors("retry", "retry.budget.select"), ids=_id)
def test_choose_like_the_seed(row: Any) -> None:
    given_ = row["in"]
    phase = Phase.STREAM if given_["phase"] == "stream" else Phase.HEADERS
    chosen = Budgets(explicit=frozenset({"request"})).choose(
        phase, Kind(given_["kind"]), Scope(given_.get("scope", "request"))
    )
    assert chosen == _NAMES.get(row["out"], row["out"])


def test_kinds_without_a_budget_draw_on_stream() -> None:
    for kind in (Kind.STREAM, Kind.STALL, Kind.RULE, Kind.LOOP, Kind.TERMINAL):
        assert Budgets().choose(Phase.STREAM, kind) == "stream"


def test_a_configured_kind_takes_effect_before_the_answer_began() -> None:
    budgets = Budgets.merge(BudgetOverrides.model_validate({"rate_limit": {"max_retries": 8}, "request": {}}))
    assert budgets.choose(Phase.HEADERS, Kind.RATE_LIMIT) == "rate_limit"
    assert budgets.choose(Phase.HEADERS, Kind.SERVER) == "request"


@pytest.mark.parametrize("phase", Phase)
def test_a_failure_draws_on_its_kind_unless_request_is_configured(phase: Phase):
    chosen = [Budgets().choose(phase, kind) for kind in (Kind.SERVER, Kind.RATE_LIMIT, Kind.NETWORK, Kind.STALL)]
    assert chosen == ["server", "rate_limit", "network", "stream"]
    assert Budgets().choose(phase, Kind.SERVER, Scope.MAX_JUDGE) == "max_judge"


@pytest.mark.parametrize("row", vectors("retry", "retry.delay"), ids=_id)
def test_delay_like_the_seed(row: Any) -> None:
    asked = row["in"]
    budget = Budget(
        initial_delay=asked["initialDelayMs"] / 1000,
        max_delay=asked["maxDelayMs"] / 1000,
        jitter_ratio=asked["jitterRatio"],
    )
    hint = None if asked["retryAfterMs"] is None else asked["retryAfterMs"] / 1000
    assert budget.delay(asked["attempt"], asked["uniform"], hint) == pytest.approx(row["out"] / 1000, abs=1e-9)


@given(
    number=st.integers(0, 10**6),
    jitter=st.floats(0, 1),
    ratio=st.floats(0, 1),
    initial=st.floats(0.001, 3600),
    cap=st.floats(0.1, 3600),
    hint=st.none() | st.floats(0, 1e9),
)
@settings(max_examples=200)
def test_no_wait_is_over_the_cap(
    number: int, jitter: float, ratio: float, initial: float, cap: float, hint: float | None
) -> None:
    budget = Budget(initial_delay=initial, max_delay=cap, jitter_ratio=ratio)
    assert 0 < budget.delay(number, jitter, hint) <= cap


def test_the_seeds_block_pastes_in() -> None:
    seed = {"rateLimit": {"maxRetries": 9, "deadlineMs": 120_000, "initialDelayMs": 50, "maxDelayMs": 90_000}}
    ours = {"rate_limit": {"max_retries": 9, "deadline": "2m", "initial_delay": "50ms", "max_delay": 90}}
    merged = Budgets.merge(BudgetOverrides.model_validate(seed))
    assert merged == Budgets.merge(BudgetOverrides.model_validate(ours))
    assert merged.rate_limit == Budget(max_retries=9, deadline=120, initial_delay=0.05, max_delay=90)


@pytest.mark.parametrize("keys", [{"deadlineMs": 1000, "noDeadline": True}, {"deadline": "1s", "no_deadline": True}])
def test_two_words_about_the_deadline_are_an_error(keys: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="deadlineMs and noDeadline cannot be configured together"):
        BudgetOverride.model_validate(keys)


@pytest.mark.parametrize(
    "keys",
    [
        {"mode": "endless"},
        {"maxRetries": 101},
        {"maxRetries": -1},
        {"maxRetries": 1.5},
        {"deadlineMs": 0},
        {"deadlineMs": 10.5},
        {"deadlineMs": True},
        {"initialDelayMs": 0},
        {"maxDelayMs": -1},
        {"initial_delay": 0},
        {"jitterRatio": 1.1},
        {"jitterRatio": -0.1},
        {"max_delay": "soon"},
        {"max_delay": "1 fortnight"},
        {"maxRetries": 1, "max_retries": 2},
        {"deadlineMs": 1000, "deadline": 1},
        {"retries": 3},
        "bounded",
    ],
)
def test_what_is_not_a_budget_is_refused(keys: Any) -> None:
    with pytest.raises(ValidationError):
        BudgetOverride.model_validate(keys)


def test_a_complete_persistent_budget_has_no_count() -> None:
    with pytest.raises(ValidationError, match="no max_retries"):
        Budget(mode="persistent", max_retries=3)


def test_bounded_again_after_persistent_keeps_the_default_count() -> None:
    layers = [BudgetOverrides.model_validate({"server": {"mode": mode}}) for mode in ("persistent", "bounded")]
    assert Budgets.merge(*layers).server.max_retries == 8


def test_all_that_may_cost_the_provider_something_ends_by_count_and_by_time() -> None:
    for name in BUDGETS:
        budget = Budgets().named(name)
        assert name == "network" or (budget.max_retries is not None and budget.deadline is not None)


def test_no_layer_changes_nothing() -> None:
    assert Budgets.merge() == Budgets.merge(None, BudgetOverrides()) == Budgets()
    assert set(BUDGETS) == set(Budgets.model_fields) - {"explicit"}


# --- the reserve -----------------------------------------------------------------------------------------------------
def test_a_quiet_provider_may_be_retried_at_the_floor() -> None:
    reserve = Reserve(ratio=0.2, window=10, floor=1)
    assert [reserve.withdraw(100.0) for _ in range(11)] == [True] * 10 + [False]


def test_requests_buy_retries_and_the_window_slides() -> None:
    reserve = Reserve(ratio=0.2, window=10, floor=0)
    for _ in range(10):
        reserve.deposit(100.0)
    assert [reserve.withdraw(101.0) for _ in range(3)] == [True, True, False]
    assert not reserve.withdraw(109.9)  # the requests still count, and so do the retries
    assert not reserve.withdraw(110.5)  # the requests are out of the window
    reserve.deposit(120.0)
    assert not reserve.allows(120.0)
    for _ in range(4):
        reserve.deposit(120.0)
    assert reserve.withdraw(120.0)


def test_a_long_pause_empties_the_window() -> None:
    reserve = Reserve(ratio=1, window=10, floor=0)
    reserve.deposit(0.0)
    assert not reserve.allows(1e9)


def test_a_clock_that_jumps_back_is_borne() -> None:
    reserve = Reserve(ratio=1, window=10, floor=0)
    reserve.deposit(1000.0)
    assert reserve.withdraw(10.0)
    assert not reserve.withdraw(10.0)


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=200), st.floats(0, 1), st.floats(0, 5))
@settings(max_examples=100)
def test_in_no_window_are_there_more_retries_than_bought(
    moves: list[tuple[float, bool]], ratio: float, floor: float
) -> None:
    reserve = Reserve(ratio=ratio, window=10, floor=floor)
    asked: list[float] = []
    retried: list[float] = []
    for now, retry in sorted(moves):
        if retry and reserve.withdraw(now):
            retried.append(now)
            within = sum(at > now - 10 for at in asked)
            assert sum(at > now - 9 for at in retried) <= within * ratio + floor * 10 + 1e-9
        elif not retry:
            reserve.deposit(now)
            asked.append(now)


def test_a_retry_that_is_answered_makes_room_again() -> None:
    reserve = Reserve(ratio=0.0, window=10, floor=0.2)
    assert [reserve.withdraw(100.0) for _ in range(3)] == [True, True, False]
    reserve.refund(103.0)
    assert [reserve.withdraw(103.0) for _ in range(2)] == [True, False]
    for _ in range(5):
        reserve.refund(103.0)
    assert [reserve.withdraw(103.0) for _ in range(3)] == [True, True, False], "never more than there was"
