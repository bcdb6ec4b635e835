"""AFTER a failure or a halt: may we try again? One table of what the client was shown against what came, and the
order in which budgets are asked.

Everything here is a pure function of its arguments. `decide` never changes the account: `charged` says what it is
afterwards, so that a store can swap the two atomically.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from .budgets import Account, Budget, Budgets, Reserve, Scope
from .failures import Failure, Kind, Phase
from .transcript import Shown
from .verdict import Action, Finding


# --- the table -------------------------------------------------------------------------------------------------------
class Came(StrEnum):
    """What ended the attempt: a column of the table."""

    CLEAN = "clean end"
    MAY_PASS = "failure that may pass"
    TERMINAL = "terminal failure"
    LOOP_CUT = "loop, rule says cut"
    LOOP_RETRY = "loop, rule says retry"


class Outcome(StrEnum):
    """What the table says; budgets may turn a replay or resume into the `else` of its cell."""

    ACCEPT = "accept"
    REPLAY = "replay, else surrender"
    REPLAY_LOOP = "replay, else settle"
    REASONING = "replay where `replay_reasoning`, else as TEXT"
    RESUME = "resume, else surrender"
    RESUME_LOOP = "resume with advice, else settle"
    SETTLE = "settle"
    SURRENDER = "surrender"


TABLE: Mapping[Shown, Mapping[Came, Outcome]] = {
    Shown.NOTHING: {
        Came.CLEAN: Outcome.ACCEPT,
        Came.MAY_PASS: Outcome.REPLAY,
        Came.TERMINAL: Outcome.SURRENDER,
        Came.LOOP_CUT: Outcome.SETTLE,
        Came.LOOP_RETRY: Outcome.REPLAY_LOOP,
    },
    Shown.REASONING: {
        Came.CLEAN: Outcome.ACCEPT,
        Came.MAY_PASS: Outcome.REASONING,
        Came.TERMINAL: Outcome.SURRENDER,
        Came.LOOP_CUT: Outcome.SETTLE,
        Came.LOOP_RETRY: Outcome.REASONING,
    },
    Shown.TEXT: {
        Came.CLEAN: Outcome.ACCEPT,
        Came.MAY_PASS: Outcome.RESUME,
        Came.TERMINAL: Outcome.SURRENDER,
        Came.LOOP_CUT: Outcome.SETTLE,
        Came.LOOP_RETRY: Outcome.RESUME_LOOP,
    },
    Shown.TOOL: {
        Came.CLEAN: Outcome.ACCEPT,
        Came.MAY_PASS: Outcome.SURRENDER,
        Came.TERMINAL: Outcome.SURRENDER,
        Came.LOOP_CUT: Outcome.SETTLE,
        Came.LOOP_RETRY: Outcome.SETTLE,
    },
    Shown.FINISHED: dict.fromkeys(Came, Outcome.ACCEPT),
}


# --- what it answers -------------------------------------------------------------------------------------------------
class Reason(StrEnum):
    """Why there is no further try."""

    TERMINAL = "terminal"
    UPSTREAM = "upstream"
    """The upstream said x-should-retry: false."""
    SHOWN = "shown"
    """The client has seen what a second try could contradict."""
    RETRIES = "retries"
    DEADLINE = "deadline"
    HINT = "hint"
    """The upstream wants a longer wait than the budget has."""
    RESERVE = "reserve"
    """The provider gets too many retries as it is."""
    CLOSED = "closed"
    """An earlier request of this account spent the budget."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The answer is good, or good enough: mend what is missing and end normally."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Ask again with the original body after `after` seconds; the client has seen nothing that matters."""

    after: float
    budget: str
    """The budget it draws on; `free`, `prefill`, `silent` and `rounds` are ours."""
    without_prefill: bool = False
    """Drop the trailing assistant message first: this backend refuses prefill."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Ask the provider to continue exactly after the shown text, after `after` seconds."""

    after: float
    budget: str
    advice: bool = False
    """The shown text looped: continue it as a closed turn with a correction, never bare."""


@dataclass(frozen=True, slots=True)
class Settle:
    """End what the client was shown legally, as a normal end."""


@dataclass(frozen=True, slots=True)
class Surrender:
    """Tell the client. `failure` is the original one; `told` what the client is to be told."""

    failure: Failure
    reason: Reason
    budget: str = ""
    """The budget that was asked, "" where none was."""
    retry_after: float | None = None
    """Seconds after which the client may come back, where known."""
    rest: float = 0.0
    """Seconds for which this account asks nothing upstream: > 0 only where its budget is spent."""

    @property
    def spent(self) -> bool:
        """The budget is gone: the client must not try again now."""
        return self.rest > 0 or self.reason in (Reason.UPSTREAM, Reason.RESERVE, Reason.CLOSED)

    @property
    def code(self) -> str | None:
        """Our stable word for it, None where the upstream's own failure says all."""
        failure = self.failure
        if self.reason is Reason.CLOSED:
            return failure.code
        if self.reason not in (Reason.RETRIES, Reason.DEADLINE, Reason.RESERVE):
            return None
        if failure.kind is Kind.RULE:
            return "streamfuse_rule_limit"
        if failure.phase is Phase.STREAM and failure.kind in (Kind.STREAM, Kind.STALL, Kind.NETWORK):
            return "streamfuse_stream_limit"
        if failure.kind is Kind.NETWORK:
            return "streamfuse_upstream_unreachable"
        return "streamfuse_budget_exhausted"

    @property
    def told(self) -> Failure:
        """The failure with what we know: whether and when to come back, and our code where there is no HTTP error
        to hand on. The limits of rules and streams become a 400 of our own: it is the one status that every agent
        takes as final (AI SDK, OpenCode and Codex do not read x-should-retry)."""
        failure = self.failure
        # A terminal failure under a status that SDKs retry by themselves (a quota in a 429, 501): say so.
        lost = self.reason is Reason.TERMINAL and failure.should_retry is None and retried_by_clients(failure.status)
        said = replace(
            failure,
            should_retry=False if self.spent or lost else failure.should_retry,
            retry_after=self.retry_after if self.retry_after is not None else failure.retry_after,
        )
        code = self.code
        if code is None or (failure.status is not None and failure.status >= 400 and code not in _LIMITS):
            return said
        if code in _LIMITS:
            return replace(said, code=code, status=400, body=None)
        return replace(said, code=code)


Decision: TypeAlias = Accept | Replay | Resume | Settle | Surrender


def retried_by_clients(status: int | None) -> bool:
    """Do the OpenAI and Anthropic SDKs ask again after this status (a failure without one becomes a 502)?"""
    return status is None or status in (408, 409, 429) or status >= 500


_LIMITS = ("streamfuse_rule_limit", "streamfuse_stream_limit")


class Policy(BaseModel):
    """The few choices of the table that people make."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    replay_reasoning: bool = False
    """Ask again although reasoning was shown: the client may show two trains of thought, no answer is contradicted."""
    rounds: int = Field(default=2, ge=0, le=10)
    """How often one loop rule may ask again within one logical request."""


# --- limits of their own ---------------------------------------------------------------------------------------------
# A gateway that timed out may still be running the request: asking again doubles the work. Cloudflare's own errors
# mend themselves or do not. (provider-errors: Anthropic, Bedrock, Together, Groq, Cloudflare.)
STATUS_LIMITS: Mapping[int, int] = {424: 1, 504: 1, 520: 2, 521: 2, 522: 2, 523: 2, 524: 1, 525: 0, 526: 0, 530: 2}
# A TLS handshake that Cloudflare's edge cannot make with its origin (525, 526) does not mend by asking.
CODE_LIMITS: Mapping[str, int] = {"streamfuse_empty_stream": 2, "tool_use_failed": 1}
UNKNOWN_LIMIT = 1
"""Retries of an error inside a 200 that nobody has named."""

OVERLOADED = "server_is_overloaded"
SILENT_RETRIES = 3
"""OpenAI's overload of gpt- models: the first retry goes at once and unseen, at most three in all (seed 000)."""
STALE = "streamfuse_stale_connection"
"""Code of a reset on a reused idle connection before any response byte: the request was never read."""

_PREFILL_REFUSED = re.compile(
    r"(?:does not|doesn't|not) support (?:assistant )?(?:message )?prefill"
    r"|prefill(?:ing)?(?: assistant)?(?: messages?)? (?:is|are) not (?:supported|allowed)"
    r"|must end with a user message"
    r"|(?:last|final) message must (?:be|have role|come)[^.]{0,20}\buser\b"
    r"|(?:cannot|can't) (?:have|set|use|send)[^.]{0,40}(?:assistant|prefill)[^.]{0,40}(?:end|last|thinking)",
    re.IGNORECASE,
)


def refuses_prefill(failure: Failure) -> bool:
    """Does this failure say that the backend takes no trailing assistant message?"""
    return failure.status in (400, 422) and _PREFILL_REFUSED.search(failure.message) is not None


# --- the decision ----------------------------------------------------------------------------------------------------
def decide(
    came: Failure | Finding | None,
    shown: Shown,
    *,
    account: Account,
    budgets: Budgets,
    now: float,
    jitter: float = 0.5,
    can_resume: bool = False,
    prefilled: bool = False,
    model: str = "",
    scope: Scope = Scope.REQUEST,
    reserve: Reserve | None = None,
    policy: Policy = Policy(),  # noqa: B008  (a frozen value)
) -> Decision:
    """What to do after `came` (None: a clean end) when the client has been shown `shown`.

    `can_resume`: the wire and the provider can continue the shown text exactly. `prefilled`: the request ends in an
    assistant message. `now`: wall clock, seconds. `jitter`: chance, 0..1. Only reads account and reserve; after a
    Replay or Resume the caller withdraws from the reserve and charges the account. Never raises.
    """
    outcome = TABLE[shown][column(came)]
    if outcome is Outcome.REASONING:
        fallback = TABLE[Shown.TEXT][column(came)]
        outcome = (_REPLAYS[fallback]) if policy.replay_reasoning else fallback
    if outcome is Outcome.ACCEPT or came is None:
        return Accept()
    if isinstance(came, Finding):
        return _after_loop(came, outcome, account, can_resume, reserve, policy, now)
    replay = outcome is Outcome.REPLAY
    if shown is Shown.NOTHING and (free := _free(came, account, prefilled)) is not None:
        return free
    if outcome is Outcome.RESUME and can_resume and came.code == STALE and not account.spent.get("free"):
        return Resume(0.0, "free")
    if outcome is Outcome.SURRENDER and column(came) is Came.TERMINAL:
        return Surrender(came, Reason.TERMINAL, retry_after=came.retry_after)
    asked = _Asked(came, shown, account, budgets, scope, now)
    if came.should_retry is False:
        return asked.surrender(Reason.UPSTREAM)
    if not replay and not (outcome is Outcome.RESUME and can_resume):
        # Counted all the same: a client that repeats a request that dies after its first words spends its account.
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
    wait = asked.budget.delay(asked.number, jitter, came.retry_after)
    if asked.late(wait):
        return asked.surrender(Reason.DEADLINE)
    if reserve is not None and not reserve.allows(now):
        return asked.surrender(Reason.RESERVE)
    return Replay(wait, asked.name) if replay else Resume(wait, asked.name)


def column(came: Failure | Finding | None) -> Came:
    """The column of the table."""
    if came is None:
        return Came.CLEAN
    if isinstance(came, Finding):
        if not came.acts:
            return Came.CLEAN
        return Came.LOOP_RETRY if came.action is Action.RETRY else Came.LOOP_CUT
    return Came.TERMINAL if came.kind is Kind.TERMINAL else Came.MAY_PASS


def admit(account: Account, now: float) -> Surrender | None:
    """May this request ask upstream at all? A spent account is answered from memory until its rest is over."""
    if now >= account.closed_until:
        return None
    kind, status, code = account.closed_as
    left = account.closed_until - now
    told = Failure(
        Phase.CONNECT,
        Kind(kind) if kind else Kind.UNKNOWN,
        f"The retry budget of this request is spent; try again in {left:.0f} s.",
        status=status,
        code=code or "streamfuse_budget_exhausted",
        retry_after=left,
        should_retry=False,
    )
    return Surrender(told, Reason.CLOSED, retry_after=left)


def charged(account: Account, came: Failure | Finding | None, decision: Decision, now: float) -> Account | None:
    """The account after this decision; None where the logical request is over (answered, or failed for good)."""
    if isinstance(decision, Accept) or (isinstance(decision, Surrender) and decision.reason is Reason.TERMINAL):
        return None
    if isinstance(came, Finding):
        rounds = _more(account.rounds, came.rule)
        if isinstance(decision, Replay | Resume):
            return replace(account, rounds=rounds, spent=_more(account.spent, decision.budget))
        return Account(rounds=rounds)
    if isinstance(decision, Surrender) and decision.reason is Reason.CLOSED:
        return account
    if isinstance(decision, Replay | Resume):
        spent = _more(account.spent, decision.budget)
        if decision.budget in ("free", "prefill"):
            return replace(account, spent=spent)
        account = replace(account, spent=spent)
    failures = account.failures + 1
    silent = isinstance(decision, Replay) and decision.budget == "silent"
    since = account.since if account.since is not None or silent else now
    hits = account.hits
    if came is not None and (limited := _limited(came)) is not None:
        hits = _more(hits, limited[0])
    account = replace(account, failures=failures, since=since, hits=hits)
    if isinstance(decision, Surrender) and decision.rest > 0 and came is not None:
        status = decision.told.status
        code = decision.code or "streamfuse_budget_exhausted"
        account = replace(account, closed_until=now + decision.rest, closed_as=(came.kind.value, status, code))
    return account


# --- the steps -------------------------------------------------------------------------------------------------------
_REPLAYS = {
    Outcome.RESUME: Outcome.REPLAY,
    Outcome.RESUME_LOOP: Outcome.REPLAY_LOOP,
}


class _Asked:
    """One failure held against the budget it draws on."""

    __slots__ = ("_elapsed", "allowed", "budget", "failure", "name", "number", "own")

    def __init__(
        self, failure: Failure, shown: Shown, account: Account, budgets: Budgets, scope: Scope, now: float
    ) -> None:
        # The seed's request phase ends with the first content event, and what its codes call a stream error is one
        # wherever it comes.
        began = shown > Shown.NOTHING or (failure.kind is Kind.STREAM and failure.phase is Phase.STREAM)
        phase = Phase.STREAM if began else Phase.HEADERS
        self.failure = failure
        self.name = budgets.choose(phase, failure.kind, scope)
        self.budget: Budget = budgets.named(self.name)
        self.number = account.failures + 1
        self._elapsed = max(0.0, now - account.since) if account.since is not None else 0.0
        limited = _limited(failure)
        self.own = limited is None or account.hits.get(limited[0], 0) < limited[1]
        """The failure's own limit, where it has one, lets it be tried again."""
        # A rule counts for itself, whatever else has failed; everything else shares one number.
        by_count = (failure.kind is Kind.RULE and limited is not None) or self.budget.allows(self.number)
        self.allowed = self.own and by_count

    def late(self, wait: float) -> bool:
        """Would the next try start at or after the deadline?"""
        return self.budget.deadline is not None and wait >= self.budget.deadline - self._elapsed

    def surrender(self, reason: Reason) -> Surrender:
        """Give up; where the budget is what ended it, the account rests as long as this budget ever waits."""
        hint = self.failure.retry_after
        closes = reason in (Reason.RETRIES, Reason.DEADLINE, Reason.HINT)
        rest = (hint or self.budget.max_delay) if closes else 0.0
        after = hint if hint is not None else (rest or None)
        return Surrender(self.failure, reason, self.name, after, rest)


def _limited(failure: Failure) -> tuple[str, int] | None:
    """(key in Account.hits, retries allowed) where a failure has a limit of its own."""
    if failure.rule is not None and failure.rule_limit is not None:
        return f"rule:{failure.rule}", failure.rule_limit
    if failure.code is not None and failure.code in CODE_LIMITS:
        return failure.code, CODE_LIMITS[failure.code]
    if failure.status is not None and failure.status in STATUS_LIMITS:
        return f"status:{failure.status}", STATUS_LIMITS[failure.status]
    if failure.kind is Kind.UNKNOWN and failure.phase is Phase.STREAM:
        return "unknown", UNKNOWN_LIMIT
    return None


def _free(failure: Failure, account: Account, prefilled: bool) -> Replay | None:
    """The two retries that cost nothing, once each."""
    if failure.code == STALE and not account.spent.get("free"):
        return Replay(0.0, "free")
    if prefilled and refuses_prefill(failure) and not account.spent.get("prefill"):
        return Replay(0.0, "prefill", without_prefill=True)
    return None


def _after_loop(
    finding: Finding,
    outcome: Outcome,
    account: Account,
    can_resume: bool,
    reserve: Reserve | None,
    policy: Policy,
    now: float,
) -> Decision:
    """A loop is asked again at most `rounds` times a rule; the failures' budgets are not touched."""
    again = outcome is Outcome.REPLAY_LOOP or (outcome is Outcome.RESUME_LOOP and can_resume)
    if not again or account.rounds.get(finding.rule, 0) >= policy.rounds:
        return Settle()
    if reserve is not None and not reserve.allows(now):
        return Settle()
    return Replay(0.0, "rounds") if outcome is Outcome.REPLAY_LOOP else Resume(0.0, "rounds", advice=True)


def _more(counts: Mapping[str, int], key: str) -> dict[str, int]:
    return {**counts, key: counts.get(key, 0) + 1}
