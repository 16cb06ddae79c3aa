"""Streams: how soon they begin, how fast their items come, and how evenly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wirebench.report import table
from wirebench.report.charts.style import Style
from wirebench.report.latencies import TOGETHER_NS, CellLatency, read_latencies
from wirebench.report.numbers import count, number
from wirebench.report.picture import Groups, Picture, bars_of, curves
from wirebench.report.table import Column, Table
from wirebench.stats import METRICS, CellSummary
from wirebench.store import Run, StreamFigures


@dataclass(frozen=True, slots=True)
class Streams:
    """What the page shows of streams; each kind of picture has one for each group of cells, with scales of its own.

    Groups differ in what was asked of a stream: what lies far apart between them says nothing.
    """

    first_item: Sequence[Picture]
    item_rate: Sequence[Picture]
    item_rate_is_log: bool
    gap: Sequence[Picture]
    cpu: Sequence[Picture]
    cpu_is_log: bool
    table: Table
    unreadable: tuple[str, ...]


def make_streams(run: Run, groups: Groups, looks: Mapping[str, Style]) -> Streams | None:
    """Gather what is shown of these cells, which are all of streams; None without any."""
    if not groups:
        return None
    cells = [cell for group in groups.values() for cell in group]
    first_items, unreadable = read_latencies(run, cells, "first_item")
    gaps, _ = read_latencies(run, cells, "gap")  # What can't be read is the same.
    item_rate, item_rate_is_log = bars_of(METRICS["item_rate"], groups, looks, shared=False)
    cpu, cpu_is_log = bars_of(METRICS["item_cpu"], groups, looks, shared=False)
    return Streams(
        first_item=curves("Time to first item", groups, looks, first_items, shared=False),
        item_rate=item_rate,
        item_rate_is_log=item_rate_is_log,
        gap=curves("Gap between items", groups, looks, gaps, shared=False),
        cpu=cpu,
        cpu_is_log=cpu_is_log,
        table=table.make_table(groups, {}, _columns(first_items, gaps)),
        unreadable=unreadable,
    )


def _columns(first_items: Mapping[str, CellLatency], gaps: Mapping[str, CellLatency]) -> tuple[Column, ...]:
    return (
        Column("items/s", "", table.typical("item_rate")),
        Column("blocks apart", "max / min", table.apart),
        *(_quantile("first item", first_items, quantile) for quantile in (0.5, 0.99)),
        *(_quantile("gap", gaps, quantile) for quantile in (0.5, 0.99, 0.999)),
        Column("longest gap", "ms", lambda cell, _: number(gaps[cell.cell].max_ms if cell.cell in gaps else None)),
        Column("server CPU", "µs/item", table.typical("item_cpu")),
        table.THROTTLED,
        table.MEMORY,
        Column("received", "B/item", table.mean_of(lambda record: _of(record.streams, "bytes_received_per_item"))),
        *table.OF_THE_LOAD,
        Column("items", "a stream", table.mean_of(lambda record: _of(record.streams, "items_per_stream"))),
        Column("items", "in windows", _items),
        Column("streams", "ended in windows", lambda cell, _: count(sum(record.requests for record in cell.records))),
        table.FAILED,
    )


def _of(streams: StreamFigures | None, figure: str) -> float | None:
    return getattr(streams, figure) if streams else None


def _quantile(heading: str, latencies: Mapping[str, CellLatency], quantile: float) -> Column:
    def figure(cell: CellSummary, _: CellLatency | None) -> str:
        value = latencies[cell.cell].quantile_ms(quantile) if cell.cell in latencies else None
        return f"<{TOGETHER_NS / 1e6:g}" if value is not None and value < TOGETHER_NS / 1e6 else number(value)

    return Column(heading, f"p{100 * quantile:g}, ms", figure)


def _items(cell: CellSummary, _: CellLatency | None) -> str:
    return count(sum(record.streams.items for record in cell.records if record.streams))
