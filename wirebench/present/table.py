"""The table: each cell's figures over all its blocks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from wirebench.analysis.summary import CellSummary
from wirebench.model.labels import format_error, name_gate
from wirebench.model.metric import CAPACITIES, DRIVERS, METRICS
from wirebench.model.record import Record
from wirebench.present.latencies import CellLatency
from wirebench.present.numbers import ABSENT, describe_errors, format_metric, format_number
from wirebench.present.picture import Groups

_T = TypeVar("_T", int, float)

#: A smaller error of the driver, as a share of the figure, isn't shown beside it.
_SMALL_ERROR = 0.02
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}


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


def make_request_table(groups: Groups, latencies: Mapping[str, CellLatency]) -> FigureTable:
    return make_table(list_rows(groups), _list_request_columns(latencies))


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


def _list_request_columns(latencies: Mapping[str, CellLatency]) -> Iterator[TableColumn]:
    def of_latency(name: str, figure: Callable[[CellLatency], float | None]) -> TableColumn:
        def write(cell: CellSummary) -> str:
            return format_number(figure(latencies[cell.cell]) if cell.cell in latencies else None)

        return TableColumn(METRICS[name].label, METRICS[name].unit, write)

    def error_of(name: str, quantile: float) -> TableColumn:
        """Return the driver's error of a quantile, where it is more than a small part of it."""

        def write(cell: CellSummary) -> str:
            latency = latencies.get(cell.cell)
            figure_ms = latency.quantile_ms(quantile) if latency else None
            error_ms = latency.errors_ms.get(quantile) if latency else None
            if figure_ms is None or error_ms is None or max(map(abs, error_ms)) < _SMALL_ERROR * figure_ms:
                return ABSENT
            return format_error(error_ms)

        return TableColumn(f"error of {name}", "ms, of the driver", write)

    yield make_column("requests", "in windows")
    yield from map(make_column, CAPACITIES)
    yield make_column("throughput")
    yield TableColumn("blocks apart", "max / min", format_spread)
    yield of_latency("min", lambda latency: latency.merged.compute_quantiles_ns(0)[0] / 1e6)
    yield of_latency("mean", lambda latency: latency.merged.mean_ns / 1e6)
    yield of_latency("stdev", lambda latency: latency.merged.stdev_ns / 1e6)
    for name, quantile in _QUANTILES.items():
        yield of_latency(name, lambda latency, quantile=quantile: latency.quantile_ms(quantile))  # type: ignore[misc]
    yield of_latency("max", lambda latency: latency.max_ms)
    yield error_of("p50", 0.5)
    yield error_of("p99", 0.99)
    yield from ERRORS
    yield make_column("cpu")
    yield THROTTLED
    yield MEMORY
    yield TableColumn("sent", "B/request", read_mean(lambda record: record.bytes_sent_per_request))
    yield TableColumn("received", "B/request", read_mean(lambda record: record.bytes_received_per_request))
    yield from OF_THE_LOAD
