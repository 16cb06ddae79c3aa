"""A worker's metrics: gathered in the worker, folded into prometheus-client twenty times a second.

prometheus-client's multiprocess values cost several microseconds a request, as much as the whole socket
service; a few additions to a worker's own numbers cost less than one.
"""

from __future__ import annotations

import itertools
import threading
import time
from bisect import bisect_left
from typing import Any

#: Upper bounds of the latency buckets, in seconds: 50 µs to 10 s, three a decade.
BUCKETS_S = (
    0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
)  # fmt: skip
FOLD_INTERVAL_S = 0.05


class _Series:
    """What was gathered of one operation and code since the last fold."""

    __slots__ = ("buckets", "count", "duration_s", "request_bytes", "response_bytes")

    def __init__(self) -> None:
        self.count = 0
        self.duration_s = 0.0
        self.request_bytes = 0
        self.response_bytes = 0
        self.buckets = [0] * (len(BUCKETS_S) + 1)


class Recorder:
    """Counts what one worker does; safe from any thread."""

    def __init__(self, transport: str, worker: int) -> None:
        self._transport = transport
        self._worker = str(worker)
        self._lock = threading.Lock()
        self._series: dict[tuple[str, str], _Series] = {}
        # `next` of a count is atomic and costs a fifth of taking the lock.
        self._starts = itertools.count()
        self._folds = 0
        self._finished = 0
        self._metrics = _Metrics()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._fold_until_stopped, name="metrics", daemon=True)
        self._thread.start()

    def started(self) -> float:
        """Count a request as in flight, until `finished`; return when it began, in seconds of `time.perf_counter`."""
        next(self._starts)
        return time.perf_counter()

    def finished(self, operation: str, code: str, duration_s: float, request_bytes: int, response_bytes: int) -> None:
        """Count a request that was `started`, by how it ended."""
        key = (operation, code)
        with self._lock:
            series = self._series.get(key)
            if series is None:
                series = self._series[key] = _Series()
            series.count += 1
            series.duration_s += duration_s
            series.buckets[bisect_left(BUCKETS_S, duration_s)] += 1
            series.request_bytes += request_bytes
            series.response_bytes += response_bytes
            self._finished += 1

    def close(self) -> None:
        """Fold what is left and stop folding."""
        self._stopping.set()
        self._thread.join()
        self._fold()

    def _fold_until_stopped(self) -> None:
        while not self._stopping.wait(FOLD_INTERVAL_S):
            self._fold()

    def _fold(self) -> None:
        with self._lock:
            series, self._series = self._series, {}
            # Looking at the count takes one from it.
            in_flight = next(self._starts) - self._folds - self._finished
            self._folds += 1
        self._metrics.in_flight.labels(self._transport).set(in_flight)
        for (operation, code), gathered in series.items():
            self._metrics.add(self._transport, operation, code, self._worker, gathered)


class _Metrics:
    """The prometheus-client metrics of a worker process."""

    def __init__(self) -> None:
        # Imported late: it reads PROMETHEUS_MULTIPROC_DIR, which the supervisor sets, when it is imported.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary  # noqa: PLC0415

        registry = CollectorRegistry()
        labels = ("transport", "operation")
        self._requests = Counter(
            "wirebench_requests_total", "Requests answered.", (*labels, "code", "worker"), registry=registry
        )
        self._duration = Histogram(
            "wirebench_request_duration_seconds",
            "From the request read to the reply handed over.",
            labels,
            buckets=BUCKETS_S,
            registry=registry,
        )
        self._request_bytes = Summary("wirebench_request_bytes", "Size of request bodies.", labels, registry=registry)
        self._response_bytes = Summary("wirebench_response_bytes", "Size of reply bodies.", labels, registry=registry)
        self.in_flight = Gauge(
            "wirebench_in_flight_requests",
            "Requests read and not yet answered.",
            ("transport",),
            multiprocess_mode="livesum",
            registry=registry,
        )

    def add(self, transport: str, operation: str, code: str, worker: str, gathered: _Series) -> None:
        """Add what was gathered.

        The metrics' own `observe` takes one request at a time, so that this reaches for the values behind it.
        """
        self._requests.labels(transport, operation, code, worker).inc(gathered.count)
        histogram: Any = self._duration.labels(transport, operation)
        histogram._sum.inc(gathered.duration_s)  # noqa: SLF001
        for value, count in zip(histogram._buckets, gathered.buckets, strict=True):  # noqa: SLF001
            if count:
                value.inc(count)
        for metric, size in (
            (self._request_bytes, gathered.request_bytes),
            (self._response_bytes, gathered.response_bytes),
        ):
            summary: Any = metric.labels(transport, operation)
            summary._count.inc(gathered.count)  # noqa: SLF001
            summary._sum.inc(size)  # noqa: SLF001
