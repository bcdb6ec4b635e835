"""The client's trace, continued: what a provider and a collector get of it under each propagator and sampler."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from multidict import CIMultiDict
from opentelemetry import propagate
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBasedTraceIdRatio, Sampler, SamplingResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, get_current_span, set_span_in_context

from proxy.observers.otlp.spans import MOST_NOTES, Calling, Trace
from proxy.observers.otlp.traces import Traces
from proxy.observers.reports import Ended, Outcome, Queued, RequestInfo

CALL = RequestInfo("r", "main", "openai_chat", "m")
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def passed(
    headers: Mapping[str, str] = {}, sampler: Sampler | None = None
) -> tuple[dict[str, str], Trace | None]:  # fmt: skip
    """What the provider gets, and what is exported."""
    taken: list[Trace] = []
    tracing = Traces(TracerProvider(sampler, shutdown_on_exit=False), taken.append, clock=iter(range(9)).__next__)
    tracing.began(CALL, CIMultiDict(headers))
    carried = dict(tracing.asking(CALL, 1))
    tracing.ended(Ended(CALL, Outcome.OK, None, 200, 1.0))
    assert not tracing.open
    return carried, taken[0] if taken else None


def test_without_a_trace_one_begins() -> None:
    carried, trace = passed()
    assert trace is not None and not trace.parent
    calling = trace.heard[0][1]
    assert isinstance(calling, Calling)
    assert carried == {"traceparent": f"00-{trace.ident:032x}-{calling.span:016x}-03"}
    other, _ = passed()
    assert other != carried


def test_a_trace_goes_on() -> None:
    carried, trace = passed({"TraceParent": f"00-{TRACE}-{SPAN}-01", "tracestate": "a=1", "baggage": "k=v"})
    assert trace is not None and trace.ident == int(TRACE, 16) and trace.parent == int(SPAN, 16)
    assert trace.state == "a=1"
    assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", carried["traceparent"]) and SPAN not in carried["traceparent"]
    assert set(carried) == {"traceparent"}  # state and baggage pass as they came


def test_what_the_client_does_not_sample_is_not_exported_and_the_provider_is_told() -> None:
    carried, trace = passed({"traceparent": f"00-{TRACE}-{SPAN}-00"})
    assert trace is None and carried["traceparent"].startswith(f"00-{TRACE}") and carried["traceparent"].endswith("-00")


@pytest.mark.parametrize(
    "came",
    ["", "x", f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01",
     f"00-{TRACE}-{SPAN}-01-x", f"00-{TRACE.upper()}-{SPAN}-01", f"00-{TRACE}-{SPAN}-1",
     f"00-{TRACE}-{SPAN}-01-" + "x" * 600],
)  # fmt: skip
def test_what_is_no_traceparent_begins_a_new_trace_and_its_state_is_left_behind(came: str) -> None:
    carried, trace = passed({"traceparent": came, "tracestate": "a=1"})
    assert trace is not None and trace.ident != int(TRACE, 16) and not trace.parent and not trace.state
    assert carried["tracestate"] == "" and TRACE not in carried["traceparent"]


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    _, trace = passed({"traceparent": f"01-{TRACE}-{SPAN}-01-more"})
    assert trace is not None and trace.ident == int(TRACE, 16)


class _Vendor(Sampler):
    """Samples all, and leaves its mark."""

    def should_sample(self, parent_context: Any, *more: Any, **named: Any) -> SamplingResult:
        state = get_current_span(parent_context).get_span_context().trace_state
        return SamplingResult(ALWAYS_ON.should_sample(None, 1, "").decision, {"mark": 1}, state.add("v", "2"))

    def get_description(self) -> str:
        return "vendor"


def test_the_sampler_decides() -> None:
    parent = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    carried, trace = passed(parent, ALWAYS_OFF)
    assert trace is None and carried["traceparent"].endswith("-00")
    _, trace = passed({"traceparent": f"00-{TRACE}-{SPAN}-00"}, ALWAYS_ON)
    assert trace is not None
    assert [passed({}, ParentBasedTraceIdRatio(rate))[1] is not None for rate in (0.0, 1.0)] == [False, True]
    assert passed(parent, ParentBasedTraceIdRatio(0.0))[1] is not None  # the client's trace is sampled
    carried, trace = passed({**parent, "tracestate": "a=1"}, _Vendor())
    assert trace is not None and trace.more == {"mark": 1} and carried["tracestate"] == trace.state == "v=2,a=1"


class _Single(TextMapPropagator):
    """One header of its own, as B3's single header is."""

    fields = {"b3"}  # noqa: RUF012

    def extract(self, carrier: Any, context: Any = None, getter: Any = None) -> Any:
        if "b3" not in carrier:
            return context
        trace, span = (int(part, 16) for part in carrier["b3"].split("-")[:2])
        where = SpanContext(trace, span, True, TraceFlags(1))
        return set_span_in_context(NonRecordingSpan(where), context)

    def inject(self, carrier: Any, context: Any = None, setter: Any = None) -> None:
        where = get_current_span(context).get_span_context()
        carrier["b3"] = f"{where.trace_id:032x}-{where.span_id:016x}-{where.trace_flags:x}"


def test_other_propagators_write_their_own_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(propagate, "get_global_textmap", _Single)
    monkeypatch.setattr(propagate, "propagator", _Single(), raising=False)
    monkeypatch.setattr(propagate, "extract", _Single().extract)
    monkeypatch.setattr(propagate, "inject", _Single().inject)
    carried, trace = passed({"B3": f"{TRACE}-{SPAN}-1"})
    assert trace is not None and trace.ident == int(TRACE, 16) and trace.parent == int(SPAN, 16)
    assert set(carried) == {"b3"} and carried["b3"].startswith(TRACE) and SPAN not in carried["b3"]
    carried, trace = passed()
    assert trace is not None and not trace.parent and f"{trace.ident:032x}" in carried["b3"]


def test_a_call_of_an_unknown_request_is_not_traced() -> None:
    assert Traces(TracerProvider(shutdown_on_exit=False), lambda trace: None).asking(CALL, 1) == {}


def test_of_a_request_without_end_the_first_notes_are_kept_and_the_last() -> None:
    taken: list[Trace] = []
    traces = Traces(TracerProvider(shutdown_on_exit=False), taken.append)
    traces.began(CALL, CIMultiDict())
    for number in range(MOST_NOTES):
        traces.asking(CALL, number)
        traces.heard(Queued(CALL, 0.1))
    done = Ended(CALL, Outcome.OK, None, 200, 1.0)
    traces.ended(done)
    assert len(taken[0].heard) == MOST_NOTES + 1 and taken[0].heard[-1][1] is done
