"""A window whose load changes, part by part: what was due in each, and how long that took."""

from __future__ import annotations

import numpy as np

from wirebench.drivers import Histogram, HistogramFile
from wirebench.measure.record import Slice
from wirebench.scenario import Cell, Load
from wirebench.scenario.arrivals import in_window_ns


def over_time(file: HistogramFile, load: Load, cell: Cell) -> tuple[Slice, ...]:
    """Return the window's parts, in order; none under a steady load."""
    histograms, due_ns = file.over_time(), in_window_ns(load, cell)
    if due_ns is None or not histograms:
        return ()
    edges_s = np.linspace(0, load.window_s, len(histograms) + 1)
    asked, _ = np.histogram(due_ns / 1e9, bins=edges_s)
    return tuple(
        _slice(float(start), float(end), int(count), histogram)
        for start, end, count, histogram in zip(edges_s, edges_s[1:], asked, histograms, strict=False)
    )


def _slice(start_s: float, end_s: float, asked: int, histogram: Histogram) -> Slice:
    p50_ms, p99_ms, max_ms = None, None, None
    if histogram.count:
        p50_ms, p99_ms, max_ms = (each / 1e6 for each in histogram.quantiles_ns(0.5, 0.99, 1))
    return Slice(
        start_s=start_s,
        end_s=end_s,
        rate_asked_per_s=asked / (end_s - start_s),
        requests_ok=histogram.count,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        max_ms=max_ms,
    )
