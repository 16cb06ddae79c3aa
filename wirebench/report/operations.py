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
from wirebench.present.latencies import CellLatency
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


def draw(groups: Groups, looks: Mapping[str, Style], latencies: Mapping[str, CellLatency]) -> tuple[Chart, ...]:
    """Draw each operation's median latency as bars of all cells of a group, on one scale for all."""
    drawn: dict[str, list[Bar]] = {}
    for title, cells in groups.items():
        for operation in _operations(cells):
            found = [bar for cell in cells if (bar := _bar(cell, operation, looks, latencies))]
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
    for quantile in (0.5, 0.99, 1.0):
        yield format_number(_quantile_ms(cell, operation, latencies, quantile))
    yield format_count(sum(sum(each.errors.values()) for each in seen))


def _quantile_ms(
    cell: CellSummary, operation: str, latencies: Mapping[str, CellLatency], quantile: float
) -> float | None:
    histogram = latencies[cell.cell].by_operation.get(operation) if cell.cell in latencies else None
    return histogram.compute_quantiles_ns(quantile)[0] / 1e6 if histogram and histogram.count else None


def _bar(
    cell: CellSummary, operation: str, looks: Mapping[str, Style], latencies: Mapping[str, CellLatency]
) -> Bar | None:
    clocks = (each.response or each.service for each in _seen(cell, operation))
    medians = [clock.p50_ms for clock in clocks if clock and clock.p50_ms > 0]
    merged_ms = _quantile_ms(cell, operation, latencies, 0.5)
    return Bar(looks[cell.name], merged_ms, tuple(medians)) if merged_ms is not None else None
