"""Latency against load: every window of searches for the capacity, by its rate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from wirebench.analysis.summary import CellSummary
from wirebench.present.charts.lines import draw_load_curves
from wirebench.present.charts.plot import Mark, PlotSeries
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Chart, Point
from wirebench.present.picture import Groups

#: Rates within such a ratio of each other are one point of the line.
_BIN = 1.06


def draw(groups: Groups, styles: Mapping[str, Style]) -> Iterator[Chart]:
    """Draw the p99 and the median of each group that was searched: a mark for each window, hollow if it missed.

    The line goes through the medians of the windows with about the same rate.
    """
    for title, cells in groups.items():
        limits_ms = [record.search.p99_ms for cell in cells for record in cell.records if record.search]
        for name, field, limit_ms in (("p99", "p99_ms", limits_ms[:1]), ("p50", "p50_ms", [])):
            curves = [curve for cell in cells if (curve := _make_curve(cell, styles[cell.name], field))]
            if curves:
                svg = draw_load_curves(f"{name} response time over requests/s, {title}", curves, limit_ms)
                yield Chart(f"{name}, ms: {title}", "over requests/s asked for", svg)


def _make_curve(cell: CellSummary, style: Style, field: str) -> PlotSeries | None:
    marks = sorted(
        (
            Mark(window.rate_asked_per_s, value, window.kept)
            for record in cell.records
            if record.search
            for window in record.search.windows
            if (value := getattr(window, field)) is not None
        ),
        key=lambda mark: mark.x,
    )
    return PlotSeries(style, marks, points=_join_medians(marks)) if marks else None


def _join_medians(marks: Sequence[Mark]) -> list[Point]:
    """Return the median rate and latency of the marks in each bin of rates."""
    bins: dict[int, list[Mark]] = {}
    for mark in marks:
        bins.setdefault(round(math.log(mark.x) / math.log(_BIN)), []).append(mark)
    return [
        (statistics.median(mark.x for mark in each), statistics.median(mark.y for mark in each))
        for each in bins.values()
    ]
