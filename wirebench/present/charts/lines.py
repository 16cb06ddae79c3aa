"""What is drawn as lines: latency by percentile, figures over levels, and over a number that only grows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from wirebench.present.charts.plot import Mark, Plot, PlotSeries
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Drawing
from wirebench.present.latencies import CellLatency
from wirebench.present.numbers import format_number

#: The percentiles, and which share of the requests is slower: one in so many. The first have room for their labels.
ONE_IN = {"p50": 2, "p99": 100, "p99.9": 1000, "p90": 10, "p99.99": 10_000, "p99.999": 100_000, "p95": 20}

_PERCENTILES = {math.log10(one_in): name for name, one_in in ONE_IN.items()}
_DESCRIBED = ("p50", "p99")
_THOUSAND = 1000


def make_latency_series(style: Style, of: CellLatency, unfit: Collection[str] = ()) -> PlotSeries:
    """Return a cell's latencies over how many requests one of is slower; marks of percentiles in `unfit` are hollow."""
    least_ms = of.curve[0][1] if of.curve else 0.0
    marks = []
    for place, name in sorted(_PERCENTILES.items()):
        if value := of.quantile_ms(1 - 1 / ONE_IN[name]):
            value = max(value, least_ms)
            error_ms = of.errors_ms.get(name)
            truth = (value - error_ms[1], value - error_ms[0]) if error_ms else None
            marks.append(Mark(place, value, name not in unfit, truth=truth))
    return PlotSeries(style, marks, [(math.log10(one_in), latency_ms) for one_in, latency_ms in of.curve])


def make_latency_plot(cells: Iterable[PlotSeries]) -> Plot | None:
    """Return the plot that holds all of these: pictures on it compare. None if none has any latency."""
    points = [point for cell in cells for point in (*((each.x, each.y) for each in cell.marks), *cell.points)]
    if not points:
        return None
    first, last = min(points)[0], max(points)[0]
    labels = {place: name for place, name in _PERCENTILES.items() if first <= place <= last}
    return Plot(Scale.logarithmic(latency_ms for _, latency_ms in points), (first, last), labels)


def draw_latencies(title: str, cells: Sequence[PlotSeries], plot: Plot) -> Drawing:
    """Draw latency by percentile: the curve of each cell."""
    described = []
    for cell in cells:
        named = {_PERCENTILES[mark.x]: mark.y for mark in cell.marks}
        figures = ", ".join(f"{name} {format_number(named[name])} ms" for name in _DESCRIBED if name in named)
        failed = "" if all(mark.fit for mark in cell.marks) else ", where a gate failed"
        described.append(f"{cell.style.name} {figures or 'not measured'}{failed}")
    return plot.draw(title, "; ".join(described), cells)


def draw_levels(title: str, lines: Sequence[PlotSeries], on: Scale) -> Drawing:
    """Draw marks over levels that are numbers, as far apart as their ratios; 0 is where a half would be."""
    levels = sorted({mark.x for line in lines for mark in line.marks}, reverse=True)
    least = min((level for level in levels if level > 0), default=1.0)
    places = {level: math.log2(level / least) if level > 0 else -1.0 for level in levels}
    placed = [replace(line, marks=[replace(mark, x=places[mark.x]) for mark in line.marks]) for line in lines]
    labels = {
        # Many have to fit side by side.
        place: f"{level / _THOUSAND:.4g}k" if level >= 10 * _THOUSAND else f"{level:.6g}"
        for level, place in places.items()
    }
    description = "; ".join(f"{line.style.name} {_describe_ends(line.marks)}" for line in lines)
    return Plot(on, (min(labels), max(labels)), labels).draw(title, description, placed)


def _describe_ends(marks: Sequence[Mark]) -> str:
    ends = (marks[0], marks[-1]) if len(marks) > 1 else marks
    return ", ".join(
        f"{format_number(mark.y)} at {mark.x:.12g}{'' if mark.fit else ', where a gate failed'}" for mark in ends
    )


def draw_curves(title: str, curves: Sequence[PlotSeries], *, is_log: bool) -> Drawing:
    """Draw points over a number that only grows, as of calls; `is_log` is of the scale of their values."""
    values = [value for curve in curves for _, value in curve.points]
    scale = Scale.logarithmic(values) if is_log else Scale.linear(values)
    last = max(curve.points[-1][0] for curve in curves)
    ends = (
        f"{curve.style.name} {format_number(curve.points[-1][1])} at {curve.points[-1][0]:,.6g}" for curve in curves
    )
    return Plot(scale, (0, last), Scale(0, last).ticks()).draw(title, "; ".join(ends), curves)
