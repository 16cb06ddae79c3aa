"""A figure over a factor: a line for each series, a mark for each cell, a dot for each of its blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from wirebench.report.charts.style import GRID, LINEAR_SPREAD_MAX, MUTED, PAPER, Style
from wirebench.report.charts.svg import SMALL_FONT_SIZE, inline, new_axes

HEIGHT = 250
#: Levels that lie further apart than this, as a ratio, don't either.
LEVEL_SPREAD_MAX = 6

#: Shares of the axis: between the numbers below it, and beyond the levels at its ends.
_TICK_DISTANCE_MIN = 0.1
_ROOM = 0.04
_THOUSAND = 1000


@dataclass(frozen=True, slots=True)
class Point:
    """A cell: its level, its typical figure, those of its blocks, and whether all gates passed for it."""

    level: float
    typical: float
    blocks: tuple[float, ...]
    fit: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A series of cells."""

    style: Style
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """What all pictures of a kind share, so that they compare."""

    levels: tuple[float, ...]
    low: float
    high: float
    is_log: bool


def scale(lines: Sequence[Line]) -> Scale:
    """Return the scale that holds all lines: linear from 0, or logarithmic if they lie too far apart for that."""
    figures = [figure for line in lines for point in line.points for figure in (point.typical, *point.blocks)]
    levels = tuple(sorted({point.level for line in lines for point in line.points}))
    is_log = max(figures) / min(figures) > LINEAR_SPREAD_MAX
    return Scale(levels, min(figures) / 1.3 if is_log else 0, max(figures) * (1.3 if is_log else 1.06), is_log)


def draw(name: str, description: str, lines: Sequence[Line], on: Scale, label: str) -> Markup:
    """Draw the lines; `label` names the factor below them."""
    figure, axes = new_axes(HEIGHT, left=48, right=14, top=8, bottom=42)
    _scale(axes, on, label)
    for line in lines:
        _line(axes, line)
    return inline(figure, name, description)


def _scale(axes: Axes, on: Scale, label: str) -> None:
    positive = [level for level in on.levels if level > 0]
    if positive and max(positive) / min(positive) > LEVEL_SPREAD_MAX:
        # Linear below the least level, so that a level of 0 has its place.
        axes.set_xscale("symlog", base=2, linthresh=min(positive)) if 0 in on.levels else axes.set_xscale("log", base=2)
    if on.is_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.set_ylim(on.low, on.high)
    axes.set_xlim(*_limits(axes, on))
    axes.xaxis.set_major_locator(FixedLocator(_ticks(axes, on.levels)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(label, color=MUTED, fontsize=SMALL_FONT_SIZE, labelpad=3)


def _limits(axes: Axes, on: Scale) -> tuple[float, float]:
    """Return the ends of the axis: a little beyond the levels, as the scale measures it."""
    to_axis, from_axis = axes.xaxis.get_transform(), axes.xaxis.get_transform().inverted()
    first, last = to_axis.transform((on.levels[0], on.levels[-1]))
    room = _ROOM * (last - first)
    low, high = from_axis.transform((first - room, last + room))
    return float(low), float(high)


def _ticks(axes: Axes, levels: Sequence[float]) -> list[float]:
    """Return the levels that have room for their number below the axis, the greatest among them."""
    ticks: list[float] = []
    last_at = math.inf
    for level in reversed(levels):
        at = axes.transAxes.inverted().transform(axes.transData.transform((level, 1)))[0]
        if last_at - at >= _TICK_DISTANCE_MIN:
            ticks.append(level)
            last_at = at
    return ticks


def _short(level: float) -> str:
    """Write a level so that many fit side by side."""
    return f"{level / _THOUSAND:.4g}k" if level >= 10 * _THOUSAND else f"{level:.6g}"


def _line(axes: Axes, line: Line) -> None:
    style = line.style
    levels = [point.level for point in line.points]
    dashes = (0, style.dashes or None)
    axes.plot(levels, [point.typical for point in line.points], color=style.colour, linewidth=1.8, linestyle=dashes)
    for point in line.points:
        axes.plot(
            [point.level] * len(point.blocks),
            point.blocks,
            linestyle="none",
            marker="o",
            markersize=2.6,
            color=style.colour,
            markeredgewidth=0,
            alpha=0.55,
        )
        axes.plot(
            point.level,
            point.typical,
            linestyle="none",
            marker=style.marker,
            markersize=6.5,
            markerfacecolor=style.colour if point.fit else PAPER,
            markeredgecolor=style.colour,
            markeredgewidth=1.4,
        )
