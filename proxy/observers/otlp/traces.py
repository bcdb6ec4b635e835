"""Where a request's spans belong: ids are drawn, the client's trace goes on, the sampler is asked once a request.

The usual case is written out: W3C trace context, and a sampler that takes what the client's trace takes. Other
propagators and samplers (OTEL_PROPAGATORS, OTEL_TRACES_SAMPLER) are the SDK's own, and cost what they cost. A call
is sampled as its request is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from random import getrandbits
from typing import TYPE_CHECKING, Any

from ..reports import Ended, Report, RequestInfo
from .spans import MOST_NOTES, SAMPLED, Calling, Trace, Who

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

RANDOM = 2
"""The flag that says that the trace's id is random: https://www.w3.org/TR/trace-context-2/#random-trace-id-flag"""
LONGEST = 512
"""Characters of a `traceparent` or `tracestate` that is read, as in the SDK."""

_W3C = {"traceparent", "tracestate", "baggage"}
_PARENT = re.compile(r"[ \t]*([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?[ \t]*")
_USUAL = "ParentBased{root:AlwaysOnSampler,remoteParentSampled:AlwaysOnSampler,remoteParentNotSampled:AlwaysOffSampler,"


class Traces:
    """Notes what is heard of each request, and hands it on when the request has ended."""

    def __init__(
        self, provider: TracerProvider, take: Callable[[Trace], None], clock: Callable[[], int] = time.time_ns
    ):
        """`provider`: the SDK's, for its sampler. `take` gets each trace that is sampled when its request has ended; it
        must not wait. `clock`: nanoseconds since 1970."""
        from opentelemetry import propagate, trace
        from opentelemetry.context import Context as RootContext

        self._propagate, self._trace, self._root = propagate, trace, RootContext()
        self._sampler = provider.sampler
        self._keep = import_module("opentelemetry.sdk.trace.sampling").Decision.RECORD_AND_SAMPLE
        self._usual = self._sampler.get_description().startswith(_USUAL)
        fields = propagate.get_global_textmap().fields
        self._w3c = "traceparent" in fields and fields <= _W3C
        self._take = take
        self._clock = clock
        self.open: dict[str, Trace] = {}
        """By request id."""
        self.who = Who({})

    def began(self, call: RequestInfo, headers: Mapping[str, str]) -> None:
        """A request has come with these headers: its span begins, within the client's trace."""
        self.open[call.request_id] = self._continued(headers) if self._w3c else self._extracted(headers)

    def asking(self, call: RequestInfo, number: int) -> Mapping[str, str]:
        """An upstream call is about to be made: its span begins. The headers that take the trace there."""
        trace = self.open.get(call.request_id)
        if trace is None:
            return {}
        span = getrandbits(64) or 1
        if trace.flags & SAMPLED and len(trace.heard) < MOST_NOTES:
            trace.heard.append((self._clock(), Calling(call, number, span)))
        if trace.passing is not None:
            return trace.passing(trace, span)
        parent = f"00-{trace.ident:032x}-{span:016x}-{trace.flags:02x}"
        return {"traceparent": parent, **trace.carried} if trace.carried else {"traceparent": parent}

    def heard(self, report: Report) -> None:
        """Keep it beside its request, if that is sampled."""
        trace = self.open.get(report.call.request_id)  # type: ignore[union-attr]  # of those that `hears` names
        if trace is not None and trace.flags & SAMPLED and len(trace.heard) < MOST_NOTES:
            trace.heard.append((self._clock(), report))

    def ended(self, report: Ended) -> None:
        """The request is over."""
        trace = self.open.pop(report.call.request_id, None)
        if trace is not None and trace.flags & SAMPLED:
            trace.heard.append((self._clock(), report))
            self._take(trace)

    # --- where it belongs ---------------------------------------------------------------------------------------------
    def _continued(self, headers: Mapping[str, str]) -> Trace:
        """By W3C trace context."""
        ident = parent = flags = 0
        state = ""
        came = headers.get("traceparent")
        if came is not None and len(came) <= LONGEST and (found := _PARENT.fullmatch(came)) is not None:
            version, trace_id, span_id, bits, more = found.groups()
            if version != "ff" and not (version == "00" and more):
                ident, parent, flags = int(trace_id, 16), int(span_id, 16), int(bits, 16) & (SAMPLED | RANDOM)
                if not ident or not parent:
                    ident = parent = 0
        if parent:
            state = _all(headers, "tracestate")
        else:
            ident, flags = getrandbits(128) or 1, SAMPLED | RANDOM
        trace = Trace(ident, getrandbits(64) or 1, parent, flags, self._clock(), self.who)
        trace.state = state
        if not parent and "tracestate" in headers:
            trace.carried = {"tracestate": ""}  # it belongs to a `traceparent` that cannot be read
        if not self._usual:
            self._sampled(trace, self._context(trace) if parent else self._root)
        return trace

    def _extracted(self, headers: Mapping[str, str]) -> Trace:
        """By other propagators."""
        context = self._propagate.extract({name.lower(): value for name, value in headers.items()}, self._root)
        found = self._trace.get_current_span(context).get_span_context()
        parent = found.span_id if found.is_valid else 0
        ident = found.trace_id if parent else getrandbits(128) or 1
        flags = int(found.trace_flags) if parent else SAMPLED | RANDOM
        trace = Trace(ident, getrandbits(64) or 1, parent, flags, self._clock(), self.who)
        trace.state = found.trace_state.to_header() if parent and found.trace_state else ""

        def passing(trace: Trace, span: int) -> Mapping[str, str]:
            carried: dict[str, str] = {}
            self._propagate.inject(carried, self._trace.set_span_in_context(self._span(trace, span, False), context))
            return carried

        trace.passing = passing
        if not self._usual:
            self._sampled(trace, context)
        return trace

    def _sampled(self, trace: Trace, context: Any) -> None:
        """Ask the sampler: the decision, and what it adds."""
        kind = self._trace.SpanKind.SERVER
        result = self._sampler.should_sample(context, trace.ident, "streamfuse", kind, None, ())
        trace.flags = trace.flags & ~SAMPLED | (SAMPLED if result.decision is self._keep else 0)
        trace.more = {key: value for key, value in result.attributes.items() if isinstance(value, str | int | float)}
        state = result.trace_state.to_header() if result.trace_state else ""
        if state != trace.state:
            trace.state = state
            trace.carried = {"tracestate": state}

    def _context(self, trace: Trace) -> Any:
        return self._trace.set_span_in_context(self._span(trace, trace.parent, True), self._root)

    def _span(self, trace: Trace, ident: int, remote: bool) -> Any:
        """For the SDK: a span that is not its own."""
        api = self._trace
        state = api.TraceState.from_header([trace.state]) if trace.state else None
        where = api.SpanContext(trace.ident, ident, remote, api.TraceFlags(trace.flags), state)
        return api.NonRecordingSpan(where)


def _all(headers: Mapping[str, str], name: str) -> str:
    """All headers of this name as one, "" where there is none or too much."""
    if name not in headers:
        return ""
    getall = getattr(headers, "getall", None)
    joined = ",".join(getall(name)) if getall is not None else headers[name]
    return joined if len(joined) <= LONGEST else ""
