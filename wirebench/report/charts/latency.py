"""The latency curve: latency by percentile, both on log scales, all cells of one operation and load in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from wirebench.drivers.histogram_file import Clock
from wirebench.report.charts.style import GRID, MUTED, Style
from wirebench.report.charts.svg import SMALL_FONT_SIZE, inline, new_axes
from wirebench.report.latencies import CellLatency, Curve

HEIGHT = 290
PERCENTILES = {"50": 2, "90": 10, "99": 100, "99.9": 1_000, "99.99": 10_000, "99.999": 100_000}

CLOCKS: dict[Clock, str] = {
    "service": "service time",
    "response": "response time",
    "first_item": "time to first item",
    "gap": "gap",
}

_BLOCK_LINES_MAX = 60
_WIDE_DECADES = 3.2


@dataclass(frozen=True, slots=True)
class Extent:
    """What all pictures of a page show alike, so that they compare: up to one in how many requests, which latencies."""

    one_in_max: float
    latency_ms: tuple[float, float]


def extent(latencies: Sequence[CellLatency]) -> Extent | None:
    """Return the extent that holds all curves; None if there is no curve."""
    return extent_of([curve for latency in latencies for curve in (latency.curve, *latency.block_curves) if curve])


def extent_of(curves: Sequence[Curve]) -> Extent | None:
    """Return the extent that holds these curves; None without any."""
    if not curves:
        return None
    low = min(float(curve.latency_ms[0]) for curve in curves)
    high = max(float(curve.latency_ms[-1]) for curve in curves)
    return Extent(max(float(curve.one_in[-1]) for curve in curves), (low / 1.15, high * 1.15))


def draw(name: str, description: str, cells: Sequence[tuple[Style, CellLatency]], within: Extent) -> Markup:
    """Draw the merged curve of each cell, and behind it, thin, the curve of each of its blocks."""
    figure, axes = new_axes(HEIGHT, left=44, right=16, top=24, bottom=40)
    set_scale(axes, within)
    blocks = sum(len(latency.block_curves) for _, latency in cells)
    for style, latency in cells:
        if blocks <= _BLOCK_LINES_MAX:
            for curve in latency.block_curves:
                axes.plot(curve.one_in, curve.latency_ms, color=style.colour, linewidth=0.7, alpha=0.35)
        if latency.curve:
            _line(axes, style, latency.curve)
            _draw_errors(axes, style, latency, within)
    clock = CLOCKS[cells[0][1].clock]
    figure.text(0, 1 - 12 / HEIGHT, f"{clock}, ms", color=MUTED, fontsize=SMALL_FONT_SIZE)
    return inline(figure, name, description)


def set_scale(axes: Axes, within: Extent) -> None:
    """Let axes show the extent: percentiles below, latencies beside."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1, within.one_in_max * 1.1)
    axes.set_ylim(*within.latency_ms)
    percentiles = {one_in: label for label, one_in in PERCENTILES.items() if one_in <= within.one_in_max * 1.1}
    axes.xaxis.set_major_locator(FixedLocator(list(percentiles)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda one_in, _: percentiles.get(round(one_in), "")))
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = within.latency_ms
    digits = (1.0,) if np.log10(high / low) > _WIDE_DECADES else (1.0, 2.0, 5.0)
    axes.yaxis.set_major_locator(LogLocator(subs=digits, numticks=20))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda latency_ms, _: f"{latency_ms:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("percentile", color=MUTED, fontsize=SMALL_FONT_SIZE, labelpad=3)


def _draw_errors(axes: Axes, style: Style, latency: CellLatency, within: Extent) -> None:
    """Draw where the truth lies, by the driver's error: an upright band at each percentile that has one."""
    for quantile, (low_ms, high_ms) in latency.errors_ms.items():
        measured_ms = latency.quantile_ms(quantile)
        if measured_ms is not None:
            truth_ms = [max(measured_ms - error_ms, within.latency_ms[0]) for error_ms in (high_ms, low_ms)]
            axes.plot([1 / (1 - quantile)] * 2, truth_ms, color=style.colour, linewidth=7, alpha=0.3)


def _line(axes: Axes, style: Style, curve: Curve) -> None:
    axes.plot(curve.one_in, curve.latency_ms, color=style.colour, linewidth=2, linestyle=(0, style.dashes or None))
    at = [one_in for one_in in PERCENTILES.values() if one_in <= curve.one_in[-1]]
    axes.plot(
        at,
        np.exp(np.interp(np.log(at), np.log(curve.one_in), np.log(curve.latency_ms))),
        linestyle="none",
        marker=style.marker,
        markersize=6,
        color=style.colour,
        markeredgewidth=1.4,
    )
