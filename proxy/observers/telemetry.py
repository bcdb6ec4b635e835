"""OpenTelemetry: a span for each request, one for each upstream call below it, and the GenAI metrics, over OTLP.

Needs the extra `streamfuse[otel]`. Off, nothing of it is imported and no request asks it anything; the client's
`traceparent` then passes like any other header. On, the client's trace goes on through the request's span and the
call's span to the provider, in the form that OTEL_PROPAGATORS names (W3C trace context by default).

Names and numbers only, like all sinks: no text of prompts, answers or errors. The official SDK's own threads export;
what a collector does not take in time is dropped there. Names follow the GenAI semantic conventions 1.41:
https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rules import Failure, wire_named

from ..settings.load import Settings
from ..settings.service.telemetry import Telemetry
from .otlp import ours, providers
from .reports import (
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
    Stage,
    safe_code,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

OTHER = "other"
FLUSH = 2.0
"""Seconds for what is not exported yet when the process ends."""

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")

KNOWN = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "openai.azure.com": "azure.ai.openai",
    "services.ai.azure.com": "azure.ai.inference",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
    "api.cohere.com": "cohere",
    "amazonaws.com": "aws.bedrock",
}
"""`gen_ai.provider.name` by the end of a host's name; others are called as the config calls them."""

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)


class _RequestSpans:
    """The spans of one request."""

    __slots__ = ("call", "context", "span")

    def __init__(self, span: Span, context: Context) -> None:
        self.span = span
        self.context = context
        """With the span in it: what calls below it go on from."""
        self.call: Span | None = None
        """Of the upstream call that runs."""


class TelemetryObserver:
    """Makes spans and measurements of what it hears. Without providers it hears nothing."""

    def __init__(
        self,
        settings: Settings,
        traces: TracerProvider | None = None,
        metrics: MeterProvider | None = None,
        *,
        missing: bool = False,
    ) -> None:
        """`traces`, `metrics`: of the official SDK, ready to export. `missing`: it is wanted and not installed."""
        self.missing = missing
        made: list[Any] = [one for one in (traces, metrics) if one is not None]
        self._shutdown: list[Callable[[], object]] = [one.shutdown for one in made]
        self._tracer = traces.get_tracer("streamfuse", ours()) if traces is not None else None
        self._open: dict[str, _RequestSpans] = {}
        self._models: set[tuple[str, str]] = set()
        self.hears: dict[type, Callable[[Any], None]] = {}
        if self._tracer is not None:
            from opentelemetry import propagate, trace
            from opentelemetry.context import Context as RootContext

            self._propagate, self._trace = propagate, trace
            self._fields = propagate.get_global_textmap().fields
            """The headers that a client's trace may come in."""
            self._root = RootContext()
            self.hears = {
                Retrying: self._retrying,
                FellBack: self._fell_back,
                FromMemory: self._from_memory,
                Queued: self._queued,
                LoopFound: self._found,
                Healed: self._healed,
                Ended: self._ended,
            }
        self._meters = None
        if metrics is not None:
            meter = metrics.get_meter("streamfuse", ours())
            self._meters = (
                meter.create_histogram(
                    "gen_ai.client.operation.duration",
                    "s",
                    "GenAI operation duration.",
                    explicit_bucket_boundaries_advisory=_SECONDS,
                ),
                meter.create_histogram(
                    "gen_ai.client.operation.time_to_first_chunk",
                    "s",
                    "Time to receive the first chunk that carries output.",
                    explicit_bucket_boundaries_advisory=_SECONDS,
                ),
                meter.create_histogram(
                    "gen_ai.client.token.usage",
                    "{token}",
                    "Number of input and output tokens used.",
                    explicit_bucket_boundaries_advisory=_TOKENS,
                ),
            )
        if self.hears or self._meters is not None:
            self.hears[Attempted] = self._attempted
        self.renew(settings)

    @property
    def tracing(self) -> TelemetryObserver | None:
        """Whom requests ask for the headers of their trace; None where nothing is traced."""
        return self if self._tracer is not None else None

    def renew(self, settings: Settings) -> None:
        """Another config is in force. Whether and where anything is exported is decided at the start."""
        self._most_models = settings.metrics.models
        self._providers: dict[str, dict[str, str | int]] = {}
        for name, provider in settings.providers.items():
            parts = urlsplit(provider.base_url)
            host = parts.hostname or ""
            known = next((value for end, value in KNOWN.items() if host == end or host.endswith("." + end)), name)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            self._providers[name] = {"gen_ai.provider.name": known, "server.address": host, "server.port": port}

    # --- asked by requests --------------------------------------------------------------------------------------------
    def began(self, call: RequestInfo, headers: Mapping[str, str]) -> None:
        """A request has come with these headers: its span begins, within the client's trace."""
        assert self._tracer is not None
        parent = self._root
        if any(name in headers for name in self._fields):
            parent = self._propagate.extract({name.lower(): value for name, value in headers.items()})
        span = self._tracer.start_span("streamfuse", parent, self._trace.SpanKind.SERVER)
        self._open[call.request_id] = _RequestSpans(span, self._trace.set_span_in_context(span, parent))

    def asking(self, call: RequestInfo, number: int) -> Mapping[str, str]:
        """An upstream call is about to be made: its span begins. The headers that take the trace there."""
        open_ = self._open.get(call.request_id)
        if open_ is None or self._tracer is None:
            return {}
        self._over(open_)
        attributes = self._who(call) | {"streamfuse.attempt": number}
        operation = str(attributes.get("gen_ai.operation.name", "call"))
        name = f"{operation} {call.model}" if call.model else operation
        open_.call = self._tracer.start_span(name, open_.context, self._trace.SpanKind.CLIENT, attributes)
        carried: dict[str, str] = {}
        self._propagate.inject(carried, self._trace.set_span_in_context(open_.call, open_.context))
        return carried

    def _who(self, call: RequestInfo) -> dict[str, str | int]:
        who = dict(self._providers.get(call.provider, {}))
        who["streamfuse.provider"] = call.provider
        if operation := wire_named(call.wire).operation:
            who["gen_ai.operation.name"] = operation
        if call.model:
            who["gen_ai.request.model"] = call.model
        return who

    @staticmethod
    def _over(open_: _RequestSpans) -> None:
        if open_.call is not None:
            open_.call.end()
            open_.call = None

    # --- heard --------------------------------------------------------------------------------------------------------
    def hear(self, report: Report) -> None:
        """What the SDK is told, if anything."""
        hear = self.hears.get(type(report))
        if hear is not None:
            hear(report)

    def _attempted(self, report: Attempted) -> None:
        error = error_type(report.failure)
        open_ = self._open.get(report.call.request_id)
        if open_ is not None and (span := open_.call) is not None:
            facts: dict[str, str | int | float] = {"streamfuse.result": report.word}
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
            if error:
                facts["error.type"] = error
                span.set_status(self._trace.StatusCode.ERROR)
            span.set_attributes(facts)  # at once: each call takes a lock
            self._over(open_)
        if self._meters is not None:
            self._measure(report, error)

    def _measure(self, report: Attempted, error: str) -> None:
        assert self._meters is not None
        duration, first, tokens = self._meters
        who = self._who(report.call)
        del who["streamfuse.provider"]
        if report.call.model:
            who["gen_ai.request.model"] = self._model(report.call)
        duration.record(report.seconds, {**who, "error.type": error} if error else who)
        if report.first is not None and report.call.streaming:
            first.record(report.first, who)
        if report.tokens is not None:
            tokens.record(report.tokens.input, {**who, "gen_ai.token.type": "input"})
            tokens.record(report.tokens.output, {**who, "gen_ai.token.type": "output"})

    def _model(self, call: RequestInfo) -> str:
        """A client chooses the names: those beyond `metrics.models` count as other."""
        key = (call.provider, call.model)
        if key not in self._models:
            if len(self._models) >= self._most_models:
                return OTHER
            self._models.add(key)
        return call.model

    def _event(self, call: RequestInfo, name: str, facts: Mapping[str, str | int | float | bool | None]) -> None:
        open_ = self._open.get(call.request_id)
        if open_ is not None:
            open_.span.add_event(name, {key: value for key, value in facts.items() if value is not None})

    def _retrying(self, report: Retrying) -> None:
        facts: dict[str, str | float | None] = {"wait": report.wait, "budget": report.budget, "resume": report.resume}
        facts["error.type"] = error_type(report.failure) or None
        self._event(report.call, "streamfuse.retry", facts)

    def _fell_back(self, report: FellBack) -> None:
        facts = {"to": report.provider, "to_model": report.model, "error.type": error_type(report.failure)}
        self._event(report.call, "streamfuse.fallback", facts)

    def _from_memory(self, report: FromMemory) -> None:
        self._event(report.call, "streamfuse.from_memory", {"reason": report.reason})

    def _queued(self, report: Queued) -> None:
        self._event(report.call, "streamfuse.queued", {"seconds": report.seconds})

    def _found(self, report: LoopFound) -> None:
        self._event(report.call, "streamfuse.loop", report.numbers)

    def _healed(self, report: Healed) -> None:
        self._event(report.call, "streamfuse.heal", {"result": report.result, "style": report.style})

    def _ended(self, report: Ended) -> None:
        open_ = self._open.pop(report.call.request_id, None)
        if open_ is None:
            return
        self._over(open_)
        span, call = open_.span, report.call
        facts: dict[str, str | int | bool] = {
            "streamfuse.request_id": call.request_id,
            "streamfuse.wire": call.wire,
            "streamfuse.outcome": report.outcome.value,
            "streamfuse.attempts": report.attempts,
        }
        if call.provider:
            facts |= self._who(call)
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
        if report.outcome is Outcome.FAILED:
            span.set_status(self._trace.StatusCode.ERROR)
        span.set_attributes(facts)
        span.end()

    def close(self) -> None:
        """Export what is left, within FLUSH seconds."""
        if self._shutdown:
            thread = threading.Thread(target=lambda: [end() for end in self._shutdown], daemon=True)
            thread.start()
            thread.join(FLUSH)

    def told(self) -> Stage | None:
        """What the journal should say of it at the start."""
        if self.missing:
            return Stage("telemetry_missing", {"install": "streamfuse[otel]"}, wrong=True)
        return None


def error_type(failure: Failure | None) -> str:
    """`error.type`: a status, a stable code or the kind; "" where nothing failed. Never the provider's own words."""
    if failure is None:
        return ""
    return str(failure.status) if failure.status else safe_code(failure.code) or failure.kind.value


def wanted(telemetry: Telemetry, environ: Mapping[str, str]) -> bool:
    """Is anything to be exported?"""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if telemetry.enabled is not None:
        return telemetry.enabled
    return telemetry.endpoint is not None or any(environ.get(name) for name in ENDPOINTS)


def observer(settings: Settings, environ: Mapping[str, str] = os.environ) -> TelemetryObserver:
    """The sink as configured."""
    if not wanted(settings.telemetry, environ):
        return TelemetryObserver(settings)
    try:
        return TelemetryObserver(settings, *providers(settings.telemetry, environ))
    except ImportError:
        return TelemetryObserver(settings, missing=True)
