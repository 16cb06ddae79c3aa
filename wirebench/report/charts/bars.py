"""A figure of each cell as a bar with its blocks: throughput, CPU per request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from wirebench.report.charts.style import GRID, INK, LINEAR_SPREAD_MAX, PAPER, Style
from wirebench.report.charts.svg import FONT_SIZE, inline, new_axes
from wirebench.report.numbers import number

ROW_HEIGHT = 44

_LABEL_ABOVE = 0.3
_EDGE = 0.04
_WIDE_DECADES = 2.3


@dataclass(frozen=True, slots=True)
class Bar:
    """One cell: its typical figure, those of its blocks, all positive, and whether all gates passed for it."""

    style: Style
    typical: float
    blocks: tuple[float, ...]
    fit: bool = True


@dataclass(frozen=True, slots=True)
class Scale:
    """What all pictures of a kind share, so that they compare. A linear scale begins at 0."""

    low: float
    high: float
    is_log: bool


def scale(bars: Sequence[Bar]) -> Scale:
    """Return the scale that holds all bars: linear, or logarithmic if they lie too far apart for that."""
    low, high = min(min(bar.blocks) for bar in bars), max(max(bar.blocks) for bar in bars)
    is_log = max(bar.typical for bar in bars) / min(bar.typical for bar in bars) > LINEAR_SPREAD_MAX
    return Scale(low / 1.5, high * 1.25, is_log) if is_log else Scale(0, high * 1.04, is_log)


def draw(name: str, description: str, bars: Sequence[Bar], on: Scale) -> Markup:
    """Draw a row a bar: the label and the figure in words, below them the bar and a dot for each block."""
    figure, axes = new_axes(ROW_HEIGHT * len(bars) + 26, left=3, right=9, top=2, bottom=24)
    _scale(axes, on, len(bars))
    for row, bar in enumerate(bars):
        _row(axes, row, bar, on)
    return inline(figure, name, description)


def _scale(axes: Axes, on: Scale, rows: int) -> None:
    axes.set_ylim(rows - 0.45, -0.75)
    axes.yaxis.set_major_locator(NullLocator())
    if on.is_log:
        axes.set_xscale("log")
        digits = (1.0,) if math.log10(on.high / on.low) > _WIDE_DECADES else (1.0, 2.0, 5.0)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_locator(LogLocator(subs=digits, numticks=8))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.set_xlim(on.low, on.high)
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True):
        place = axes.transAxes.inverted().transform(axes.transData.transform((tick, 0)))[0]
        label.set_horizontalalignment("left" if place < _EDGE else "right" if place > 1 - _EDGE else "center")


def _row(axes: Axes, row: int, bar: Bar, on: Scale) -> None:
    colour = bar.style.colour
    _write(axes, "left", row, bar.style.name)
    _write(axes, "right", row, number(bar.typical))
    if on.is_log:
        axes.axhline(row, color=GRID, linewidth=0.8, zorder=0)
    else:
        axes.barh(row, bar.typical, height=0.3, color=colour, alpha=0.22, linewidth=0)
    axes.plot((min(bar.blocks), max(bar.blocks)), (row, row), color=colour, linewidth=1.6)
    axes.plot(
        bar.typical,
        row,
        linestyle="none",
        marker=bar.style.marker,
        markersize=9,
        markerfacecolor=colour if bar.fit else PAPER,
        markeredgecolor=colour,
        markeredgewidth=1.6,
    )
    rows = [row] * len(bar.blocks)
    axes.plot(bar.blocks, rows, linestyle="none", marker="o", markersize=3.2, color=INK, markeredgewidth=0, alpha=0.75)


def _write(axes: Axes, side: Literal["left", "right"], row: int, text: str) -> None:
    """Write at one end of the line above a row's bar; what stands on the right is bold."""
    axes.text(
        0 if side == "left" else 1,
        row - _LABEL_ABOVE,
        text,
        transform=axes.get_yaxis_transform(),
        horizontalalignment=side,
        fontsize=FONT_SIZE,
        fontweight="normal" if side == "left" else "bold",
        color=INK,
        parse_math=False,
    )
