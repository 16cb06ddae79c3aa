"""Scaling laws as pictures: throughput over levels with the laws through it, and how far the points are from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wirebench.analysis.scaling_law import ScalingLaw
from wirebench.present.charts.plot import Mark, Plot, PlotSeries
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Drawing
from wirebench.present.numbers import format_number

#: A law is drawn up to so many times the greatest level that was measured.
_BEYOND = 2
_POINTS = 60
_EXTRAPOLATED = "1 4"
_RESIDUAL_MIN = 0.02


def draw_law(title: str, laws: Sequence[tuple[Style, ScalingLaw]]) -> Drawing:
    """Draw the points of each law with their intervals, the law with its band, and where it is greatest."""
    series = [part for style, law in laws for part in _make_curves(style, law)]
    values = [y for each in series for y in (*(mark.y for mark in each.marks), *(y for _, y in each.points))]
    last = _BEYOND * max(max(law.levels) for _, law in laws)
    turns = {
        math.log2(law.best.estimate): f"most {style.name}"
        for style, law in laws
        if law.levels[0] < law.best.estimate <= law.levels[-1]
    }
    description = "; ".join(
        f"{style.name} {law.model}, greatest at {format_number(law.best.estimate)}, "
        f"{format_number(law.throughput[-1].estimate)} at {law.levels[-1]:g}"
        for style, law in laws
    )
    return _make_plot(laws, Scale.of(values), last).draw(title, description, series, turns)


def draw_residuals(title: str, laws: Sequence[tuple[Style, ScalingLaw]]) -> Drawing:
    """Draw measured throughput as a ratio to its law: a point on the line is on the law."""
    series = []
    for style, law in laws:
        marks = []
        for level, figure, ratio in zip(law.levels, law.throughput, law.residuals, strict=True):
            ends = figure.interval
            of_law = figure.estimate / ratio
            marks.append(Mark(math.log2(level), ratio, interval=ends and (ends[0] / of_law, ends[1] / of_law)))
        series.append(PlotSeries(style, marks, points=[(mark.x, 1.0) for mark in marks]))
    reach = 2 * max(_RESIDUAL_MIN, *(abs(mark.y - 1) for each in series for mark in each.marks))
    description = "; ".join(f"{style.name} {min(law.residuals):.3f} to {max(law.residuals):.3f}" for style, law in laws)
    last = max(max(law.levels) for _, law in laws)
    return _make_plot(laws, Scale(1 - reach, 1 + reach), last).draw(title, description, series)


def _make_plot(laws: Sequence[tuple[Style, ScalingLaw]], scale: Scale, last: float) -> Plot:
    levels = sorted({level for _, law in laws for level in law.levels}, reverse=True)
    return Plot(scale, (math.log2(levels[-1]), math.log2(last)), {math.log2(level): f"{level:g}" for level in levels})


def _make_curves(style: Style, law: ScalingLaw) -> tuple[PlotSeries, PlotSeries]:
    """Return the law with its points where it was measured, and what is beyond."""
    marks = [
        Mark(math.log2(level), figure.estimate, interval=figure.interval)
        for level, figure in zip(law.levels, law.throughput, strict=True)
    ]
    first, last = law.levels[0], law.levels[-1]
    inside = np.geomspace(first, last, _POINTS)
    beyond = np.geomspace(last, _BEYOND * last, _POINTS // 2)
    drawn = []
    for levels in (inside, beyond):
        curve = law.predict(levels.tolist())
        places = [math.log2(level) for level in levels]
        points = [(x, each.estimate) for x, each in zip(places, curve, strict=True)]
        drawn.append((points, [(x, each.low, each.high) for x, each in zip(places, curve, strict=True)]))
    measured, extrapolated = drawn
    dotted = replace(style, dashes=_EXTRAPOLATED)
    return (
        PlotSeries(style, marks, points=measured[0], band=measured[1]),
        PlotSeries(dotted, points=extrapolated[0], band=extrapolated[1]),
    )
