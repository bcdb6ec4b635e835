"""The exporters of the official OpenTelemetry SDK, made ready: what the config does not say, the OTEL_… variables do.

Imported by name, when something is to be exported: the packages are an extra, and take a third of a second to load.
Everything is exported by threads; the event loop hands them what has ended and goes on.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ...settings.service.telemetry import Telemetry
from .encoding import SpanEncoder
from .measured import Measured
from .spans import CLIENT, Trace, TracedSpan, Who, spans_of
from .traces import Traces

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

MODULES = {"TRACES": ("trace_exporter", "OTLPSpanExporter"), "METRICS": ("metric_exporter", "OTLPMetricExporter")}

AT_ONCE = 16
"""Requests whose spans are made before the thread hands the interpreter back: some 0.3 ms, which no stream notices."""
PAUSE = 0.0005
"""Seconds for which it does."""
EVERY = 60.0
"""Seconds between two exports of metrics, where OTEL_METRIC_EXPORT_INTERVAL says nothing."""

_MEMBER = re.compile(r"[ \t]*(?:[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,256})?[ \t]*")
"""https://www.w3.org/TR/trace-context/#tracestate-header-field-values"""


def ours() -> str:
    """Our version."""
    try:
        return version("streamfuse")
    except PackageNotFoundError:  # run from a checkout
        return "unknown"


class TraceExporter:
    """What the SDK's batches hand traces to: makes their spans, and sends them through the SDK's exporter."""

    def __init__(self, exporter: SpanExporter, resource: Resource, scope: InstrumentationScope) -> None:
        self._exporter = exporter
        self._resource, self._scope = resource, scope
        self._encoder = SpanEncoder()
        self._never = threading.Event()
        # The exporter for http/protobuf of SDK 1.45 has a sender that takes bytes. Where there is none (gRPC, other
        # versions), the SDK encodes: the same spans, more slowly.
        send = getattr(getattr(exporter, "_client", None), "export", None)
        self._send: Callable[[bytes], Any] | None = send if callable(send) else None
        self._state = import_module("opentelemetry.trace").TraceState.from_header
        self._heads: tuple[bytes, bytes] | None = None

    def export(self, traces: Sequence[Trace]) -> SpanExportResult:
        """Called by a thread of the SDK."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        if self._send is None:
            return self._exporter.export([span for trace in traces for span in self.readable(trace)])
        made: list[bytes] = []
        for number, trace in enumerate(traces):
            if number and not number % AT_ONCE:
                self._never.wait(PAUSE)
            made.append(self._encoder.trace(trace, spans_of(trace), checked(trace.state)))
        sent = self._send(self._encoder.request(*self._head(), made))
        return SpanExportResult.SUCCESS if sent.success else SpanExportResult.FAILURE

    def _head(self) -> tuple[bytes, bytes]:
        """Resource and scope as the SDK encodes them."""
        if self._heads is None:
            encode = import_module("opentelemetry.exporter.otlp.proto.common.trace_encoder").encode_spans
            whole = encode(list(self.readable(Trace(1, 1, 0, 1, 1, Who({}))))).resource_spans[0]
            self._heads = whole.resource.SerializeToString(), whole.scope_spans[0].scope.SerializeToString()
        return self._heads

    def readable(self, trace: Trace) -> Sequence[ReadableSpan]:
        """Its spans as the SDK's own."""
        return [self._readable(trace, span) for span in spans_of(trace)]

    def _readable(self, trace: Trace, span: TracedSpan) -> ReadableSpan:
        from opentelemetry import trace as api
        from opentelemetry.sdk.trace import Event, ReadableSpan

        checked_state = checked(trace.state)
        state = self._state([checked_state]) if checked_state else None
        flags = api.TraceFlags(trace.flags)
        where = api.SpanContext(trace.ident, span.ident, False, flags, state)
        above = api.SpanContext(trace.ident, span.parent, span.remote, flags, state) if span.parent else None
        return ReadableSpan(
            span.name,
            where,
            above,
            self._resource,
            {**span.asked.facts, **span.attributes},
            [Event(name, facts, at) for at, name, facts in span.events],
            kind=api.SpanKind.CLIENT if span.kind == CLIENT else api.SpanKind.SERVER,
            status=api.Status(api.StatusCode.ERROR if span.error else api.StatusCode.UNSET),
            start_time=span.began,
            end_time=span.ended,
            instrumentation_scope=self._scope,
        )

    def shutdown(self) -> None:
        """The last batch is out."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing is kept here."""
        return True


def checked(state: str) -> str:
    """A `tracestate`, "" where it is none: a client may send anything, and the SDK would log it."""
    return state if all(_MEMBER.fullmatch(member) for member in state.split(",")) else ""


class MetricThread:
    """Exports what was measured, every so often and at the end."""

    def __init__(self, measured: Measured, exporter: MetricExporter, every: float = EVERY) -> None:
        self._measured, self._exporter, self._every = measured, exporter, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="streamfuse-metrics", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            last = self._stop.wait(self._every)
            try:
                if (data := self._measured.collect()) is not None:
                    self._exporter.export(data)
            except Exception as error:  # whatever a collector does, the next export may have more luck
                logging.getLogger(__name__).warning("metrics are not exported: %s", type(error).__name__)
            if last:
                return

    def shutdown(self) -> None:
        """Export once more, and end."""
        self._stop.set()
        self._thread.join()
        self._exporter.shutdown()


def sinks(
    telemetry: Telemetry, environ: Mapping[str, str]
) -> tuple[Traces | None, Measured | None, list[Callable[[], object]]]:
    """Who takes traces and who takes measurements, exporting over OTLP; and what ends them. Raises ImportError where a
    package is missing."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    who = {"service.version": ours()}
    if telemetry.service or not (
        environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    ):
        who["service.name"] = telemetry.service or "streamfuse"
    resource, scope = Resource.create(who), InstrumentationScope("streamfuse", ours())
    headers = {name: value.get_secret_value() for name, value in telemetry.headers.items()} or None

    def exporter(kind: str, path: str) -> Any:
        how = environ.get(f"OTEL_EXPORTER_OTLP_{kind}_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "")
        base = telemetry.endpoint
        module, name = MODULES[kind]
        if how == "grpc":
            made: Any = import_module(f"opentelemetry.exporter.otlp.proto.grpc.{module}")
        else:
            made = import_module(f"opentelemetry.exporter.otlp.proto.http.{module}")
            base = base.rstrip("/") + path if base else None
        return getattr(made, name)(endpoint=base, headers=headers)

    tracing: Traces | None = None
    measured: Measured | None = None
    ends: list[Callable[[], object]] = []
    if telemetry.traces and environ.get("OTEL_TRACES_EXPORTER", "otlp") != "none":
        inner = exporter("TRACES", "/v1/traces")
        batches: Any = BatchSpanProcessor(TraceExporter(inner, resource, scope))  # type: ignore[arg-type]
        tracing = Traces(TracerProvider(resource=resource, shutdown_on_exit=False), sampled(batches.on_end))
        ends.append(batches.shutdown)
    if telemetry.metrics and environ.get("OTEL_METRICS_EXPORTER", "otlp") != "none":
        how = environ.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "").strip().lower()
        measured = Measured(resource, scope, delta=how in {"delta", "lowmemory"})
        ends.append(MetricThread(measured, exporter("METRICS", "/v1/metrics"), interval(environ)).shutdown)
    return tracing, measured, ends


def sampled(take: Callable[[Trace], None]) -> Callable[[Trace], None]:
    """What is handed on is sampled: say so in the words of the SDK."""
    api = import_module("opentelemetry.trace")
    Trace.context = api.SpanContext(1, 1, False, api.TraceFlags(api.TraceFlags.SAMPLED))
    return take


def interval(environ: Mapping[str, str]) -> float:
    """Seconds between two exports of metrics."""
    try:
        seconds = float(environ.get("OTEL_METRIC_EXPORT_INTERVAL", "")) / 1000
    except ValueError:
        return EVERY
    return seconds if 0 < seconds < threading.TIMEOUT_MAX else EVERY
