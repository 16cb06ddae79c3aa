"""Tables of cells and of comparisons, for the report, the pages and the terminal."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from wirebench.analysis.compare_cells import Comparison
from wirebench.analysis.compare_runs import CellChange
from wirebench.analysis.pair import CellPair
from wirebench.analysis.summary import CellSummary
from wirebench.model.labels import describe_factors, describe_situation, format_error, name_gate
from wirebench.model.metric import CAPACITIES, DRIVERS, LATENCIES, METRICS, SPREAD, Metric
from wirebench.model.record import Record
from wirebench.present import sentences
from wirebench.present.charts.forest import LANES
from wirebench.present.numbers import ABSENT, describe_errors, format_metric, format_number, format_range
from wirebench.present.picture import Groups
from wirebench.present.run_comparison_sentences import list_remarks as list_change_remarks

#: A name, the gates that failed, and what the columns are of.
_TableRow = tuple[str, Iterable[str], Any]

#: The metrics of the terminal's table.
_TERMINAL = (
    "requests", *CAPACITIES, "throughput", "mean", "p50", "p95", "p99", "max", "errors", "cpu",
    "items", "item_rate", "first_item", "gap", "item_cpu",
)  # fmt: skip
#: A smaller error of the driver, as a share of the figure, isn't shown beside it.
_SMALL_ERROR = 0.02


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A figure of every row: of a cell's records, of its row in the index, or of a comparison."""

    heading: str
    unit: str
    figure: Callable[[Any], str]
    #: Whether the terminal leaves it out where it has no room for all columns.
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class TableRow:
    """A name, figures in the order of the columns, the gates that failed, and what else to know of the row."""

    name: str
    figures: tuple[str, ...]
    failed_gates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class TableGroup(NamedTuple):
    """Rows under a title; it is empty where there is nothing to tell apart."""

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
    subject: str = "cell"


def make_table(
    groups: Mapping[str, Sequence[_TableRow]],
    columns: Iterable[TableColumn],
    list_notes: Callable[[Any], Iterable[str]] = lambda _: (),
) -> FigureTable:
    """Lay out what is in groups, each with its name and failed gates; a column that is empty everywhere goes."""
    of_rows = [of for group in groups.values() for *_, of in group]
    shown = tuple(column for column in columns if any(column.figure(of) != ABSENT for of in of_rows))

    def make_row(name: str, gates: Iterable[str], of: object) -> TableRow:
        figures = tuple(column.figure(of) for column in shown)
        return TableRow(name, figures, tuple(map(name_gate, gates)), tuple(list_notes(of)))

    return FigureTable(
        shown, tuple(TableGroup(title, tuple(make_row(*row) for row in group)) for title, group in groups.items())
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


def read_records(
    figure: Callable[[Record], float | None], combine: Callable[[list[float]], float] = statistics.fmean
) -> Callable[[CellSummary], str]:
    """Return what reads a figure of a cell's records: by default their mean."""

    def read(cell: CellSummary) -> str:
        seen = [value for record in cell.records if (value := figure(record)) is not None]
        return format_number(combine(seen)) if seen else ABSENT

    return read


def format_spread(cell: CellSummary) -> str:
    spread = cell.spread(cell.rate)
    return f"{format_number(spread)}×" if spread else ABSENT


def make_terminal_table(cells: Iterable[CellSummary]) -> FigureTable:
    """Return the figures that people look for first, under short headings."""
    groups: dict[str, list[CellSummary]] = {}
    for cell in cells:
        groups.setdefault(describe_situation(cell.factors), []).append(cell)
    return make_table(list_rows(groups), _list_terminal_columns(), _describe_failed_gates)


def _describe_failed_gates(cell: CellSummary) -> Iterator[str]:
    if failed := sorted(name_gate(gate.name) for gate in cell.failed_gates()):
        yield f"failed gates: {', '.join(failed)}"


def _list_terminal_columns() -> Iterator[TableColumn]:
    for name in _TERMINAL:
        yield replace(make_column(name), heading=METRICS[name].column)
    ceiling = METRICS["ceiling_share"]
    yield TableColumn("blocks", "max / min", format_spread, is_optional=True)
    yield TableColumn("p99 of", "blocks", partial(_format_blocks, METRICS["p99"]), is_optional=True)
    yield TableColumn("replicas", "%", _shares, is_optional=True)
    yield TableColumn("generator", "CPU %", GENERATOR_CPU.figure, is_optional=True)
    yield TableColumn("driver", "% of ceiling", lambda cell: format_number(cell.figure(ceiling)), is_optional=True)


def make_verdict_table(comparisons: Iterable[Comparison]) -> FigureTable:
    """Return the ratios of comparisons with their intervals, by situation, and what they support."""
    return replace(_make_ratio_table(comparisons, sentences.list_remarks), subject="ratio")


def make_change_table(changes: Iterable[CellChange]) -> FigureTable:
    """Return the ratios of head to base with their intervals, by situation; and where there is room, the figures."""
    return _make_ratio_table(changes, list_change_remarks, sides=("base", "head"))


def _make_ratio_table(
    pairs: Iterable[CellPair], list_notes: Callable[[Any], Iterable[str]], sides: Sequence[str] = ()
) -> FigureTable:
    groups: dict[str, list[_TableRow]] = {}
    for each in pairs:
        situation, name = sentences.locate_pair(each)
        groups.setdefault(situation, []).append((name, (), each))
    return make_table(groups, _list_ratio_columns(groups, sides), list_notes)


def _list_ratio_columns(groups: Mapping[str, Sequence[_TableRow]], sides: Sequence[str]) -> Iterator[TableColumn]:
    """Yield the verdict, the ratio of each metric that is shown of any of these pairs, and the figures of the sides."""
    pairs: list[CellPair] = [pair for group in groups.values() for *_, pair in group]
    metrics = {pair.metric.column for pair in pairs}
    judged = metrics.pop() if len(metrics) == 1 else ""
    yield TableColumn("verdict", judged and f"on {judged}", sentences.name_verdict)
    for name in dict.fromkeys(name for pair in pairs for name in sentences.list_metrics(pair)):
        yield TableColumn(METRICS[name].column, "", partial(sentences.format_short_ratio, name=name))
    for side in sides:
        yield TableColumn(side, judged, partial(_format_side, side=side), is_optional=True)


def _format_side(pair: CellPair, side: str, metric: Metric | None = None) -> str:
    """Return a metric, or the judged one, of one side of a pair."""
    metric = metric or pair.metric
    return format_metric(metric, (pair.baseline if side == "base" else pair.subject).figure(metric))


def make_side_table(changes: Iterable[CellChange]) -> FigureTable:
    """Return the metrics of each cell in both runs, where both measured them, with the ratio of head to base."""
    groups: dict[str, list[_TableRow]] = {}
    for change in changes:
        metrics = [METRICS[name] for name in change.ratios if name in LANES]
        title = describe_factors(change.subject.factors)
        groups[title] = [(metric.heading, (), (change, metric)) for metric in metrics]
    columns = (
        TableColumn("base", "", lambda of: _format_side(of[0], "base", of[1])),
        TableColumn("head", "", lambda of: _format_side(of[0], "head", of[1])),
        TableColumn("head / base", "", lambda of: sentences.format_interval(of[0].ratios[of[1].name])),
    )
    return replace(make_table(groups, columns), subject="figure")


def _shares(cell: CellSummary) -> str:
    return " / ".join(f"{share * 100:.0f}" for share in cell.replica_shares()) or ABSENT


def _divide(value: float | None, by: float) -> float | None:
    return None if value is None else value / by


def _read_generator_percent(record: Record) -> float | None:
    share = record.generator.cpu_share
    return None if share is None else 100 * share


_FAIRNESS = read_records(lambda record: None if record.factors["workers"] == 1 else record.server.fairness, min)

#: Columns of requests and streams alike.
THROTTLED = TableColumn(
    "throttled", "periods/s", read_records(lambda record: _divide(record.server.throttled_periods, record.window_s))
)
MEMORY = TableColumn(
    "server memory", "MiB, max", read_records(lambda record: _divide(record.server.memory_bytes, 2**20), max)
)
GENERATOR_CPU = TableColumn("generator CPU", "%, max", read_records(_read_generator_percent, max))
OF_THE_LOAD = (
    GENERATOR_CPU,
    *map(make_column, DRIVERS),
    TableColumn("replicas", "% of requests", _shares),
    TableColumn("fairness", "of workers, min", _FAIRNESS),
)
ERRORS = (
    make_column("errors"),
    TableColumn("errors by class", "", lambda cell: describe_errors(cell.error_counts)),
    make_column("retried"),
)


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
    yield TableColumn("sent", "B/request", read_records(lambda record: record.bytes_sent_per_request))
    yield TableColumn("received", "B/request", read_records(lambda record: record.bytes_received_per_request))
    yield from OF_THE_LOAD
