"""Histograms of upstream calls: the same numbers as the SDK's own instruments give."""

from __future__ import annotations

from itertools import count
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from proxy.observers.otlp.measured import DURATION, OTHER, Measured
from proxy.observers.reports import Attempted, RequestInfo
from rules import Failure, Kind, Phase, Tokens

CALL = RequestInfo("r", "main", "openai_chat", "m", True)
WHO = {"main": {"gen_ai.provider.name": "openai"}}
DOWN = Failure(Phase.HEADERS, Kind.SERVER, "x", status=503)


def measured(**more: Any) -> Measured:
    made = Measured(Resource({}), InstrumentationScope("streamfuse"), clock=count(1).__next__, **more)
    made.renew(WHO, 2)
    return made


def points(made: Measured) -> dict[str, list[Any]]:
    data = made.collect()
    metrics = data.resource_metrics[0].scope_metrics[0].metrics if data is not None else ()
    return {metric.name: list(metric.data.data_points) for metric in metrics}


def test_they_are_the_sdk_s_numbers() -> None:
    reader = InMemoryMetricReader()
    name, unit, text, bounds = DURATION
    histogram = MeterProvider([reader], shutdown_on_exit=False).get_meter("x").create_histogram(
        name, unit, text, explicit_bucket_boundaries_advisory=bounds
    )  # fmt: skip
    made = measured()
    for value in (0.0, 0.01, 0.011, 3.5, 327.68, 1000.0):
        histogram.record(value)
        made.add(Attempted(CALL, 1, value, 200))
    data = reader.get_metrics_data()
    assert data is not None
    (theirs,) = data.resource_metrics[0].scope_metrics[0].metrics[0].data.data_points
    (ours,) = points(made)[name]
    for member in ("count", "sum", "bucket_counts", "min", "max"):
        assert list(map(float, _listed(getattr(ours, member)))) == list(map(float, _listed(getattr(theirs, member))))
    assert list(ours.explicit_bounds) == list(theirs.explicit_bounds)  # type: ignore[union-attr]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def test_failures_are_told_apart_and_tokens_by_their_kind() -> None:
    made = measured()
    assert made.collect() is None
    made.add(Attempted(CALL, 1, 0.5, 503, DOWN))
    made.add(Attempted(CALL, 2, 0.5, 200, None, "", 0.1, Tokens(7, 9)))
    got = points(made)
    assert {point.attributes.get("error.type") for point in got["gen_ai.client.operation.duration"]} == {None, "503"}
    assert {point.attributes["gen_ai.token.type"]: point.sum for point in got["gen_ai.client.token.usage"]} == {
        "input": 7, "output": 9}  # fmt: skip
    (first,) = got["gen_ai.client.operation.time_to_first_chunk"]
    assert first.attributes == {
        "gen_ai.provider.name": "openai", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}  # fmt: skip


def test_each_export_tells_all_or_only_what_is_new() -> None:
    name = DURATION[0]
    for delta, counts in ((False, [2, 3]), (True, [2, 1])):
        made = measured(delta=delta)
        made.add(Attempted(CALL, 1, 0.5, 200))
        made.add(Attempted(CALL, 1, 4.0, 200))
        (one,) = points(made)[name]
        made.add(Attempted(CALL, 1, 1.0, 200))
        data = made.collect()
        assert data is not None
        metric: Any = data.resource_metrics[0].scope_metrics[0].metrics[0].data
        (two,) = metric.data_points
        assert [one.count, two.count] == counts
        assert (two.max, two.sum) == ((1.0, 1.0) if delta else (4.0, 5.5))
        assert metric.aggregation_temporality is (
            AggregationTemporality.DELTA if delta else AggregationTemporality.CUMULATIVE
        )
        assert (two.start_time_unix_nano > one.start_time_unix_nano) is delta
        assert (made.collect() is None) is delta


def test_names_that_clients_make_up_are_neither_told_apart_nor_kept() -> None:
    made = measured()
    for number in range(100):
        made.add(
            Attempted(RequestInfo("r", "main", "openai_chat", f"m{number}"), 1, 0.5, 200, None, "", 0.1, Tokens(1, 1))
        )
    got = points(made)[DURATION[0]]
    assert {point.attributes["gen_ai.request.model"]: point.count for point in got} == {"m0": 1, "m1": 1, OTHER: 98}
    assert len(made._found) == 2 and len(made._series) == 9
