"""AFTER an attempt: may we try again? Every retry is decided in `decide`.

The decision has two stages.

1. `TABLE` gives a ruling from two things: what the client was shown (`Shown`, the row) and what ended the attempt
   (`Cause`, the column). The rows follow from one rule: a second try must never contradict what the client has seen.
   Where it saw nothing, the request is sent again (replay). Where it saw text, another call may continue exactly behind
   that text (resume). Where it saw a tool call, nothing is tried again, because the client may run the call.
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

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from ..errors.likeness import INVALID, SHORT
from ..values.failures import Failure, Kind, Phase
from ..values.transcript import Shown
from ..values.verdict import Finding
from .budgets import Account, Budget, Budgets, Reserve, Scope


# --- the table -------------------------------------------------------------------------------------------------------
class Cause(StrEnum):
    """What ended the attempt: the column of the table."""

    CLEAN = "clean end"
    MAY_PASS = "failure that may pass"
    TERMINAL = "terminal failure"
    LOOP = "loop"


class Ruling(StrEnum):
    """The table's answer. The limits may turn a replay or resume into what its `else` says."""

    ACCEPT = "accept"
    REPLAY = "replay, else surrender"
    REASONING = "replay where `replay_reasoning`, else as TEXT"
    RESUME = "resume, else surrender"
    HEAL = "heal, else settle"
    SETTLE = "settle"
    SURRENDER = "surrender"


TABLE: Mapping[Shown, Mapping[Cause, Ruling]] = {
    Shown.NOTHING: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.REPLAY,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP: Ruling.HEAL,
    },
    Shown.REASONING: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.REASONING,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP: Ruling.HEAL,
    },
    Shown.TEXT: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.RESUME,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP: Ruling.HEAL,
    },
    Shown.TOOL: {
        Cause.CLEAN: Ruling.ACCEPT,
        Cause.MAY_PASS: Ruling.SURRENDER,
        Cause.TERMINAL: Ruling.SURRENDER,
        Cause.LOOP: Ruling.SETTLE,
    },
    Shown.FINISHED: dict.fromkeys(Cause, Ruling.ACCEPT),
}


# --- what it answers -------------------------------------------------------------------------------------------------
class Reason(StrEnum):
    """Why there is no further attempt."""

    TERMINAL = "terminal"
    UPSTREAM = "upstream"
    """The upstream said x-should-retry: false."""
    SHOWN = "shown"
    """The client has seen something that a second attempt could contradict."""
    RETRIES = "retries"
    DEADLINE = "deadline"
    HINT = "hint"
    """The upstream asks for a longer wait than the budget allows."""
    RESERVE = "reserve"
    """The provider already gets as many retries as its reserve allows."""
    CLIENT = "client"
    """The client would give up before the next attempt could answer it."""
    SAME = "same"
    """What came instead of an answer came again, in the same bytes: it does not pass by waiting."""
    CLOSED = "closed"
    """The provider is failing and other requests ask it already: the answer is its last failure, from memory."""


@dataclass(frozen=True, slots=True)
class Accept:
    """The answer is complete, or complete enough: add what is missing and end normally."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Send the original body again after `after` seconds; the client has seen nothing that a new answer contradicts."""

    after: float
    budget: str
    """The budget it draws on. `free`, `prefill`, `silent` and `rounds` are counts of ours, not configured budgets."""
    without_prefill: bool = False
    """Drop the trailing assistant message first, because this backend refuses prefill."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Ask the provider to continue exactly after the shown text, after `after` seconds."""

    after: float
    budget: str


@dataclass(frozen=True, slots=True)
class Heal:
    """The answer looped: ask once more, as `heal_plan` says, and let the second answer go on in this one."""

    after: float = 0.0
    budget: str = "rounds"


@dataclass(frozen=True, slots=True)
class Settle:
    """End what the client was shown legally, with a normal end."""


@dataclass(frozen=True, slots=True)
class Surrender:
    """Report the failure to the client. `failure` is the original one, `told` the one that the client gets."""

    failure: Failure
    reason: Reason
    budget: str = ""
    """The budget that was asked; "" where none was."""
    retry_after: float | None = None
    """Seconds after which the client may try again, where known."""
    rest: float = 0.0
    """Seconds for which the provider has asked this request to wait."""
    over: bool = False
    """The deadline of this request is over, so a retry by the client cannot help."""
    final_limits: bool = False
    """See `Policy.final_limits`."""

    @property
    def spent(self) -> bool:
        """Must the client not try again? True where the upstream says so or the deadline is over. A spent budget, an
        empty reserve and a provider that asked for a pause are no reason: the failure may pass, and the client may have
        retries left."""
        return self.over or self.reason is Reason.UPSTREAM

    @property
    def hands_on(self) -> bool:
        """Does an agent that `x-should-retry: false` does not stop (`Client.agent`) get what came, so that it goes on
        as it would have gone on alone? Where it asked for a stream that is the wire's error inside a 200, because
        clients take anything else for an answer without a word."""
        return self.reason is Reason.SAME

    @property
    def code(self) -> str | None:
        """Our stable error code; None where the upstream's own failure says everything."""
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
        """The failure as the client gets it: with whether and when to try again, and with our code where there is no
        HTTP error to hand on.

        The limit of a configured rule becomes a 400 of our own, the one status that every agent takes as final (AI SDK,
        OpenCode and Codex do not read x-should-retry). With `final_limits` the limit of broken streams does, too."""
        failure = self.failure
        # A terminal failure whose status SDKs retry by themselves (a spent quota in a 429, a 501): tell them not to.
        lost = self.reason is Reason.TERMINAL and failure.should_retry is None and retried_by_clients(failure.status)
        code = self.code
        final = code == "streamfuse_rule_limit" or (code == "streamfuse_stream_limit" and self.final_limits)
        said = replace(
            failure,
            should_retry=False if self.spent or lost or final or self.hands_on else failure.should_retry,
            retry_after=self.retry_after if self.retry_after is not None else failure.retry_after,
        )
        if final:
            return replace(said, code=code, status=400, body=None, retry_after=failure.retry_after)
        if code is None or (failure.status is not None and failure.status >= 400):
            return said
        return replace(said, code=code)


Decision: TypeAlias = Accept | Replay | Resume | Heal | Settle | Surrender


def retried_by_clients(status: int | None) -> bool:
    """Do the OpenAI and Anthropic SDKs ask again after this status (a failure without one becomes a 502)?"""
    return status is None or status in (408, 409, 429) or status >= 500


class Policy(BaseModel):
    """The choices about retries that are configurable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    replay_reasoning: bool = False
    """Replay although reasoning was shown. The client may show two trains of thought, but no answer is contradicted."""
    rounds: int = Field(default=1, ge=0, le=10)
    """How many heals one logical request may have, those of the client's own retries included. One answer is healed
    once at most: a second round healed nothing (docs/heal.md)."""
    equal_answers: int = Field(default=2, ge=0, le=100)
    """How often what is no answer comes in the same bytes until it is handed on; 0 = the budgets alone decide."""
    final_limits: bool = False
    """A stream that broke as often as its budget allows is reported as a failure that no client retries, as
    opencode-sse-retry does. Otherwise it is reported as one that may pass: an agent with tries left goes on."""


# --- limits of their own ---------------------------------------------------------------------------------------------
STATUS_LIMITS: Mapping[int, int] = {424: 1, 525: 0, 526: 0}
"""Retries by status. A TLS handshake that Cloudflare's edge cannot make with its origin (525, 526) does not succeed by
asking again."""
SLOW_LIMITS: Mapping[int, int] = {504: 1, 524: 1}
"""Retries after a long wait. A gateway that gives up late may have left the request running, so asking again doubles
the work. A gateway that answers so at once is an ordinary server error."""
SLOW = 10.0
"""Seconds from which an attempt counts as a long wait. Gateways give up after 30 to 100 s."""
CODE_LIMITS: Mapping[str, int] = {"streamfuse_empty_stream": 2, "tool_use_failed": 1}
INVALID_LIMIT = 1
"""Retries of an answer whose head is no HTTP: a server that writes such a head does so each time."""
SHORT_LIMIT = 1
"""Retries of an answer that is shorter than its Content-Length although the connection was closed in order: its server
counts wrongly, and does so each time."""
BROKEN = "broken"
BROKEN_LIMIT = 8
"""Retries after connections that broke once they were made, where `retry.network` is not configured. The provider may
have read each of these requests, and billed it, and a fault of its own may look so without end. A connection that
cannot be made costs the provider nothing, so it is tried for as long as `retry.network` says."""
_CLIENTS = (INVALID, SHORT)
"""Limits that a client with tries of its own does not need: alone it makes one call a try."""
UNKNOWN_LIMIT = 1
"""Retries of an error inside a 200 that no table knows."""

OVERLOADED = "server_is_overloaded"
SILENT_RETRIES = 3
"""Retries of OpenAI's overload of gpt- models, at most; the first goes out at once and starts no
deadline (MiMo-Code)."""
STALE = "streamfuse_stale_connection"
"""Code of a reset on a reused connection before any response byte: the request was never read, so a retry is free."""

FIRST_WAIT = 0.5
"""Seconds before the first retry of a request, at most, where the provider names no wait. The OpenAI and Anthropic SDKs
wait as long, because most faults of a single call are over at once. Later retries wait as the budget says."""
COME_BACK = (1.0, 5.0)
"""Seconds after which a client is asked to try again, where the provider names no time. The value is random between the
two, so that many agents do not come back at once, and within the SDKs' own pauses (0.5 to 8 s)."""
LONGEST_COME_BACK = 30.0
"""Seconds that a client is asked to wait after a spent budget, at most. The AI SDK ignores waits over 60 s,
openai-python gives up over 120 s."""

LONGEST_CALM = 30.0
"""Seconds up to which the waits of clients grow that wait two seconds or more at first: those of OpenCode (2, 4, 8, …)
and Gemini CLI (5, 10, 20, …) end there. Ours are never shorter than theirs would be: a sooner call is an extra one."""

_PREFILL_REFUSED = re.compile(
    r"(?:does not|doesn't|not) support (?:assistant )?(?:message )?prefill"
    r"|prefill(?:ing)?(?: assistant)?(?: messages?)? (?:is|are) not (?:supported|allowed)"
    r"|must end with a user message"
    r"|(?:last|final) message must (?:be|have role|come)[^.]{0,20}\buser\b"
    r"|(?:cannot|can't) (?:have|set|use|send)[^.]{0,40}(?:assistant|prefill)[^.]{0,40}(?:end|last|thinking)",
    re.IGNORECASE,
)


def refuses_prefill(failure: Failure) -> bool:
    """Does this failure say that the backend refuses a trailing assistant message?"""
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
    if shown is Shown.NOTHING and (free := _free(came, account, prefilled)) is not None:
        return free
    if outcome is Ruling.RESUME and can_resume and came.code == STALE and not account.spent.get("free"):
        return Resume(0.0, "free")
    if outcome is Ruling.SURRENDER and column(came) is Cause.TERMINAL:
        return Surrender(came, Reason.TERMINAL, retry_after=came.retry_after)
    asked = _Asked(came, shown, account, budgets, scope, now, jitter, policy, client_retries, client_calm, took)
    if came.should_retry is False:
        return asked.surrender(Reason.UPSTREAM)
    if replay and came.likeness and 0 < policy.equal_answers <= max(account.hits.get(_like(came), 0), alike) + 1:
        return asked.surrender(Reason.SAME)
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


def column(came: Failure | Finding | None) -> Cause:
    """The column of the table for what ended the attempt."""
    if came is None:
        return Cause.CLEAN
    if isinstance(came, Finding):
        return Cause.LOOP if came.acts else Cause.CLEAN
    return Cause.TERMINAL if came.kind is Kind.TERMINAL else Cause.MAY_PASS


def resting(account: Account, now: float) -> float:
    """Seconds that this request must still wait before it may ask the provider; 0 = it may ask now."""
    return max(0.0, account.closed_until - now)


def from_memory(last: Failure, jitter: float) -> Surrender:
    """The answer to a request that waited for a failing provider and was not sent: the provider's last failure, as it
    came."""
    return Surrender(last, Reason.CLOSED, retry_after=come_back(last, jitter))


def same_again(last: Failure) -> Surrender:
    """The answer to a request that waited to ask again, while others got what it has got itself."""
    return Surrender(last, Reason.SAME)


def come_back(failure: Failure, jitter: float) -> float:
    """Seconds after which a client may try again: the provider's own wait, else a short one of ours."""
    if failure.retry_after is not None:
        return failure.retry_after
    return COME_BACK[0] + (COME_BACK[1] - COME_BACK[0]) * jitter


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
    if came is not None and (limited := _limited(came, slow=True)) is not None:
        hits = _more(hits, limited[0])
    if came is not None and came.likeness:
        hits = _more(hits, _like(came))
    account = replace(account, failures=failures, since=since, hits=hits)
    if isinstance(decision, Surrender) and decision.rest > 0 and came is not None:
        status = decision.told.status
        code = decision.code or "streamfuse_budget_exhausted"
        account = replace(account, closed_until=now + decision.rest, closed_as=(came.kind.value, status, code))
    return account


# --- the steps -------------------------------------------------------------------------------------------------------
class _Asked:
    """One failure and the budget that it draws on: may it be tried again, and after which wait?"""

    __slots__ = (
        "_calm",
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
        client_calm: float,
        took: float,
    ) -> None:
        # As in MiMo-Code: the request phase ends with the first content event, and a stream error belongs to the stream
        # phase even before it.
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
        if limited is not None and client_retries and (failure.status in SLOW_LIMITS or limited[0] in _CLIENTS):
            limited = limited[0], 0  # the client decides whether it is worth another attempt
        if limited is not None and limited[0] == BROKEN and ("network" in budgets.explicit or not policy.equal_answers):
            limited = None  # the budgets alone decide
        self.own = limited is None or account.hits.get(limited[0], 0) < limited[1]
        """The failure's own limit allows another attempt, or it has none."""
        number = self.number
        ours = shown is Shown.NOTHING and self.budget.max_retries != 0 and not budgets.explicit & {"request", self.name}
        # The first retry comes at once, unless the wait is configured or the client itself waits longer.
        quick = ours and not client_calm
        # A rule has a count of its own; all other failures share one number. The quick retry comes on top of the
        # budget's retries, which keep their waits. So does one more of a rate limit, where no retry of the client's own
        # follows: five waits are one minute, and a limit by the minute may need two.
        more = quick + (ours and failure.kind is Kind.RATE_LIMIT and not client_retries)
        by_count = (failure.kind is Kind.RULE and limited is not None) or self.budget.allows(number - more)
        self.allowed = self.own and by_count
        turn = number - 1 if quick else number
        self.wait = self.budget.delay(turn, jitter, failure.retry_after)
        if failure.retry_after is not None and ours and number > 1:
            # The wait that the provider named was kept, and it fails still: from now on its word is the least wait, and
            # ours counts where it is longer. Otherwise "in 2 s" spends all retries in a quarter of a minute.
            self.wait = max(self.wait, self.budget.delay(turn, jitter))
        if quick and number == 1 and failure.retry_after is None:
            self.wait = min(self.wait, FIRST_WAIT)
        self._calm = ours and client_calm > 0
        if self._calm:
            self.wait = max(self.wait, min(client_calm * 2.0 ** (number - 1), LONGEST_CALM))
        self.least = min(FIRST_WAIT, self.budget.initial_delay)
        """Seconds. An attempt after a shorter wait is not worth a call."""

    def late(self, wait: float) -> bool:
        """Would the next attempt start at or after the deadline?"""
        return self.budget.deadline is not None and wait >= self.budget.deadline - self._elapsed

    def surrender(self, reason: Reason) -> Surrender:
        """Give up. While the client can still get a status it is told when to try again; only where the deadline of its
        request is over is it told not to."""
        failure = self.failure
        over = self.budget.deadline is not None and self._elapsed >= self.budget.deadline
        after = failure.retry_after
        if self._shown is Shown.NOTHING and not over and reason not in (Reason.UPSTREAM, Reason.SAME):
            after = come_back(failure, self._jitter)
            if reason is Reason.RETRIES and (failure.retry_after is None or self._calm):
                # From now on each retry of the client is one call: it must not come sooner than ours would have. A
                # client that waits long by itself begins with its shortest wait, whatever the provider named in vain.
                after = max(after, min(self.wait, LONGEST_COME_BACK))
        rest = failure.retry_after or 0.0
        return Surrender(failure, reason, self.name, after, rest, over, self._policy.final_limits)


def _limited(failure: Failure, slow: bool) -> tuple[str, int] | None:
    """(key in Account.hits, retries allowed) where a failure has a limit of its own, else None. `slow`: it came after a
    long wait."""
    if failure.rule is not None and failure.rule_limit is not None:
        return f"rule:{failure.rule}", failure.rule_limit
    if failure.code is not None and failure.code in CODE_LIMITS:
        return failure.code, CODE_LIMITS[failure.code]
    if failure.code == INVALID and failure.phase is not Phase.STREAM:
        return INVALID, INVALID_LIMIT
    if failure.code == SHORT:
        return SHORT, SHORT_LIMIT
    if failure.status is not None and failure.status in STATUS_LIMITS:
        return f"status:{failure.status}", STATUS_LIMITS[failure.status]
    if slow and failure.status is not None and failure.status in SLOW_LIMITS:
        return f"status:{failure.status}", SLOW_LIMITS[failure.status]
    if failure.kind is Kind.UNKNOWN and failure.phase is Phase.STREAM:
        return "unknown", UNKNOWN_LIMIT
    if failure.kind is Kind.NETWORK and failure.phase is not Phase.CONNECT:
        return BROKEN, BROKEN_LIMIT
    return None


def _like(failure: Failure) -> str:
    """The key in Account.hits of what came instead of an answer."""
    return f"same:{failure.likeness}"


def _free(failure: Failure, account: Account, prefilled: bool) -> Replay | None:
    """The two retries that cost nothing, each allowed once: a stale connection, and a refused prefill."""
    if failure.code == STALE and not account.spent.get("free"):
        return Replay(0.0, "free")
    if prefilled and refuses_prefill(failure) and not account.spent.get("prefill"):
        return Replay(0.0, "prefill", without_prefill=True)
    return None


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


def _more(counts: Mapping[str, int], key: str) -> dict[str, int]:
    return {**counts, key: counts.get(key, 0) + 1}
