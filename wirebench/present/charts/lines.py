"""What is drawn as lines: latency by percentile, figures over levels, and over a number that only grows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from wirebench.present.charts.plot import Mark, Plot, PlotSeries
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Drawing, Point
from wirebench.present.numbers import format_number

#: The percentiles, and which share of the requests is slower: one in so many. The first have room for their labels.
ONE_IN = {"p50": 2, "p99": 100, "p99.9": 1000, "p90": 10, "p99.99": 10_000, "p99.999": 100_000, "p95": 20}

_PERCENTILES = {math.log10(one_in): name for name, one_in in ONE_IN.items()}
_DESCRIBED = ("p50", "p99")
_THOUSAND = 1000


def make_latency_series(  # noqa: PLR0913 - what there may be of a cell
    style: Style,
    percentiles_ms: Mapping[str, float | None],
    unfit: Collection[str] = (),
    *,
    curve: Sequence[Point] = (),
    blocks: Sequence[Sequence[Point]] = (),
    errors_ms: Mapping[str, Point] | None = None,
) -> PlotSeries:
    """Return a cell's latencies in milliseconds, at percentiles where they are known.

    `curve`, and that of each block, goes through (one in so many requests is slower, latency); `errors_ms` are the
    driver's at percentiles: measured minus truth, from, to. Marks of the percentiles in `unfit` are hollow.
    """
    marks = []
    for place, name in sorted(_PERCENTILES.items()):
        if value := percentiles_ms.get(name):
            low, high = (errors_ms or {}).get(name, (None, None))
            truth = None if low is None or high is None else (value - high, value - low)
            marks.append(Mark(place, value, name not in unfit, truth=truth))
    line, *behind = ([(math.log10(one_in), latency_ms) for one_in, latency_ms in each] for each in (curve, *blocks))
    return PlotSeries(style, marks, line, behind)


def make_latency_plot(cells: Iterable[PlotSeries]) -> Plot | None:
    """Return the plot that holds all of these: pictures on it compare. None if none has any latency."""
    points = [
        point
        for cell in cells
        for points in ([(each.x, each.y) for each in cell.marks], cell.points, *cell.behind)
        for point in points
    ]
    if not points:
        return None
    first, last = min(points)[0], max(points)[0]
    labels = {place: name for place, name in _PERCENTILES.items() if first <= place <= last}
    return Plot(Scale.logarithmic(latency_ms for _, latency_ms in points), (first, last), labels)


def draw_latencies(title: str, cells: Sequence[PlotSeries], plot: Plot) -> Drawing:
    """Draw latency by percentile: the curve of each cell, and behind it, thin, that of each of its blocks."""
    return plot.draw(title, "; ".join(f"{cell.style.name} {_describe_latencies(cell.marks)}" for cell in cells), cells)


def _describe_latencies(marks: Sequence[Mark]) -> str:
    named = {_PERCENTILES[mark.x]: mark.y for mark in marks}
    figures = ", ".join(f"{name} {format_number(named[name])} ms" for name in _DESCRIBED if name in named)
    return (figures or "not measured") + ("" if all(mark.fit for mark in marks) else ", where a gate failed")


def make_level_scale(lines: Iterable[PlotSeries]) -> Scale:
    """Return the scale that holds all lines: what pictures of a kind share, so that they compare."""
    return Scale.of(value for line in lines for mark in line.marks for value in (mark.y, *mark.blocks))


def draw_levels(title: str, lines: Sequence[PlotSeries], on: Scale | None = None) -> Drawing:
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
    return Plot(on or make_level_scale(lines), (min(labels), max(labels)), labels).draw(title, description, placed)


def _describe_ends(marks: Sequence[Mark]) -> str:
    ends = (marks[0], marks[-1]) if len(marks) > 1 else marks
    return ", ".join(
        f"{format_number(mark.y)} at {mark.x:.12g}{'' if mark.fit else ', where a gate failed'}" for mark in ends
    )


def draw_curves(title: str, curves: Sequence[PlotSeries], *, is_log: bool) -> Drawing:
    """Draw points and bands over a number that only grows, as of calls; there is at least one curve.

    `is_log` is of the scale of their values.
    """
    values = [value for curve in curves for _, *values in (*curve.points, *curve.band) for value in values]
    scale = Scale.logarithmic(values) if is_log else Scale.linear(values)
    last = max(curve.points[-1][0] for curve in curves)
    ends = (
        f"{curve.style.name} {format_number(curve.points[-1][1])} at {curve.points[-1][0]:,.6g}" for curve in curves
    )
    return Plot(scale, (0, last), Scale(0, last).ticks()).draw(title, "; ".join(ends), curves)
