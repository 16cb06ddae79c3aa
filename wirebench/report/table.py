"""The table: each cell's figures over all its blocks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from wirebench.report.latencies import CellLatency
from wirebench.report.numbers import ABSENT, count, number
from wirebench.stats import METRICS, CellSummary
from wirebench.stats.names import gate_name, signed
from wirebench.store import Record

_T = TypeVar("_T", int, float)

#: A smaller error of the driver, as a share of the figure, isn't shown beside it.
_SMALL_ERROR = 0.02


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of every cell. `figure` takes the cell, and its latency if that could be read."""

    heading: str
    unit: str
    figure: Callable[[CellSummary, CellLatency | None], str]


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: its name, its figures in the order of the columns, and the gates that failed."""

    name: str
    figures: tuple[str, ...]
    failed_gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The columns that have any figure, and rows in groups with a title each."""

    columns: tuple[Column, ...]
    groups: tuple[tuple[str, tuple[Row, ...]], ...]


def make_table(
    groups: Mapping[str, Sequence[CellSummary]],
    latencies: Mapping[str, CellLatency],
    columns: Sequence[Column] | None = None,
) -> Table:
    """Lay out the groups of cells, by default with all columns of requests; one that is empty everywhere goes."""
    cells = [cell for group in groups.values() for cell in group]
    shown = tuple(
        column
        for column in columns or _COLUMNS
        if any(column.figure(cell, latencies.get(cell.cell)) != ABSENT for cell in cells)
    )
    return Table(
        shown,
        tuple(
            (title, tuple(_row(cell, latencies.get(cell.cell), shown) for cell in group))
            for title, group in groups.items()
        ),
    )


def _row(cell: CellSummary, latency: CellLatency | None, columns: Iterable[Column]) -> Row:
    return Row(
        name=cell.name,
        figures=tuple(column.figure(cell, latency) for column in columns),
        failed_gates=tuple(gate_name(gate.name) for gate in cell.failed_gates()),
    )


def _quantile(quantile: float) -> Callable[[CellSummary, CellLatency | None], str]:
    return lambda _, latency: number(latency.quantile_ms(quantile) if latency else None)


def _error(quantile: float) -> Callable[[CellSummary, CellLatency | None], str]:
    """Take the driver's error of a quantile, where it is more than a small part of it."""

    def error(_: CellSummary, latency: CellLatency | None) -> str:
        figure_ms = latency.quantile_ms(quantile) if latency else None
        error_ms = latency.errors_ms.get(quantile) if latency else None
        if figure_ms is None or error_ms is None or max(map(abs, error_ms)) < _SMALL_ERROR * figure_ms:
            return ABSENT
        return signed(error_ms)

    return error


def typical(metric: str) -> Callable[[CellSummary, CellLatency | None], str]:
    """Take a metric's typical figure."""
    return lambda cell, _: number(cell.typical(METRICS[metric]))


def _seen(cell: CellSummary, figure: Callable[[Record], _T | None]) -> list[_T]:
    return [seen for record in cell.records if (seen := figure(record)) is not None]


def greatest(figure: Callable[[Record], float | None]) -> Callable[[CellSummary, CellLatency | None], str]:
    """Take the greatest figure of all blocks."""
    return lambda cell, _: number(max(_seen(cell, figure), default=None))


def mean_of(figure: Callable[[Record], float | None]) -> Callable[[CellSummary, CellLatency | None], str]:
    """Take the mean of the blocks' figures."""

    def mean(cell: CellSummary, _: CellLatency | None) -> str:
        seen = _seen(cell, figure)
        return number(statistics.fmean(seen)) if seen else ABSENT

    return mean


def apart(cell: CellSummary, _: CellLatency | None) -> str:
    """Say how far the blocks lie apart."""
    spread = cell.spread(cell.rate)
    return f"{number(spread)}×" if spread else ABSENT


def _shares(cell: CellSummary, _: CellLatency | None) -> str:
    return " / ".join(f"{share * 100:.0f}" for share in cell.replica_shares()) or ABSENT


def _throttled(record: Record) -> float | None:
    periods = record.server.throttled_periods
    return None if periods is None else periods / record.window_s


def _fairness(cell: CellSummary, _: CellLatency | None) -> str:
    if cell.factors["workers"] == 1:
        return ABSENT
    return number(min(_seen(cell, lambda record: record.server.fairness), default=None))


def _memory_mib(record: Record) -> float | None:
    memory = record.server.memory_bytes
    return None if memory is None else memory / 2**20


def _generator_per_cent(record: Record) -> float | None:
    share = record.generator.cpu_share
    return None if share is None else 100 * share


def _failures(cell: CellSummary, _: CellLatency | None) -> str:
    return count(sum(sum(record.errors.values()) for record in cell.records))


#: What is told of requests and streams alike.
THROTTLED = Column("throttled", "periods/s", mean_of(_throttled))
MEMORY = Column("server memory", "MiB, max", greatest(_memory_mib))
OF_THE_LOAD = (
    Column("generator CPU", "%, max", greatest(_generator_per_cent)),
    Column("replicas", "% of requests", _shares),
    Column("fairness", "of workers, min", _fairness),
)
FAILED = Column("failed", "requests", _failures)

_COLUMNS = (
    Column("requests/s", "", typical("throughput")),
    Column("blocks apart", "max / min", apart),
    Column("p50", "ms", _quantile(0.5)),
    Column("p90", "ms", _quantile(0.9)),
    Column("p99", "ms", _quantile(0.99)),
    Column("p99.9", "ms", _quantile(0.999)),
    Column("max", "ms", lambda _, latency: number(latency.max_ms if latency else None)),
    Column("error of p50", "ms, of the driver", _error(0.5)),
    Column("error of p99", "ms, of the driver", _error(0.99)),
    Column("server CPU", "ms/request", typical("cpu")),
    THROTTLED,
    MEMORY,
    Column("sent", "B/request", mean_of(lambda record: record.bytes_sent_per_request)),
    Column("received", "B/request", mean_of(lambda record: record.bytes_received_per_request)),
    *OF_THE_LOAD,
    Column("requests", "in windows", lambda cell, _: count(sum(record.requests for record in cell.records))),
    FAILED,
)
