"""Loads of several operations, taken apart: each operation's requests and latencies, as figures and as bars."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wirebench.analysis.summary import CellSummary
from wirebench.model.metric import METRICS
from wirebench.model.record import OperationFigures
from wirebench.present.charts.bars import Bar
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Chart
from wirebench.present.latencies import CellLatency, compute_quantile_ms
from wirebench.present.numbers import format_count, format_number
from wirebench.present.picture import Groups, draw_bars

_METRICS = tuple(METRICS[name] for name in ("requests", "throughput", "p50", "p99", "max", "errors"))
HEADINGS = tuple((metric.label, metric.unit_label) for metric in _METRICS)


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation of one cell: its names, and its figures in the order of `HEADINGS`."""

    operation: str
    cell: str
    figures: tuple[str, ...]


def list_rows(groups: Groups, latencies: Mapping[str, CellLatency]) -> dict[str, tuple[OperationRow, ...]]:
    """Return the rows of each group whose cells have several operations, operations together."""
    by_group = {
        title: tuple(
            OperationRow(operation, cell.name, tuple(_figures(cell, operation, latencies)))
            for operation in _operations(cells)
            for cell in cells
        )
        for title, cells in groups.items()
    }
    return {title: found for title, found in by_group.items() if found}


def draw(groups: Groups, looks: Mapping[str, Style]) -> tuple[Chart, ...]:
    """Draw each operation's median latency as bars of all cells of a group, on one scale for all."""
    drawn: dict[str, list[Bar]] = {}
    for title, cells in groups.items():
        for operation in _operations(cells):
            found = [bar for cell in cells if (bar := _bar(cell, operation, looks))]
            if found:
                drawn[f"{operation} in {title}"] = found
    return draw_bars(METRICS["p50"].heading, drawn)


def _operations(cells: Sequence[CellSummary]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for cell in cells for record in cell.records for name in record.operations))


def _seen(cell: CellSummary, operation: str) -> Iterator[OperationFigures]:
    return (record.operations[operation] for record in cell.records if operation in record.operations)


def _figures(cell: CellSummary, operation: str, latencies: Mapping[str, CellLatency]) -> Iterator[str]:
    seen = list(_seen(cell, operation))
    requests = sum(each.requests for each in seen)
    yield format_count(requests)
    window_s = statistics.fmean(record.window_s for record in cell.records)
    yield format_number(requests / window_s / len(cell.records))
    histogram = latencies[cell.cell].by_operation.get(operation) if cell.cell in latencies else None
    for quantile in (0.5, 0.99):
        yield format_number(compute_quantile_ms(histogram, quantile) if histogram else None)
    yield format_number(histogram.compute_quantiles_ns(1.0)[0] / 1e6 if histogram and histogram.count else None)
    yield format_count(sum(sum(each.errors.values()) for each in seen))


def _bar(cell: CellSummary, operation: str, looks: Mapping[str, Style]) -> Bar | None:
    clocks = (each.response or each.service for each in _seen(cell, operation))
    medians = [clock.p50_ms for clock in clocks if clock and clock.p50_ms > 0]
    if not medians:
        return None
    return Bar(looks[cell.name], statistics.geometric_mean(medians), tuple(medians))
