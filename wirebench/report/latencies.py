"""The latencies of a run's cells, from their histograms: blocks merge by adding counts; no percentile is averaged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wirebench.drivers.histogram import Histogram
from wirebench.drivers.histogram_file import Clock, HistogramFile
from wirebench.errors import WirebenchError
from wirebench.measure.record import Interval
from wirebench.stats import METRICS, CellSummary
from wirebench.store import Run

#: A quantile with fewer samples beyond it is noise.
SAMPLES_BEYOND_MIN = 10

#: Items that are less apart came together: it is the time that the client took for one.
TOGETHER_NS = 1000

_POINTS = 72


@dataclass(frozen=True, slots=True)
class Curve:
    """Latencies that one in so many requests exceeds: `one_in` is 1 / (1 - quantile). Both of shape (points,)."""

    one_in: NDArray[np.float64]
    latency_ms: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CellLatency:
    """The successful requests of a cell, or the items of its streams, on one clock."""

    clock: Clock
    merged: Histogram
    curve: Curve | None
    block_curves: tuple[Curve, ...]
    #: Of a load of several operations: the same of each.
    by_operation: Mapping[str, Histogram]
    #: The driver's error at quantiles, in milliseconds, where it is known.
    errors_ms: Mapping[float, Interval] = field(default_factory=dict)

    def quantile_ms(self, quantile: float) -> float | None:
        """Return a quantile in milliseconds, or None where too few samples lie beyond it."""
        return quantile_ms(self.merged, quantile)

    @property
    def max_ms(self) -> float | None:
        """The longest, in milliseconds; None without any."""
        return self.merged.quantiles_ns(1.0)[0] / 1e6 if self.merged.count else None


def quantile_ms(histogram: Histogram, quantile: float) -> float | None:
    """Return a quantile in milliseconds, or None where too few samples lie beyond it."""
    if histogram.count * (1 - quantile) < SAMPLES_BEYOND_MIN - 1e-9:
        return None
    return histogram.quantiles_ns(quantile)[0] / 1e6


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
        merged, curves = Histogram.empty(), []
        by_operation: dict[str, Histogram] = {}
        for record in cell.records:
            try:
                file = HistogramFile.read(run.folder / record.histogram_file)
                histogram = file.histogram(clock)
                for operation in record.operations:
                    own = file.histogram(clock, operation)
                    by_operation[operation] = by_operation.get(operation, Histogram.empty()) + own
            except (WirebenchError, ValueError) as error:
                reason = str(error).replace(f"{run.folder}/", "")
                problems.append(f"{record.id}: no latency curve: {reason}")
                continue
            merged += histogram
            if curve := curve_of(histogram, least_ns):
                curves.append(curve)
        if merged.count:
            curve = curve_of(merged, least_ns)
            latencies[cell.cell] = CellLatency(clock, merged, curve, tuple(curves), by_operation, _errors_ms(cell))
    return latencies, tuple(problems)


def _errors_ms(cell: CellSummary) -> dict[float, Interval]:
    known = {quantile: cell.instrument_error_ms(METRICS[name]) for quantile, name in ((0.5, "p50"), (0.99, "p99"))}
    return {quantile: error_ms for quantile, error_ms in known.items() if error_ms}


def curve_of(histogram: Histogram, least_ns: int = 1) -> Curve | None:
    """Return the curve up to the last quantile with enough samples beyond it; None if that is not even the median.

    What is less than `least_ns` is drawn as that.
    """
    one_in_max = histogram.count / SAMPLES_BEYOND_MIN
    if one_in_max < 2:  # noqa: PLR2004 - half of all requests
        return None
    one_in = np.geomspace(1, one_in_max, _POINTS)
    latencies_ns = histogram.quantiles_ns(*(1 - 1 / one_in))
    return Curve(one_in, np.maximum(latencies_ns, least_ns) / 1e6)
