"""Loads of several operations, taken apart: each operation's requests and latencies, as figures and as bars."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from wirebench.analysis.summary import CellSummary
from wirebench.model.histogram import Histogram
from wirebench.model.labels import name_gate
from wirebench.model.metric import METRICS, Metric
from wirebench.model.record import OperationFigures
from wirebench.present.charts.bars import Bar, make_bar_scale
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Chart
from wirebench.present.latencies import CellLatency
from wirebench.present.numbers import format_metric
from wirebench.present.picture import Groups, draw_bars
from wirebench.present.table import FigureTable, TableColumn, make_table

_QUANTILES = {"p50": 0.5, "p99": 0.99, "max": 1.0}


class _CellOperation(NamedTuple):
    """One operation of a cell: its figures in each block, and its latencies of all blocks together."""

    cell: CellSummary
    blocks: list[OperationFigures]
    merged: Histogram | None

    @property
    def failed(self) -> int:
        return sum(sum(each.errors.values()) for each in self.blocks)

    def quantile_ms(self, quantile: float) -> float | None:
        return self.merged.compute_quantiles_ns(quantile)[0] / 1e6 if self.merged and self.merged.count else None

    def figure(self, name: str) -> float | None:
        requests = sum(each.requests for each in self.blocks)
        match name:
            case "requests":
                return requests
            case "throughput":
                window_s = statistics.fmean(record.window_s for record in self.cell.records)
                return (requests - self.failed) / window_s / len(self.cell.records)
            case "errors":
                return self.failed
        return self.quantile_ms(_QUANTILES[name])


def make_operation_table(groups: Groups, latencies: Mapping[str, CellLatency]) -> FigureTable:
    """Lay out the figures of each operation of the groups whose cells have several."""
    rows = {
        title: [(each.cell.name, tuple(gate.name for gate in each.cell.failed_gates()), each) for each in found]
        for title, found in _list_operations(groups, latencies)
    }
    shown = (METRICS[name] for name in ("requests", "throughput", *_QUANTILES, "errors"))
    return make_table(rows, [TableColumn(each.label, each.unit_label, partial(_format_figure, each)) for each in shown])


def draw(groups: Groups, styles: Mapping[str, Style], latencies: Mapping[str, CellLatency]) -> tuple[Chart, ...]:
    """Draw each operation's median latency as bars of all cells of a group, on one scale for all."""
    drawn = {
        title: bars
        for title, found in _list_operations(groups, latencies)
        if (bars := [bar for each in found if (bar := _make_bar(each, styles))])
    }
    scale = make_bar_scale([bar for group in drawn.values() for bar in group])
    return draw_bars(METRICS["p50"].heading, drawn, scale)


def _list_operations(
    groups: Groups, latencies: Mapping[str, CellLatency]
) -> Iterator[tuple[str, list[_CellOperation]]]:
    """Yield each operation of each group, with all cells of the group."""
    for title, cells in groups.items():
        for name in dict.fromkeys(name for cell in cells for record in cell.records for name in record.operations):
            yield f"{name} in {title}", [_read_operation(cell, name, latencies.get(cell.cell)) for cell in cells]


def _read_operation(cell: CellSummary, name: str, latency: CellLatency | None) -> _CellOperation:
    blocks = [record.operations[name] for record in cell.records if name in record.operations]
    return _CellOperation(cell, blocks, latency.by_operation.get(name) if latency else None)


def _format_figure(metric: Metric, of: _CellOperation) -> str:
    return format_metric(metric, of.figure(metric.name))


def _make_bar(of: _CellOperation, styles: Mapping[str, Style]) -> Bar | None:
    clocks = (each.response or each.service for each in of.blocks)
    medians = [clock.p50_ms for clock in clocks if clock and clock.p50_ms > 0]
    merged_ms = of.quantile_ms(0.5)
    if merged_ms is None:
        return None
    interval = (min(medians), max(medians)) if len(medians) > 1 else None
    failed = tuple(name_gate(gate.name) for gate in of.cell.failed_gates(METRICS["p50"]))
    return Bar(styles[of.cell.name], merged_ms, tuple(medians), interval, failed)
