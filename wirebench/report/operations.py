"""Loads of several operations, taken apart: each operation's requests and latencies, as figures and as bars."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wirebench.report.charts import bars
from wirebench.report.charts.style import Style
from wirebench.report.latencies import CellLatency, quantile_ms
from wirebench.report.numbers import count, number
from wirebench.report.picture import Groups, Picture
from wirebench.stats import CellSummary
from wirebench.store import OperationFigures

HEADINGS = (("requests/s", ""), ("p50", "ms"), ("p99", "ms"), ("max", "ms"), ("requests", "in windows"), ("failed", ""))


@dataclass(frozen=True, slots=True)
class OperationRow:
    """One operation of one cell: its names, and its figures in the order of `HEADINGS`."""

    operation: str
    cell: str
    figures: tuple[str, ...]


def rows(groups: Groups, latencies: Mapping[str, CellLatency]) -> dict[str, tuple[OperationRow, ...]]:
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


def pictures(groups: Groups, looks: Mapping[str, Style]) -> tuple[Picture, ...]:
    """Draw each operation's median latency as bars of all cells of a group, on one scale for all."""
    drawn: dict[str, list[bars.Bar]] = {}
    for title, cells in groups.items():
        for operation in _operations(cells):
            found = [bar for cell in cells if (bar := _bar(cell, operation, looks))]
            if found:
                drawn[f"{operation} in {title}"] = found
    if not drawn:
        return ()
    on = bars.scale([bar for group in drawn.values() for bar in group])
    return tuple(
        Picture(title, bars.draw(f"operation-{index}", f"Median latency in ms, {title}", group, on))
        for index, (title, group) in enumerate(drawn.items())
    )


def _operations(cells: Sequence[CellSummary]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for cell in cells for record in cell.records for name in record.operations))


def _seen(cell: CellSummary, operation: str) -> Iterator[OperationFigures]:
    return (record.operations[operation] for record in cell.records if operation in record.operations)


def _figures(cell: CellSummary, operation: str, latencies: Mapping[str, CellLatency]) -> Iterator[str]:
    seen = list(_seen(cell, operation))
    requests = sum(each.requests for each in seen)
    window_s = statistics.fmean(record.window_s for record in cell.records)
    yield number(requests / window_s / len(cell.records))
    histogram = latencies[cell.cell].by_operation.get(operation) if cell.cell in latencies else None
    for quantile in (0.5, 0.99):
        yield number(quantile_ms(histogram, quantile) if histogram else None)
    yield number(histogram.quantiles_ns(1.0)[0] / 1e6 if histogram and histogram.count else None)
    yield count(requests)
    yield count(sum(sum(each.errors.values()) for each in seen))


def _bar(cell: CellSummary, operation: str, looks: Mapping[str, Style]) -> bars.Bar | None:
    clocks = (each.response or each.service for each in _seen(cell, operation))
    medians = [clock.p50_ms for clock in clocks if clock and clock.p50_ms > 0]
    if not medians:
        return None
    return bars.Bar(looks[cell.name], statistics.geometric_mean(medians), tuple(medians))
