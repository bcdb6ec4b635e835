"""Metrics as plain numbers, made into Prometheus's form when somebody scrapes them.

prometheus_client takes a lock, checks labels and walks over buckets at every increment: 75 calls a request. Here an
increment is an addition. Where several workers share their values in files (PROMETHEUS_MULTIPROC_DIR) its own objects
are used instead: those files are what another worker's scrape reads. Not for several threads at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from prometheus_client import Metric as Family
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import INF, floatToGoString


class Number:
    """One value: of a counter, or of a gauge, under one set of labels."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1) -> None:
        """Add."""
        self.value += amount

    def dec(self, amount: float = 1) -> None:
        """Take away."""
        self.value -= amount

    def set(self, value: float) -> None:
        """Replace."""
        self.value = value


class Numbers(Collector):
    """A counter or a gauge. Without labels it is its own value, there from the beginning."""

    def __init__(
        self, name: str, text: str, labels: Sequence[str], family: type[CounterMetricFamily | GaugeMetricFamily]
    ):
        self._name = name
        self._text = text
        self._names = labels
        self._family = family
        self._children: dict[tuple[str, ...], Number] = {} if labels else {(): Number()}

    def labels(self, *values: str) -> Number:
        """The value under these labels."""
        child = self._children.get(values)
        if child is None:
            child = self._children[values] = Number()
        return child

    def collect(self) -> Iterable[Family]:
        """As Prometheus wants it."""
        family = self._family(self._name, self._text, labels=self._names)
        for labels, child in self._children.items():
            family.add_metric(labels, child.value)
        return (family,)


class Spread:
    """The values of a histogram under one set of labels."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """One more value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Distribution(Collector):
    """A histogram. Without labels it is its own values, there from the beginning."""

    def __init__(self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        self._name = name
        self._text = text
        self._bounds = [float(bound) for bound in bounds]
        self._names = labels
        self._children: dict[tuple[str, ...], Spread] = {} if labels else {(): Spread(self._bounds)}

    def labels(self, *values: str) -> Spread:
        """The values under these labels."""
        child = self._children.get(values)
        if child is None:
            child = self._children[values] = Spread(self._bounds)
        return child

    def observe(self, value: float) -> None:
        """One more value, of a histogram without labels."""
        self._children[()].observe(value)

    def collect(self) -> Iterable[Family]:
        """As Prometheus wants it: every bucket holds all smaller values, too."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._names)
        for labels, spread in self._children.items():
            buckets, so_far = [], 0
            for bound, count in zip([*self._bounds, INF], spread.counts, strict=True):
                so_far += count
                buckets.append((floatToGoString(bound), float(so_far)))  # type: ignore[no-untyped-call]
            family.add_metric(labels, buckets, spread.total)
        return (family,)
