"""A run's cells, as charts side by side: a row of charts for each group of them, and the figures in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wirebench.index import Result
from wirebench.report.charts.style import Style, styles_of
from wirebench.report.groups import Group, groups
from wirebench.report.numbers import ABSENT, count, number
from wirebench.scenario.contract import Comparable
from wirebench.stats import by_factors, names, numeric_factors
from wirebench.stats.series import by_level
from wirebench.web.charts import bars, latency, over
from wirebench.web.charts.plot import Figures, LogScale, Plot, Series

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
    """The charts of a group of cells; without what was not measured."""

    title: str
    latency: Plot | None
    bars: tuple[bars.BarChart, ...]
    columns: tuple[Column, ...]
    table: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """Cells over a factor whose levels are numbers; their figures stand in the rows of each of them."""

    title: str
    legend: tuple[Style, ...]
    plots: tuple[Plot, ...]
    has_failed_gates: bool


@dataclass(frozen=True, slots=True)
class Chapter:
    """A run, or what the filters leave of it."""

    legend: tuple[Style, ...]
    overviews: tuple[Overview, ...]
    rows: tuple[Row, ...]
    more: tuple[Row, ...]
    cells: int
    has_failed_gates: bool

    def opening(self) -> Chapter:
        """Return what stands first of it alone: an overview, or else a row."""
        if self.overviews:
            first = self.overviews[0]
            return replace(
                self, legend=first.legend, overviews=(first,), rows=(), more=(), has_failed_gates=first.has_failed_gates
            )
        return replace(self, rows=self.rows[:1], more=())

    @property
    def has_latency(self) -> bool:
        """Whether latencies are drawn by percentile."""
        return any(row.latency for row in (*self.rows, *self.more))

    @property
    def has_plots(self) -> bool:
        """Whether there is anything to point into."""
        return self.has_latency or any(overview.plots for overview in self.overviews)

    @property
    def has_bars(self) -> bool:
        """Whether any chart has bars."""
        return any(not chart.ticks for chart in self._bar_charts)

    @property
    def has_dots(self) -> bool:
        """Whether any chart has dots on a logarithmic scale instead."""
        return any(chart.ticks for chart in self._bar_charts)

    @property
    def _bar_charts(self) -> Iterator[bars.BarChart]:
        return (chart for row in (*self.rows, *self.more) for chart in row.bars)


@dataclass(frozen=True, slots=True)
class _Line:
    """Cells that differ in a factor alone, by its levels; `factors` are those of the first."""

    factors: names.Factors
    cells: Mapping[float, Result]


def make_chapter(results: Iterable[Result], compared: Comparable = "transport") -> Chapter:
    """Lay out the results of a run, which compares the levels of that factor."""
    cells = sorted(results, key=lambda cell: by_factors(cell.factors))
    found = groups(cells, compared)
    looks = styles_of((name, cell.protocol) for group in found for name, cell in _side_by_side(group))
    scale = LogScale.of(value for cell in cells for value in _latencies(cell).values())
    rows = tuple(_row(group, looks, scale) for group in found)
    overviews = tuple(_overviews(cells, compared))
    opened = OPEN_BELOW_OVERVIEWS_MAX if overviews else OPEN_ROWS_MAX
    return Chapter(
        legend=tuple(looks.values()),
        overviews=overviews,
        rows=rows[:opened],
        more=rows[opened:],
        cells=len(cells),
        has_failed_gates=any(cell.failed_gates for cell in cells),
    )


def _side_by_side(group: Group[Result]) -> list[tuple[str, Result]]:
    """Put a transport's cells side by side, in the order that they have, with their names."""
    transports = [cell.protocol for cell in group.cells]
    cells = sorted(group.cells, key=lambda cell: transports.index(cell.protocol))
    return [(names.cell_name(cell.factors, group.unsaid), cell) for cell in cells]


def _overviews(cells: Sequence[Result], compared: Comparable) -> Iterator[Overview]:
    """Draw the figures over each factor that has enough levels."""
    for factor in numeric_factors(cells):
        lines = [_Line(next(iter(line.values())).factors, line) for line in by_level(cells, factor)]
        for group in groups(lines, compared, drawn_over=factor):
            yield _overview(group, factor)


def _overview(group: Group[_Line], factor: str) -> Overview:
    by_name = {names.cell_name(line.factors, group.unsaid): line for line in group.cells}
    looks = styles_of((name, str(line.factors["transport"])) for name, line in by_name.items())
    label = names.factor_label(factor)
    plots = (
        over.draw(heading, unit, better, label, [_levels(looks[name], line, of) for name, line in by_name.items()])
        for heading, unit, better, of in (_P99, *_BARS)
        # An open load's rate is what was asked for: there is nothing to see in it.
        if not (heading == _THROUGHPUT and all(line.factors["rate_per_s"] for line in group.cells))
    )
    title = f"{names.capitalised(group.title)}, over {label}"
    return Overview(
        title,
        tuple(looks.values()),
        tuple(plot for plot in plots if plot),
        has_failed_gates=any(cell.failed_gates for line in group.cells for cell in line.cells.values()),
    )


def _levels(style: Style, line: _Line, of: Callable[[Result], float | None]) -> over.Levels:
    unfit = {level for level, cell in line.cells.items() if cell.failed_gates}
    return over.Levels(style, {level: of(cell) for level, cell in line.cells.items()}, unfit)


def _row(group: Group[Result], looks: Mapping[str, Style], scale: LogScale | None) -> Row:
    styled = [(looks[name], cell) for name, cell in _side_by_side(group)]
    waits = [
        Series(style, latencies, unfit=latencies if cell.failed_gates else ())
        for style, cell in styled
        if any((latencies := _latencies(cell)).values())
    ]
    charts = (
        bars.draw(heading, unit, better, [bars.Figure(style, of(cell), _gates(cell)) for style, cell in styled])
        for heading, unit, better, of in _BARS
    )
    columns = tuple(column for column in _COLUMNS if any(column.of(cell) != ABSENT for cell in group.cells))
    return Row(
        title=names.capitalised(group.title),
        latency=latency.draw(group.title, waits, scale) if waits and scale else None,
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


_THROUGHPUT = "Throughput"
#: What is drawn: its heading, its unit, which way is better, and the figure of a cell.
_Drawn = tuple[str, str, str, Callable[[Result], float | None]]
_BARS: tuple[_Drawn, ...] = (
    (_THROUGHPUT, "requests/s", "more", lambda cell: cell.throughput),
    ("Server CPU per request", "ms", "less", lambda cell: cell.cpu_ms_per_request),
    ("Items", "items/s", "more", lambda cell: cell.item_rate_per_s),
    ("Time to the first item", "ms", "less", lambda cell: cell.first_item_ms),
    ("p99 item gap", "ms", "less", lambda cell: cell.p99_item_gap_ms),
    ("Server CPU per item", "µs", "less", lambda cell: cell.cpu_us_per_item),
)
#: Over a factor, it is drawn besides.
_P99: _Drawn = ("p99 latency", "ms", "less", lambda cell: cell.p99_latency_ms)

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
