"""The GenAI metrics as plain numbers, made into OpenTelemetry's form when they are exported.

An observation of the SDK takes locks, copies attributes and looks for exemplars: 20 µs, five times a request. Here it
is an addition. One thread observes, another may collect: at worst an export lacks the request of that moment.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rules import wire_named

from ..numbers import Spread
from ..reports import Attempted, RequestInfo
from .spans import Value, error_type

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricsData
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

OTHER = "other"

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304)

DURATION = ("gen_ai.client.operation.duration", "s", "GenAI operation duration.", _SECONDS)
FIRST = (
    "gen_ai.client.operation.time_to_first_chunk",
    "s",
    "Time to receive the first chunk that carries output.",
    _SECONDS,
)
TOKENS = ("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.", _TOKENS)
"""Name, unit, description and bounds, as the conventions advise them."""


class _Series(Spread):
    """A histogram under one set of attributes."""

    __slots__ = ("attributes", "before", "high", "low")

    def __init__(self, attributes: Mapping[str, Value], bounds: Sequence[float]) -> None:
        super().__init__(bounds)
        self.attributes = attributes
        self.low, self.high = float("inf"), float("-inf")
        self.before: tuple[list[int], float] = ([0] * len(self.counts), 0.0)
        """Counts and sum of the last export, where only what came since is told."""

    def observe(self, value: float) -> None:
        """One more value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
        if value < self.low:
            self.low = value
        if value > self.high:
            self.high = value


class _Of:
    """The histograms of one provider, wire, model and failure."""

    __slots__ = ("duration", "first", "input", "output")

    def __init__(self, duration: _Series) -> None:
        self.duration = duration
        self.first: _Series | None = None
        self.input: _Series | None = None
        self.output: _Series | None = None


class Measured:
    """Histograms of upstream calls."""

    def __init__(
        self,
        resource: Resource,
        scope: InstrumentationScope,
        *,
        delta: bool = False,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`delta`: each export tells what came since the last one, instead of since the start (the environment's
        OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE)."""
        self._resource, self._scope, self._delta, self._clock = resource, scope, delta, clock
        self._began = clock()
        self._models: set[tuple[str, str]] = set()
        self._found: dict[tuple[str, str, str, str], _Of] = {}
        self._series: dict[tuple[str, tuple[tuple[str, Value], ...]], _Series] = {}
        self.most_models = 0
        self.who: Mapping[str, Mapping[str, str | int]] = {}

    def renew(self, who: Mapping[str, Mapping[str, str | int]], most_models: int) -> None:
        """Another config is in force: what is known of its providers, and how many models are told apart."""
        self.who, self.most_models = who, most_models
        self._found.clear()

    def add(self, report: Attempted) -> None:
        """An upstream call is over."""
        call = report.call
        error = error_type(report.failure) if report.failure is not None else ""
        of = self._found.get((call.provider, call.wire, call.model, error)) or self._new(call, error)
        of.duration.observe(report.seconds)
        if report.first is not None and call.streaming:
            if of.first is None:
                of.first = self._one(FIRST, self._attributes(call))
            of.first.observe(report.first)
        if (used := report.tokens) is not None:
            if of.input is None or of.output is None:
                who = self._attributes(call)
                of.input = self._one(TOKENS, {**who, "gen_ai.token.type": "input"})
                of.output = self._one(TOKENS, {**who, "gen_ai.token.type": "output"})
            of.input.observe(used.input)
            of.output.observe(used.output)

    def _new(self, call: RequestInfo, error: str) -> _Of:
        """A client chooses the names of models: those beyond `metrics.models` count as other, and are not kept."""
        who = self._attributes(call)
        if error:
            who["error.type"] = error
        of = _Of(self._one(DURATION, who))
        if who.get("gen_ai.request.model", "") == call.model:
            self._found[call.provider, call.wire, call.model, error] = of
        return of

    def _attributes(self, call: RequestInfo) -> dict[str, Value]:
        facts: dict[str, Value] = dict(self.who.get(call.provider, {}))
        if operation := wire_named(call.wire).operation:
            facts["gen_ai.operation.name"] = operation
        if call.model:
            facts["gen_ai.request.model"] = self._model(call)
        return facts

    def _model(self, call: RequestInfo) -> str:
        key = (call.provider, call.model)
        if key not in self._models:
            if len(self._models) >= self.most_models:
                return OTHER
            self._models.add(key)
        return call.model

    def _one(self, metric: tuple[str, str, str, Sequence[float]], attributes: dict[str, Value]) -> _Series:
        key = (metric[0], tuple(sorted(attributes.items(), key=lambda item: item[0])))
        found = self._series.get(key)
        if found is None:
            found = self._series[key] = _Series(attributes, metric[3])
        return found

    def collect(self) -> MetricsData | None:
        """What the SDK's exporters take; None where there is nothing to tell."""
        from opentelemetry.sdk.metrics import export

        now = self._clock()
        points: dict[str, list[Any]] = {}
        for (name, _), series in list(self._series.items()):
            counts, total, low, high = list(series.counts), series.total, series.low, series.high
            if self._delta:
                before, total_before = series.before
                series.before = (counts, total)
                series.low, series.high = float("inf"), float("-inf")
                counts = [count - was for count, was in zip(counts, before, strict=True)]
                total -= total_before
            if any(counts):
                point = export.HistogramDataPoint(
                    series.attributes, self._began, now, sum(counts), total, counts, series.bounds, low, high
                )
                points.setdefault(name, []).append(point)
        if self._delta:
            self._began = now
        if not points:
            return None
        kind = export.AggregationTemporality
        how = kind.DELTA if self._delta else kind.CUMULATIVE
        metrics = [
            export.Metric(name, text, unit, export.Histogram(points[name], how))
            for name, unit, text, _ in (DURATION, FIRST, TOKENS)
            if name in points
        ]
        scope = export.ScopeMetrics(self._scope, metrics, "")
        return export.MetricsData([export.ResourceMetrics(self._resource, [scope], "")])
