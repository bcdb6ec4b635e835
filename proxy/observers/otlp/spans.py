"""What is noted of a traced request, and the spans that are made of it.

While a request runs, each record is kept beside the time at which it came: nothing else is done on the event loop.
The thread that exports makes the spans: one of the request, one of each upstream call below it. Names and numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from rules import Failure, wire_named

from ..reports import (
    Attempted,
    Ended,
    FellBack,
    FromMemory,
    Healed,
    LoopFound,
    Outcome,
    Queued,
    Report,
    RequestInfo,
    Retrying,
    safe_code,
)

Value = str | int | float | bool

SERVER, CLIENT = 2, 3
"""Kinds of spans, by their numbers in OTLP."""
SAMPLED = 1
"""The flag of W3C trace context: https://www.w3.org/TR/trace-context/#sampled-flag"""
MOST_NOTES = 1024
"""Records kept of one request, three for each try."""
MOST_ASKED = 1024
"""Combinations of provider, wire and model whose attributes are kept: models are names that clients choose."""


class InCommon:
    """What all calls to one provider and model have in common: attributes, and the name of their spans."""

    __slots__ = ("encoded", "facts", "name")

    def __init__(self, facts: Mapping[str, Value]) -> None:
        self.facts = facts
        operation, model = facts.get("gen_ai.operation.name", "call"), facts.get("gen_ai.request.model")
        self.name = f"{operation} {model}" if model else str(operation)
        self.encoded: bytes | None = None
        """As whoever writes spans has written the attributes."""


NOBODY = InCommon({})


class Who:
    """The providers of one config, as OpenTelemetry calls them."""

    def __init__(self, providers: Mapping[str, Mapping[str, str | int]]) -> None:
        """Of each provider: gen_ai.provider.name, server.address, server.port."""
        self.providers = providers
        self._asked: dict[tuple[str, str, str], InCommon] = {}

    def asked(self, call: RequestInfo) -> InCommon:
        """Which provider and model a call is for, and what it asks of them. For one thread."""
        key = (call.provider, call.wire, call.model)
        found = self._asked.get(key)
        if found is None:
            facts: dict[str, Value] = dict(self.providers.get(call.provider, {}))
            facts["streamfuse.provider"] = call.provider
            if operation := wire_named(call.wire).operation:
                facts["gen_ai.operation.name"] = operation
            if call.model:
                facts["gen_ai.request.model"] = call.model
            if len(self._asked) >= MOST_ASKED:
                self._asked.clear()
            found = self._asked[key] = InCommon(facts)
        return found


class Calling(NamedTuple):
    """An upstream call begins."""

    call: RequestInfo
    number: int
    span: int
    """Its span's id."""


class TracedSpan(NamedTuple):
    """A span that has ended. Times are nanoseconds since 1970."""

    name: str
    kind: int
    ident: int
    parent: int
    """0 = it has none."""
    remote: bool
    """The parent is the client's."""
    began: int
    ended: int
    asked: InCommon
    attributes: dict[str, Value]
    """Its own, beside those of `asked`."""
    events: Sequence[tuple[int, str, dict[str, Value]]] = ()
    error: bool = False


_NOTHING: Mapping[str, Any] = {}


class Trace:
    """One request: where its spans belong, and what was heard of it, in order."""

    __slots__ = ("began", "carried", "flags", "heard", "ident", "more", "parent", "passing", "root", "state", "who")

    context: ClassVar[Any]
    """What the SDK's batches ask a span for: is it sampled? Set when the SDK is loaded; all that is noted is."""

    def __init__(self, ident: int, root: int, parent: int, flags: int, began: int, who: Who) -> None:
        self.ident = ident
        """Of the trace: 128 bits."""
        self.root = root
        """Of the request's span: 64 bits."""
        self.parent = parent
        """The client's span, 0 = none."""
        self.flags = flags
        self.began = began
        self.who = who
        self.heard: list[tuple[int, Report | Calling]] = []
        """At most MOST_NOTES, and how it ended."""
        self.state = ""
        """Its `tracestate`."""
        self.more: Mapping[str, Value] = _NOTHING
        """Attributes that the sampler adds."""
        self.carried: Mapping[str, str] = _NOTHING
        """Headers that go to the provider beside `traceparent`."""
        self.passing: Callable[[Trace, int], Mapping[str, str]] | None = None
        """Writes the headers of a call's span where it is not W3C's `traceparent` that takes the trace on."""


def spans_of(trace: Trace) -> Iterable[TracedSpan]:
    """The spans of a request that has ended: its calls in order, then its own."""
    events: list[tuple[int, str, dict[str, Value]]] = []
    call: tuple[int, Calling] | None = None
    done: Ended | None = None
    ended = trace.began
    for at, what in trace.heard:
        ended = at
        if isinstance(what, Calling):
            if call is not None:
                yield _called(trace, call, at, None)
            call = (at, what)
        elif isinstance(what, Attempted):
            if call is not None:
                yield _called(trace, call, at, what)
                call = None
        elif isinstance(what, Ended):
            done = what
        elif (told := _event(what)) is not None:
            name, facts = told
            events.append((at, name, {key: value for key, value in facts.items() if value is not None}))
    if call is not None:
        yield _called(trace, call, ended, None)
    own: dict[str, Value] = _request(done) if done is not None else {}
    if trace.more:
        own = {**trace.more, **own}
    asked = trace.who.asked(done.call) if done is not None and done.call.provider else NOBODY
    error = done is not None and done.outcome is Outcome.FAILED
    root, above = trace.root, trace.parent
    yield TracedSpan("streamfuse", SERVER, root, above, bool(above), trace.began, ended, asked, own, events, error)


def _called(trace: Trace, calling: tuple[int, Calling], ended: int, report: Attempted | None) -> TracedSpan:
    began, (call, number, ident) = calling
    asked = trace.who.asked(call)
    facts: dict[str, Value] = {"streamfuse.attempt": number}
    error = ""
    if report is not None:
        facts["streamfuse.result"] = report.word
        if report.status is not None:
            facts["http.response.status_code"] = report.status
        if report.first is not None:
            facts["gen_ai.response.time_to_first_chunk"] = round(report.first, 6)
        if (used := report.tokens) is not None:
            facts["gen_ai.usage.input_tokens"] = used.input
            facts["gen_ai.usage.output_tokens"] = used.output
            if used.cached:
                facts["gen_ai.usage.cache_read.input_tokens"] = used.cached
            if used.reasoning:
                facts["gen_ai.usage.reasoning.output_tokens"] = used.reasoning
        if error := error_type(report.failure):
            facts["error.type"] = error
    return TracedSpan(asked.name, CLIENT, ident, trace.root, False, began, ended, asked, facts, (), bool(error))


def _event(report: Report) -> tuple[str, Mapping[str, Value | None]] | None:
    """Its name and what is told of it."""
    match report:
        case Retrying():
            error = error_type(report.failure) or None
            facts: dict[str, Value | None] = {"wait": report.wait, "budget": report.budget, "resume": report.resume}
            return "streamfuse.retry", {**facts, "error.type": error}
        case FellBack():
            kind = error_type(report.failure)
            return "streamfuse.fallback", {"to": report.provider, "to_model": report.model, "error.type": kind}
        case FromMemory():
            return "streamfuse.from_memory", {"reason": report.reason}
        case Queued():
            return "streamfuse.queued", {"seconds": report.seconds}
        case LoopFound():
            return "streamfuse.loop", report.numbers
        case Healed():
            return "streamfuse.heal", {"result": report.result, "style": report.style}
        case _:
            return None


def _request(report: Ended) -> dict[str, Value]:
    call = report.call
    facts: dict[str, Value] = {
        "streamfuse.request_id": call.request_id,
        "streamfuse.wire": call.wire,
        "streamfuse.outcome": report.outcome.value,
        "streamfuse.attempts": report.attempts,
    }
    if report.reason is not None:
        facts["streamfuse.end"] = report.reason.value
    if call.session:
        facts["streamfuse.session"] = call.session
    if report.status is not None:
        facts["http.response.status_code"] = report.status
    if report.tokens is not None:
        facts["gen_ai.usage.input_tokens"] = report.tokens.input
        facts["gen_ai.usage.output_tokens"] = report.tokens.output
    if report.code and (code := safe_code(report.code)) is not None:
        facts["error.type"] = code
    return facts


def error_type(failure: Failure | None) -> str:
    """`error.type`: a status, a stable code or the kind; "" where nothing failed. Never the provider's own words."""
    if failure is None:
        return ""
    return str(failure.status) if failure.status else safe_code(failure.code) or failure.kind.value
