"""A run's cells, as charts side by side: a row of charts for each group of them, and the figures in a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wirebench.analysis.series import find_numeric_factors, group_by_level
from wirebench.analysis.summary import sort_key
from wirebench.model import labels as names
from wirebench.model.contract import Comparable
from wirebench.model.metric import CAPACITIES, METRICS, Metric
from wirebench.present.charts import lines as plots
from wirebench.present.charts.bars import Bar, draw_bars
from wirebench.present.charts.plot import Mark, Plot, PlotSeries
from wirebench.present.charts.style import Style, assign_styles_to_names
from wirebench.present.charts.svg import Chart, Drawing
from wirebench.present.groups import Group, groups
from wirebench.present.numbers import describe_errors, format_count, format_metric
from wirebench.present.table import FigureTable, TableColumn, make_table
from wirebench.results.index import Result

#: So many rows of charts are open, or so many below overviews; the others can be opened below them.
OPEN_ROWS_MAX = 6
OPEN_BELOW_OVERVIEWS_MAX = 2


@dataclass(frozen=True, slots=True)
class CellRow:
    """The charts of a group of cells; without what was not measured."""

    title: str
    latency: Chart | None
    bars: tuple[Chart, ...]
    table: FigureTable


@dataclass(frozen=True, slots=True)
class Overview:
    """Cells over a factor whose levels are numbers; their figures stand in the rows of each of them."""

    title: str
    legend: tuple[Style, ...]
    charts: tuple[Chart, ...]
    has_failed_gates: bool


@dataclass(frozen=True, slots=True)
class ChapterView:
    """A run, or what the filters leave of it."""

    legend: tuple[Style, ...]
    overviews: tuple[Overview, ...]
    rows: tuple[CellRow, ...]
    more: tuple[CellRow, ...]
    cells: int
    has_failed_gates: bool

    def opening(self) -> ChapterView:
        """Return what stands first of it alone: an overview, or else a row."""
        if self.overviews:
            first = self.overviews[0]
            return replace(
                self, legend=first.legend, overviews=(first,), rows=(), more=(), has_failed_gates=first.has_failed_gates
            )
        return replace(self, rows=self.rows[:1], more=())

    @property
    def has_plots(self) -> bool:
        """Whether there is anything to point into."""
        return bool(self.overviews) or any(row.latency for row in (*self.rows, *self.more))


@dataclass(frozen=True, slots=True)
class _Line:
    """Cells that differ in a factor alone, by its levels; `factors` are those of the first."""

    factors: names.Factors
    cells: Mapping[float, Result]


def make_chapter(results: Iterable[Result], compared: Comparable = "transport") -> ChapterView:
    """Lay out the results of a run, which compares the levels of that factor."""
    cells = sorted(results, key=lambda cell: sort_key(cell.factors))
    found = groups(cells, compared)
    looks = assign_styles_to_names((name, cell.transport) for group in found for name, cell in _side_by_side(group))
    plot = plots.make_latency_plot(_curve(looks[name], cell) for group in found for name, cell in _side_by_side(group))
    rows = tuple(_row(group, looks, plot) for group in found)
    overviews = tuple(_overviews(cells, compared))
    opened = OPEN_BELOW_OVERVIEWS_MAX if overviews else OPEN_ROWS_MAX
    return ChapterView(
        legend=tuple(looks.values()),
        overviews=overviews,
        rows=rows[:opened],
        more=rows[opened:],
        cells=len(cells),
        has_failed_gates=any(cell.failed_gates for cell in cells),
    )


def _side_by_side(group: Group[Result]) -> list[tuple[str, Result]]:
    """Put a transport's cells side by side, in the order that they have, with their names."""
    transports = [cell.transport for cell in group.cells]
    cells = sorted(group.cells, key=lambda cell: transports.index(cell.transport))
    return [(names.name_cell(cell.factors, group.unsaid), cell) for cell in cells]


def _overviews(cells: Sequence[Result], compared: Comparable) -> Iterator[Overview]:
    for factor in find_numeric_factors(cells):
        lines = [_Line(next(iter(line.values())).factors, line) for line in group_by_level(cells, factor)]
        for group in groups(lines, compared, drawn_over=factor):
            yield _overview(group, factor)


def _overview(group: Group[_Line], factor: str) -> Overview:
    by_name = {names.name_cell(line.factors, group.unsaid): line for line in group.cells}
    looks = assign_styles_to_names((name, str(line.factors["transport"])) for name, line in by_name.items())
    label = names.label_factor(factor)
    charts = []
    for metric in (METRICS["p99"], *_BARS):
        lines = [PlotSeries(looks[name], points) for name, line in by_name.items() if (points := _levels(line, metric))]
        # An open load's rate is what was asked for: there is nothing to see in it.
        is_given = metric.name == "throughput" and all(line.factors["rate_per_s"] for line in group.cells)
        if lines and not is_given:
            title = f"{metric.label} over {label}"
            charts.append(_chart(metric, plots.draw_levels(title, lines)))
    return Overview(
        f"{names.capitalise(group.title)}, over {label}",
        tuple(looks.values()),
        tuple(charts),
        has_failed_gates=any(cell.failed_gates for line in group.cells for cell in line.cells.values()),
    )


def _levels(line: _Line, metric: Metric) -> list[Mark]:
    figures = ((level, _value(cell, metric), cell) for level, cell in line.cells.items())
    return [Mark(level, value, fit=not _gates(cell, metric)) for level, value, cell in figures if value]


def _row(group: Group[Result], looks: Mapping[str, Style], plot: Plot | None) -> CellRow:
    styled = [(looks[name], cell) for name, cell in _side_by_side(group)]
    curves = [curve for style, cell in styled if (curve := _curve(style, cell)).marks]
    charts = []
    for metric in _BARS:
        found = ((style, _value(cell, metric), cell) for style, cell in styled)
        rows = [Bar(style, value, failed_gates=_gates(cell, metric)) for style, value, cell in found if value]
        if rows:
            svg = draw_bars(f"{metric.label}, {group.title}", {"": rows})
            charts.append(_chart(metric, svg))
    latencies = None
    if curves and plot:
        svg = plots.draw_latencies(f"Latency by percentile, {group.title}", curves, plot)
        latencies = Chart("Latency by percentile", "ms, less is better", svg)
    return CellRow(
        title=names.capitalise(group.title),
        latency=latencies,
        bars=tuple(charts),
        table=make_table({"": [(style.name, cell.failed_gates, cell) for style, cell in styled]}, _COLUMNS),
    )


def _curve(style: Style, cell: Result) -> PlotSeries:
    latencies = {metric.label: _value(cell, metric) for metric in _PERCENTILES}
    unfit = {metric.label for metric in _PERCENTILES if _gates(cell, metric)}
    return plots.make_latency_series(style, latencies, unfit)


def _gates(cell: Result, metric: Metric) -> tuple[str, ...]:
    return tuple(map(names.name_gate, cell.failed_gates_by_metric.get(metric.gated_by, ())))


def _value(cell: Result, metric: Metric) -> float | None:
    value: float | None = getattr(cell, metric.field)
    return value


def _chart(metric: Metric, svg: Drawing) -> Chart:
    return Chart(names.capitalise(metric.label), metric.caption, svg)


def _make_column(metric: Metric) -> TableColumn:
    return TableColumn(metric.label, metric.unit_label, lambda cell: format_metric(metric, _value(cell, metric)))


_PERCENTILES = tuple(METRICS[name] for name in ("p50", "p90", "p95", "p99", "p99_9"))
_BARS = tuple(
    METRICS[name] for name in ("throughput", *CAPACITIES, "cpu", "item_rate", "first_item", "gap", "item_cpu")
)
_COLUMNS = (
    *map(_make_column, METRICS.values()),
    TableColumn("errors by class", "", lambda cell: describe_errors(cell.errors)),
    TableColumn("blocks", "", lambda cell: format_count(cell.blocks)),
)
