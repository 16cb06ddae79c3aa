"""A load over its window: by time where it changes, and call by call where it is a number of calls."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wirebench.analysis.summary import CellSummary
from wirebench.errors import WirebenchError
from wirebench.model.histogram_file import OK, HistogramFile
from wirebench.model.run_info import Run
from wirebench.present.charts.lines import draw_curves
from wirebench.present.charts.plot import PlotSeries
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Chart

_AXIS = "over s from the window's start"
#: More points than these in a line can't be told apart; in one that goes up and down, fewer can.
_POINTS_MAX = 240
_MEDIANS_MAX = 100
_MS = 1e6

#: The calls of each block: latencies in nanoseconds, in their order.
_Blocks = list[NDArray[np.int64]]


def draw_over_time(groups: Mapping[str, Sequence[CellSummary]], styles: Mapping[str, Style]) -> Iterator[Chart]:
    """Draw the rate asked for and the waits over time, for each group whose load changes.

    The median and the slowest: a part of a window has too few requests for a quantile between them.
    """
    for title, cells in groups.items():
        asked = [curve for cell in cells if (curve := _make_asked_series(cell, styles[cell.name]))]
        if not asked:
            continue
        # All cells of a group are asked for the same.
        svg = draw_curves(f"Requests a second asked for, {title}", asked[:1], is_log=False)
        yield Chart(f"requests/s asked for: {title}", _AXIS, svg)
        for what, field in (("p50", "p50_ms"), ("slowest", "max_ms")):
            waited = [curve for cell in cells if (curve := _make_latency_series(cell, styles[cell.name], field))]
            if waited:
                svg = draw_curves(f"{what} response time, {title}", waited, is_log=True)
                yield Chart(f"{what}, ms: {title}", _AXIS, svg)


def _make_asked_series(cell: CellSummary, style: Style) -> PlotSeries | None:
    slices = next((record.over_time for record in cell.records if record.over_time), ())
    points = [((each.start_s + each.end_s) / 2, each.rate_asked_per_s) for each in slices]
    return PlotSeries(style, points=points) if points else None


def _make_latency_series(cell: CellSummary, style: Style, field: str) -> PlotSeries | None:
    """Return a figure of each part of the window: the blocks' median, between their least and their greatest."""
    blocks = [record.over_time for record in cell.records if record.over_time]
    points, band = [], []
    for parts in zip(*blocks, strict=True):
        known = [value for each in parts if (value := getattr(each, field)) is not None]
        if known:
            middle_s = (parts[0].start_s + parts[0].end_s) / 2
            points.append((middle_s, statistics.median(known)))
            band.append((middle_s, min(known), max(known)))
    return PlotSeries(style, points=points, band=band if len(blocks) > 1 else ()) if points else None


def draw_calls(run: Run, groups: Mapping[str, Sequence[CellSummary]], styles: Mapping[str, Style]) -> tuple[Chart, ...]:
    """Draw each operation's latency and cumulative time over the number of calls; nothing for loads without one."""
    drawn: dict[str, list[tuple[Style, _Blocks]]] = {}
    for title, cells in groups.items():
        for cell in cells:
            for operation, blocks in _read_calls(run, cell).items():
                drawn.setdefault(f"{operation} in {title}", []).append((styles[cell.name], blocks))
    return tuple(chart for title, cells in drawn.items() for chart in _draw_operation(title, cells))


def _draw_operation(title: str, cells: Sequence[tuple[Style, _Blocks]]) -> Iterator[Chart]:
    latency, together = [], []
    for style, unequal in cells:
        blocks = _cut_to_shortest(unequal) / _MS
        number = np.arange(1, blocks.shape[1] + 1)
        latency.append(PlotSeries(style, points=_thin_out(number, np.median(blocks, axis=0))))
        sums = np.cumsum(blocks, axis=1)
        at = np.unique(np.linspace(0, len(number) - 1, _POINTS_MAX).round().astype(int))
        band = _stack_columns(number[at], sums.min(axis=0)[at], sums.max(axis=0)[at]) if len(sums) > 1 else ()
        together.append(PlotSeries(style, points=_stack_columns(number[at], np.median(sums, axis=0)[at]), band=band))
    svg = draw_curves(f"Latency of each call, {title}", latency, is_log=True)
    yield Chart(f"ms a call: {title}", "over the number of the call", svg)
    yield Chart(
        f"ms in all: {title}",
        "over the number of calls",
        draw_curves(f"Cumulative time, {title}", together, is_log=False),
    )


def _read_calls(run: Run, cell: CellSummary) -> dict[str, _Blocks]:
    """Return the successful calls of a cell by operation. The latency curves already name files that can't be read."""
    blocks: dict[str, _Blocks] = {}
    for record in cell.records:
        try:
            file = HistogramFile.read(run.folder / record.histogram_file)
        except WirebenchError:
            continue
        for each in file.calls:
            if each.code == OK:
                blocks.setdefault(each.operation, []).append(np.asarray(each.latencies_ns, dtype=np.int64))
    return blocks


def _cut_to_shortest(blocks: _Blocks) -> NDArray[np.int64]:
    """Return blocks as an array of shape (blocks, calls): as many calls as all of them have."""
    shortest = min(map(len, blocks))
    return np.stack([block[:shortest] for block in blocks])


def _thin_out(number: NDArray[np.int64], values: NDArray[np.float64]) -> Sequence[Any]:
    """Return as many points as can be told apart: the median of those that fall together."""
    parts = min(len(number), _MEDIANS_MAX)
    firsts = [part[0] for part in np.array_split(number, parts)]
    return _stack_columns(firsts, [np.median(part) for part in np.array_split(values, parts)])


def _stack_columns(*columns: ArrayLike) -> Sequence[Any]:
    return np.column_stack(columns).tolist()  # type: ignore[no-any-return]
