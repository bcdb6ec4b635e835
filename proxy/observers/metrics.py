"""Prometheus metrics. Labels come from config and from fixed words, never from a client, except the capped model.

Every metric is one line of METRICS, from which docs/metrics.md is written. Nothing here runs per event of a stream, and
in one process every metric is a plain number (`numbers`).
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple, TypeAlias

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from rules import Channel, Tokens

from ..settings.load import Settings
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


class Metric(NamedTuple):
    """One metric. `name` is as exported (a counter's ends in _total)."""

    name: str
    kind: type[Counter] | type[Gauge] | type[Histogram]
    labels: tuple[str, ...]
    text: str
    buckets: tuple[float, ...] = ()


_HELD = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_WAITS = (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300)
_FIRST = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
_WHOLE = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600)
_RATES = (1, 2, 5, 10, 15, 20, 30, 40, 60, 80, 120, 200, 400, 1000)
_CHARS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)

METRICS: tuple[Metric, ...] = (
    Metric(
        "streamfuse_requests_total",
        Counter,
        ("provider", "wire", "outcome"),
        "Requests that ended, by outcome: ok, cut, failed, client_gone, refused, rejected.",
    ),
    Metric(
        "streamfuse_attempts_total",
        Counter,
        ("provider", "result"),
        "Upstream calls, by result: ok, cut, client_gone, or the kind of failure.",
    ),
    Metric(
        "streamfuse_retries_total",
        Counter,
        ("provider", "kind", "phase", "budget"),
        "Further attempts, by the failure before them and the budget they drew on.",
    ),
    Metric("streamfuse_retry_wait_seconds", Histogram, (), "Waits before a further attempt.", _WAITS),
    Metric(
        "streamfuse_budget_exhausted_total",
        Counter,
        ("provider", "budget"),
        "Failures handed to the client because a budget allowed no further attempt.",
    ),
    Metric(
        "streamfuse_loops_total",
        Counter,
        ("provider", "wire", "rule", "channel", "action"),
        "Findings of loop rules; action is watch where the rule only watched.",
    ),
    Metric(
        "streamfuse_loop_chars_after_onset",
        Histogram,
        (),
        "Characters between the beginning of a loop and the finding.",
        _CHARS,
    ),
    Metric(
        "streamfuse_server_cuts_total",
        Counter,
        ("provider", "wire", "reason"),
        "Choices that the upstream itself ended because of a loop, by its stop reason (repetition, "
        "repetition_truncation, …); unfinished: a clean end without a finish in the middle of a repetition.",
    ),
    Metric(
        "streamfuse_heals_total",
        Counter,
        ("provider", "wire", "result"),
        "Looping answers that were asked for once more, by what came of it: healed, again (it looped again), poor (no "
        "rule fired, but the new text is hardly better), meant (it went on in the same way with other rows: a false "
        "alarm), refused, restarted, slow, broken; watched: mode watch would have tried it with mode on.",
    ),
    Metric(
        "streamfuse_stutters_total",
        Counter,
        ("provider", "wire", "channel"),
        "Channels of an answer in which a repetition came at least half way to a cut, or a watching rule fired, "
        "and that ended by themselves.",
    ),
    Metric(
        "streamfuse_error_rule_hits_total",
        Counter,
        ("provider", "rule"),
        "Errors inside answers that an error rule recognised.",
    ),
    Metric(
        "streamfuse_stream_end_total",
        Counter,
        ("provider", "reason"),
        "Answers begun, by how their body ended: done, eof, idle, client_gone, cut, error, drain.",
    ),
    Metric(
        "streamfuse_time_to_first_event_seconds",
        Histogram,
        (),
        "From a request's arrival to the first event that carries output.",
        _FIRST,
    ),
    Metric("streamfuse_stream_seconds", Histogram, (), "From a request's arrival to the end of its answer.", _WHOLE),
    Metric("streamfuse_open_streams", Gauge, (), "Requests in progress."),
    Metric(
        "streamfuse_malformed_events_total",
        Counter,
        (),
        "Upstream events that could not be read; each was dropped, its stream went on.",
    ),
    Metric(
        "streamfuse_model_requests_total",
        Counter,
        ("provider", "model", "outcome"),
        "Requests that ended, by model; names beyond metrics.models count as other, 0 switches this metric off.",
    ),
    Metric(
        "streamfuse_journal_dropped_total",
        Counter,
        (),
        "Lines of the journal that were lost because nobody read them, or the system refused them.",
    ),
    Metric(
        "streamfuse_tokens_total",
        Counter,
        ("provider", "model", "kind"),
        "Tokens of answers as their providers count them: input (cached ones included), output (reasoning included), "
        "reasoning, cached. Answers whose provider tells no usage count nothing.",
    ),
    Metric(
        "streamfuse_text_wait_seconds",
        Histogram,
        ("provider", "result"),
        "Text of a stream held back while a rule was half convinced (at most 5 s or 2,048 characters), by what became "
        "of it: released, or dropped because the rule then cut.",
        _HELD,
    ),
    Metric(
        "streamfuse_queue_wait_seconds",
        Histogram,
        (),
        "Waits for a place among the concurrent calls to a provider; requests that waited only.",
        _WAITS,
    ),
    Metric(
        "streamfuse_from_memory_total",
        Counter,
        ("provider", "reason"),
        "Requests answered without asking their provider: breaker, queue (no place), turn (others ask already).",
    ),
    Metric(
        "streamfuse_fallbacks_total",
        Counter,
        ("provider", "to"),
        "Requests that another provider was asked for, because theirs had failed for good.",
    ),
    Metric(
        "streamfuse_breaker_open",
        Gauge,
        ("provider",),
        "Breakers of a provider (one a model) that are open; sum over workers.",
    ),
    Metric(
        "streamfuse_reloads_total",
        Counter,
        ("result",),
        "Times the config was read again: taken, or broken (a line of the journal each).",
    ),
    Metric(
        "streamfuse_first_output_seconds",
        Histogram,
        ("provider", "model"),
        "From an upstream call's beginning to its first output: what the provider takes, retries and queues left out.",
        _FIRST,
    ),
    Metric(
        "streamfuse_output_tokens_per_second",
        Histogram,
        ("provider", "model"),
        "Output tokens a second, from the first output to the end of an upstream call whose provider tells its tokens.",
        _RATES,
    ),
    Metric(
        "streamfuse_looped_characters_total",
        Counter,
        ("provider", "model"),
        "Characters from the beginning of loops to their cuts: what was spent on them.",
    ),
    Metric(
        "streamfuse_saved_tokens_total",
        Counter,
        ("provider", "model"),
        "An estimate of what cuts have saved: output tokens that were left of the request's own limit (16384 at most, "
        "4096 where it names none), with four characters a token.",
    ),
    Metric(
        "streamfuse_notifications_total",
        Counter,
        ("result",),
        "Deliveries to the webhook: sent, failed (not tried again), dropped (too many waited).",
    ),
    Metric("streamfuse_state_up", Gauge, (), "1 while the shared state answers (always with state: memory)."),
    Metric("streamfuse_build_info", Gauge, ("version", "python"), "Always 1; the labels tell what runs."),
)


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
