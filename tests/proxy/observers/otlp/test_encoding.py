"""Our bytes of OTLP, read by the official parser and held beside what the SDK's own encoder writes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from proxy.observers.otlp import encoding
from proxy.observers.otlp.encoding import SpanEncoder, varint
from proxy.observers.otlp.exporting import TraceExporter, checked, sampled
from proxy.observers.otlp.spans import NOBODY, Calling, Trace, TracedSpan, Who, spans_of
from proxy.observers.reports import Attempted, Ended, Outcome, Queued, Report, RequestInfo, Retrying
from rules import Failure, Kind, Phase, Tokens

CALL = RequestInfo("request-1", "main", "openai_chat", "größe/模型", True, "0f1e")
WHO = Who({"main": {"gen_ai.provider.name": "openai", "server.address": "api.openai.com", "server.port": 443}})
DOWN = Failure(Phase.HEADERS, Kind.SERVER, "x", status=503)


def heard(trace: Trace) -> Trace:
    """A request that waited, failed once and was answered."""
    came: tuple[Report | Calling, ...] = (
        Queued(CALL, 0.25),
        Calling(CALL, 1, 7),
        Attempted(CALL, 1, 0.5, 503, DOWN),
        Retrying(CALL, DOWN, "server", 1.5, 1),
        Calling(CALL, 2, 8),
        Attempted(CALL, 2, 0.75, 200, None, "", 0.125, Tokens(300, 70_000, 5, 2**40)),
        Ended(CALL, Outcome.FAILED, None, 200, 3.0, attempts=2, code="streamfuse_x"),
    )
    for at, what in enumerate(came):
        trace.heard.append((1_700_000_000_000_000_000 + at, what))
    return trace


def both(trace: Trace) -> tuple[Any, Any]:
    """As we write it, and as the SDK does."""
    exporter = TraceExporter(
        InMemorySpanExporter(), Resource({"service.name": "s"}), InstrumentationScope("streamfuse")
    )
    sampled(lambda trace: None)
    ours = SpanEncoder().request(*exporter._head(), [SpanEncoder().trace(trace, spans_of(trace), checked(trace.state))])
    return ExportTraceServiceRequest.FromString(ours), encode_spans(exporter.readable(trace))


def test_it_says_what_the_sdk_says() -> None:
    trace = Trace(2**127 + 5, 2**63 + 3, 99, 1, 1_700_000_000_000_000_000 - 1, WHO)
    trace.state = "vendor=1,other=2"
    ours, theirs = both(heard(trace))
    for span in ours.resource_spans[0].scope_spans[0].spans:
        span.flags &= ~0xFF  # W3C's flags, which the SDK leaves out
    for span in theirs.resource_spans[0].scope_spans[0].spans:
        for one in (span, *span.events):
            one.attributes.sort(key=lambda pair: pair.key)
        if not span.status.code:
            span.ClearField("status")
    for span in ours.resource_spans[0].scope_spans[0].spans:
        for one in (span, *span.events):
            one.attributes.sort(key=lambda pair: pair.key)
    assert ours == theirs
    first, second, request = ours.resource_spans[0].scope_spans[0].spans
    assert [event.name for event in request.events] == ["streamfuse.queued", "streamfuse.retry"]
    assert first.status.code == 2 and second.parent_span_id == request.span_id and second.name == "chat größe/模型"


def test_what_a_client_sends_as_state_reaches_no_collector_unless_it_is_one() -> None:
    trace = Trace(1, 2, 3, 1, 4, Who({}))
    trace.state = "\x00\udc80 not a list"
    ours, _ = both(heard(trace))
    assert {span.trace_state for span in ours.resource_spans[0].scope_spans[0].spans} == {""}


@given(
    st.dictionaries(
        st.text(max_size=300),
        st.one_of(st.text(max_size=300), st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans()),
    )
)  # fmt: skip
def test_any_attribute_comes_through(facts: dict[str, Any]) -> None:
    encoder = SpanEncoder()
    trace = Trace(1, 2, 0, 1, 3, Who({}))
    for _ in range(2):  # the second time from what was kept
        raw = encoder.request(
            b"", b"", [encoder.trace(trace, [TracedSpan("n", 2, 2, 0, False, 3, 4, NOBODY, facts)], "")]
        )
        (read,) = ExportTraceServiceRequest.FromString(raw).resource_spans[0].scope_spans[0].spans
        got = {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in read.attributes}
        assert repr(got) == repr(facts)


def test_names_that_clients_make_up_do_not_pile_up() -> None:
    encoder = SpanEncoder()
    trace = Trace(1, 2, 0, 1, 3, Who({}))
    for number in range(encoding.MOST_KEPT + 10):
        encoder.trace(trace, [TracedSpan("n", 2, 2, 0, False, 3, 4, NOBODY, {"model": f"m-{number}"})], "")
    assert len(encoder._kept) <= encoding.MOST_KEPT


@given(st.integers(0, 2**64 - 1))
def test_a_varint_is_read_as_it_was_written(number: int) -> None:
    assert sum((byte & 0x7F) << 7 * at for at, byte in enumerate(varint(number))) == number
