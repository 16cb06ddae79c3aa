"""A load that is a number of calls, call by call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wirebench.analysis.summary import CellSummary
from wirebench.errors import WirebenchError
from wirebench.model.histogram_file import OK, HistogramFile
from wirebench.model.run_info import Run
from wirebench.present.charts.lines import draw_curves
from wirebench.present.charts.plot import PlotSeries
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Chart
from wirebench.present.labels import name_in_run

#: More points than these in a line can't be told apart.
_POINTS_MAX = 120

#: The calls of each block: latencies in nanoseconds, in their order.
_Blocks = list[NDArray[np.int64]]


def draw_calls(run: Run, groups: Mapping[str, Sequence[CellSummary]], styles: Mapping[str, Style]) -> tuple[Chart, ...]:
    """Draw each operation's latency and cumulative time over the number of calls; nothing for loads without one."""
    drawn: dict[str, list[tuple[Style, _Blocks]]] = {}
    for title, cells in groups.items():
        for cell in cells:
            for operation, blocks in _read_calls(run, cell).items():
                drawn.setdefault(f"{operation} in {title}", []).append((styles[name_in_run(cell)], blocks))
    return tuple(chart for title, cells in drawn.items() for chart in _draw_operation(title, cells))


def _draw_operation(title: str, cells: Sequence[tuple[Style, _Blocks]]) -> Iterator[Chart]:
    latency: list[PlotSeries] = []
    together: list[PlotSeries] = []
    for style, blocks in cells:
        shortest = min(map(len, blocks))
        calls_ms = np.stack([block[:shortest] for block in blocks]) / 1e6
        at = np.unique(np.linspace(0, shortest - 1, _POINTS_MAX).round().astype(int))
        for series, figures in ((latency, calls_ms), (together, np.cumsum(calls_ms, axis=1))):
            points = np.column_stack((at + 1, np.median(figures, axis=0)[at])).tolist()
            series.append(PlotSeries(style, points=points))
    svg = draw_curves(f"Latency of each call, {title}", latency, is_log=True)
    yield Chart(f"ms a call: {title}", "over the number of the call", svg)
    svg = draw_curves(f"Cumulative time, {title}", together, is_log=False)
    yield Chart(f"ms in all: {title}", "over the number of calls", svg)


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
