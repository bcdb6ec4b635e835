"""The threads that export: where the SDK has no sender of bytes, how often metrics go, and what stops them."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from proxy.observers.otlp import exporting
from proxy.observers.otlp.exporting import EVERY, MetricThread, TraceExporter, interval
from proxy.observers.otlp.measured import Measured
from proxy.observers.otlp.spans import Trace, Who
from proxy.observers.reports import Attempted, RequestInfo
from tests.proxy.observers.otlp.test_encoding import heard

RESOURCE, SCOPE = Resource({"service.name": "s"}), InstrumentationScope("streamfuse", "1")


class _Sender:
    """In the place of the SDK's, which takes bytes."""

    def __init__(self, success: bool) -> None:
        self.success, self.sent = success, list[bytes]()

    def export(self, data: bytes) -> _Sender:
        self.sent.append(data)
        return self


@pytest.mark.parametrize(("success", "result"), [(True, SpanExportResult.SUCCESS), (False, SpanExportResult.FAILURE)])
def test_a_batch_is_one_request_of_bytes(
    success: bool, result: SpanExportResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "AT_ONCE", 2)
    inner: Any = OTLPSpanExporter(endpoint="http://127.0.0.1:9")
    assert callable(inner._client.export), "the SDK has another sender: see TraceExporter"
    inner._client = sender = _Sender(success)
    traces = [heard(Trace(number, 2, 0, 1, 3, Who({}))) for number in range(1, 6)]
    assert TraceExporter(inner, RESOURCE, SCOPE).export(traces) is result
    (data,) = sender.sent
    (resource,) = ExportTraceServiceRequest.FromString(data).resource_spans
    assert resource.resource.attributes[0].value.string_value == "s"
    assert resource.scope_spans[0].scope.name == "streamfuse" and len(resource.scope_spans[0].spans) == 15


def test_without_a_sender_of_bytes_the_sdk_encodes_the_same() -> None:
    inner = InMemorySpanExporter()
    assert (
        TraceExporter(inner, RESOURCE, SCOPE).export([heard(Trace(1, 2, 0, 1, 3, Who({})))]) is SpanExportResult.SUCCESS
    )
    spans = inner.get_finished_spans()
    assert [span.name for span in spans] == ["chat größe/模型", "chat größe/模型", "streamfuse"]
    assert all(span.resource == RESOURCE and span.instrumentation_scope is SCOPE for span in spans)


class _Metrics(MetricExporter):
    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error, self.came, self.ended = error, threading.Semaphore(0), False

    def export(self, metrics_data: Any, timeout_millis: float = 10_000, **more: Any) -> MetricExportResult:
        self.came.release()
        if self.error is not None:
            raise self.error
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return True

    def shutdown(self, timeout_millis: float = 30_000, **more: Any) -> None:
        self.ended = True


@pytest.mark.parametrize("error", [None, RuntimeError("a collector's words")])
def test_metrics_go_again_and_again_and_at_the_end(error: Exception | None, caplog: pytest.LogCaptureFixture) -> None:
    made = Measured(RESOURCE, SCOPE)
    made.add(Attempted(RequestInfo("r", "main", "openai_chat", "m"), 1, 0.5, 200))
    exporter = _Metrics(error)
    thread = MetricThread(made, exporter, every=0.001)
    assert exporter.came.acquire(timeout=5) and exporter.came.acquire(timeout=5)
    thread.shutdown()
    assert exporter.ended and "words" not in caplog.text
    last = _Metrics()
    MetricThread(made, last).shutdown()
    assert last.came.acquire(blocking=False)


@pytest.mark.parametrize(("value", "seconds"), [("", EVERY), ("5000", 5.0), ("x", EVERY), ("0", EVERY), ("inf", EVERY)])
def test_how_often_metrics_go(value: str, seconds: float) -> None:
    assert interval({"OTEL_METRIC_EXPORT_INTERVAL": value}) == seconds
