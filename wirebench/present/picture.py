"""Charts of a run's cells: of each kind for each group of them, over factors, and the one that answers the question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wirebench.analysis.series import FactorSeries, find_numeric_factors, find_series
from wirebench.analysis.summary import CellSummary, find_shared_factors
from wirebench.model.histogram_file import Clock
from wirebench.model.labels import capitalise, describe_situation, label_factor, name_gate
from wirebench.model.metric import CAPACITIES, METRICS, Metric
from wirebench.present.charts import bars
from wirebench.present.charts import lines as plots
from wirebench.present.charts.bars import Bar
from wirebench.present.charts.plot import Mark, PlotSeries
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style, assign_styles_to_names
from wirebench.present.charts.svg import Chart
from wirebench.present.latencies import CellLatency

CLOCKS: Mapping[Clock, str] = {
    "service": "service time",
    "response": "response time",
    "first_item": "time to the first item",
    "gap": "gap",
}

#: What is drawn over factors.
_OVER_FACTORS = (*CAPACITIES, "throughput", "p50", "p99", "cpu", "item_rate", "first_item", "item_cpu")

#: Cells by what they have in common: their operation and load.
Groups = Mapping[str, Sequence[CellSummary]]


@dataclass(frozen=True, slots=True)
class ChartSection:
    """Charts under a heading, with what they come to in sentences; there is no legend where bars name their cells."""

    heading: str
    charts: tuple[Chart, ...]
    legend: tuple[Style, ...] = ()
    sentences: tuple[str, ...] = ()


def draw_answer(groups: Groups, styles: Mapping[str, Style]) -> ChartSection:
    """Draw the answer at a glance: what verdicts are on and what it costs the server, of all cells.

    It is drawn over a factor if its levels are numbers.
    """
    cells = [cell for group in groups.values() for cell in group]
    costs = (METRICS["item_cpu" if cell.has_streams else "cpu"] for cell in cells)
    metrics = tuple(dict.fromkeys((*(cell.judged_metric for cell in cells), *costs)))
    if factors := find_numeric_factors(cells):
        # Names within a group leave out what tells groups apart.
        shared = find_shared_factors([cell.factors for cell in cells])
        return _make_section([replace(cell, shared=cell.shared & shared) for cell in cells], factors[0], metrics)
    panels = []
    for metric in metrics:
        if drawn := _make_bars(metric, groups, styles):
            svg = bars.draw_bars(f"{capitalise(metric.label)} of all cells", drawn)
            panels.append(Chart(capitalise(metric.label), metric.caption, svg))
    return ChartSection("", tuple(panels))


def draw_latencies(
    what: str, groups: Groups, styles: Mapping[str, Style], latencies: Mapping[str, CellLatency], *, shared: bool = True
) -> tuple[Chart, ...]:
    """Draw what the cells of each group have by percentile: those that have enough of it.

    All charts share their scales, or else each has its own.
    """
    curves = {
        title: [_make_curve(styles[cell.name], cell, latencies[cell.cell]) for cell in cells if cell.cell in latencies]
        for title, cells in groups.items()
    }
    charts = []
    for title, group in curves.items():
        drawn = [cell for cell in group if cell.points]
        plot = plots.make_latency_plot(cell for each in (curves.values() if shared else [drawn]) for cell in each)
        if drawn and plot:
            clock = CLOCKS[next(latencies[cell.cell].clock for cell in groups[title] if cell.cell in latencies)]
            charts.append(
                Chart(title, f"{clock}, ms", plots.draw_latencies(f"{what} by percentile, {title}", drawn, plot))
            )
    return tuple(charts)


def draw_metric(metric: Metric, groups: Groups, styles: Mapping[str, Style]) -> tuple[Chart, ...]:
    """Draw a metric's charts, where it was measured; each has its own scale."""
    return draw_bars(metric.label, _make_bars(metric, groups, styles))


def draw_bars(label: str, groups: Mapping[str, Sequence[Bar]], scale: Scale | None = None) -> tuple[Chart, ...]:
    return tuple(
        Chart(title, "", bars.draw_bars(f"{label}, {title}", {"": group}, scale)) for title, group in groups.items()
    )


def _make_bars(metric: Metric, groups: Groups, styles: Mapping[str, Style]) -> dict[str, list[Bar]]:
    drawn = {
        title: [bar for cell in cells if (bar := _make_bar(metric, cell, styles))] for title, cells in groups.items()
    }
    return {title: group for title, group in drawn.items() if group}


def _make_bar(metric: Metric, cell: CellSummary, styles: Mapping[str, Style]) -> Bar | None:
    figure, blocks = cell.estimate(metric), tuple(cell.by_block(metric).values())
    if figure is None:
        return None
    failed = tuple(name_gate(gate.name) for gate in cell.failed_gates(metric))
    return Bar(styles[cell.name], figure.estimate, blocks, figure.interval, failed)


def _make_curve(style: Style, cell: CellSummary, of: CellLatency) -> PlotSeries:
    least_ms = of.curve[0][1] if of.curve else 0.0
    percentiles = {name: of.quantile_ms(1 - 1 / one_in) for name, one_in in plots.ONE_IN.items()}
    return plots.make_latency_series(
        style,
        {name: None if value is None else max(value, least_ms) for name, value in percentiles.items()},
        {name for name in percentiles if cell.failed_gates(_find_metric(of.clock, name))},
        curve=of.curve,
        blocks=of.block_curves,
        errors_ms=of.errors_ms,
    )


def _find_metric(clock: Clock, percentile: str) -> Metric:
    """Return the metric whose gates a percentile depends on."""
    return METRICS.get(clock) or METRICS.get(percentile.replace(".", "_")) or METRICS["p99"]


def make_factor_sections(cells: Sequence[CellSummary]) -> dict[str, ChartSection]:
    """Return all that is drawn over each factor whose levels are numbers."""
    metrics = [METRICS[name] for name in _OVER_FACTORS]
    return {factor: _make_section(cells, factor, metrics) for factor in find_numeric_factors(cells)}


def _make_section(cells: Sequence[CellSummary], factor: str, metrics: Sequence[Metric]) -> ChartSection:
    """Return small multiples: those of a metric share their scales."""
    found = find_series(cells, factor)
    styles = assign_styles_to_names((_name_series(each), str(each.cells[0].factors["transport"])) for each in found)
    label = label_factor(factor)
    charts = tuple(
        chart
        for metric in metrics
        # An open load's rate is what was asked for: there is nothing to see in it.
        if not (metric.name == "throughput" and all(cell.factors["rate_per_s"] for cell in cells))
        for chart in _draw_levels(found, metric, styles, label)
    )
    return ChartSection(f"Over {label}", charts, tuple(styles.values()))


def _name_series(of: FactorSeries) -> str:
    return of.cells[0].name_without(of.factor)


def _draw_levels(
    found: Sequence[FactorSeries], metric: Metric, styles: Mapping[str, Style], label: str
) -> Iterator[Chart]:
    by_title: dict[str, list[PlotSeries]] = {}
    for each in found:
        if points := _mark_levels(each, metric):
            title = describe_situation(each.cells[0].factors, {each.factor})
            by_title.setdefault(title, []).append(PlotSeries(styles[_name_series(each)], points))
    scale = plots.make_level_scale(line for lines in by_title.values() for line in lines)
    for title, lines in by_title.items():
        svg = plots.draw_levels(f"{metric.label} over {label}, {title}", lines, scale)
        yield Chart(f"{metric.heading}: {title}", f"over {label}", svg)


def _mark_levels(of: FactorSeries, metric: Metric) -> list[Mark]:
    marks = []
    for level, cell in zip(of.levels, of.cells, strict=True):
        if figure := cell.estimate(metric):
            blocks = tuple(cell.by_block(metric).values())
            marks.append(Mark(level, figure.estimate, not cell.failed_gates(metric), blocks, figure.interval))
    return marks
