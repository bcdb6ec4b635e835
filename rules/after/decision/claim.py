"""One failure and the budget that it draws on: may it be tried again, and after which wait?"""

from __future__ import annotations

from ...values.failures import Failure, Kind, Phase
from ...values.transcript import Shown
from ..budgets import Account, Budget, Budgets, Scope
from .come_back import come_back
from .limits import BROKEN, OF_CLIENTS, SLOW, SLOW_LIMITS, own_limit
from .outcome import Reason, Surrender
from .policy import Policy

FIRST_WAIT = 0.5
"""Seconds before the first retry of a request, at most, where the provider names no wait. The OpenAI and Anthropic SDKs
wait as long, because most faults of a single call are over at once. Later retries wait as the budget says."""
LONGEST_COME_BACK = 30.0
"""Seconds that a client is asked to wait after a spent budget, at most. The AI SDK ignores waits over 60 s,
openai-python gives up over 120 s."""

LONGEST_CALM = 30.0
"""Seconds up to which the waits of clients grow that wait two seconds or more at first: those of OpenCode (2, 4, 8, …)
and Gemini CLI (5, 10, 20, …) end there. Ours are never shorter than theirs would be: a sooner call is an extra one."""


class Claim:
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
        limit = own_limit(failure, slow=took >= SLOW)
        if limit is not None and client_retries and (failure.status in SLOW_LIMITS or limit[0] in OF_CLIENTS):
            limit = limit[0], 0  # the client decides whether it is worth another attempt
        if limit is not None and limit[0] == BROKEN and ("network" in budgets.explicit or not policy.equal_answers):
            limit = None  # the budgets alone decide
        self.own = limit is None or account.hits.get(limit[0], 0) < limit[1]
        """The failure's own limit allows another attempt, or it has none."""
        number = self.number
        ours = shown is Shown.NOTHING and self.budget.max_retries != 0 and not budgets.explicit & {"request", self.name}
        # The first retry comes at once, unless the wait is configured or the client itself waits longer.
        quick = ours and not client_calm
        # A rule has a count of its own; all other failures share one number. The quick retry comes on top of the
        # budget's retries, which keep their waits. So does one more of a rate limit, where no retry of the client's own
        # follows: five waits are one minute, and a limit by the minute may need two.
        more = quick + (ours and failure.kind is Kind.RATE_LIMIT and not client_retries)
        by_count = (failure.kind is Kind.RULE and limit is not None) or self.budget.allows(number - more)
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
