"""AFTER an attempt: may we try again? Every retry is decided in `decide`.

The decision has two stages.

1. `TABLE` gives a ruling from two things: what the client was shown (`Shown`, the row) and what ended the attempt
   (`Cause`, the column).
2. A ruling that asks for another call goes through the limits, in this order; the first that says no decides:
   the two free retries, the upstream's own `x-should-retry: false`, what came in the same bytes before, the failure's
   own limit and the budget's count, the upstream's hint against the budget's longest wait, the budget's deadline, the
   time that the client still waits, and the provider's reserve. Without a no the result is Replay or Resume after a
   wait.

After a finding (a loop) the answer may be healed (`rules/heal/plan.py`). A heal has a count of its own,
`Policy.rounds`, and touches no failure budget. Without one the answer settles: it ends legally, as a normal end. A
failure that may not be tried again becomes a Surrender, which says to the client what happened and whether and when to
come back.

Everything here is a pure function of its arguments. `decide` never changes the account; `charged` returns the account
after a decision, so that a store can swap the two atomically.
"""

from __future__ import annotations

from ...values.failures import Failure
from ...values.transcript import Shown
from ...values.verdict import Finding
from ..budgets import Account, Budgets, Reserve, Scope
from .claim import Claim
from .free import STALE, free_retry
from .limits import likeness_key
from .outcome import Accept, Decision, Heal, Reason, Replay, Resume, Settle, Surrender
from .policy import Policy
from .table import TABLE, Cause, Ruling, column

OVERLOADED = "server_is_overloaded"
SILENT_RETRIES = 3
"""Retries of OpenAI's overload of gpt- models, at most; the first goes out at once and starts no
deadline (MiMo-Code)."""


def decide(
    came: Failure | Finding | None,
    shown: Shown,
    *,
    account: Account,
    budgets: Budgets,
    now: float,
    jitter: float = 0.5,
    can_resume: bool = False,
    can_heal: bool = False,
    prefilled: bool = False,
    model: str = "",
    scope: Scope = Scope.REQUEST,
    reserve: Reserve | None = None,
    policy: Policy = Policy(),  # noqa: B008  (a frozen value)
    until: float | None = None,
    client_retries: bool = False,
    client_calm: float = 0.0,
    took: float = 0.0,
    alike: int = 0,
) -> Decision:
    """Decide what to do after an attempt ended with `came` (None: a clean end) and the client was shown `shown`.

    `can_resume`: the wire and the provider can continue the shown text exactly.
    `can_heal`: there is a heal for this finding.
    `prefilled`: the request ends in an assistant message.
    `now`: wall clock, seconds. `jitter`: a random number, 0..1. `took`: seconds that the attempt took.
    `until`: the moment (as `now`) by which a client that can still get a status must have one; None = it cannot, or it
    waits as long as we like.
    `client_retries`: the client retries by itself after a status. `client_calm`: seconds until its first retry,
    where these are two or more; each further one waits twice as long, and ours come no sooner.
    `alike`: how often other requests have got the same in place of an answer (`Repeats`).

    Only reads `account` and `reserve`. After a Replay or Resume the caller withdraws from the reserve (a Replay waits
    for it) and charges the account. Never raises.
    """
    outcome = TABLE[shown][column(came)]
    if outcome is Ruling.REASONING:
        outcome = Ruling.REPLAY if policy.replay_reasoning else TABLE[Shown.TEXT][column(came)]
    if outcome is Ruling.ACCEPT or came is None:
        return Accept()
    if isinstance(came, Finding):
        return _after_loop(outcome, account, can_heal, reserve, policy, now, until)
    replay = outcome is Ruling.REPLAY
    if shown is Shown.NOTHING and (free := free_retry(came, account, prefilled)) is not None:
        return free
    if outcome is Ruling.RESUME and can_resume and came.code == STALE and not account.spent.get("free"):
        return Resume(0.0, "free")
    if outcome is Ruling.SURRENDER and column(came) is Cause.TERMINAL:
        return Surrender(came, Reason.TERMINAL, retry_after=came.retry_after)
    asked = Claim(came, shown, account, budgets, scope, now, jitter, policy, client_retries, client_calm, took)
    if came.should_retry is False:
        return asked.surrender(Reason.UPSTREAM)
    if replay and 0 < policy.equal_answers <= max(account.hits.get(likeness_key(came), 0), alike) + 1:
        return asked.surrender(Reason.SAME if came.likeness else Reason.RETRIES)
    if not replay and not (outcome is Ruling.RESUME and can_resume):
        # This counts as a failure, too: a client that repeats a request which breaks after its first words spends
        # its account.
        return asked.surrender(Reason.SHOWN if asked.allowed else Reason.RETRIES)
    if replay and came.code == OVERLOADED and model.startswith("gpt-"):
        if asked.number > SILENT_RETRIES:
            return asked.surrender(Reason.RETRIES)
        if asked.number == 1 and asked.own:
            return Replay(0.0, "silent")
    if not asked.allowed:
        return asked.surrender(Reason.RETRIES)
    if came.retry_after is not None and came.retry_after > asked.budget.max_delay:
        return asked.surrender(Reason.HINT)
    wait = asked.wait
    if asked.late(wait):
        return asked.surrender(Reason.DEADLINE)
    if replay and until is not None and now + wait >= until:
        # Try at the last moment at which an answer is still of use. A wait that the provider named is not shortened.
        if until - now <= (came.retry_after or 0.0) or until - now < asked.least:
            return asked.surrender(Reason.CLIENT)
        wait = until - now
    if not replay and reserve is not None and not reserve.allows(now):
        return asked.surrender(Reason.RESERVE)
    return Replay(wait, asked.name) if replay else Resume(wait, asked.name)


def _after_loop(
    outcome: Ruling,
    account: Account,
    can_heal: bool,
    reserve: Reserve | None,
    policy: Policy,
    now: float,
    until: float | None,
) -> Heal | Settle:
    """Decide after a loop. Failure budgets are not touched: a heal has the count `rounds`."""
    if outcome is not Ruling.HEAL or not can_heal or account.spent.get("rounds", 0) >= policy.rounds:
        return Settle()
    if (reserve is not None and not reserve.allows(now)) or (until is not None and now >= until):
        return Settle()
    return Heal()
