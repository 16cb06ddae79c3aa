"""Figures over a factor whose levels are numbers: concurrency, workers, delay, size of the payload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirebench.report.charts import lines
from wirebench.report.charts.style import Style, styles_of
from wirebench.report.picture import Picture
from wirebench.stats import METRICS, CellSummary, Metric, Series, numeric_factors, series
from wirebench.stats.names import capitalised, cell_name, factor_label, load
from wirebench.stats.remarks import sweep

#: What is drawn, and how the pictures are headed.
_DRAWN = {
    "throughput": "requests/s",
    "p50": "p50, ms",
    "p99": "p99, ms",
    "cpu": "server CPU per request, ms",
    "item_rate": "items/s",
    "first_item": "time to first item, ms",
    "item_cpu": "server CPU per item, µs",
}


@dataclass(frozen=True, slots=True)
class Chapter:
    """All that is drawn over one factor, and what it comes to in words."""

    factor: str
    heading: str
    sentences: tuple[str, ...]
    legend: tuple[Style, ...]
    #: Small multiples: those of a metric share their scales.
    pictures: tuple[Picture, ...]


def chapters(cells: Sequence[CellSummary]) -> tuple[Chapter, ...]:
    """Return a chapter for every factor with enough levels to be drawn over."""
    return tuple(_chapter(cells, factor) for factor in numeric_factors(cells))


def _chapter(cells: Sequence[CellSummary], factor: str) -> Chapter:
    found = series(cells, factor)
    names = [(_name(each), str(each.cells[0].factors["transport"])) for each in found]
    looks = styles_of(names)
    label = factor_label(factor)
    pictures = tuple(
        Picture(f"{heading}: {picture.title}", picture.svg)
        for name, heading in _DRAWN.items()
        # An open load's rate is what was asked for: there is nothing to see in it.
        if not (name == "throughput" and all(cell.factors["rate_per_s"] for cell in cells))
        for picture in _pictures(found, METRICS[name], looks, label)
    )
    sentences = tuple(capitalised(sweep(each)) for each in found) if factor == "concurrency" else ()
    return Chapter(factor, f"Over {label}", sentences, tuple(looks.values()), pictures)


def _name(of: Series) -> str:
    cell = of.cells[0]
    return cell_name(cell.factors, {of.factor, *cell.shared})


def _pictures(found: Sequence[Series], metric: Metric, looks: dict[str, Style], label: str) -> tuple[Picture, ...]:
    by_title: dict[str, list[lines.Line]] = {}
    for each in found:
        points = tuple(_points(each, metric))
        if len(points) > 1:
            title = load(each.cells[0].factors, {each.factor})
            by_title.setdefault(title, []).append(lines.Line(looks[_name(each)], points))
    if not by_title:
        return ()
    on = lines.scale([line for group in by_title.values() for line in group])
    return tuple(
        Picture(
            title, lines.draw(f"{metric.name}-over-{label}-{index}", f"{metric.label} over {label}", group, on, label)
        )
        for index, (title, group) in enumerate(by_title.items())
    )


def _points(of: Series, metric: Metric) -> list[lines.Point]:
    points = []
    for level, cell in zip(of.levels, of.cells, strict=True):
        failed = {gate.name for gate in cell.failed_gates(metric)}
        typical = cell.typical(metric)
        if typical is not None and "samples" not in failed:
            points.append(lines.Point(level, typical, tuple(cell.by_block(metric).values()), not failed))
    return points
