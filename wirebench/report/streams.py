"""Streams: how soon they begin, how fast their items come, and how evenly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wirebench.analysis.summary import CellSummary
from wirebench.model.labels import capitalise
from wirebench.model.metric import METRICS
from wirebench.model.record import StreamFigures
from wirebench.present import table
from wirebench.present.charts.style import Style
from wirebench.present.latencies import TOGETHER_NS, CellLatency, read_latencies
from wirebench.present.numbers import format_number
from wirebench.present.picture import Groups, draw_latencies, draw_metric
from wirebench.present.table import TableColumn
from wirebench.results.runs import Run


def make_streams(run: Run, groups: Groups, styles: Mapping[str, Style]) -> dict[str, Any]:
    """Gather what the page shows of these cells, which are all of streams; empty without any.

    Each kind of chart has one for each group of cells, with scales of its own. Groups differ in what was asked of a
    stream: what lies far apart between them says nothing.
    """
    if not groups:
        return {}
    cells = [cell for group in groups.values() for cell in group]
    first_items, unreadable = read_latencies(run, cells, "first_item")
    gaps, _ = read_latencies(run, cells, "gap")  # What can't be read is the same.
    first_item = capitalise(METRICS["first_item"].label)
    return {
        "first_item": draw_latencies(first_item, groups, styles, first_items, shared=False),
        "item_rate": draw_metric(METRICS["item_rate"], groups, styles),
        "gap": draw_latencies("Gap between items", groups, styles, gaps, shared=False),
        "cpu": draw_metric(METRICS["item_cpu"], groups, styles),
        "table": table.make_table(table.list_rows(groups), _make_columns(first_items, gaps)),
        "unreadable": unreadable,
    }


def _make_columns(first_items: Mapping[str, CellLatency], gaps: Mapping[str, CellLatency]) -> tuple[TableColumn, ...]:
    return (
        table.make_column("item_rate"),
        TableColumn("blocks apart", "max / min", table.format_spread),
        *(_make_quantile_column("first item", first_items, quantile) for quantile in (0.5, 0.99)),
        *(_make_quantile_column("gap", gaps, quantile) for quantile in (0.5, 0.99, 0.999)),
        TableColumn(
            "longest gap", "ms", lambda cell: format_number(gaps[cell.cell].max_ms if cell.cell in gaps else None)
        ),
        table.make_column("item_cpu"),
        table.THROTTLED,
        table.MEMORY,
        TableColumn(
            "received", "B/item", table.read_records(lambda record: _read(record.streams, "bytes_received_per_item"))
        ),
        *table.OF_THE_LOAD,
        TableColumn("items", "a stream", table.read_records(lambda record: _read(record.streams, "items_per_stream"))),
        table.make_column("items", "in windows"),
        TableColumn("streams", "ended in windows", lambda cell: f"{sum(record.requests for record in cell.records):,}"),
        *table.ERRORS,
    )


def _read(streams: StreamFigures | None, figure: str) -> float | None:
    return getattr(streams, figure) if streams else None


def _make_quantile_column(heading: str, latencies: Mapping[str, CellLatency], quantile: float) -> TableColumn:
    def figure(cell: CellSummary) -> str:
        value = latencies[cell.cell].quantile_ms(quantile) if cell.cell in latencies else None
        return f"<{TOGETHER_NS / 1e6:g}" if value is not None and value < TOGETHER_NS / 1e6 else format_number(value)

    return TableColumn(heading, f"p{100 * quantile:g}, ms", figure)
