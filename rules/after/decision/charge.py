"""The account of a logical request after each decision, so that a store can swap the two atomically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...values.failures import Failure
from ...values.verdict import Finding
from ..budgets import Account
from .limits import likeness_key, own_limit
from .outcome import Accept, Decision, Heal, Reason, Replay, Resume, Surrender


def charged(account: Account, came: Failure | Finding | None, decision: Decision, now: float) -> Account | None:
    """The account after this decision; None where the logical request is over (answered, or terminally failed)."""
    if isinstance(decision, Accept) or (isinstance(decision, Surrender) and decision.reason is Reason.TERMINAL):
        return None
    if isinstance(came, Finding):
        rounds = _more(account.rounds, came.rule)
        if isinstance(decision, Heal):
            return replace(account, rounds=rounds, spent=_more(account.spent, decision.budget))
        healed = account.spent.get("rounds")  # stays: the client's own retries draw on the same count
        return Account(rounds=rounds, spent={"rounds": healed} if healed else {})
    if isinstance(decision, Replay | Resume):
        spent = _more(account.spent, decision.budget)
        if decision.budget in ("free", "prefill"):
            return replace(account, spent=spent)
        account = replace(account, spent=spent)
    failures = account.failures + 1
    silent = isinstance(decision, Replay) and decision.budget == "silent"
    since = account.since if account.since is not None or silent else now
    hits = account.hits
    if came is not None and (limited := own_limit(came, slow=True)) is not None:
        hits = _more(hits, limited[0])
    if came is not None and came.likeness:
        hits = _more(hits, likeness_key(came))
    account = replace(account, failures=failures, since=since, hits=hits)
    if isinstance(decision, Surrender) and decision.rest > 0 and came is not None:
        status = decision.told.status
        code = decision.code or "streamfuse_budget_exhausted"
        account = replace(account, closed_until=now + decision.rest, closed_as=(came.kind.value, status, code))
    return account


def _more(counts: Mapping[str, int], key: str) -> dict[str, int]:
    return {**counts, key: counts.get(key, 0) + 1}
