"""A run's cells as pictures: the one that answers the question, and chapters with the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wirebench.analysis.series import FactorSeries, find_numeric_factors, find_series
from wirebench.analysis.summary import CellSummary, find_shared_factors
from wirebench.model.cell import FACTORS
from wirebench.model.histogram_file import Clock
from wirebench.model.metric import METRICS, Metric
from wirebench.model.run_info import Run
from wirebench.present import labels
from wirebench.present.calls import draw_calls
from wirebench.present.charts import bars, lines
from wirebench.present.charts.bars import Bar
from wirebench.present.charts.plot import Mark, PlotSeries
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style, assign_styles, assign_styles_to_names
from wirebench.present.charts.svg import Chart
from wirebench.present.labels import capitalise, name_gate, name_in_run
from wirebench.present.latencies import CellLatency, read_latencies

#: What is drawn over factors.
_OVER_FACTORS = ("capacity", "throughput", "p50", "p99", "cpu", "item_rate", "first_item", "item_cpu")
#: More curves than these are a tangle.
_CELLS_MAX = 8
#: Who is measured and by what: what pictures are there to show side by side.
_SIDE_BY_SIDE = frozenset({"transport", "variant", "implementation", "runtime", "http", "codec", "threads", "driver"})

_LATENCY_NOTE = (
    "Both scales are logarithmic. A curve is of all blocks together, and ends where fewer than 10 lie beyond. "
    "Hollow marks: a gate failed. Upright bands: where the truth lies, by the driver's calibrated error. Point at a "
    "mark to read it."
)
_GAP_NOTE = (
    "From one item to the next of the same stream. What is drawn at 0.001 ms arrived together: the left end shows how "
    "many items are bundled on their way, the right end how long a stream pauses."
)
#: The chapter of each clock, and what its figures are.
_CLOCKS: Mapping[Clock, tuple[str, str, str]] = {
    "service": ("Latency by percentile", "service time, ms", _LATENCY_NOTE),
    "response": ("Latency by percentile", "response time, ms", _LATENCY_NOTE),
    "first_item": ("Time to the first item, by percentile", "ms", _LATENCY_NOTE),
    "gap": ("Gap between items, by percentile", "ms", _GAP_NOTE),
}
_FACTOR_NOTE = (
    "Marks: a cell, hollow where a gate failed; dots: its blocks; uprights: 95 % intervals, and of latencies from the "
    "lowest to the highest block. Scales are logarithmic where cells lie more than 20× apart, and begin at 0 elsewhere."
)
_CALLS_NOTE = (
    "Each load was a number of calls, from the first one on. Left: what a call took. Right: what all calls up to it "
    "took together. Both are medians of the blocks."
)
_OPERATION_NOTE = (
    "Marks: an operation of a cell, with ! where a gate failed; dots: its blocks, between which lines lie."
)
#: Cells by what they have in common: their operation and load.
Groups = Mapping[str, Sequence[CellSummary]]


@dataclass(frozen=True, slots=True)
class Chapter:
    """Charts under a heading, with how to read them; there is no legend where bars name their cells."""

    heading: str
    charts: tuple[Chart, ...]
    legend: tuple[Style, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunPictures:
    """The picture that answers a run's question, the others by chapter, and which histograms can't be read."""

    answer: Chapter
    chapters: tuple[Chapter, ...]
    unreadable: tuple[str, ...]


def draw_run(run: Run, cells: Sequence[CellSummary], operations: Sequence[CellSummary]) -> RunPictures:
    """Draw cells of a run, and their operations, if they have several."""
    groups = group_cells(cells, run.info.compare)
    styles = assign_styles(itertools.chain(*groups.values()))
    unreadable: dict[str, None] = {}
    by_operation = _draw_operations(operations, run.info.compare)
    chapters = [Chapter("Mean latency by operation", tuple(by_operation), note=_OPERATION_NOTE)]
    chapters += _draw_latency_chapters(run, groups, styles, unreadable)
    metrics = [METRICS[name] for name in _OVER_FACTORS]
    chapters += [_draw_over_factor(cells, factor, metrics) for factor in find_numeric_factors(cells)]
    chapters.append(Chapter("Call by call", draw_calls(run, groups, styles), tuple(styles.values()), _CALLS_NOTE))
    drawn = tuple(chapter for chapter in chapters if chapter.charts)
    return RunPictures(draw_answer(groups, styles), drawn, tuple(unreadable))


def group_cells(cells: Iterable[CellSummary], compared: str) -> dict[str, list[CellSummary]]:
    """Put together the cells of the same operation and load, which share a picture; their names leave that out.

    Where those are many, each level of the factors that the run doesn't compare has a group of its own. Of each
    transport, the cell at its defaults comes first.
    """
    by_load: dict[str, list[CellSummary]] = {}
    for cell in cells:
        by_load.setdefault(labels.describe_situation(cell.factors), []).append(cell)
    groups: dict[str, list[CellSummary]] = {}
    for title, together in by_load.items():
        apart = _find_factors_apart(together, compared)
        for cell in together:
            settings = labels.list_settings(cell.factors, cell.factors.keys() - apart)
            named = replace(cell, shared=cell.shared | apart)
            groups.setdefault(", ".join((title, *settings)), []).append(named)
    for members in groups.values():
        transports = [cell.factors["transport"] for cell in members]
        members.sort(key=lambda cell: len(labels.name_cell(cell.factors, cell.shared)))
        members.sort(key=lambda cell: transports.index(cell.factors["transport"]))
    return groups


def _find_factors_apart(cells: Sequence[CellSummary], compared: str) -> frozenset[str]:
    """Return the factors each of whose levels has a picture of its own: none where one holds all cells."""
    if len(cells) <= _CELLS_MAX:
        return frozenset()
    varied = {name for name in cells[0].factors if len({cell.factors[name] for cell in cells}) > 1}
    return frozenset(varied - {*_SIDE_BY_SIDE, compared, *FACTORS[compared].comes_with})


def draw_answer(groups: Groups, styles: Mapping[str, Style]) -> Chapter:
    """Draw the answer at a glance: what verdicts are on and what it costs the server, of all cells.

    It is drawn over a factor if its levels are numbers.
    """
    cells = [cell for group in groups.values() for cell in group]
    costs = (METRICS["item_cpu" if cell.has_streams else "cpu"] for cell in cells)
    metrics = tuple(dict.fromkeys((*(cell.judged_metric for cell in cells), *costs)))
    if factors := find_numeric_factors(cells):
        # Names within a group leave out what tells groups apart.
        shared = find_shared_factors([cell.factors for cell in cells])
        return _draw_over_factor([replace(cell, shared=cell.shared & shared) for cell in cells], factors[0], metrics)
    panels = []
    for metric in metrics:
        drawn = {title: rows for title, group in groups.items() if (rows := list(_make_bars(metric, group, styles)))}
        if drawn:
            svg = bars.draw_bars(f"{capitalise(metric.label)} of all cells", drawn)
            better = f"{'more' if metric.more_is_better else 'less'} is better"
            caption = ", ".join(filter(None, (metric.unit, better)))
            panels.append(Chart(capitalise(metric.label), caption, svg))
    return Chapter("", tuple(panels))


def _make_bars(metric: Metric, cells: Iterable[CellSummary], styles: Mapping[str, Style]) -> Iterator[Bar]:
    for cell in cells:
        if figure := cell.estimate(metric):
            blocks = tuple(cell.by_block(metric).values())
            failed = tuple(name_gate(gate.name) for gate in cell.failed_gates(metric))
            yield Bar(styles[name_in_run(cell)], figure.estimate, blocks, figure.interval, failed)


def _draw_operations(operations: Sequence[CellSummary], compared: str) -> Iterator[Chart]:
    """Yield a picture of the mean latency of each operation."""
    groups = group_cells(operations, compared)
    styles = assign_styles(itertools.chain(*groups.values()))
    drawn: dict[str, dict[str, list[Bar]]] = {}
    for title, cells in groups.items():
        operation, _, situation = title.partition(", ")
        if rows := list(_make_bars(METRICS["mean"], cells, styles)):
            drawn.setdefault(operation, {})[situation] = rows
    for operation, by_situation in drawn.items():
        svg = bars.draw_bars(f"Mean latency of {operation}", by_situation)
        yield Chart(operation, "mean, ms, less is better", svg)


def _draw_latency_chapters(
    run: Run, groups: Groups, styles: Mapping[str, Style], unreadable: dict[str, None]
) -> Iterator[Chapter]:
    """Yield latencies by percentile: of requests that are answered at once, and of streams' first items and gaps."""
    of_streams = {title: any(cell.has_streams for cell in cells) for title, cells in groups.items()}
    clocks: tuple[Clock | None, ...] = (None, "first_item", "gap")
    for clock in clocks:
        chosen = {title: cells for title, cells in groups.items() if of_streams[title] == bool(clock)}
        latencies, problems = read_latencies(run, itertools.chain(*chosen.values()), clock)
        unreadable.update(dict.fromkeys(problems))
        if latencies:
            heading, unit, note = _CLOCKS[next(iter(latencies.values())).clock]
            charts = tuple(draw_latencies(heading, unit, chosen, styles, latencies))
            yield Chapter(heading, charts, tuple(styles.values()), note)


def draw_latencies(
    heading: str, unit: str, groups: Groups, styles: Mapping[str, Style], latencies: Mapping[str, CellLatency]
) -> Iterator[Chart]:
    """Draw what the cells of each group have by percentile: those that have enough of it, on the same scales."""
    curves = {
        title: [
            lines.make_latency_series(styles[name_in_run(cell)], of, _find_unfit(cell, of.clock))
            for cell in cells
            if (of := latencies.get(cell.cell))
        ]
        for title, cells in groups.items()
    }
    plot = lines.make_latency_plot(itertools.chain(*curves.values()))
    for title, group in curves.items():
        drawn = [cell for cell in group if cell.points]
        if drawn and plot:
            yield Chart(title, unit, lines.draw_latencies(f"{heading}, {title}", drawn, plot))


def _find_unfit(cell: CellSummary, clock: Clock) -> set[str]:
    """Return the percentiles for which a gate failed."""
    metrics = {name: METRICS.get(clock) or METRICS.get(name.replace(".", "_"), METRICS["p99"]) for name in lines.ONE_IN}
    return {name for name, metric in metrics.items() if cell.failed_gates(metric)}


def _draw_over_factor(cells: Sequence[CellSummary], factor: str, metrics: Sequence[Metric]) -> Chapter:
    """Return small multiples: those of a metric share their scales."""
    found = find_series(cells, factor)
    styles = assign_styles_to_names((_name_series(each), str(each.cells[0].factors["transport"])) for each in found)
    unit = FACTORS[factor].unit
    label = f"{unit}s" if unit else factor.replace("_", " ")
    charts = tuple(
        chart
        for metric in metrics
        # An open load's rate is what was asked for: there is nothing to see in it.
        if not (metric.name == "throughput" and all(cell.factors["rate_per_s"] for cell in cells))
        for chart in _draw_levels(found, metric, styles, label)
    )
    return Chapter(f"Over {label}", charts, tuple(styles.values()), _FACTOR_NOTE)


def _name_series(of: FactorSeries) -> str:
    return name_in_run(of.cells[0], of.factor)


def _draw_levels(
    found: Sequence[FactorSeries], metric: Metric, styles: Mapping[str, Style], label: str
) -> Iterator[Chart]:
    by_title: dict[str, list[PlotSeries]] = {}
    for each in found:
        if points := list(_mark_levels(each, metric)):
            title = labels.describe_situation(each.cells[0].factors, {each.factor})
            by_title.setdefault(title, []).append(PlotSeries(styles[_name_series(each)], points))
    marks = [mark for series in by_title.values() for line in series for mark in line.marks]
    scale = Scale.of(value for mark in marks for value in (mark.y, *mark.blocks))
    for title, series in by_title.items():
        svg = lines.draw_levels(f"{metric.label} over {label}, {title}", series, scale)
        yield Chart(f"{metric.heading}: {title}", f"over {label}", svg)


def _mark_levels(of: FactorSeries, metric: Metric) -> Iterator[Mark]:
    for level, cell in zip(of.levels, of.cells, strict=True):
        if figure := cell.estimate(metric):
            blocks = tuple(cell.by_block(metric).values())
            yield Mark(level, figure.estimate, not cell.failed_gates(metric), blocks, figure.interval)
