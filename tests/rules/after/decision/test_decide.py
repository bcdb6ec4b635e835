"""AFTER: every decision, asked without a clock, a socket or chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.after.budgets import Account, Budget, BudgetOverride, BudgetOverrides, Budgets, Reserve, Scope
from rules.after.decision.charge import charged
from rules.after.decision.come_back import as_others, come_back, from_memory, resting
from rules.after.decision.decide import OVERLOADED, decide
from rules.after.decision.free import STALE
from rules.after.decision.outcome import Accept, Decision, Heal, Reason, Replay, Resume, Settle, Surrender
from rules.after.decision.policy import Policy
from rules.after.decision.table import TABLE, Cause, Ruling
from rules.errors import classify
from rules.errors.likeness import SHORT
from rules.values.delta import Channel
from rules.values.failures import Failure, Kind, Phase
from rules.values.transcript import Shown
from rules.values.verdict import Action, Finding, Hit, Mode
from tests.vectors import vectors

STEADY = Budgets.merge(
    BudgetOverrides.model_validate(
        {name: {"jitterRatio": 0} for name in ("request", "stream", "server", "rate_limit", "unknown")}
    )
).model_copy(update={"explicit": frozenset({"request"})})
"""As with `profile: seeds`: before the answer began everything draws on `request`."""
BY_KIND = STEADY.model_copy(update={"explicit": frozenset()})
"""The default: every failure draws on the budget of its kind."""


def failed(kind: Kind = Kind.SERVER, phase: Phase = Phase.HEADERS, **more: Any) -> Failure:
    return Failure(phase, kind, more.pop("message", "boom"), **more)


def loop(action: Action = Action.CUT, mode: Mode = Mode.ON, rule: str = "lines") -> Finding:
    return Finding(rule, action, mode, Channel.TEXT, 0, Hit(at=10, since=0, span=10))


def ask(came: Failure | Finding | None, shown: Shown = Shown.NOTHING, **more: Any) -> Decision:
    given_: dict[str, Any] = {"account": Account(), "budgets": STEADY, "now": 1000.0} | more
    return decide(came, shown, **given_)


def story(*came: Failure | Finding | tuple[float, Failure], shown: Shown = Shown.NOTHING, **more: Any) -> list[Any]:
    """What happens to failure after failure of one account; a tuple names its time, otherwise no time passes."""
    account: Account | None = more.pop("account", Account())
    said: list[Any] = []
    now = 1000.0
    for one in came:
        if isinstance(one, tuple):
            now, one = one
        assert account is not None
        decision = ask(one, shown, account=account, now=now, **more)
        account = charged(account, one, decision, now)
        match decision:
            case Replay(after, "silent"):
                said.append(f"silent:{after:g}")
            case Replay(after) | Resume(after) | Heal(after):
                said.append(after)
            case Surrender(reason=reason):
                said.append(reason.value)
            case _:
                said.append(type(decision).__name__.lower())
    return said


# --- the seed's policy -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("row", vectors("retry", "retry.policy"), ids=lambda row: row["id"])
def test_policy_like_the_seed(row: Any) -> None:
    asked = row["in"]["budget"]
    budget = Budget(
        mode=asked["mode"],
        max_retries=asked["maxRetries"],
        deadline=asked["maxElapsedMs"] / 1000 or None,
        initial_delay=asked["initialDelayMs"] / 1000,
        max_delay=asked["maxDelayMs"] / 1000,
        jitter_ratio=0,
    )
    failures = []
    for one in row["in"]["failures"]:
        hint = one["retryAfterMs"] / 1000 if one.get("retryAfterMs") else None
        code = OVERLOADED if one.get("silent") else None
        terminal = one.get("retryable") is False
        failures.append(
            (one["at"] / 1000, failed(Kind.TERMINAL if terminal else Kind.SERVER, retry_after=hint, code=code))
        )
    budgets = Budgets(request=budget, explicit=frozenset({"request"}))
    model = "gpt-5" if any(one.get("silent") for one in row["in"]["failures"]) else "other"
    stops = {Reason.RETRIES.value: "stop:max-retries", Reason.DEADLINE.value: "stop:deadline"}
    stops |= {Reason.TERMINAL.value: "stop:terminal", Reason.SHOWN.value: "stop:unsafe"}
    shown = Shown.TOOL if any(one.get("safe") is False for one in row["in"]["failures"]) else Shown.NOTHING
    got = story(*failures, budgets=budgets, model=model, shown=shown)
    as_seed = [stops.get(one, one) if isinstance(one, str) else one * 1000 for one in got]
    assert as_seed == row["out"]


# --- the table -------------------------------------------------------------------------------------------------------
def test_the_table_is_whole() -> None:
    assert {(shown, came) for shown in TABLE for came in TABLE[shown]} == {(s, c) for s in Shown for c in Cause}
    cells = TABLE[Shown.TOOL].values()
    assert not {Ruling.REPLAY, Ruling.RESUME, Ruling.REASONING, Ruling.HEAL} & set(cells)


def test_the_page_shows_the_table() -> None:
    head = "| shown ↓ / came → | " + " | ".join(came.value for came in Cause) + " |"
    rows = ["| " + " | ".join([shown.name, *(TABLE[shown][came].value for came in Cause)]) + " |" for shown in Shown]
    lines = [head, "|---" * (len(Cause) + 1) + "|", *rows]
    page = Path("docs/retries.md").read_text(encoding="utf-8")
    assert "\n".join(lines) in page, "docs/retries.md must hold:\n" + "\n".join(lines)


def test_the_page_shows_the_budgets() -> None:
    page = Path("docs/retries.md").read_text(encoding="utf-8")
    budgets = Budgets()
    for name in ("request", "stream", "network", "server", "rate_limit", "unknown", "max_candidate", "max_judge"):
        b = budgets.named(name)
        count = "none" if b.max_retries is None else b.max_retries
        deadline = "none" if b.deadline is None else f"{b.deadline:g} s"
        waits = f"{b.initial_delay:g} s | {b.max_delay:g} s | {b.jitter_ratio:g}"
        row = f"| {name} | {b.mode} | {count} | {deadline} | {waits} |"
        assert row in page, row


@pytest.mark.parametrize("shown", list(Shown))
def test_a_clean_end_is_accepted(shown: Shown) -> None:
    assert ask(None, shown) == Accept()
    assert ask(loop(mode=Mode.WATCH), shown) == Accept()


@pytest.mark.parametrize("came", [failed(), failed(Kind.TERMINAL), loop(), loop(Action.RETRY)])
def test_after_the_finish_nothing_is_wrong(came: Failure | Finding) -> None:
    assert ask(came, Shown.FINISHED) == Accept()
    assert charged(Account(failures=3), came, Accept(), 0) is None


# --- failures --------------------------------------------------------------------------------------------------------
def test_before_anything_was_shown_it_is_asked_again() -> None:
    assert ask(failed()) == Replay(0.2, "request")
    assert ask(failed(phase=Phase.STREAM)) == Replay(0.2, "request")
    assert ask(failed(Kind.STREAM, Phase.STREAM)) == Replay(2.0, "stream")


def test_alternating_kinds_share_one_number() -> None:
    kinds = [Kind.SERVER, Kind.STREAM, Kind.RATE_LIMIT, Kind.STREAM, Kind.SERVER, Kind.STREAM]
    assert story(*(failed(kind, Phase.STREAM) for kind in kinds)) == [0.2, 4.0, 0.8, 16.0, "retries", "retries"]


def test_after_text_it_is_resumed_or_told() -> None:
    broken = failed(Kind.NETWORK, Phase.STREAM)
    assert ask(broken, Shown.TEXT, can_resume=True) == Resume(5.0, "network")
    assert ask(broken, Shown.TEXT) == Surrender(broken, Reason.SHOWN, "network")
    assert not ask(broken, Shown.TEXT).spent  # type: ignore[union-attr]


def test_reasoning_may_be_replayed_where_allowed() -> None:
    broken = failed(Kind.STREAM, Phase.STREAM)
    assert isinstance(ask(broken, Shown.REASONING), Surrender)
    assert ask(broken, Shown.REASONING, policy=Policy(replay_reasoning=True)) == Replay(2.0, "stream")
    assert ask(broken, Shown.REASONING, can_resume=True) == Resume(2.0, "stream")


def test_a_request_that_dies_after_its_first_words_spends_the_account_of_the_client_that_repeats_it() -> None:
    broken = failed(Kind.STREAM, Phase.STREAM)
    assert story(*[broken] * 7, shown=Shown.TEXT) == ["shown"] * 5 + ["retries"] * 2
    account: Account | None = Account(failures=5, since=1000.0)
    decision = ask(broken, Shown.TEXT, account=account)
    assert isinstance(decision, Surrender) and decision.code == "streamfuse_stream_limit"
    assert decision.told.status is None and decision.told.should_retry is None, "the agent may have tries left"
    final = ask(broken, Shown.TEXT, account=account, policy=Policy(final_limits=True))
    assert isinstance(final, Surrender) and (final.told.status, final.told.should_retry) == (400, False)


def test_terminal_is_told_as_it_came() -> None:
    refused = failed(Kind.TERMINAL, status=401, code="invalid_api_key", body=b"{}")
    decision = ask(refused)
    assert decision == Surrender(refused, Reason.TERMINAL)
    assert isinstance(decision, Surrender) and decision.told == refused and not decision.spent
    assert charged(Account(), refused, decision, 0) is None


@pytest.mark.parametrize("status", [None, 408, 409, 429, 500, 501, 505, 599])
def test_a_client_that_would_retry_a_terminal_failure_is_told_not_to(status: int | None) -> None:
    decision = ask(failed(Kind.TERMINAL, status=status))
    assert isinstance(decision, Surrender) and decision.told.should_retry is False and not decision.spent
    own = ask(failed(Kind.TERMINAL, status=status, should_retry=True))
    assert isinstance(own, Surrender) and own.told.should_retry is True, "the upstream's own word stands"


def test_a_sentence_that_asks_for_longer_than_the_budget_waits_is_not_shortened() -> None:
    late = classify.response(429, {}, b'{"error":{"message":"Please try again in 20m"}}', now=0.0)
    decision = ask(late, budgets=Budgets.merge(BudgetOverrides(rate_limit=BudgetOverride(max_retries=5))))
    assert isinstance(decision, Surrender)
    assert (decision.reason, decision.retry_after) == (Reason.HINT, 1200.0)


def test_the_upstream_may_forbid_it() -> None:
    decision = ask(failed(status=500, should_retry=False))
    assert isinstance(decision, Surrender)
    assert (decision.reason, decision.spent, decision.told.should_retry) == (Reason.UPSTREAM, True, False)


def test_a_hint_is_kept_exactly() -> None:
    assert ask(failed(Kind.RATE_LIMIT, status=429, retry_after=12.0), now=0.0) == Replay(12.0, "request")


def test_a_hint_over_the_budget_goes_to_the_client_unshortened() -> None:
    limited = failed(Kind.RATE_LIMIT, status=429, retry_after=120.0)
    decision = ask(limited)
    assert decision == Surrender(limited, Reason.HINT, "request", retry_after=120.0, rest=120.0)
    assert isinstance(decision, Surrender) and decision.told.should_retry is None
    account = charged(Account(), limited, decision, 1000.0)
    assert account is not None
    assert [resting(account, now) for now in (1000.0, 1119.0, 1120.0, 5000.0)] == [120.0, 1.0, 0.0, 0.0]


def test_a_hint_that_crosses_the_deadline_is_a_no() -> None:
    first = failed(Kind.RATE_LIMIT, status=429, retry_after=10.0)
    assert story((1000.0, first), (1010.0, first), (1020.0, first)) == [10.0, 10.0, "deadline"]


@pytest.mark.parametrize(("status", "tries"), [(424, 1), (525, 0), (526, 0), (504, 4), (524, 4), (522, 4), (503, 4)])
def test_some_statuses_have_a_limit_of_their_own(status: int, tries: int) -> None:
    said = story(*[failed(status=status)] * (tries + 1))
    assert said[-1] == "retries" and len([one for one in said if isinstance(one, float)]) == tries


@pytest.mark.parametrize("status", [504, 524])
def test_a_gateway_that_waited_long_is_asked_once_more_and_never_for_a_client_that_asks_itself(status: int) -> None:
    late = failed(status=status)
    assert story(late, late, took=60.0) == [0.2, "retries"]
    assert story(late, took=60.0, client_retries=True) == ["retries"]
    assert story(late, took=1.0, client_retries=True) == [0.2]


def test_an_empty_stream_is_asked_twice_more() -> None:
    empty = failed(Kind.STREAM, Phase.STREAM, code="streamfuse_empty_stream")
    assert story(empty, empty, empty) == [2.0, 4.0, "retries"]


def test_the_same_again_is_handed_on_whatever_the_budget() -> None:
    odd = failed(phase=Phase.STREAM, code="streamfuse_not_an_answer", likeness="a")
    other = replace(odd, likeness="b")
    assert story(odd, odd, budgets=BY_KIND) == [0.5, "same"]
    assert story(odd, other, odd, budgets=BY_KIND) == [0.5, 2.0, "same"]
    assert story(odd, odd, odd, budgets=BY_KIND, policy=Policy(equal_answers=3)) == [0.5, 2.0, "same"]
    assert story(odd, odd, odd, budgets=BY_KIND, policy=Policy(equal_answers=0)) == [0.5, 2.0, 4.0]
    account = charged(Account(), odd, Replay(0.5, "server"), 1000.0)
    decision = ask(odd, account=account)
    assert isinstance(decision, Surrender) and decision.hands_on
    assert (decision.told.should_retry, decision.told.retry_after) == (False, None)
    seen = ask(odd, Shown.TEXT, account=account)
    assert isinstance(seen, Surrender) and not seen.hands_on, "the client has a part of it already"


def test_a_head_that_is_no_http_is_asked_once_more_and_never_for_a_client_that_asks_itself() -> None:
    junk = failed(phase=Phase.HEADERS, code="streamfuse_upstream_invalid")
    assert story(junk, junk, budgets=BY_KIND) == [0.5, "retries"]
    assert story(junk, budgets=BY_KIND, client_retries=True) == ["retries"]


def test_what_others_have_just_met_again_is_not_asked_for_again() -> None:
    junk = failed(phase=Phase.HEADERS, code="streamfuse_upstream_invalid")
    short = failed(Kind.NETWORK, Phase.STREAM, code="streamfuse_short_body")
    for damaged, budget in ((junk, "server"), (short, "network")):
        assert ask(damaged, budgets=BY_KIND, alike=0) == Replay(0.5, budget)
        told = ask(damaged, budgets=BY_KIND, alike=1)
        assert isinstance(told, Surrender) and (told.reason, told.told.should_retry) == (Reason.RETRIES, None)
        assert told.retry_after is not None, "a client that comes again is welcome"
        assert isinstance(ask(damaged, budgets=BY_KIND, alike=9, policy=Policy(equal_answers=0)), Replay)
    page = failed(phase=Phase.STREAM, code="streamfuse_not_an_answer", likeness="a")
    same = ask(page, budgets=BY_KIND, alike=1)
    assert isinstance(same, Surrender) and same.hands_on
    assert isinstance(as_others(page, 0.5), Surrender) and as_others(page, 0.5).hands_on
    assert (as_others(short, 0.5).reason, as_others(short, 0.5).retry_after) == (Reason.RETRIES, 3.0)


def test_an_empty_reserve_delays_a_replay_and_refuses_what_else_may_wait() -> None:
    reserve = Reserve(ratio=0.0, floor=0.1, window=10)
    assert reserve.withdraw(1000.0)
    assert ask(failed(), reserve=reserve) == Replay(0.2, "request"), "the shell waits for room"
    broken = failed(Kind.STREAM, Phase.STREAM)
    decision = ask(broken, Shown.TEXT, can_resume=True, reserve=reserve)
    assert isinstance(decision, Surrender) and decision.reason is Reason.RESERVE
    assert decision.told.should_retry is None
    assert ask(loop(), can_heal=True, reserve=reserve) == Settle()


def test_the_scope_chooses_the_budget_of_a_stream() -> None:
    broken = failed(Kind.SERVER, Phase.STREAM)
    for scope, budget in ((Scope.MAX_JUDGE, "max_judge"), (Scope.MAX_CANDIDATE, "max_candidate")):
        assert ask(broken, Shown.TEXT, can_resume=True, scope=scope) == Resume(0.5, budget)
    assert ask(broken, Shown.TEXT, can_resume=True, scope=Scope.LIVE_STEP) == Resume(2.0, "server")


# --- error rules -----------------------------------------------------------------------------------------------------
def test_a_rule_counts_for_itself() -> None:
    one = failed(Kind.RULE, Phase.STREAM, rule="one", rule_limit=1)
    two = failed(Kind.RULE, Phase.STREAM, rule="two", rule_limit=2)
    assert story(one, two, two, one, two) == [0.2, 0.4, 0.8, "retries", "retries"]
    assert story(replace(one, rule_limit=0)) == ["retries"]
    six = replace(one, rule_limit=6)
    assert [isinstance(said, float) for said in story(*[six] * 7)] == [True] * 6 + [False]


@pytest.mark.parametrize("row", vectors("json_rules", "json_rule.counter"), ids=lambda row: row["id"])
def test_rule_counter_like_the_seed(row: Any) -> None:
    hit = failed(Kind.RULE, Phase.STREAM, rule="r", rule_limit=row["in"]["maxRetries"])
    said = story(*[hit] * row["in"]["hits"])
    assert ["retry" if isinstance(one, float) else "limit" for one in said] == row["out"]


def test_limits_of_rules_and_streams_are_told_so_that_every_agent_stops() -> None:
    hit = failed(Kind.RULE, Phase.STREAM, rule="r", rule_limit=0)
    decision = ask(hit)
    assert isinstance(decision, Surrender)
    told = decision.told
    assert (told.status, told.code, told.should_retry) == (400, "streamfuse_rule_limit", False)
    assert decision.failure == hit


def test_a_spent_budget_keeps_the_original_failure() -> None:
    down = failed(status=503, code="unavailable", body=b'{"error":1}')
    decision = ask(down, account=Account(failures=4, since=1000.0))
    assert isinstance(decision, Surrender)
    told = decision.told
    assert (told.status, told.code, told.body) == (503, "unavailable", b'{"error":1}')
    assert (told.should_retry, told.retry_after) == (None, 3.2)  # what our next wait would have been
    dead = failed(Kind.NETWORK, Phase.CONNECT)
    decision = ask(dead, account=Account(failures=4, since=1000.0))
    assert isinstance(decision, Surrender) and decision.told.code == "streamfuse_upstream_unreachable"


# --- patience --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kind", "status", "budget", "waits"),
    [
        (Kind.SERVER, 529, "server", [0.5, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]),
        (Kind.RATE_LIMIT, 429, "rate_limit", [0.5, 2.0, 4.0, 8.0, 16.0, 32.0]),
        (Kind.NETWORK, None, "network", [0.5, 5.0, 10.0, 20.0, 40.0, 60.0, 60.0, 60.0, 60.0]),
        (Kind.UNKNOWN, 409, "unknown", [0.5, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]),
    ],
)
def test_each_kind_has_its_own_patience(kind: Kind, status: int | None, budget: str, waits: list[float]) -> None:
    down = failed(kind, Phase.CONNECT if kind is Kind.NETWORK else Phase.HEADERS, status=status)
    said = story(*[down] * (len(waits) + 1), budgets=BY_KIND, client_retries=True)
    assert said[: len(waits)] == waits
    assert said[-1] == (60.0 if kind is Kind.NETWORK else "retries")
    decision = ask(down, budgets=BY_KIND)
    assert isinstance(decision, Replay) and decision.budget == budget


def test_a_body_shorter_than_it_says_is_asked_for_once_more_and_left_to_a_client_that_asks_again() -> None:
    short = failed(Kind.NETWORK, Phase.STREAM, code=SHORT)
    assert story(*[short] * 2, budgets=BY_KIND) == [0.5, "retries"]
    assert story(short, budgets=BY_KIND, client_retries=True) == ["retries"]
    told = ask(short, budgets=BY_KIND, client_retries=True)
    assert isinstance(told, Surrender) and told.told.should_retry is None, "it goes on as it would alone"


def test_a_limit_by_the_minute_may_need_two_where_the_client_asks_only_once() -> None:
    limited = failed(Kind.RATE_LIMIT, status=429)
    assert story(*[limited] * 8, budgets=BY_KIND) == [0.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, "retries"]
    assert story(*[limited] * 5) == [0.2, 0.4, 0.8, 1.6, "retries"], "never where somebody wrote a budget"


def test_a_named_wait_that_did_not_help_is_the_least_wait_from_then_on() -> None:
    busy = failed(status=503, retry_after=3.0)
    waits = [3.0, 3.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0, "retries"]
    assert story(*[busy] * 10, budgets=BY_KIND) == waits
    assert story(*[busy] * 3, budgets=BY_KIND, client_calm=2.0) == [3.0, 4.0, 8.0]
    assert story(*[busy] * 5) == [3.0, 3.0, 3.0, 3.0, "retries"], "exact where somebody wrote the budget"


def test_the_last_try_before_the_client_leaves_keeps_the_named_wait() -> None:
    busy = failed(status=503, retry_after=3.0)
    account = Account(failures=4, since=1000.0)
    last = ask(busy, budgets=BY_KIND, account=account, until=1010.0)
    assert isinstance(last, Replay) and last.after == 10.0
    none = ask(busy, budgets=BY_KIND, account=account, until=1003.0)
    assert isinstance(none, Surrender) and none.reason is Reason.CLIENT


def test_a_first_wait_that_somebody_wrote_is_kept() -> None:
    budgets = Budgets.merge(BudgetOverrides.model_validate({"server": {"initial_delay": 3, "jitter_ratio": 0}}))
    assert story(*[failed(status=500)] * 2, budgets=budgets) == [3.0, 6.0]


def test_a_client_that_would_wait_longer_itself_gets_no_quick_first_retry() -> None:
    assert story(*[failed(status=503)] * 3, budgets=BY_KIND, client_calm=2.0) == [2.0, 4.0, 8.0]


def test_our_waits_are_never_shorter_than_the_clients_own_would_be() -> None:
    calm = [5.0, 10.0, 20.0, 30.0, 30.0]  # Gemini CLI's own
    assert story(*[failed(status=503)] * 5, budgets=BY_KIND, client_calm=5.0) == calm
    assert story(*[failed(status=503, retry_after=2.0)] * 5, budgets=BY_KIND, client_calm=5.0) == calm


@pytest.mark.parametrize("hint", [None, 2.0])
def test_a_client_with_long_waits_is_told_ours_when_the_budget_is_spent(hint: float | None) -> None:
    """Each of its retries is a call from now on, and it would begin with its shortest wait again."""
    limited = failed(Kind.RATE_LIMIT, status=429, retry_after=hint)
    ends = [
        ask(limited, budgets=BY_KIND, account=Account(failures=9, since=990.0), client_calm=calm, client_retries=True)
        for calm in (5.0, 0.0)
    ]
    assert all(isinstance(end, Surrender) and end.reason is Reason.RETRIES for end in ends)
    assert [end.retry_after for end in ends if isinstance(end, Surrender)] == [30.0, hint or 30.0]


def test_a_wait_that_the_provider_names_is_kept_the_first_time_too() -> None:
    assert story(failed(status=503, retry_after=7.0), budgets=BY_KIND) == [7.0]


def test_a_client_is_told_before_it_gives_up() -> None:
    down = failed(status=529, body=b"{}")
    third = Account(failures=3, since=990.0)
    assert ask(down, budgets=BY_KIND, account=third, until=1020.0) == Replay(8.0, "server")
    assert ask(down, budgets=BY_KIND, account=third, until=1005.0) == Replay(5.0, "server"), "a last try at the end"
    decision = ask(down, budgets=BY_KIND, account=third, until=1000.2)
    assert isinstance(decision, Surrender) and decision.reason is Reason.CLIENT
    told = decision.told
    assert (told.status, told.body, told.should_retry, told.retry_after) == (529, b"{}", None, 3.0)


def test_a_wait_that_the_provider_names_is_not_shortened_for_the_client() -> None:
    decision = ask(failed(Kind.RATE_LIMIT, status=429, retry_after=20.0), budgets=BY_KIND, until=1010.0)
    assert isinstance(decision, Surrender)
    assert (decision.reason, decision.told.retry_after, decision.told.should_retry) == (Reason.CLIENT, 20.0, None)


def test_a_spent_account_is_asked_for_once_each_time_its_client_comes_back() -> None:
    down = failed(status=503)
    account: Account | None = Account(failures=9, since=1000.0)
    for _ in range(3):
        assert account is not None and resting(account, 1100.0) == 0
        decision = ask(down, account=account, budgets=BY_KIND, now=1100.0)
        assert isinstance(decision, Surrender) and decision.reason is Reason.RETRIES
        assert decision.told.should_retry is None
        account = charged(account, down, decision, 1100.0)


def test_only_where_the_time_is_over_is_a_client_told_not_to_come_back() -> None:
    down = failed(status=503)
    old = Account(failures=3, since=100.0)
    before = ask(down, account=old, budgets=BY_KIND, now=999.0)
    assert isinstance(before, Surrender) and before.reason is Reason.DEADLINE and before.told.should_retry is None
    after = ask(down, account=old, budgets=BY_KIND, now=1000.0)
    assert isinstance(after, Surrender) and after.told.should_retry is False and after.told.retry_after is None


@pytest.mark.parametrize(("kind", "spent", "wait"), [(Kind.RATE_LIMIT, 6, 30.0), (Kind.SERVER, 9, 30.0)])
def test_after_a_spent_budget_a_client_is_not_asked_back_sooner_than_we_would_have_tried(
    kind: Kind, spent: int, wait: float
) -> None:
    account = Account(failures=spent, since=1000.0)
    decision = ask(failed(kind, status=529), budgets=BY_KIND, account=account, client_retries=True)
    assert isinstance(decision, Surrender) and decision.reason is Reason.RETRIES
    assert (decision.told.retry_after, decision.told.should_retry) == (wait, None)
    named = ask(failed(kind, status=529, retry_after=7.0), budgets=BY_KIND, account=account, client_retries=True)
    assert isinstance(named, Surrender) and named.told.retry_after == 7.0


@given(st.floats(0, 1), st.floats(0, 1))
def test_agents_do_not_come_back_at_once(one: float, other: float) -> None:
    down = failed(status=529)
    assert 1 <= come_back(down, one) <= 5
    assert (one < other) == (come_back(down, one) < come_back(down, other)) or abs(one - other) < 1e-9
    assert come_back(replace(down, retry_after=7.0), one) == 7.0


def test_an_answer_from_memory_is_what_the_provider_said() -> None:
    last = failed(status=529, body=b'{"type":"error"}', code="overloaded_error")
    told = from_memory(last, 0.0).told
    assert (told.status, told.body, told.code, told.message) == (529, last.body, "overloaded_error", "boom")
    assert (told.should_retry, told.retry_after) == (None, 1.0)


# --- free retries ----------------------------------------------------------------------------------------------------
def test_a_stale_connection_is_free_once() -> None:
    stale = failed(Kind.NETWORK, Phase.HEADERS, code=STALE)
    assert story(stale, stale, stale) == [0.0, 0.2, 0.4]
    account = charged(Account(), stale, ask(stale), 1000.0)
    assert account is not None and (account.failures, account.since) == (0, None)
    assert ask(stale, Shown.TEXT, can_resume=True) == Resume(0.0, "free")
    spent = charged(Account(), stale, Resume(0.0, "free"), 1000.0)
    assert spent is not None and spent.failures == 0
    again = ask(stale, Shown.TEXT, can_resume=True, account=spent)
    assert isinstance(again, Resume) and again.after > 0
    assert isinstance(ask(stale, Shown.TEXT), Surrender)


@pytest.mark.parametrize(
    "message",
    [
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "Prefill is not supported for this model",
        "prefilling assistant messages is not supported for this model",
        "The last message must have role user",
    ],
)
def test_refused_prefill_is_dropped_once(message: str) -> None:
    refused = failed(Kind.TERMINAL, status=400, message=message)
    assert ask(refused, prefilled=True) == Replay(0.0, "prefill", without_prefill=True)
    assert isinstance(ask(refused, prefilled=False), Surrender)
    account = charged(Account(), refused, ask(refused, prefilled=True), 0)
    assert account is not None and isinstance(ask(refused, prefilled=True, account=account), Surrender)


def test_overload_of_gpt_is_first_retried_unseen() -> None:
    busy = failed(code=OVERLOADED, status=503)
    assert story(*[busy] * 4, model="gpt-5.1") == ["silent:0", 0.4, 0.8, "retries"]
    assert story(*[busy] * 2, model="other") == [0.2, 0.4]


# --- loops -----------------------------------------------------------------------------------------------------------
def test_a_cut_settles_whatever_was_shown() -> None:
    for shown in (Shown.NOTHING, Shown.REASONING, Shown.TEXT, Shown.TOOL):
        assert ask(loop(), shown, can_resume=True) == Settle()
        assert ask(loop(Action.REFUSE), shown) == Settle()


@pytest.mark.parametrize("action", [Action.CUT, Action.RETRY])
def test_a_loop_is_healed_once(action: Action) -> None:
    again = loop(action)
    assert story(again, again, again, can_heal=True) == [0.0, "settle", "settle"]
    assert story(again, again, again, can_heal=True, policy=Policy(rounds=2)) == [0.0, 0.0, "settle"]
    for shown in (Shown.NOTHING, Shown.REASONING, Shown.TEXT):
        assert ask(again, shown, can_heal=True) == Heal()
        assert ask(again, shown, can_resume=True) == Settle()
    assert ask(again, Shown.TOOL, can_heal=True) == Settle()
    assert ask(again, can_heal=True, policy=Policy(rounds=0)) == Settle()
    assert ask(again, can_heal=True, until=1001.0) == Heal()
    assert ask(again, can_heal=True, until=1000.0) == Settle(), "the client has given up by now"


def test_a_loop_touches_no_failure_budget() -> None:
    account = charged(Account(failures=2, since=5.0), loop(), Settle(), 10.0)
    assert account == Account(rounds={"lines": 1})
    healed = Account(spent={"rounds": 1, "server": 3})
    assert charged(healed, loop(), Settle(), 10.0) == Account(rounds={"lines": 1}, spent={"rounds": 1})


# --- properties ------------------------------------------------------------------------------------------------------
STATUSES = st.none() | st.sampled_from([200, 400, 408, 409, 424, 429, 500, 503, 504, 520, 529])
CODES = st.none() | st.sampled_from([STALE, OVERLOADED, "streamfuse_empty_stream", "other"])
FAILURES = st.builds(
    Failure,
    st.sampled_from(Phase),
    st.sampled_from(Kind),
    st.sampled_from(["boom", "must end with a user message"]),
    status=STATUSES,
    code=CODES,
    retry_after=st.none() | st.floats(0, 1e6),
    should_retry=st.none() | st.booleans(),
    rule=st.none() | st.sampled_from(["r1", "r2"]),
    rule_limit=st.none() | st.integers(0, 4),
)
FINDINGS = st.builds(loop, st.sampled_from(Action), st.sampled_from(Mode), st.sampled_from(["a", "b"]))
COUNTS = st.dictionaries(st.sampled_from(["free", "prefill", "rule:r1", "status:504", "a"]), st.integers(0, 200))
ACCOUNTS = st.builds(
    Account,
    failures=st.integers(0, 10**6),
    since=st.none() | st.floats(-1e9, 1e12),
    spent=COUNTS,
    hits=COUNTS,
    rounds=COUNTS,
)
BUDGET = st.builds(
    Budget,
    max_retries=st.integers(0, 6),
    deadline=st.none() | st.floats(0.1, 1e4),
    initial_delay=st.floats(0.01, 100),
    max_delay=st.floats(0.1, 1000),
)
BUDGETS = st.builds(
    Budgets,
    request=BUDGET,
    stream=BUDGET,
    network=BUDGET,
    server=BUDGET,
    rate_limit=BUDGET,
    unknown=BUDGET,
    explicit=st.frozensets(st.sampled_from(["request", "network", "server", "rate_limit"])),
)


@given(
    came=st.none() | FAILURES | FINDINGS,
    shown=st.sampled_from(Shown),
    account=ACCOUNTS,
    budgets=BUDGETS,
    now=st.floats(-1e9, 1e12),
    jitter=st.floats(0, 1),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    scope=st.sampled_from(Scope),
    model=st.sampled_from(["", "gpt-5"]),
)
@settings(max_examples=200)
def test_decide_is_total_and_safe(
    came: Any,
    shown: Shown,
    account: Account,
    budgets: Budgets,
    now: float,
    jitter: float,
    flags: tuple[bool, bool, bool],
    scope: Scope,
    model: str,
) -> None:
    can_resume, prefilled, reasoning = flags
    decision = decide(
        came,
        shown,
        account=account,
        budgets=budgets,
        now=now,
        jitter=jitter,
        can_resume=can_resume,
        prefilled=prefilled,
        model=model,
        scope=scope,
        policy=Policy(replay_reasoning=reasoning),
    )
    after = charged(account, came, decision, now)
    assert isinstance(decision, Accept | Replay | Resume | Settle | Surrender)
    if isinstance(decision, Replay):
        assert shown is Shown.NOTHING or (shown is Shown.REASONING and reasoning)
    if isinstance(decision, Resume):
        assert shown in (Shown.REASONING, Shown.TEXT) and can_resume
    if isinstance(decision, Replay | Resume):
        assert decision.after >= 0
        assert after is not None and sum(after.spent.values()) == sum(account.spent.values()) + 1
        if isinstance(came, Failure) and came.retry_after is not None and decision.after > 0:
            assert decision.after >= max(0.1, came.retry_after), "a named wait is never shortened"
            if budgets.explicit >= {"request"} or account.failures == 0:
                assert decision.after == max(0.1, came.retry_after)
    if isinstance(decision, Surrender):
        assert isinstance(came, Failure) and decision.failure == came
        assert decision.told.should_retry is False or not decision.spent


@given(
    st.lists(
        st.tuples(FAILURES | FINDINGS, st.sampled_from([Shown.NOTHING, Shown.TEXT]), st.floats(0, 50)), max_size=40
    ),
    BUDGETS,
)
@settings(max_examples=150)
def test_no_story_exceeds_its_budgets(steps: list[tuple[Any, Shown, float]], budgets: Budgets) -> None:
    account, now, granted = Account(), 1000.0, 0
    rule_hits = {"r1": 0, "r2": 0}
    for came, shown, passed in steps:
        now += passed
        decision = decide(
            came, shown, account=account, budgets=budgets, now=now, can_resume=True, prefilled=True, model="gpt-5"
        )
        after = charged(account, came, decision, now)
        if after is None or isinstance(decision, Settle):
            return
        if isinstance(decision, Replay | Resume):
            if decision.budget in ("free", "prefill"):
                assert after.spent[decision.budget] == 1
            elif decision.budget == "rounds":
                assert after.rounds[came.rule] <= Policy().rounds
            elif came.rule is not None and came.rule_limit is not None:
                rule_hits[came.rule] += 1
                assert account.hits.get(f"rule:{came.rule}", 0) < came.rule_limit
            else:
                granted += 1
                limits = [
                    b.max_retries or 0 for b in (budgets.named(n) for n in Budgets.model_fields if n != "explicit")
                ]
                assert granted <= max(limits)
        account = after


def test_a_zero_budget_never_retries() -> None:
    none = Budgets(**{name: Budget(max_retries=0) for name in ("request", "stream", "network", "server")})
    for shown in Shown:
        for kind in (Kind.SERVER, Kind.NETWORK, Kind.STREAM, Kind.STALL):
            for phase in Phase:
                assert not isinstance(ask(failed(kind, phase), shown, budgets=none, can_resume=True), Replay | Resume)


def test_a_rule_s_own_limit_binds_the_silent_retry_too() -> None:
    came = Failure(Phase.HEADERS, Kind.SERVER, "boom", code="server_is_overloaded", rule="mine", rule_limit=0)
    decision = decide(came, Shown.NOTHING, account=Account(), budgets=Budgets(), now=0.0, model="gpt-5")
    assert isinstance(decision, Surrender) and decision.reason is Reason.RETRIES


def test_after_a_call_was_shown_a_failure_that_may_pass_is_told_and_kept_in_mind() -> None:
    decision = ask(failed(), Shown.TOOL)
    assert isinstance(decision, Surrender) and decision.reason is Reason.SHOWN
    account = charged(Account(), failed(), decision, 5.0)
    assert account is not None and account.failures == 1
    assert (account.closed_until, account.closed_as) == (0.0, ("", None, "")), "nothing is closed without a rest"


def test_a_slow_gateway_draws_on_its_budget_besides_its_own_limit() -> None:
    late = failed(status=504)
    assert isinstance(ask(late, took=60.0, budgets=BY_KIND), Replay)
    spent = ask(late, took=60.0, budgets=BY_KIND, account=Account(failures=50))
    assert isinstance(spent, Surrender) and spent.reason is Reason.RETRIES


def test_only_a_refused_prefill_is_dropped() -> None:
    decision = ask(failed(), prefilled=True)
    assert isinstance(decision, Replay) and not decision.without_prefill
