"""Counting for Prometheus: each report changes the metrics of `metric_table`.

Nothing here runs per event of a stream, and in one process every metric is a plain number (`numbers`). Labels come
from config and from fixed words, never from a client, except the model, of which so many are kept apart.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import TypeAlias

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from rules import Channel, Tokens

from ..settings.load import Settings
from .metric_table import METRICS, Metric
from .numbers import Distribution, Number, Numbers, Spread
from .reports import (
    Attempted,
    BreakerChanged,
    BudgetExhausted,
    Ended,
    ErrorRuleHit,
    FellBack,
    FromMemory,
    Healed,
    LoopFound,
    NearMissed,
    Queued,
    Report,
    Retrying,
    Saved,
    Stage,
    Started,
    StateChanged,
    TextWaited,
    UpstreamCut,
)

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
OTHER = "other"
KINDS = Tokens._fields
MOST_BREAKERS = 4096
"""Open breakers that are counted; a client chooses model names."""

Made: TypeAlias = Counter | Gauge | Histogram | Numbers | Distribution
"""A metric: the library's own where several workers share their values, else plain numbers."""


class MetricsObserver:
    """Counts. One registry of its own, so that two of them in one process do not meet."""

    def __init__(self, *, models: int = 50, build: tuple[str, str] = ("", "")) -> None:
        """`models`: how many model names get a label of their own. `build`: versions of streamfuse and Python."""
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._models = models
        self._open: set[str] = set()
        self._broken: set[tuple[str, str]] = set()
        """(provider, model) of the breakers that are open."""
        self._known: set[tuple[str, str]] = set()
        self._children: dict[tuple[str, ...], Counter | Number] = {}
        self._spreads: dict[tuple[str, ...], Histogram | Distribution | Spread] = {}
        self._made: dict[str, Made] = {}
        self._dropping = threading.Lock()
        self.hears: dict[type, Callable[..., None]] = {
            Started: self._started,
            Attempted: self._attempted,
            Retrying: self._retrying,
            BudgetExhausted: self._exhausted,
            ErrorRuleHit: self._error_rule,
            LoopFound: self._found,
            UpstreamCut: self._server_cut,
            NearMissed: self._near_missed,
            Healed: self._healed,
            Ended: self._ended,
            StateChanged: self._state,
            Stage: self._stage,
            Queued: lambda report: self._observe("streamfuse_queue_wait_seconds", report.seconds),
            TextWaited: self._text_waited,
            FromMemory: self._from_memory,
            FellBack: self._fell_back,
            BreakerChanged: self._breaker,
            Saved: self._saved,
        }
        for metric in METRICS:
            self._made[metric.name] = self._make(metric)
        prometheus_client.ProcessCollector(registry=self.registry)
        prometheus_client.PlatformCollector(registry=self.registry)
        self._gauge("streamfuse_state_up").set(1)
        self._gauge("streamfuse_build_info", *build).set(1)
        self._running = self._gauge("streamfuse_open_streams")

    def _make(self, metric: Metric) -> Made:
        if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            made: Numbers | Distribution
            if metric.kind is Histogram:
                made = Distribution(metric.name, metric.text, metric.buckets, metric.labels)
            else:
                family = CounterMetricFamily if metric.kind is Counter else GaugeMetricFamily
                made = Numbers(metric.name, metric.text, metric.labels, family)
            self.registry.register(made)
            return made
        if metric.kind is Counter:
            return Counter(metric.name, metric.text, metric.labels, registry=self.registry)
        if metric.kind is Gauge:
            mode = "livesum" if metric.name in ("streamfuse_open_streams", "streamfuse_breaker_open") else "livemin"
            return Gauge(metric.name, metric.text, metric.labels, registry=self.registry, multiprocess_mode=mode)  # type: ignore[arg-type]
        return Histogram(metric.name, metric.text, metric.labels, registry=self.registry, buckets=metric.buckets)

    def exposition(self) -> bytes:
        """The Prometheus text of now; of all workers together where they share PROMETHEUS_MULTIPROC_DIR."""
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            shared = CollectorRegistry()
            MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
            return generate_latest(shared)
        return generate_latest(self.registry)

    def hear(self, report: Report) -> None:
        """Count it."""
        hear = self.hears.get(type(report))
        if hear is not None:
            hear(report)

    def _count(self, name: str, *labels: str) -> Counter | Number:
        key = (name, *labels)
        child = self._children.get(key)
        if child is None:
            made = self._made[name]
            assert isinstance(made, Counter | Numbers)
            child = self._children[key] = made.labels(*labels) if labels or not isinstance(made, Counter) else made
        return child

    def _gauge(self, name: str, *labels: str) -> Gauge | Number:
        made = self._made[name]
        assert isinstance(made, Gauge | Numbers)
        return made.labels(*labels) if labels or not isinstance(made, Gauge) else made

    def _observe(self, name: str, value: float, *labels: str) -> None:
        key = (name, *labels)
        child = self._spreads.get(key)
        if child is None:  # asking what kind it is costs 12 calls: prometheus_client's classes are protocols
            made = self._made[name]
            assert isinstance(made, Histogram | Distribution)
            child = self._spreads[key] = made.labels(*labels) if labels else made
        child.observe(value)

    def _model(self, provider: str, model: str) -> str:
        if not model:
            return OTHER
        key = (provider, model)
        if key not in self._known:
            if len(self._known) >= self._models:
                return OTHER
            self._known.add(key)
        return model

    def _started(self, report: Started) -> None:
        if report.call.request_id not in self._open:
            self._open.add(report.call.request_id)
            self._running.inc()

    def _attempted(self, report: Attempted) -> None:
        call = report.call
        self._count("streamfuse_attempts_total", call.provider, report.word).inc()
        if report.first is not None and call.streaming:
            model = self._model(call.provider, call.model)
            self._observe("streamfuse_first_output_seconds", report.first, call.provider, model)
            if (rate := report.rate) is not None:
                self._observe("streamfuse_output_tokens_per_second", rate, call.provider, model)

    def _saved(self, report: Saved) -> None:
        call = report.call
        model = self._model(call.provider, call.model)
        self._count("streamfuse_looped_characters_total", call.provider, model).inc(report.looped)
        self._count("streamfuse_saved_tokens_total", call.provider, model).inc(report.tokens)

    def notified(self, result: str) -> None:
        """A delivery to the webhook is over: sent, failed or dropped. May be called from any thread."""
        with self._dropping:
            self._count("streamfuse_notifications_total", result).inc()

    def _retrying(self, report: Retrying) -> None:
        failure = report.failure
        kind, phase = (failure.kind.value, failure.phase.value) if failure else ("loop", "stream")
        self._count("streamfuse_retries_total", report.call.provider, kind, phase, report.budget).inc()
        self._observe("streamfuse_retry_wait_seconds", report.wait)

    def _exhausted(self, report: BudgetExhausted) -> None:
        self._count("streamfuse_budget_exhausted_total", report.call.provider, report.budget).inc()

    def _error_rule(self, report: ErrorRuleHit) -> None:
        self._count("streamfuse_error_rule_hits_total", report.call.provider, report.rule).inc()

    def _found(self, report: LoopFound) -> None:
        finding = report.finding
        call = report.call
        self._count(
            "streamfuse_loops_total", call.provider, call.wire, finding.rule, finding.channel.label, report.action
        ).inc()
        if finding.channel is Channel.STEPS:
            return  # counted in steps, not in characters
        self._observe("streamfuse_loop_chars_after_onset", max(0, finding.hit.at - finding.hit.since))

    def _server_cut(self, report: UpstreamCut) -> None:
        call = report.call
        self._count("streamfuse_server_cuts_total", call.provider, call.wire, report.reason).inc()

    def _near_missed(self, report: NearMissed) -> None:
        call = report.call
        channel = report.near_miss.channel.label
        self._count("streamfuse_stutters_total", call.provider, call.wire, channel).inc()

    def _text_waited(self, report: TextWaited) -> None:
        result = "dropped" if report.dropped else "released"
        self._observe("streamfuse_text_wait_seconds", report.seconds, report.call.provider, result)

    def _healed(self, report: Healed) -> None:
        self._count("streamfuse_heals_total", report.call.provider, report.call.wire, report.result).inc()

    def _ended(self, report: Ended) -> None:
        call = report.call
        if call.request_id in self._open:
            # A request that was turned away ends without ever having started.
            self._open.discard(call.request_id)
            self._running.dec()
        outcome = report.outcome
        self._count("streamfuse_requests_total", call.provider, call.wire, outcome).inc()
        if self._models:
            model = self._model(call.provider, call.model)
            self._count("streamfuse_model_requests_total", call.provider, model, outcome).inc()
        if report.tokens is not None:
            model = self._model(call.provider, call.model)
            for kind, count in zip(KINDS, report.tokens, strict=True):
                if count:
                    self._count("streamfuse_tokens_total", call.provider, model, kind).inc(count)
        if report.reason is not None:
            self._count("streamfuse_stream_end_total", call.provider, report.reason).inc()
            self._observe("streamfuse_stream_seconds", report.seconds)
        if report.first_event is not None:
            self._observe("streamfuse_time_to_first_event_seconds", report.first_event)
        if report.malformed:
            self._count("streamfuse_malformed_events_total").inc(report.malformed)

    def renew(self, settings: Settings) -> None:
        """Another config is in force."""
        self._models = settings.metrics.models

    def _from_memory(self, report: FromMemory) -> None:
        self._count("streamfuse_from_memory_total", report.call.provider, report.reason).inc()

    def _fell_back(self, report: FellBack) -> None:
        self._count("streamfuse_fallbacks_total", report.call.provider, report.provider).inc()

    def _breaker(self, report: BreakerChanged) -> None:
        key = (report.provider, report.model)
        if not report.open:
            self._broken.discard(key)
        elif len(self._broken) < MOST_BREAKERS:
            self._broken.add(key)
        count = sum(provider == report.provider for provider, _ in self._broken)
        self._gauge("streamfuse_breaker_open", report.provider).set(count)

    def _stage(self, report: Stage) -> None:
        result = {"reloaded": "taken", "reload_failed": "broken"}.get(report.name)
        if result is not None:
            self._count("streamfuse_reloads_total", result).inc()

    def lines_dropped(self, count: int) -> None:
        """Lines of the journal were lost. May be called from any thread."""
        with self._dropping:
            self._count("streamfuse_journal_dropped_total").inc(count)

    def _state(self, report: StateChanged) -> None:
        self._gauge("streamfuse_state_up").set(1 if report.healthy else 0)


def observer(settings: Settings) -> MetricsObserver:
    """The sink as configured."""
    try:
        ours = version("streamfuse")
    except PackageNotFoundError:  # run from a checkout
        ours = "unknown"
    return MetricsObserver(models=settings.metrics.models, build=(ours, platform.python_version()))
