"""What can be decided after an attempt. All are values; `Surrender` also says what the client is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from ...values import record
from ...values.failures import Failure, Kind, Phase


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


@record(frozen=True, slots=True)
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
