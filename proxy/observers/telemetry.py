"""OpenTelemetry: a span for each request, one for each upstream call below it, and the GenAI metrics, over OTLP.

Needs the extra `streamfuse[otel]`. Off, nothing of it is imported and no request asks it anything; the client's
`traceparent` then passes like any other header. On, the client's trace goes on through the request's span and the
call's span to the provider, in the form that OTEL_PROPAGATORS names (W3C trace context by default).

Names and numbers only, like all sinks: no text of prompts, answers or errors. What a request pays for is notes and
additions; threads make spans of them and export (`otlp/`), and what a collector does not take in time is dropped
there. Names follow the GenAI semantic conventions 1.41: https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ..settings.load import Settings
from ..settings.service.telemetry import Telemetry
from .otlp.exporting import sinks
from .otlp.measured import Measured
from .otlp.spans import Who
from .otlp.traces import Traces
from .reports import Attempted, Ended, FellBack, FromMemory, Healed, LoopFound, Queued, Report, Retrying, Stage

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


class TelemetryObserver:
    """Notes what it hears. Without traces and metrics it hears nothing."""

    def __init__(
        self,
        settings: Settings,
        tracing: Traces | None = None,
        measured: Measured | None = None,
        ends: Sequence[Callable[[], object]] = (),
        *,
        missing: bool = False,
    ) -> None:
        """`ends`: what exports the rest, called once. `missing`: it is wanted and not installed."""
        self.missing = missing
        self.tracing = tracing
        """Whom requests ask for the headers of their trace; None where nothing is traced."""
        self._measured = measured
        self._ends = ends
        self.hears: dict[type, Callable[[Any], None]] = {}
        if tracing is not None:
            self.hears = dict.fromkeys(
                (Attempted, Retrying, FellBack, FromMemory, Queued, LoopFound, Healed), tracing.heard
            )
            self.hears[Ended] = tracing.ended
        if measured is not None:
            self.hears[Attempted] = measured.add if tracing is None else self._attempted
        self.renew(settings)

    def renew(self, settings: Settings) -> None:
        """Another config is in force. Whether and where anything is exported is decided at the start."""
        who: dict[str, dict[str, str | int]] = {}
        for name, provider in settings.providers.items():
            parts = urlsplit(provider.base_url)
            host = parts.hostname or ""
            known = next((value for end, value in KNOWN.items() if host == end or host.endswith("." + end)), name)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            who[name] = {"gen_ai.provider.name": known, "server.address": host, "server.port": port}
        if self.tracing is not None:
            self.tracing.who = Who(who)
        if self._measured is not None:
            self._measured.renew(who, settings.metrics.models)

    def hear(self, report: Report) -> None:
        """Note it, if it is wanted."""
        hear = self.hears.get(type(report))
        if hear is not None:
            hear(report)

    def _attempted(self, report: Attempted) -> None:
        assert self.tracing is not None and self._measured is not None
        self.tracing.heard(report)
        self._measured.add(report)

    def close(self) -> None:
        """Export what is left, within FLUSH seconds."""
        threads = [threading.Thread(target=end, daemon=True) for end in self._ends]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(FLUSH / len(threads))

    def told(self) -> Stage | None:
        """What the journal should say of it at the start."""
        if self.missing:
            return Stage("telemetry_missing", {"install": "streamfuse[otel]"}, wrong=True)
        return None


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
        return TelemetryObserver(settings, *sinks(settings.telemetry, environ))
    except ImportError:
        return TelemetryObserver(settings, missing=True)
