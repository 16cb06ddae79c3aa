"""Histogram files with known content."""

from __future__ import annotations

from typing import Any

import numpy as np

from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import Clock, DriverVersion, HistogramFile, PerSecond, Series, Window


def make_series(
    histogram: Histogram, operation: str = "users.get", code: str = "ok", clock: Clock = "service"
) -> Series:
    """Return the series of these latencies."""
    return Series(operation=operation, code=code, clock=clock, count=histogram.count, histogram=histogram.encode())


def make_file(start_ns: int = 0, window_s: float = 1.0, **changes: Any) -> HistogramFile:  # noqa: ANN401 - fields
    """Return what a driver writes that has measured nothing in its window, changed."""
    empty = HistogramFile(
        driver=DriverVersion(name="k6", version="1"),
        window=Window(start_unix_ns=start_ns, end_unix_ns=start_ns + int(window_s * 1e9)),
        series=(),
        per_second=(),
        requests_total={},
        mismatches=0,
        dropped_iterations=0,
    )
    return empty.model_copy(update=changes)


def make_histogram_file(start_s: int, latencies_ms: list[int], counts: tuple[int, ...]) -> HistogramFile:
    """Return what a generator measured whose window started at that second."""
    return make_file(
        start_s * 10**9,
        window_s=2,
        series=(make_series(Histogram.of_values(np.array(latencies_ms) * 1_000_000)),),
        per_second=(PerSecond(operation="users.get", code="ok", counts=counts),),
        requests_total={"ok": len(latencies_ms)},
        dropped_iterations=1,
    )
