"""The latencies of a run's cells, from their histograms: blocks merge by adding counts; no percentile is averaged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from wirebench.analysis.summary import CellSummary
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import Clock
from wirebench.model.metric import METRICS
from wirebench.model.record import Interval
from wirebench.model.run_info import Run
from wirebench.store.histograms import merge_blocks, read_histograms

#: A quantile with fewer samples beyond it is noise.
SAMPLES_BEYOND_MIN = 10

#: Items that are less apart came together: it is the time that the client took for one.
TOGETHER_NS = 1000

_POINTS = 72


#: Latencies in milliseconds that one in so many requests exceeds: 1 / (1 - quantile), latency.
Curve = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class CellLatency:
    """The successful requests of a cell, or the items of its streams, on one clock."""

    clock: Clock
    merged: Histogram
    curve: Curve
    #: The driver's error at percentiles, in milliseconds, where it is known.
    errors_ms: Mapping[str, Interval]

    def quantile_ms(self, quantile: float) -> float | None:
        """Return a quantile in milliseconds, or None where too few samples lie beyond it."""
        return compute_quantile_ms(self.merged, quantile)


def compute_quantile_ms(histogram: Histogram, quantile: float) -> float | None:
    """Return a quantile in milliseconds, or None where too few samples lie beyond it."""
    if histogram.count * (1 - quantile) < SAMPLES_BEYOND_MIN - 1e-9:
        return None
    return histogram.compute_quantiles_ns(quantile)[0] / 1e6


def read_latencies(
    run: Run, cells: Iterable[CellSummary], of_items: Clock | None = None
) -> tuple[dict[str, CellLatency], tuple[str, ...]]:
    """Read the histograms of all cells, by cell; and what could not be read, a line each.

    They are on the clock of what a user waits for a reply, or on the one `of_items` of streams.
    """
    latencies: dict[str, CellLatency] = {}
    problems: list[str] = []
    for cell in cells:
        waited: Clock = "response" if any(record.response for record in cell.records) else "service"
        clock = of_items or waited
        least_ns = TOGETHER_NS if clock == "gap" else 1
        found = read_histograms(run.folder, cell.records, clock)
        problems += found.problems
        blocks = next(iter(found.operations.values()), {})
        merged = merge_blocks(blocks)
        if merged.count:
            latencies[cell.cell] = CellLatency(
                clock,
                merged,
                make_curve(merged, least_ns),
                {name: error for name in ("p50", "p99") if (error := cell.instrument_error_ms(METRICS[name]))},
            )
    return latencies, tuple(problems)


def make_curve(histogram: Histogram, least_ns: int = 1) -> Curve:
    """Return the curve up to the last quantile with enough samples beyond it; empty if that is not even the median.

    What is less than `least_ns` is drawn as that.
    """
    one_in_max = histogram.count / SAMPLES_BEYOND_MIN
    if one_in_max < 2:  # noqa: PLR2004 - half of all requests
        return []
    one_in = np.geomspace(1, one_in_max, _POINTS)
    latencies_ns = np.maximum(histogram.compute_quantiles_ns(*(1 - 1 / one_in)), least_ns)
    return list(zip(one_in.tolist(), (latencies_ns / 1e6).tolist(), strict=True))
