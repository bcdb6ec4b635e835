"""What happened, as frozen records, and the fan-out that hands each to every sink.

Records hold numbers, names and ids only: never a character of a prompt or an answer, never a credential. Names that
a client chooses (the model) are cut to a bound here, so that no sink has to. A sink that raises is counted, told
once and left in place; the exchange never notices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from rules import Failure, Finding, Mode, NearMiss, Tokens, because, record

LEAST_TOKENS, LEAST_SECONDS = 10, 0.1
"""Of an answer whose rate is told: shorter ones come in one piece, and their rate says nothing of the provider's."""

MODEL_CHARS = 128
"""Longest model name that is kept; real ones are under 80."""


_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}|[0-9]{1,5}", re.IGNORECASE)


def safe_code(code: str | None) -> str | None:
    """The code if it is a plain word or a short number (a key has dashes, a text has blanks)."""
    return code if code is not None and _CODE.fullmatch(code) else None


def shown_model(model: str) -> str:
    """The name of a model as it is told: a client may write anything there."""
    if len(model) <= MODEL_CHARS and model.isprintable():
        return model
    return "".join(c for c in model[:MODEL_CHARS] if c.isprintable())


class EndReason(StrEnum):
    """Why an answer's body ended, as the client leg saw it."""

    DONE = "done"
    """The wire's own terminal event."""
    EOF = "eof"
    """The upstream ended without one."""
    IDLE = "idle"
    """A timer of the config fired."""
    CLIENT_GONE = "client_gone"
    CUT = "cut"
    ERROR = "error"
    DRAIN = "drain"


class Outcome(StrEnum):
    """What became of a request."""

    OK = "ok"
    CUT = "cut"
    """Ended by us, legally."""
    FAILED = "failed"
    """The client was told of a failure, by status or in the stream."""
    CLIENT_GONE = "client_gone"
    REFUSED = "refused"
    """Answered by us without asking the upstream: a loop across steps, or a spent budget."""
    REJECTED = "rejected"
    """Not taken: bad request, unknown provider, no key, too large, draining."""


@record(frozen=True, slots=True)
class RequestInfo:
    """Who a record is about. `model` is what the client asked for, "" where it named none."""

    request_id: str
    provider: str
    wire: str
    model: str = ""
    streaming: bool = False
    session: str = ""
    """Digest of the session, "" where there is none."""
    scope: str = "request"
    """On whose behalf: what x-streamfuse-scope said."""

    def __post_init__(self) -> None:
        if len(self.model) > MODEL_CHARS or not self.model.isprintable():
            object.__setattr__(self, "model", shown_model(self.model))


@record(frozen=True, slots=True)
class Started:
    """A request was read and goes its way."""

    call: RequestInfo


@record(frozen=True, slots=True)
class Attempted:
    """One upstream call is over. `number` counts from 1 and runs on over phases; seconds since it was begun."""

    call: RequestInfo
    number: int
    seconds: float
    status: int | None = None
    failure: Failure | None = None
    """None = it gave a usable answer (whole, or up to our own cut)."""
    result: str = ""
    """Overrides the word for metrics: cut, client_gone. Default: ok, or the failure's kind."""
    first: float | None = None
    """Seconds from its beginning to its first output, None where none came."""
    tokens: Tokens | None = None
    """As the provider counted this answer; None where it told nothing."""

    @property
    def rate(self) -> float | None:
        """Output tokens a second after the first output; None where too little is known, or came, to tell."""
        if self.first is None or self.tokens is None or self.tokens.output < LEAST_TOKENS:
            return None
        seconds = self.seconds - self.first
        return self.tokens.output / seconds if seconds >= LEAST_SECONDS else None

    @property
    def word(self) -> str:
        """ok, cut, client_gone, or the failure's kind."""
        return self.result or (self.failure.kind.value if self.failure else "ok")


@record(frozen=True, slots=True)
class Retrying:
    """Another attempt follows after `wait` seconds."""

    call: RequestInfo
    failure: Failure | None
    budget: str
    wait: float
    number: int
    """Of the attempt that failed."""
    resume: bool = False
    """Continues the shown answer instead of starting anew."""


@record(frozen=True, slots=True)
class BudgetExhausted:
    """No further attempt: the budget's count, deadline or the provider's reserve said no."""

    call: RequestInfo
    budget: str


@record(frozen=True, slots=True)
class ErrorRuleHit:
    """An error rule matched inside an answer."""

    call: RequestInfo
    rule: str


@record(frozen=True, slots=True)
class LoopFound:
    """A loop rule fired. `acted`: the client's answer was changed by it."""

    call: RequestInfo
    finding: Finding
    acted: bool
    excerpt: str = field(default="", repr=False)
    """What repeated, for the page's eyes: "" unless `privacy.show_excerpts` is on."""

    @property
    def action(self) -> str:
        """note, advise, cut, retry, refuse; `watch` where the rule was only watching."""
        return "watch" if self.finding.mode is Mode.WATCH else self.finding.action.name.lower()

    @property
    def numbers(self) -> dict[str, str | int | float | bool]:
        """The finding for people: rule, action, channel, choice, at, since, span, period, copies, evidence, bars."""
        hit = self.finding.hit
        out: dict[str, str | int | float | bool] = {
            "rule": self.finding.rule,
            "action": self.finding.action.name.lower(),
            "mode": self.finding.mode.value,
            "acted": self.acted,
            "channel": self.finding.channel.label,
            "choice": self.finding.choice,
            "at": hit.at,
            "since": hit.since,
            "span": hit.span,
            "because": because(hit),
        }
        if hit.period is not None:
            out["period"] = hit.period
        if hit.copies is not None:
            out["copies"] = round(hit.copies, 2)
        for name, value in hit.evidence.items():
            out[f"evidence.{name}"] = round(value, 4)
        for name, value in hit.bars.items():
            out[f"bar.{name}"] = round(value, 4)
        return out


@record(frozen=True, slots=True)
class UpstreamCut:
    """The upstream cut a loop itself. `reason`: its word for it, of a fixed list."""

    call: RequestInfo
    reason: str
    choice: int


@record(frozen=True, slots=True)
class NearMissed:
    """A repetition came near a conviction, and the answer left it by itself."""

    call: RequestInfo
    near_miss: NearMiss

    @property
    def numbers(self) -> dict[str, str | int | float]:
        """rule, channel, choice, suspicion (0.5 … 1)."""
        near_miss = self.near_miss
        return {
            "rule": near_miss.rule,
            "channel": near_miss.channel.label,
            "choice": near_miss.choice,
            "suspicion": round(near_miss.suspicion, 2),
        }


@record(frozen=True, slots=True)
class Healed:
    """A looping answer was asked for again, to go on in the client's stream; or, where rules only watch, would have
    been."""

    call: RequestInfo
    result: str
    """healed, again, poor, meant, refused, restarted, slow, broken, watched."""
    style: str
    """thinking, prefill, scratch, note."""
    kept: int
    """Characters of the first text that the model was given."""
    shown: int
    """Characters of it that the client had been shown."""
    changed: tuple[str, ...]
    """Members of the request that differed."""

    @property
    def numbers(self) -> dict[str, str | int | list[str]]:
        """For the journal and the page."""
        return {
            "result": self.result,
            "style": self.style,
            "kept": self.kept,
            "shown": self.shown,
            "changed": list(self.changed),
        }


@record(frozen=True, slots=True)
class Saved:
    """A looping answer was cut: characters spent on the loop, and an estimate of the tokens that did not follow."""

    call: RequestInfo
    looped: int
    tokens: int


@record(frozen=True, slots=True)
class Ended:
    """The request is over; nothing follows about it. Times are seconds from its arrival."""

    call: RequestInfo
    outcome: Outcome
    reason: EndReason | None
    """None where no answer body was begun."""
    status: int | None
    """The HTTP status the client got; None where it left before one."""
    seconds: float
    first_event: float | None = None
    """Until the first event that carries output was written."""
    attempts: int = 0
    events: int = 0
    malformed: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    code: str = ""
    """The stable code of the error that the client was told, "" where none."""
    step: str = ""
    """Class of the finished step (final, truncated, think_only, …), "" where it was not judged."""
    findings: tuple[LoopFound, ...] = ()
    server_cuts: tuple[UpstreamCut, ...] = ()
    near_misses: tuple[NearMissed, ...] = ()
    tokens: Tokens | None = None
    """As the provider counted the answer; None where it told nothing."""
    heal: Healed | None = None
    saved: Saved | None = None


@record(frozen=True, slots=True)
class Rewritten:
    """The history of a request was changed: steps of streaks cropped, our own cuts and notices tidied away."""

    call: RequestInfo
    cropped: int
    cache_risk: bool
    tidied: bool


@record(frozen=True, slots=True)
class FollowedUp:
    """An answer was asked for again: length, think_only, text_tool_call, json_schema."""

    call: RequestInfo
    name: str
    number: int
    """Of the attempt that was followed up."""


@record(frozen=True, slots=True)
class Queued:
    """A request has waited for a place among the calls to its provider, so many seconds."""

    call: RequestInfo
    seconds: float


@record(frozen=True, slots=True)
class TextWaited:
    """Text of an answer was held back for so many seconds, because a rule was half convinced. `dropped`: it then cut,
    and the client never saw the text."""

    call: RequestInfo
    seconds: float
    dropped: bool


@record(frozen=True, slots=True)
class FromMemory:
    """A request was answered without asking its provider. `reason`: breaker (it is failing), queue (no place among its
    calls), turn (others ask it already, one after the other)."""

    call: RequestInfo
    reason: str


@record(frozen=True, slots=True)
class FellBack:
    """The provider has failed for good, the client has seen nothing: another is asked."""

    call: RequestInfo
    failure: Failure
    provider: str
    model: str


@record(frozen=True, slots=True)
class BreakerChanged:
    """A provider's breaker has opened, stays open after a probe, or has closed."""

    provider: str
    model: str
    open: bool
    failure: Failure
    forgotten: bool = False
    """It closes because nothing is known of the provider any more, not because this process had an answer."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", shown_model(self.model))


@record(frozen=True, slots=True)
class StateChanged:
    """The shared state came or went. `detail` is a class of error, never an address."""

    healthy: bool
    detail: str = ""


@record(frozen=True, slots=True)
class Stage:
    """The process: started, draining, stopped, reloaded, reload_failed, sighup_ignored, worker_died, observer_failed,
    notify_failed, not_http, request_failed, library_complains, unwatched. `facts` are numbers and names."""

    name: str
    facts: Mapping[str, str | int | float] = field(default_factory=dict)
    wrong: bool = False
    """Somebody should look at it."""


Report: TypeAlias = (
    Started
    | Attempted
    | Retrying
    | BudgetExhausted
    | ErrorRuleHit
    | LoopFound
    | UpstreamCut
    | NearMissed
    | Rewritten
    | FollowedUp
    | Healed
    | Saved
    | Ended
    | Queued
    | FromMemory
    | FellBack
    | BreakerChanged
    | StateChanged
    | Stage
    | TextWaited
)


class Observer(Protocol):
    """A sink. `hear` is called on the event loop: it must not wait.

    It may have a member `hears`, which maps classes of records to what takes them: it is then told of no others, and
    not asked each time which one it is."""

    def hear(self, report: Report) -> None:
        """Something happened."""


class Tracing(Protocol):
    """Takes the client's trace on to the providers."""

    def began(self, call: RequestInfo, headers: Mapping[str, str]) -> None:
        """A request has come with these headers."""

    def asking(self, call: RequestInfo, number: int) -> Mapping[str, str]:
        """An upstream call is about to be made: the headers that take the trace there."""


class Reports:
    """Hands each record to every sink, in order; no sink can break another, or the exchange."""

    __slots__ = ("_hearers", "_told", "broken", "observers", "tracing")

    def __init__(self, observers: Iterable[Observer] = (), tracing: Tracing | None = None) -> None:
        self.observers: list[Observer] = list(observers)
        self.tracing = tracing
        self.broken = 0
        """Records that a sink failed to take."""
        self._told: set[int] = set()
        self._hearers: dict[type, tuple[tuple[Observer, Callable[[Any], None]], ...]] = {}
        """Who hears records of a class: found once."""

    def add(self, observer: Observer) -> None:
        """One more sink, from now on."""
        self.observers.append(observer)
        self._hearers.clear()

    def _who(self, kind: type) -> tuple[tuple[Observer, Callable[[Any], None]], ...]:
        found: list[tuple[Observer, Callable[[Any], None]]] = []
        for observer in self.observers:
            hears: Mapping[type, Callable[[Any], None]] | None = getattr(observer, "hears", None)
            hear = observer.hear if hears is None else hears.get(kind)
            if hear is not None:
                found.append((observer, hear))
        self._hearers[kind] = hearers = tuple(found)
        return hearers

    def tell(self, report: Report) -> None:
        """Hand it out. Never raises."""
        hearers = self._hearers.get(kind := type(report))
        for observer, hear in hearers if hearers is not None else self._who(kind):
            try:
                hear(report)
            except Exception as error:  # a sink is someone else's code
                self.broken += 1
                if id(observer) not in self._told:
                    self._told.add(id(observer))
                    # Told to all, the broken one included, by class only: an exception's text may hold anything.
                    facts = {"observer": type(observer).__name__, "error": type(error).__name__}
                    self.tell(Stage("observer_failed", facts, wrong=True))
