"""A run's cells, as charts side by side: one row of charts for each operation and load, and the figures in a table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wirebench.index import Result, RunRow
from wirebench.report.charts.style import Style, styles_of
from wirebench.report.numbers import ABSENT, count, number
from wirebench.stats import by_factors, names
from wirebench.web.charts import bars, latency, over
from wirebench.web.charts.plot import Figures, LogScale, Plot

#: So many rows of charts are open, or so many below overviews; the others can be opened below them.
OPEN_ROWS_MAX = 6
OPEN_BELOW_OVERVIEWS_MAX = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of the table."""

    heading: str
    unit: str
    of: Callable[[Result], str]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A cell: its name, its figures in the order of the columns, and the gates that failed."""

    name: str
    figures: tuple[str, ...]
    failed_gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """The charts of the cells that share an operation and a load; without what was not measured."""

    title: str
    latency: Plot | None
    bars: tuple[bars.BarChart, ...]
    columns: tuple[Column, ...]
    table: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """An operation over the number of connections, whose figures stand in the rows of each of them."""

    title: str
    plots: tuple[Plot, ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A run, or what the filters leave of it."""

    run: RunRow
    legend: tuple[Style, ...]
    overviews: tuple[Overview, ...]
    rows: tuple[Row, ...]
    more: tuple[Row, ...]
    cells: int
    has_failed_gates: bool


def make_chapter(run: RunRow, results: Iterable[Result]) -> Chapter:
    """Lay out the results of a run."""
    cells = sorted(results, key=lambda cell: by_factors(cell.factors))
    groups = {title: _side_by_side(group) for title, group in _grouped(cells).items()}
    in_order = itertools.chain(*groups.values())
    looks = styles_of((names.cell_name(cell.factors), cell.protocol) for cell in in_order)
    scale = LogScale.of(value for cell in cells for value in _latencies(cell).values())
    rows = tuple(_row(title, group, looks, scale) for title, group in groups.items())
    overviews = tuple(_overviews(cells, looks))
    opened = OPEN_BELOW_OVERVIEWS_MAX if overviews else OPEN_ROWS_MAX
    return Chapter(
        run=run,
        legend=tuple(looks.values()),
        overviews=overviews,
        rows=rows[:opened],
        more=rows[opened:],
        cells=len(cells),
        has_failed_gates=any(cell.failed_gates for cell in cells),
    )


def _grouped(cells: Iterable[Result], without: str = "") -> dict[str, list[Result]]:
    """Put together the cells that share an operation and a load, or all of it but this factor."""
    groups: dict[str, list[Result]] = {}
    for cell in cells:
        groups.setdefault(names.load(cell.factors, without), []).append(cell)
    return groups


def _side_by_side(cells: Sequence[Result]) -> list[Result]:
    """Put a transport's cells side by side, in the order that they have."""
    transports = [cell.protocol for cell in cells]
    return sorted(cells, key=lambda cell: transports.index(cell.protocol))


def _overviews(cells: Sequence[Result], looks: Mapping[str, Style]) -> Iterator[Overview]:
    """Draw the figures over the connections where a run has enough levels of them."""
    for title, group in _grouped(cells, without="concurrency").items():
        series: dict[str, dict[int, Result]] = {}
        for cell in group:
            series.setdefault(names.cell_name(cell.factors), {})[cell.concurrency] = cell
        if max(map(len, series.values())) < over.LEVELS_MIN:
            continue
        plots = (
            over.draw(heading, unit, better, _levels(series, looks, of), is_log=is_log)
            for heading, unit, better, of, is_log in _OVER
        )
        yield Overview(f"{names.capitalised(title)}, over connections", tuple(plot for plot in plots if plot))


def _levels(
    series: Mapping[str, Mapping[int, Result]], looks: Mapping[str, Style], of: Callable[[Result], float | None]
) -> list[tuple[Style, dict[int, float | None]]]:
    return [(looks[name], {level: of(cell) for level, cell in cells.items()}) for name, cells in series.items()]


def _row(title: str, cells: Sequence[Result], looks: Mapping[str, Style], scale: LogScale | None) -> Row:
    styled = [(looks[names.cell_name(cell.factors)], cell) for cell in cells]
    waits = [(style, _latencies(cell)) for style, cell in styled if any(_latencies(cell).values())]
    charts = (
        bars.draw(heading, unit, better, [bars.Figure(style, of(cell), _gates(cell)) for style, cell in styled])
        for heading, unit, better, of in _BARS
    )
    columns = tuple(column for column in _COLUMNS if any(column.of(cell) != ABSENT for cell in cells))
    return Row(
        title=names.capitalised(title),
        latency=latency.draw(title, waits, scale) if waits and scale else None,
        bars=tuple(chart for chart in charts if chart),
        columns=columns,
        table=tuple(_table_row(style, cell, columns) for style, cell in styled),
    )


def _table_row(style: Style, cell: Result, columns: Sequence[Column]) -> TableRow:
    return TableRow(style.name, tuple(column.of(cell) for column in columns), _gates(cell))


def _latencies(cell: Result) -> Figures:
    return {
        "p50": cell.p50_latency_ms,
        "p90": cell.p90_latency_ms,
        "p95": cell.p95_latency_ms,
        "p99": cell.p99_latency_ms,
        "p99.9": cell.p99_9_latency_ms,
    }


def _latency_at(name: str) -> Callable[[Result], str]:
    return lambda cell: number(_latencies(cell)[name])


def _gates(cell: Result) -> tuple[str, ...]:
    return tuple(map(names.gate_name, cell.failed_gates))


_BARS: tuple[tuple[str, str, str, Callable[[Result], float | None]], ...] = (
    ("Throughput", "requests/s", "more", lambda cell: cell.throughput),
    ("Server CPU per request", "ms", "less", lambda cell: cell.cpu_ms_per_request),
    ("Items of streams", "items/s", "more", lambda cell: cell.item_rate_per_s),
    ("Time to the first item", "ms", "less", lambda cell: cell.first_item_ms),
    ("Server CPU per item", "µs", "less", lambda cell: cell.cpu_us_per_item),
)

#: The same of what is drawn over connections, and whether its scale is logarithmic.
_OVER: tuple[tuple[str, str, str, Callable[[Result], float | None], bool], ...] = (
    ("p99 latency", "ms", "less", lambda cell: cell.p99_latency_ms, True),
    *((*each, False) for each in _BARS),
)

_COLUMNS = (
    Column("requests/s", "", lambda cell: number(cell.throughput)),
    *(Column(name, "ms", _latency_at(name)) for name in latency.ONE_IN),
    Column("server CPU", "ms/request", lambda cell: number(cell.cpu_ms_per_request)),
    Column("items/s", "", lambda cell: number(cell.item_rate_per_s)),
    Column("first item", "ms", lambda cell: number(cell.first_item_ms)),
    Column("p99 gap", "ms", lambda cell: number(cell.p99_item_gap_ms)),
    Column("server CPU", "µs/item", lambda cell: number(cell.cpu_us_per_item)),
    Column("requests", "in windows", lambda cell: count(cell.total_samples)),
    Column("failed", "requests", lambda cell: count(cell.failed)),
    Column("blocks", "", lambda cell: count(cell.blocks)),
)
