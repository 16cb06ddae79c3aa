"""Curves over a number that only grows: calls, or the time since the window began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from wirebench.report.charts.style import GRID, MUTED, Style
from wirebench.report.charts.svg import SMALL_FONT_SIZE, inline, new_axes

HEIGHT = 230

_WIDE = 30


@dataclass(frozen=True, slots=True)
class Curve:
    """One cell's values, and the least and greatest of its blocks around them; all of shape (points,)."""

    style: Style
    at: NDArray[np.float64]
    values: NDArray[np.float64]
    spread: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None


def draw(name: str, description: str, curves: Sequence[Curve], label: str, *, is_log: bool) -> Markup:
    """Draw the curves over what `label` names; `is_log` is of the values' scale, which else begins at 0."""
    figure, axes = new_axes(HEIGHT, left=48, right=14, top=8, bottom=42)
    greatest = max(float(np.max(curve.values if curve.spread is None else curve.spread[1])) for curve in curves)
    if is_log:
        least = min(float(np.min(curve.values)) for curve in curves)
        axes.set_yscale("log")
        axes.set_ylim(least / 1.3, greatest * 1.3)
        digits = (1.0,) if greatest / least > _WIDE else (1.0, 2.0, 5.0)
        axes.yaxis.set_major_locator(LogLocator(subs=digits, numticks=12))
    else:
        axes.set_ylim(0, greatest * 1.05)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.set_xlim(0, max(float(curve.at[-1]) for curve in curves) * 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_minor_locator(NullLocator())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(label, color=MUTED, fontsize=SMALL_FONT_SIZE, labelpad=3)
    for curve in curves:
        dashes = (0, curve.style.dashes or None)
        axes.plot(curve.at, curve.values, color=curve.style.colour, linewidth=1.6, linestyle=dashes)
        if curve.spread:
            axes.fill_between(curve.at, *curve.spread, color=curve.style.colour, alpha=0.18, linewidth=0)
    return inline(figure, name, description)
