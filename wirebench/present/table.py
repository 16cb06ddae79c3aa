"""The table: each cell's figures over all its blocks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from wirebench.analysis.summary import CellSummary
from wirebench.model.labels import format_error, name_gate
from wirebench.model.metric import CAPACITIES, DRIVERS, LATENCIES, METRICS, SPREAD, Metric
from wirebench.model.record import Record
from wirebench.present.numbers import ABSENT, describe_errors, format_metric, format_number, format_range
from wirebench.present.picture import Groups

_T = TypeVar("_T", int, float)

#: A smaller error of the driver, as a share of the figure, isn't shown beside it.
_SMALL_ERROR = 0.02


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A figure of every cell: of its records, or of its row in the index."""

    heading: str
    unit: str
    figure: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class TableRow:
    """One cell: its name, its figures in the order of the columns, and the gates that failed."""

    name: str
    figures: tuple[str, ...]
    failed_gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FigureTable:
    """The columns that have any figure, and rows in groups with a title each."""

    columns: tuple[TableColumn, ...]
    groups: tuple[tuple[str, tuple[TableRow, ...]], ...]


def make_table(
    groups: Mapping[str, Sequence[tuple[str, Iterable[str], Any]]], columns: Iterable[TableColumn]
) -> FigureTable:
    """Lay out cells, each with its name and failed gates, in groups; a column that is empty everywhere goes."""
    cells = [cell for group in groups.values() for *_, cell in group]
    shown = tuple(column for column in columns if any(column.figure(cell) != ABSENT for cell in cells))
    return FigureTable(
        shown,
        tuple(
            (
                title,
                tuple(
                    TableRow(name, tuple(column.figure(cell) for column in shown), tuple(map(name_gate, gates)))
                    for name, gates, cell in group
                ),
            )
            for title, group in groups.items()
        ),
    )


def make_request_table(groups: Groups) -> FigureTable:
    return make_table(list_rows(groups), _list_request_columns())


def list_rows(groups: Groups) -> dict[str, list[tuple[str, list[str], CellSummary]]]:
    return {
        title: [(cell.name, [gate.name for gate in cell.failed_gates()], cell) for cell in group]
        for title, group in groups.items()
    }


def make_column(name: str, unit: str = "") -> TableColumn:
    """Return the column of a metric; `unit` says more of it than the metric's own."""
    metric = METRICS[name]
    return TableColumn(metric.label, unit or metric.unit_label, lambda cell: format_metric(metric, cell.figure(metric)))


def _seen(cell: CellSummary, figure: Callable[[Record], _T | None]) -> list[_T]:
    return [seen for record in cell.records if (seen := figure(record)) is not None]


def read_greatest(figure: Callable[[Record], float | None]) -> Callable[[CellSummary], str]:
    return lambda cell: format_number(max(_seen(cell, figure), default=None))


def read_mean(figure: Callable[[Record], float | None]) -> Callable[[CellSummary], str]:
    def mean(cell: CellSummary) -> str:
        seen = _seen(cell, figure)
        return format_number(statistics.fmean(seen)) if seen else ABSENT

    return mean


def format_spread(cell: CellSummary) -> str:
    spread = cell.spread(cell.rate)
    return f"{format_number(spread)}×" if spread else ABSENT


def _shares(cell: CellSummary) -> str:
    return " / ".join(f"{share * 100:.0f}" for share in cell.replica_shares()) or ABSENT


def _throttled(record: Record) -> float | None:
    periods = record.server.throttled_periods
    return None if periods is None else periods / record.window_s


def _fairness(cell: CellSummary) -> str:
    if cell.factors["workers"] == 1:
        return ABSENT
    return format_number(min(_seen(cell, lambda record: record.server.fairness), default=None))


def _memory_mib(record: Record) -> float | None:
    memory = record.server.memory_bytes
    return None if memory is None else memory / 2**20


def _generator_per_cent(record: Record) -> float | None:
    share = record.generator.cpu_share
    return None if share is None else 100 * share


#: Columns of requests and streams alike.
THROTTLED = TableColumn("throttled", "periods/s", read_mean(_throttled))
MEMORY = TableColumn("server memory", "MiB, max", read_greatest(_memory_mib))
OF_THE_LOAD = (
    TableColumn("generator CPU", "%, max", read_greatest(_generator_per_cent)),
    *map(make_column, DRIVERS),
    TableColumn("replicas", "% of requests", _shares),
    TableColumn("fairness", "of workers, min", _fairness),
)
ERRORS = (make_column("errors"), TableColumn("errors by class", "", lambda cell: describe_errors(cell.error_counts)))


def _make_block_column(metric: Metric) -> TableColumn:
    """Return the column with what a metric's blocks span."""
    unit = f"{metric.unit_label}, {metric.spread}"
    return TableColumn(f"{metric.label} of blocks", unit, partial(_format_blocks, metric))


def _format_blocks(metric: Metric, cell: CellSummary) -> str:
    return format_range(cell.estimate(metric))


def _make_error_column(metric: Metric) -> TableColumn:
    """Return the column with the driver's error of a metric, where it is more than a small part of it."""

    def write(cell: CellSummary) -> str:
        figure_ms, error_ms = cell.figure(metric), cell.instrument_error_ms(metric)
        if figure_ms is None or error_ms is None or max(map(abs, error_ms)) < _SMALL_ERROR * figure_ms:
            return ABSENT
        return format_error(error_ms)

    return TableColumn(f"error of {metric.label}", "ms, of the driver", write)


def _list_request_columns() -> Iterator[TableColumn]:
    yield make_column("requests", "in windows")
    yield from map(make_column, CAPACITIES)
    yield make_column("throughput")
    yield TableColumn("blocks apart", "max / min", format_spread)
    for metric in LATENCIES:
        yield make_column(metric.name)
        if metric in SPREAD:
            yield _make_block_column(metric)
    yield from map(_make_error_column, SPREAD)
    yield from ERRORS
    yield make_column("cpu")
    yield THROTTLED
    yield MEMORY
    yield TableColumn("sent", "B/request", read_mean(lambda record: record.bytes_sent_per_request))
    yield TableColumn("received", "B/request", read_mean(lambda record: record.bytes_received_per_request))
    yield from OF_THE_LOAD
