"""Tables of cells, of comparisons and of operations, for the report, the pages and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from wirebench.analysis.results import Result
from wirebench.analysis.significance import Significance
from wirebench.analysis.summary import find_shared_factors
from wirebench.model.cell import FACTORS
from wirebench.model.contract import BLOCKS_MAX
from wirebench.model.metric import METRICS, SPREAD, Metric, name_spread
from wirebench.present.comparison import ComparisonView, name_side
from wirebench.present.labels import describe_factors, describe_situation, format_error, name_cell, name_gate
from wirebench.present.numbers import (
    ABSENT,
    describe_errors,
    format_ends,
    format_metric,
    format_multiple,
    format_number,
    format_short_interval,
)

#: The metrics of the table that shows what people look for first.
_FIRST = (
    "requests", "capacity", "throughput", "mean", "p50", "p95", "p99", "max", "errors", "cpu",
    "items", "item_rate", "first_item", "gap", "item_cpu",
)  # fmt: skip
#: Those of them that a narrow terminal leaves out.
_SECOND = ("requests", "mean", "p95", "max", "items")
#: Those of the table of operations, with the ranks of their columns.
_OF_OPERATIONS = {"mean": 0, "min": 2, "p50": 1, "p99": 0, "max": 1, "errors": 0, "requests": 2}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A figure of every row: of a cell, of a comparison, or of an operation."""

    heading: str
    unit: str
    figure: Callable[[Any], str]
    #: Where a terminal has no room for all columns, those of the highest rank go first; those of rank 0 stay.
    rank: int = 0


class TableRow(NamedTuple):
    """A name, figures in the order of the columns, the gates that failed, and what else to know of the row."""

    name: str
    figures: tuple[str, ...]
    failed_gates: tuple[str, ...]
    notes: tuple[str, ...]


class TableGroup(NamedTuple):
    """Rows under a title."""

    title: str
    rows: tuple[TableRow, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Each note once, after the names of its rows unless it holds for all of them."""
        names: dict[str, list[str]] = {}
        for row in self.rows:
            for note in row.notes:
                names.setdefault(note, []).append(row.name)
        return tuple(note if len(of) == len(self.rows) else f"{', '.join(of)}: {note}" for note, of in names.items())


@dataclass(frozen=True, slots=True)
class FigureTable:
    """The columns that have any figure, and rows in groups."""

    columns: tuple[TableColumn, ...]
    groups: tuple[TableGroup, ...]
    #: What the names of the rows are of.
    subject: str


class _Entry(NamedTuple):
    """What a row is of, with the group that it is in and its name there."""

    title: str
    name: str
    of: Any
    failed_gates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _make_table(entries: Iterable[_Entry], columns: Iterable[TableColumn], subject: str) -> FigureTable:
    """Lay out entries by their titles; a column that is empty everywhere goes."""
    entries = tuple(entries)
    shown = tuple(column for column in columns if any(column.figure(each.of) != ABSENT for each in entries))
    groups: dict[str, list[TableRow]] = {}
    for title, name, of, gates, notes in entries:
        row = TableRow(name, tuple(column.figure(of) for column in shown), tuple(map(name_gate, gates)), notes)
        groups.setdefault(title, []).append(row)
    return FigureTable(shown, tuple(TableGroup(title, tuple(rows)) for title, rows in groups.items()), subject)


def make_first_table(cells: Sequence[Result], compared: str = "") -> FigureTable:
    """Return the figures that people look for first, under short headings, with the gates that failed below them."""
    return _make_table(_list_cells(cells, compared, has_notes=True), _list_first_columns(), "cell")


def make_full_table(cells: Sequence[Result], compared: str = "") -> FigureTable:
    """Return all figures of cells, of a run's folder or of the index."""
    return _make_table(_list_cells(cells, compared), _list_full_columns(), "cell")


def _list_cells(cells: Sequence[Result], compared: str, *, has_notes: bool = False) -> Iterator[_Entry]:
    """Yield cells by operation and load; their names leave out what all of them are alike in."""
    shared = find_shared_factors([cell.factors for cell in cells])
    for cell in cells:
        failed = ", ".join(sorted(map(name_gate, cell.failed_gates)))
        notes = (f"failed gates: {failed}",) if failed and has_notes else ()
        name = name_cell(cell.factors, shared, compared)
        yield _Entry(describe_situation(cell.factors), name, cell, cell.failed_gates, notes)


def make_comparison_table(views: Sequence[ComparisonView]) -> FigureTable:
    """Return the verdicts and ratios of comparisons with their intervals, by situation.

    Of one cell in two runs, where there is room, also both figures of what is judged.
    """
    entries = [_Entry(view.situation, view.label, view, (), view.remarks) for view in views]
    return _make_table(entries, _list_ratio_columns(views), "cell" if _are_changes(views) else "ratio")


def _are_changes(views: Sequence[ComparisonView]) -> bool:
    return any(view.factor == "run" for view in views)


def _list_ratio_columns(views: Sequence[ComparisonView]) -> Iterator[TableColumn]:
    judged = {METRICS[view.metric].column for view in views}
    unit = judged.pop() if len(judged) == 1 else ""
    yield TableColumn("verdict", unit and f"on {unit}", lambda view: view.verdict or ABSENT)
    for name in dict.fromkeys(name for view in views for name in view.shown_metrics):
        rank = 0 if name in (view.metric for view in views) else 1
        yield TableColumn(METRICS[name].column, "", partial(_format_ratio, name=name), rank)
    yield TableColumn(
        "detectable", "or more", partial(_describe_power, write=lambda tests: format_multiple(tests.detectable)), 1
    )
    yield TableColumn("to decide", "blocks", partial(_describe_power, write=_format_blocks_needed))
    if _are_changes(views):
        yield TableColumn("base", unit, lambda view: _format_side(view, view.baseline_figures), 2)
        yield TableColumn("head", unit, lambda view: _format_side(view, view.subject_figures), 2)


def _format_ratio(view: ComparisonView, name: str) -> str:
    """Write a ratio with its interval, and with `!` where a gate failed for it alone."""
    ratio = view.ratios.get(name) if name in view.shown_metrics else None
    return f"{format_short_interval(ratio)}{'!' * bool(ratio and view.doubts.get(name))}"


def _describe_power(view: ComparisonView, write: Callable[[Significance], str]) -> str:
    """Write what as many blocks can detect, or how many would decide: of a comparison that is inconclusive."""
    return write(view.significance) if view.significance and view.verdict == "inconclusive" else ABSENT


def _format_blocks_needed(tests: Significance) -> str:
    return f"{tests.blocks_needed:,}" if tests.blocks_needed else f">{BLOCKS_MAX:,}"


def _format_side(view: ComparisonView, figures: Mapping[str, float]) -> str:
    metric = METRICS[view.metric]
    return format_metric(metric, figures.get(metric.field))


def make_operation_table(operations: Sequence[Result], views: Iterable[ComparisonView], compared: str) -> FigureTable:
    """Return the figures of operations, those that can be compared together: with verdict and ratio to the first."""
    varied = set(FACTORS) - find_shared_factors([each.factors for each in operations])
    first: dict[str, ComparisonView] = {}
    for view in views:
        first.setdefault(view.subject, view)

    def write(column: TableColumn) -> TableColumn:
        return replace(column, figure=lambda of: column.figure(first[of.cell]) if of.cell in first else ABSENT)

    entries = (
        _Entry(
            describe_factors(each.factors, compared, varied),
            name_side(compared, each.factors),
            each,
            each.failed_gates,
            first[each.cell].remarks[:1] if each.cell in first and first[each.cell].verdict == "withheld" else (),
        )
        for each in operations
    )
    columns = (
        write(TableColumn("verdict", "on mean", lambda view: view.verdict or ABSENT)),
        write(TableColumn("mean", "× the first", partial(_format_ratio, name="mean"))),
        *(
            replace(_make_column(METRICS[name], METRICS[name].column), rank=rank)
            for name, rank in _OF_OPERATIONS.items()
        ),
    )
    return _make_table(entries, columns, "operation")


def _make_column(metric: Metric, heading: str = "") -> TableColumn:
    def write(of: object) -> str:
        return format_metric(metric, getattr(of, metric.field, None))

    return TableColumn(heading or metric.label, metric.unit, write, rank=int(metric.name in _SECOND))


def _make_block_column(metric: Metric, heading: str = "", unit: str = "") -> TableColumn:
    """Return the column with what a metric's blocks span."""

    def write(cell: Result) -> str:
        low, high = (getattr(cell, name) for name in name_spread(metric))
        return ABSENT if cell.blocks == 1 else format_ends(low, high)

    unit = unit or f"{metric.unit}, lowest–highest block"
    return TableColumn(heading or f"{metric.label} of blocks", unit, write, rank=2)


def _make_use_column(heading: str, unit: str, field: str, write: Callable[[Any], str] = format_number) -> TableColumn:
    """Return the column of a field that only cells of a run's folder have."""

    def figure(cell: Result) -> str:
        value = getattr(cell, field, None)
        return ABSENT if value is None or value == () else write(value)

    return TableColumn(heading, unit, figure, rank=2)


def _format_shares(shares: Sequence[float]) -> str:
    return " / ".join(f"{share * 100:.0f}" for share in shares)


def _list_first_columns() -> Iterator[TableColumn]:
    for name in _FIRST:
        yield _make_column(METRICS[name], METRICS[name].column)
    yield _make_use_column("blocks", "max / min", "blocks_apart", lambda ratio: f"{format_number(ratio)}×")
    yield _make_block_column(METRICS["p99"], "p99 of", "blocks")
    yield _make_use_column("replicas", "%", "replica_shares", _format_shares)
    yield _make_use_column("generator", "CPU %", "generator_cpu_percent")
    yield _make_use_column("driver", "% of ceiling", METRICS["ceiling_share"].field)


def _list_full_columns() -> Iterator[TableColumn]:
    for metric in METRICS.values():
        yield _make_column(metric)
        if metric in SPREAD:
            yield _make_block_column(metric)
    yield TableColumn("errors by class", "", lambda cell: describe_errors(cell.errors))
    yield TableColumn("blocks", "", lambda cell: f"{cell.blocks:,}")
    yield _make_use_column("blocks apart", "max / min", "blocks_apart", lambda ratio: f"{format_number(ratio)}×")
    for name in ("p50", "p99"):
        yield _make_use_column(f"error of {name}", "ms, of the driver", f"{name}_error_ms", format_error)
    yield _make_use_column("server memory", "MiB, max", "memory_bytes", lambda size: format_number(size / 2**20))
    yield _make_use_column("throttled", "periods/s", "throttled_periods_per_s")
    yield _make_use_column("sent", "B/request", "bytes_sent_per_request")
    yield _make_use_column("received", "B/request", "bytes_received_per_request")
    yield _make_use_column("received", "B/item", "bytes_received_per_item")
    yield _make_use_column("generator CPU", "%, max", "generator_cpu_percent")
    yield _make_use_column("replicas", "% of requests", "replica_shares", _format_shares)
    yield _make_use_column("fairness", "of workers, min", "fairness")
