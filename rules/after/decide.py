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

from ..values.failures import Failure, Kind, Phase
from ..values.transcript import Shown
from ..values.verdict import Action, Finding
from .budgets import Account, Budget, Budgets, Reserve, Scope


# --- the table -------------------------------------------------------------------------------------------------------
class Cause(StrEnum):
    """What ended the attempt: a column of the table."""

    CLEAN = "clean end"
    MAY_PASS = "failure that may pass"
    TERMINAL = "terminal failure"
    LOOP_CUT = "loop, rule says cut"
    LOOP_RETRY = "loop, rule says retry"


class Ruling(StrEnum):
    """What the table says; budgets may turn a replay or resume into the `else` of its cell."""

    ACCEPT = "accept"
    REPLAY = "replay, else surrender"
    REPLAY_LOOP = "replay, else settle"
    REASONING = "replay where `replay_reasoning`, else as TEXT"
    RESUME = "resume, else surrender"
    RESUME_LOOP = "resume with advice, else settle"
    SETTLE = "settle"
    SURRENDER = "surrender"


TABLE: Mapping[Shown, Mapping[Cause, Ruling]] = {
    Shown.NOTHING: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.REPLAY,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP_CUT: Ruling.SETTLE,
        Cause.LOOP_RETRY: Ruling.REPLAY_LOOP,
    },
    Shown.REASONING: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.REASONING,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP_CUT: Ruling.SETTLE,
        Cause.LOOP_RETRY: Ruling.REASONING,
    },
    Shown.TEXT: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.RESUME,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP_CUT: Ruling.SETTLE,
        Cause.LOOP_RETRY: Ruling.RESUME_LOOP,
    },
    Shown.TOOL: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.SURRENDER,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP_CUT: Ruling.SETTLE,
        Cause.LOOP_RETRY: Ruling.SETTLE,
    },
    Shown.FINISHED: dict.fromkeys(Cause, Ruling.ACCEPT),
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
    CLIENT = "client"
    """The client would have given up before the next try could answer it."""
    CLOSED = "closed"
    """The provider is failing and others ask it already: answered from memory, with what it said last."""


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
    """Seconds for which the provider has asked to be left alone by this request."""
    over: bool = False
    """The time that this request has is over: no try of the client's can change that."""
    final_limits: bool = False
    """See `Policy.final_limits`."""

    @property
    def spent(self) -> bool:
        """The client must not try again: the upstream says so, or the time is over. A budget that is spent, an empty
        reserve and a provider that rests never say it: the client may have tries left, and the failure may pass."""
        return self.over or self.reason is Reason.UPSTREAM

    @property
    def code(self) -> str | None:
        """Our stable word for it, None where the upstream's own failure says all."""
        failure = self.failure
        if self.reason is Reason.CLOSED:
            return failure.code
        if self.reason not in (Reason.RETRIES, Reason.DEADLINE, Reason.RESERVE, Reason.CLIENT):
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
        to hand on. The limit of a rule that somebody wrote becomes a 400 of our own: it is the one status that every
        agent takes as final (AI SDK, OpenCode and Codex do not read x-should-retry). With `final_limits` that of
        broken streams does, too."""
        failure = self.failure
        # A terminal failure under a status that SDKs retry by themselves (a quota in a 429, 501): say so.
        lost = self.reason is Reason.TERMINAL and failure.should_retry is None and retried_by_clients(failure.status)
        code = self.code
        final = code == "streamfuse_rule_limit" or (code == "streamfuse_stream_limit" and self.final_limits)
        said = replace(
            failure,
            should_retry=False if self.spent or lost or final else failure.should_retry,
            retry_after=self.retry_after if self.retry_after is not None else failure.retry_after,
        )
        if final:
            return replace(said, code=code, status=400, body=None, retry_after=failure.retry_after)
        if code is None or (failure.status is not None and failure.status >= 400):
            return said
        return replace(said, code=code)


Decision: TypeAlias = Accept | Replay | Resume | Settle | Surrender


def retried_by_clients(status: int | None) -> bool:
    """Do the OpenAI and Anthropic SDKs ask again after this status (a failure without one becomes a 502)?"""
    return status is None or status in (408, 409, 429) or status >= 500


class Policy(BaseModel):
    """The few choices of the table that people make."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    replay_reasoning: bool = False
    """Ask again although reasoning was shown: the client may show two trains of thought, no answer is contradicted."""
    rounds: int = Field(default=2, ge=0, le=10)
    """How often one loop rule may ask again within one logical request."""
    final_limits: bool = False
    """A stream that broke as often as its budget allows is reported as a failure that no client retries, as
    opencode-sse-retry does. Otherwise it is reported as one that may pass: an agent with tries left goes on."""


# --- limits of their own ---------------------------------------------------------------------------------------------
STATUS_LIMITS: Mapping[int, int] = {424: 1, 525: 0, 526: 0}
"""A TLS handshake that Cloudflare's edge cannot make with its origin (525, 526) does not mend by asking."""
SLOW_LIMITS: Mapping[int, int] = {504: 1, 524: 1}
"""A gateway that waited long before it gave up may still be running the request: asking again doubles the work. One
that says so at once is only a server in trouble."""
SLOW = 10.0
"""Seconds of an attempt from which it counts as a long wait: gateways give up after 30 to 100."""
CODE_LIMITS: Mapping[str, int] = {"streamfuse_empty_stream": 2, "tool_use_failed": 1}
UNKNOWN_LIMIT = 1
"""Retries of an error inside a 200 that nobody has named."""

OVERLOADED = "server_is_overloaded"
SILENT_RETRIES = 3
"""OpenAI's overload of gpt- models: the first retry goes at once and unseen, at most three in all (MiMo-Code)."""
STALE = "streamfuse_stale_connection"
"""Code of a reset on a reused idle connection before any response byte: the request was never read."""

FIRST_WAIT = 0.5
"""Seconds, the longest wait before the first retry of a request where the provider names none: what the OpenAI and
Anthropic SDKs wait, since most faults of a single call are gone at once. The budget's own waits follow."""
COME_BACK = (1.0, 5.0)
"""Seconds after which a client is asked to come back where the provider names no time: spread by chance, so that many
agents do not come back at once, and no longer than the SDKs' own pauses (0.5 to 8 s)."""
LONGEST_COME_BACK = 30.0
"""Seconds that a client is told to wait after a spent budget, at most: the AI SDK ignores what is over 60,
openai-python gives up over 120."""

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
    until: float | None = None,
    client_retries: bool = False,
    client_calm: bool = False,
    took: float = 0.0,
) -> Decision:
    """What to do after `came` (None: a clean end) when the client has been shown `shown`.

    `can_resume`: the wire and the provider can continue the shown text exactly. `prefilled`: the request ends in an
    assistant message. `now`: wall clock, seconds. `jitter`: chance, 0..1. `until`: the moment (as `now`) by which a
    client that can still be given a status must have one; None = it cannot, or waits as long as we like.
    `client_retries`: the client makes tries of its own after a status, `client_calm`: the first after two seconds or
    more. `took`: seconds of the attempt. Only reads
    account and reserve; after a Replay or Resume the caller withdraws from the reserve (which a Replay waits for) and
    charges the account. Never raises.
    """
    outcome = TABLE[shown][column(came)]
    if outcome is Ruling.REASONING:
        fallback = TABLE[Shown.TEXT][column(came)]
        outcome = (_REPLAYS[fallback]) if policy.replay_reasoning else fallback
    if outcome is Ruling.ACCEPT or came is None:
        return Accept()
    if isinstance(came, Finding):
        return _after_loop(came, outcome, account, can_resume, reserve, policy, now)
    replay = outcome is Ruling.REPLAY
    if shown is Shown.NOTHING and (free := _free(came, account, prefilled)) is not None:
        return free
    if outcome is Ruling.RESUME and can_resume and came.code == STALE and not account.spent.get("free"):
        return Resume(0.0, "free")
    if outcome is Ruling.SURRENDER and column(came) is Cause.TERMINAL:
        return Surrender(came, Reason.TERMINAL, retry_after=came.retry_after)
    asked = _Asked(came, shown, account, budgets, scope, now, jitter, policy, client_retries, client_calm, took)
    if came.should_retry is False:
        return asked.surrender(Reason.UPSTREAM)
    if not replay and not (outcome is Ruling.RESUME and can_resume):
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
    wait = asked.wait
    if asked.late(wait):
        return asked.surrender(Reason.DEADLINE)
    if replay and until is not None and now + wait >= until:
        # The last moment at which a try is still of use; a wait that the provider named is not shortened.
        if came.retry_after is not None or until - now < asked.least:
            return asked.surrender(Reason.CLIENT)
        wait = until - now
    if not replay and reserve is not None and not reserve.allows(now):
        return asked.surrender(Reason.RESERVE)
    return Replay(wait, asked.name) if replay else Resume(wait, asked.name)


def column(came: Failure | Finding | None) -> Cause:
    """The column of the table."""
    if came is None:
        return Cause.CLEAN
    if isinstance(came, Finding):
        if not came.acts:
            return Cause.CLEAN
        return Cause.LOOP_RETRY if came.action is Action.RETRY else Cause.LOOP_CUT
    return Cause.TERMINAL if came.kind is Kind.TERMINAL else Cause.MAY_PASS


def resting(account: Account, now: float) -> float:
    """Seconds for which the provider still wants to be left alone by this request; 0 = it may be asked."""
    return max(0.0, account.closed_until - now)


def from_memory(last: Failure, jitter: float) -> Surrender:
    """The answer to a request that was kept waiting for a failing provider and not sent: what the provider said last,
    as it said it."""
    return Surrender(last, Reason.CLOSED, retry_after=come_back(last, jitter))


def come_back(failure: Failure, jitter: float) -> float:
    """Seconds after which a client may try again: the provider's own, else a short wait of ours."""
    if failure.retry_after is not None:
        return failure.retry_after
    return COME_BACK[0] + (COME_BACK[1] - COME_BACK[0]) * jitter


def charged(account: Account, came: Failure | Finding | None, decision: Decision, now: float) -> Account | None:
    """The account after this decision; None where the logical request is over (answered, or failed for good)."""
    if isinstance(decision, Accept) or (isinstance(decision, Surrender) and decision.reason is Reason.TERMINAL):
        return None
    if isinstance(came, Finding):
        rounds = _more(account.rounds, came.rule)
        if isinstance(decision, Replay | Resume):
            return replace(account, rounds=rounds, spent=_more(account.spent, decision.budget))
        return Account(rounds=rounds)
    if isinstance(decision, Replay | Resume):
        spent = _more(account.spent, decision.budget)
        if decision.budget in ("free", "prefill"):
            return replace(account, spent=spent)
        account = replace(account, spent=spent)
    failures = account.failures + 1
    silent = isinstance(decision, Replay) and decision.budget == "silent"
    since = account.since if account.since is not None or silent else now
    hits = account.hits
    if came is not None and (limited := _limited(came, slow=True)) is not None:
        hits = _more(hits, limited[0])
    account = replace(account, failures=failures, since=since, hits=hits)
    if isinstance(decision, Surrender) and decision.rest > 0 and came is not None:
        status = decision.told.status
        code = decision.code or "streamfuse_budget_exhausted"
        account = replace(account, closed_until=now + decision.rest, closed_as=(came.kind.value, status, code))
    return account


# --- the steps -------------------------------------------------------------------------------------------------------
_REPLAYS = {
    Ruling.RESUME: Ruling.REPLAY,
    Ruling.RESUME_LOOP: Ruling.REPLAY_LOOP,
}


class _Asked:
    """One failure held against the budget it draws on."""

    __slots__ = (
        "_elapsed",
        "_jitter",
        "_policy",
        "_shown",
        "allowed",
        "budget",
        "failure",
        "least",
        "name",
        "number",
        "own",
        "wait",
    )  # fmt: skip

    def __init__(
        self,
        failure: Failure,
        shown: Shown,
        account: Account,
        budgets: Budgets,
        scope: Scope,
        now: float,
        jitter: float,
        policy: Policy,
        client_retries: bool,
        client_calm: bool,
        took: float,
    ) -> None:
        # MiMo-Code's request phase ends with the first content event, and what its codes call a stream error is one
        # wherever it comes.
        began = shown > Shown.NOTHING or (failure.kind is Kind.STREAM and failure.phase is Phase.STREAM)
        phase = Phase.STREAM if began else Phase.HEADERS
        self.failure = failure
        self.name = budgets.choose(phase, failure.kind, scope)
        self.budget: Budget = budgets.named(self.name)
        self.number = account.failures + 1
        self._elapsed = max(0.0, now - account.since) if account.since is not None else 0.0
        self._jitter = jitter
        self._policy = policy
        self._shown = shown
        limited = _limited(failure, slow=took >= SLOW)
        if limited is not None and client_retries and failure.status in SLOW_LIMITS:
            limited = limited[0], 0  # it is the client's to say whether the long wait is worth another try
        self.own = limited is None or account.hits.get(limited[0], 0) < limited[1]
        """The failure's own limit, where it has one, lets it be tried again."""
        number = self.number
        # A first retry at once, unless somebody has written how long to wait, or the client would wait longer itself.
        quick = shown is Shown.NOTHING and not client_calm and not budgets.explicit & {"request", self.name}
        quick = quick and self.budget.max_retries != 0
        # A rule counts for itself, whatever else has failed; everything else shares one number. The quick retry comes
        # on top of the budget's own, which keep their waits: the patience is that of the budget.
        by_count = (failure.kind is Kind.RULE and limited is not None) or self.budget.allows(number - quick)
        self.allowed = self.own and by_count
        self.wait = self.budget.delay(number - 1 if quick else number, jitter, failure.retry_after)
        if quick and number == 1 and failure.retry_after is None:
            self.wait = min(self.wait, FIRST_WAIT)
        self.least = min(FIRST_WAIT, self.budget.initial_delay)
        """Seconds; a shorter wait than this is not worth a try."""

    def late(self, wait: float) -> bool:
        """Would the next try start at or after the deadline?"""
        return self.budget.deadline is not None and wait >= self.budget.deadline - self._elapsed

    def surrender(self, reason: Reason) -> Surrender:
        """Give up. The client is told when to come back while it can still be told with a status; only where the time
        of its request is over is it told not to."""
        failure = self.failure
        over = self.budget.deadline is not None and self._elapsed >= self.budget.deadline
        after = failure.retry_after
        if self._shown is Shown.NOTHING and not over and reason is not Reason.UPSTREAM:
            after = come_back(failure, self._jitter)
            if reason is Reason.RETRIES and failure.retry_after is None:
                # Each try of the client is one call from now on: it must not come sooner than we would have.
                after = max(after, min(self.wait, LONGEST_COME_BACK))
        rest = failure.retry_after or 0.0
        return Surrender(failure, reason, self.name, after, rest, over, self._policy.final_limits)


def _limited(failure: Failure, slow: bool) -> tuple[str, int] | None:
    """(key in Account.hits, retries allowed) where a failure has a limit of its own. `slow`: it came after a long
    wait."""
    if failure.rule is not None and failure.rule_limit is not None:
        return f"rule:{failure.rule}", failure.rule_limit
    if failure.code is not None and failure.code in CODE_LIMITS:
        return failure.code, CODE_LIMITS[failure.code]
    if failure.status is not None and failure.status in STATUS_LIMITS:
        return f"status:{failure.status}", STATUS_LIMITS[failure.status]
    if slow and failure.status is not None and failure.status in SLOW_LIMITS:
        return f"status:{failure.status}", SLOW_LIMITS[failure.status]
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
    outcome: Ruling,
    account: Account,
    can_resume: bool,
    reserve: Reserve | None,
    policy: Policy,
    now: float,
) -> Decision:
    """A loop is asked again at most `rounds` times a rule; the failures' budgets are not touched."""
    again = outcome is Ruling.REPLAY_LOOP or (outcome is Ruling.RESUME_LOOP and can_resume)
    if not again or account.rounds.get(finding.rule, 0) >= policy.rounds:
        return Settle()
    if reserve is not None and not reserve.allows(now):
        return Settle()
    return Replay(0.0, "rounds") if outcome is Ruling.REPLAY_LOOP else Resume(0.0, "rounds", advice=True)


def _more(counts: Mapping[str, int], key: str) -> dict[str, int]:
    return {**counts, key: counts.get(key, 0) + 1}
