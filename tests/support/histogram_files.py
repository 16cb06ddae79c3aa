"""Histogram files with known content."""

from __future__ import annotations

import numpy as np

from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import DriverVersion, HistogramFile, PerSecond, Series, Window


def make_histogram_file(start_s: int, latencies_ms: list[int], counts: tuple[int, ...]) -> HistogramFile:
    """Return what a generator measured whose window started at that second."""
    histogram = Histogram.of_values(np.array(latencies_ms) * 1_000_000)
    encoded = histogram.encode()
    series = Series(operation="users.get", code="ok", clock="service", count=histogram.count, histogram=encoded)
    return HistogramFile(
        driver=DriverVersion(name="k6", version="1"),
        window=Window(start_unix_ns=start_s * 10**9, end_unix_ns=(start_s + 2) * 10**9),
        series=(series,),
        per_second=(PerSecond(operation="users.get", code="ok", counts=counts),),
        requests_total={"ok": len(latencies_ms)},
        mismatches=0,
        dropped_iterations=1,
    )
