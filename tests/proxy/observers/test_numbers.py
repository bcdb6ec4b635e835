"""Metrics as plain numbers say what the library's own say, to the byte."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, metrics
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

from proxy.observers.numbers import Distribution, Numbers


@pytest.fixture(autouse=True)
def _without_created(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process of ours: `MetricsObserver` switches the library's times of creation off."""
    monkeypatch.setattr(metrics, "_use_created", False)


def text(*collectors: object) -> bytes:
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)  # type: ignore[arg-type]
    return generate_latest(registry)


def test_counters_and_gauges_are_told_as_the_library_tells_them():
    theirs, ours = CollectorRegistry(), CollectorRegistry()
    labelled = Counter("x_total", 'A "text".', ("a", "b"), registry=theirs)
    plain = Counter("y_total", "Y.", registry=theirs)
    open_now = Gauge("z", "Z.", registry=theirs)
    mine = Numbers("x_total", 'A "text".', ("a", "b"), CounterMetricFamily)
    bare, gauge = Numbers("y_total", "Y.", (), CounterMetricFamily), Numbers("z", "Z.", (), GaugeMetricFamily)
    for one in (mine, bare, gauge):
        ours.register(one)
    for counter, number in ((labelled, mine), (plain, bare)):
        assert counter is not number
    labelled.labels("1", 'q"\n\\').inc(2)
    mine.labels("1", 'q"\n\\').inc(2)
    mine.labels("1", 'q"\n\\').inc()
    labelled.labels("1", 'q"\n\\').inc()
    for value in (open_now, gauge.labels()):
        value.inc()
        value.inc()
        value.dec()
    assert generate_latest(ours) == generate_latest(theirs)
    open_now.set(7)
    gauge.labels().set(7)
    assert generate_latest(ours) == generate_latest(theirs)


def test_a_histogram_is_told_as_the_library_tells_it():
    theirs = Histogram("h", "H.", buckets=(0.5, 1, 20), registry=None)
    ours = Distribution("h", "H.", (0.5, 1, 20))
    assert text(ours) == text(theirs)
    for value in (0, 0.5, 0.500001, 1, 19.9, 20, 21, 1e9):
        theirs.observe(value)
        ours.observe(value)
    assert text(ours) == text(theirs)


def test_a_histogram_with_labels_is_told_as_the_library_tells_it():
    theirs = Histogram("h", "H.", ("a", "b"), buckets=(0.5, 1, 20), registry=None)
    ours = Distribution("h", "H.", (0.5, 1, 20), ("a", "b"))
    assert text(ours) == text(theirs)
    for value, labels in ((0, ("x", "y")), (0.7, ("x", "y")), (21, ("x", 'q"'))):
        theirs.labels(*labels).observe(value)
        ours.labels(*labels).observe(value)
    assert text(ours) == text(theirs)
