"""The exporters of the official OpenTelemetry SDK, made ready: what the config does not say, the OTEL_… variables do.

Imported by name, when something is to be exported: the packages are an extra, and take a third of a second to load.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ..settings.service.telemetry import Telemetry

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

MODULES = {"TRACES": ("trace_exporter", "OTLPSpanExporter"), "METRICS": ("metric_exporter", "OTLPMetricExporter")}


def ours() -> str:
    """Our version."""
    try:
        return version("streamfuse")
    except PackageNotFoundError:  # run from a checkout
        return "unknown"


def providers(telemetry: Telemetry, environ: Mapping[str, str]) -> tuple[TracerProvider | None, MeterProvider | None]:
    """The SDK's own, exporting over OTLP. Raises ImportError where a package is missing."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    who = {"service.version": ours()}
    if telemetry.service or not (
        environ.get("OTEL_SERVICE_NAME") or "service.name=" in environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    ):
        who["service.name"] = telemetry.service or "streamfuse"
    resource = Resource.create(who)
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

    traces = metrics = None
    if telemetry.traces and environ.get("OTEL_TRACES_EXPORTER", "otlp") != "none":
        traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        traces.add_span_processor(BatchSpanProcessor(exporter("TRACES", "/v1/traces")))
    if telemetry.metrics and environ.get("OTEL_METRICS_EXPORTER", "otlp") != "none":
        reader = PeriodicExportingMetricReader(exporter("METRICS", "/v1/metrics"))
        metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    return traces, metrics
