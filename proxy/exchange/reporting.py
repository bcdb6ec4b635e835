"""What is told of one exchange while it runs, and its sum at the end. Excerpts apart, numbers and names only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rules import (
    Action,
    Before,
    Channel,
    Failure,
    Finding,
    Heal,
    HealPlan,
    HealResult,
    Mode,
    NearMiss,
    Reason,
    Replay,
    Resume,
    Surrender,
    Tokens,
    tokens,
    unwritten,
)

from ..observers.excerpts import Excerpts
from ..observers.reports import (
    Attempted,
    BudgetExhausted,
    Ended,
    EndReason,
    ErrorRuleHit,
    FellBack,
    FollowedUp,
    FromMemory,
    Healed,
    LoopFound,
    NearMissed,
    Outcome,
    Queued,
    Report,
    Reports,
    RequestInfo,
    Retrying,
    Rewritten,
    Saved,
    Started,
    TextWaited,
    UpstreamCut,
)

if TYPE_CHECKING:
    from .attempt.answer import AttemptEnd
    from .attempt.attempt import Attempt

_BUDGET_SAID_NO = (Reason.RETRIES, Reason.DEADLINE, Reason.HINT, Reason.RESERVE, Reason.CLIENT, Reason.CLOSED)


class Reporting:
    """The reports of one exchange. `call` is filled in when the request has been read."""

    def __init__(self, reports: Reports, ident: str, now: Callable[[], float]) -> None:
        self._reports = reports
        self._now = now
        self.began = now()
        self.call = RequestInfo(ident, "", "opaque")
        self.outcome = Outcome.OK
        self.reason: EndReason | None = None
        self.code = ""
        self.step = ""
        self.attempts = 0
        self.retry: tuple[int, Failure | None, float] | None = None
        """The newest retry: tries before it, what failed, and when (as `now`) it goes out."""
        self.in_line = False
        """It waits for a place among its provider's calls."""
        self.bytes_in = 0
        self._first_at: float | None = None
        self._used: Tokens | None = None
        self._events = 0
        self._malformed = 0
        self.excerpts: Excerpts | None = None
        """Where `privacy.show_excerpts` is on."""
        self._found: list[LoopFound] = []
        self._earlier = 0
        """Findings of the attempts before."""
        self._server_cuts: list[UpstreamCut] = []
        self._near_misses: list[NearMissed] = []
        self._heal: Healed | None = None
        self._saved: Saved | None = None

    def _tell(self, report: Report) -> None:
        self._reports.tell(report)

    @property
    def findings(self) -> Sequence[LoopFound]:
        """What was found so far."""
        return self._found

    def started(self, headers: Mapping[str, str]) -> None:
        """A request has come."""
        if self._reports.tracing is not None:
            self._reports.tracing.began(self.call, headers)
        self._tell(Started(self.call))

    def asking(self) -> Mapping[str, str] | None:
        """An upstream call is about to be made: the headers that take the client's trace there, where it is traced."""
        tracing = self._reports.tracing
        return tracing.asking(self.call, self.attempts) if tracing is not None else None

    def found(self, finding: Finding, acted: bool, asked: Mapping[str, Any] | None = None) -> None:
        """A rule fired. `asked`: the body of the request whose answer it cuts."""
        excerpt = self.excerpts.of(finding) if self.excerpts is not None else ""
        found = LoopFound(self.call, finding, acted, excerpt)
        self._found.append(found)
        self._tell(found)
        if asked is not None:
            hit = finding.hit
            left = unwritten(asked, hit.at)
            before = self._saved or Saved(self.call, 0, 0)
            looped = max(0, hit.at - hit.since)
            self._saved = Saved(self.call, before.looped + looped, before.tokens + left)
            self._tell(Saved(self.call, looped, left))

    def reviewed(self, looked: Before) -> None:
        """The history was looked at before the call."""
        for finding in looked.review.findings:
            self.found(finding, acted=finding is looked.review.acting)
        if looked.cropped or looked.tidied:
            self._tell(Rewritten(self.call, looked.cropped, looked.cache_risk, looked.tidied))

    def followed(self, name: str) -> None:
        """The answer is not handed out, or not all of it: another is asked for."""
        self._tell(FollowedUp(self.call, name, self.attempts))

    def attempted(self, attempt: Attempt, came: AttemptEnd, *, gone: bool = False) -> None:
        """An upstream call is over."""
        events, malformed = attempt.events
        self._events += events
        self._malformed += malformed
        self.bytes_in += attempt.bytes_in
        used = tokens(attempt.usage)
        self._used = used or self._used
        if self._first_at is None:
            self._first_at = attempt.first_at
        failure = came if isinstance(came, Failure) else None
        if failure is not None and failure.rule:
            self._tell(ErrorRuleHit(self.call, failure.rule))
        for cut in attempt.server_cuts:
            told = UpstreamCut(self.call, cut.reason, cut.choice)
            self._server_cuts.append(told)
            self._tell(told)
        if self.call.streaming:  # in a whole answer nothing waits
            for wait in attempt.waits:
                self._tell(TextWaited(self.call, wait.seconds, wait.dropped))
        if came is None and not gone and not attempt.spilled:
            self._near_missed(attempt)
        self._earlier = len(self._found)
        word = "client_gone" if gone else "cut" if isinstance(came, Finding) else ""
        seconds = self._now() - attempt.began
        first = attempt.first_at - attempt.began if attempt.first_at is not None else None
        self._tell(Attempted(self.call, self.attempts, seconds, attempt.status, failure, word, first, used))

    def _near_missed(self, attempt: Attempt) -> None:
        """An answer has ended by itself: what it was near to be cut for, or was cut for in the eyes of a rule that only
        watches. Once a channel of a choice; a loop that the server has cut was no near_miss."""
        known: dict[tuple[int, Channel], NearMiss] = {}
        for found in self._found[self._earlier :]:
            finding = found.finding
            if finding.mode is Mode.WATCH and finding.action >= Action.CUT and finding.channel is not Channel.STEPS:
                near_miss = NearMiss(finding.rule, finding.channel, finding.choice, 1.0)
                known.setdefault((finding.choice, finding.channel), near_miss)
        for near_miss in attempt.near_misses():
            known.setdefault((near_miss.choice, near_miss.channel), near_miss)
        cut = {report.choice for report in attempt.server_cuts}
        for near_miss in known.values():
            if near_miss.choice not in cut:
                report = NearMissed(self.call, near_miss)
                self._near_misses.append(report)
                self._tell(report)

    def retrying(self, came: AttemptEnd, decision: Replay | Resume | Heal) -> None:
        """Another attempt follows."""
        failure = came if isinstance(came, Failure) else None
        self.retry = (self.attempts, failure, self._now() + decision.after)
        resume = isinstance(decision, Resume | Heal)
        self._tell(Retrying(self.call, failure, decision.budget, decision.after, self.attempts, resume))

    def healed(self, plan: HealPlan, result: HealResult) -> None:
        """A heal was tried, or would have been."""
        self._heal = Healed(self.call, result.value, plan.style, plan.kept, plan.shown, plan.changed)
        self._tell(self._heal)

    def queued(self, seconds: float) -> None:
        """It has waited for a place among its provider's calls."""
        self._tell(Queued(self.call, seconds))

    def answered_from_memory(self, reason: str) -> None:
        """It is answered without asking its provider: breaker, queue, turn."""
        self._tell(FromMemory(self.call, reason))

    def fell_back(self, failure: Failure, provider: str, model: str) -> None:
        """Another provider is asked; what follows is told of that one."""
        self._tell(FellBack(self.call, failure, provider, model))
        self.call = replace(self.call, provider=provider, model=model)

    def surrendered(self, decision: Surrender) -> None:
        """The client is told of a failure."""
        if decision.reason in _BUDGET_SAID_NO:
            self._tell(BudgetExhausted(self.call, decision.budget or decision.reason.value))
        self.failed(decision.told)

    def failed(self, failure: Failure) -> None:
        """The exchange ends in a failure."""
        self.outcome, self.code = Outcome.FAILED, failure.code or f"upstream_{failure.kind.value}"

    def rejected(self, code: str) -> None:
        """The request is not taken."""
        self.outcome, self.code = Outcome.REJECTED, code

    def gone(self) -> None:
        """The client left."""
        self.outcome, self.reason = Outcome.CLIENT_GONE, EndReason.CLIENT_GONE

    def ended(self, status: int | None, bytes_out: int) -> None:
        """The exchange is over."""
        first = self._first_at - self.began if self._first_at is not None else None
        self._tell(
            Ended(
                self.call,
                self.outcome,
                self.reason,
                status,
                self._now() - self.began,
                first_event=first,
                attempts=self.attempts,
                events=self._events,
                malformed=self._malformed,
                bytes_in=self.bytes_in,
                bytes_out=bytes_out,
                code=self.code,
                step=self.step,
                tokens=self._used,
                findings=tuple(self._found),
                server_cuts=tuple(self._server_cuts),
                near_misses=tuple(self._near_misses),
                heal=self._heal,
                saved=self._saved,
            )
        )
