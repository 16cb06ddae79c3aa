"""A figure over runs: a line for each machine, a mark with its interval for each run, and where the version changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from wirebench.report.charts.style import GRID, INK, LINEAR_SPREAD_MAX, MUTED, PAPER, Style, styles_of_lines
from wirebench.report.charts.svg import FONT_SIZE, SMALL_FONT_SIZE, UNITS_PER_INCH
from wirebench.stats.history import History, Line, Point
from wirebench.stats.names import in_common

WIDTH = 760
_PANEL_HEIGHT = 250
#: Above each panel its title and a line of the legend each, below it the runs.
_TITLE_HEIGHT, _LEGEND_HEIGHT, _BELOW = 34, 19, 58
_LEFT, _RIGHT = 66, 40
#: So many runs have their date written below them.
_DATES_MAX = 8
#: Room above and below the figures, as a share of the scale.
_ROOM = 0.08
_VERSION_LENGTH = 12
#: Over so long a time it is the days that tell runs apart.
_LONG = timedelta(days=60)
#: A mark, and a smaller one where many runs stand side by side.
_MARK_SIZE, _MARK_SIZE_MIN = 6.5, 2.5
_MARKS_WIDTH = 300
_CAPTION_HEIGHT = 22
_CAPTION = "upright: 95 % interval; hollow: a gate failed; grey: another version from here on"


def draw(histories: Sequence[History]) -> Figure:
    """Draw a panel for each history, one below the other; each has a scale of its own, which needn't begin at 0."""
    heights = [_TITLE_HEIGHT + _LEGEND_HEIGHT * len(each.lines) + _PANEL_HEIGHT + _BELOW for each in histories]
    total = sum(heights) + _CAPTION_HEIGHT
    figure = Figure(figsize=(WIDTH / UNITS_PER_INCH, total / UNITS_PER_INCH))
    top = 0
    for history, height in zip(histories, heights, strict=True):
        bottom = total - top - height + _BELOW
        inner = ((WIDTH - _LEFT - _RIGHT) / WIDTH, _PANEL_HEIGHT / total)
        axes = figure.add_axes((_LEFT / WIDTH, bottom / total, *inner))
        _panel(axes, history)
        top += height
    figure.text(_LEFT / WIDTH, 10 / total, _CAPTION, fontsize=SMALL_FONT_SIZE, color=MUTED)
    return figure


def describe(histories: Sequence[History]) -> str:
    """Say what is drawn to those who don't see it."""
    return "; ".join(
        f"{history.metric.label} of {in_common(history.factors)}, {line.name}: "
        + ", ".join(f"{point.figure.estimate:,.4g} on {point.started_at:%Y-%m-%d}" for point in line.points)
        for history in histories
        for line in history.lines
    )


def _panel(axes: Axes, history: History) -> None:
    runs = sorted((point.started_at, point.run.id, point) for line in history.lines for point in line.points)
    places = {run_id: place for place, (_, run_id, _) in enumerate(runs)}
    looks = styles_of_lines(line.name for line in history.lines)
    _scale(axes, [point for _, _, point in runs])
    _below(axes, [point for _, _, point in runs])
    for line in history.lines:
        _line(axes, line, looks[line.name], places)
    axes.set_title(
        f"{in_common(history.factors)}: {history.metric.heading}",
        loc="left", fontsize=FONT_SIZE, color=INK, pad=_LEGEND_HEIGHT * len(history.lines) + 8,
    )  # fmt: skip
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, frameon=False, fontsize=SMALL_FONT_SIZE,
        labelcolor=MUTED, handlelength=2.2,
    )  # fmt: skip


def _scale(axes: Axes, points: Sequence[Point]) -> None:
    figures = [
        each for point in points for each in (point.figure.estimate, point.figure.low, point.figure.high) if each
    ]
    low, high = min(figures), max(figures)
    if high / low > LINEAR_SPREAD_MAX:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
        axes.set_ylim(low / 1.3, high * 1.3)
    else:
        room = _ROOM * max(high - low, _ROOM * high)
        axes.set_ylim(max(low - room, 0), high + room)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.set_xlim(-0.5, len(points) - 0.5)
    axes.patch.set_visible(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(which="both", length=0, labelsize=SMALL_FONT_SIZE, labelcolor=MUTED)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def _below(axes: Axes, points: Sequence[Point]) -> None:
    """Write the dates of runs below the panel, and mark where the version is another than in the run before.

    Versions that begin close to each other have room for the name of the newest alone.
    """
    step = -(-len(points) // _DATES_MAX)
    places = range(len(points) - 1, -1, -step)
    form = "%Y-%m-%d" if points[-1].started_at - points[0].started_at > _LONG else "%m-%d %H:%M"
    axes.set_xticks(list(places), [f"{points[place].started_at:{form}}" for place in places])
    named_at = len(points) - 1 + step
    for place, point in reversed(list(enumerate(points))):
        if place and point.version == points[place - 1].version:
            continue
        if place:
            axes.axvline(place - 0.5, color=GRID, linewidth=1.2)
        if named_at - place >= step:
            axes.annotate(
                point.version[:_VERSION_LENGTH], (place, 0), (0, -34), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", fontsize=SMALL_FONT_SIZE, color=MUTED, family="monospace",
            )  # fmt: skip
            named_at = place


def _line(axes: Axes, line: Line, style: Style, places: Mapping[str, int]) -> None:
    at = [places[point.run.id] for point in line.points]
    size = min(max(_MARKS_WIDTH / len(places), _MARK_SIZE_MIN), _MARK_SIZE)
    figures = [point.figure.estimate for point in line.points]
    dashes = (0, style.dashes or None)
    axes.plot(
        at, figures, color=style.colour, linewidth=size / 4, linestyle=dashes, label=line.name,
        marker=style.marker, markersize=size,
    )  # fmt: skip
    for place, point in zip(at, line.points, strict=True):
        if point.figure.low is not None and point.figure.high is not None:
            axes.plot(
                (place, place), (point.figure.low, point.figure.high), color=style.colour, linewidth=min(size / 4, 1.2)
            )
        if point.failed_gates:
            axes.plot(
                place, point.figure.estimate, linestyle="none", marker=style.marker, markersize=size,
                markerfacecolor=PAPER, markeredgecolor=style.colour, markeredgewidth=size / 5,
            )  # fmt: skip
