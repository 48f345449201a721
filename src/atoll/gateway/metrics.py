"""Counters of one process in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
LABELS_MAX = 2000  # label sets kept; more are counted as "other"

Gauge = tuple[str, str, dict[str, str], float]  # name, help, labels, value


class Counters(msgspec.Struct):
    """What one process has counted, to be added to what others have."""

    answered: list[tuple[str, str, int, list[float]]]  # service, operation, status; counts by time, then seconds
    bytes_in: int
    bytes_out: int
    gauges: list[Gauge]


class Metrics:
    """Plain integers on the data path; Prometheus' objects are built when somebody asks."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._answered: dict[tuple[str, str, int], list[float]] = {}  # counts by time, one per bound and above, then seconds
        self._bytes_in = self._bytes_out = 0
        self._gauges: list[Callable[[], Iterable[Gauge]]] = []
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def request(self, service: str, operation: str, status: int, seconds: float, size_in: int = 0, size_out: int = 0) -> None:
        """One answer, and the bytes of both bodies."""
        slots = self._answered.get((service, operation, status)) or self._slots(service, operation, status)
        slots[bisect_left(BUCKETS_S, seconds)] += 1
        slots[-1] += seconds
        self._bytes_in += size_in
        self._bytes_out += size_out

    def _slots(self, service: str, operation: str, status: int) -> list[float]:
        key = (service, operation, status)
        if len(self._answered) >= LABELS_MAX:
            key = (service, "other", status)
        return self._answered.setdefault(key, [0.0] * (len(BUCKETS_S) + 2))

    def counters(self) -> Counters:
        answered = [(*key, slots) for key, slots in self._answered.items()]
        return Counters(answered, self._bytes_in, self._bytes_out, [one for source in self._gauges for one in source()])

    def with_others(self, others: Iterable[Counters]) -> Metrics:
        """The sum over the processes of a region, as if there were one."""
        whole = Metrics(self._process)
        for counted in (self.counters(), *others):
            whole._add(counted)
        return whole

    def _add(self, counted: Counters) -> None:
        for service, operation, status, slots in counted.answered:
            own = self._slots(service, operation, status)
            own[:] = [a + b for a, b in zip(own, slots, strict=True)]
        self._bytes_in += counted.bytes_in
        self._bytes_out += counted.bytes_out
        self._gauges.append(lambda: counted.gauges)

    def gauges(self, source: Callable[[], Iterable[Gauge]]) -> None:
        """Add a source that is asked at scrape time."""
        self._gauges.append(source)

    def collect(self) -> Iterable[Metric]:
        """What prometheus-client calls at scrape time."""
        requests = CounterMetricFamily(
            "atoll_requests", "Requests answered.", labels=["process", "service", "operation", "status"]
        )
        for (service, operation, status), slots in self._answered.items():
            requests.add_metric([self._process, service, operation, str(status)], sum(slots[:-1]))
        yield requests
        yield from self._histogram()
        moved = CounterMetricFamily("atoll_bytes", "Bytes of bodies.", labels=["process", "direction"])
        for direction, size in (("in", self._bytes_in), ("out", self._bytes_out)):
            moved.add_metric([self._process, direction], size)
        yield moved
        yield from self._collect_gauges()

    def _histogram(self) -> Iterable[Metric]:
        times = HistogramMetricFamily(
            "atoll_request_seconds", "Time from the request's head to its answer.", labels=["process", "service", "operation"]
        )
        for (service, operation), slots in self._times().items():
            total, rows = 0.0, []
            for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), slots[:-1], strict=True):
                total += count
                rows.append((bound, total))
            times.add_metric([self._process, service, operation], rows, slots[-1])
        yield times

    def _times(self) -> dict[tuple[str, str], list[float]]:
        """Over all statuses."""
        times: dict[tuple[str, str], list[float]] = {}
        for (service, operation, _), slots in self._answered.items():
            old = times.get((service, operation))
            times[service, operation] = slots if old is None else [mine + more for mine, more in zip(old, slots, strict=True)]
        return times

    def _collect_gauges(self) -> Iterable[Metric]:
        families: dict[str, GaugeMetricFamily] = {}
        for name, text, labels, value in (gauge for source in self._gauges for gauge in source()):
            family = families.get(name)
            if family is None:
                family = families[name] = GaugeMetricFamily(name, text, labels=["process", *labels])
            family.add_metric([self._process, *labels.values()], value)
        yield from families.values()

    def text(self) -> bytes:
        """The page at /_atoll/metrics."""
        return generate_latest(self.registry)
