"""A number of calls, call by call: what each took, and what they took together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wirebench.drivers.histogram_file import OK, HistogramFile
from wirebench.errors import WirebenchError
from wirebench.report.charts import curves
from wirebench.report.charts.curves import Curve
from wirebench.report.charts.style import Style
from wirebench.report.picture import Picture
from wirebench.stats import CellSummary
from wirebench.store import Run

#: More points than these in a line can't be told apart; in one that goes up and down, fewer can.
_POINTS_MAX = 240
_MEDIANS_MAX = 100
_MS = 1e6

#: By operation, the calls of each block: latencies in nanoseconds, in their order.
_Blocks = dict[str, list[NDArray[np.int64]]]
#: Two arrays of shape (points,).
_Points = tuple[NDArray[np.float64], NDArray[np.float64]]


def pictures(run: Run, groups: Mapping[str, Sequence[CellSummary]], looks: Mapping[str, Style]) -> tuple[Picture, ...]:
    """Draw each operation's latency and cumulative time over the number of calls; nothing for loads without one."""
    drawn: dict[str, dict[str, list[tuple[Style, _Blocks]]]] = {}
    for title, cells in groups.items():
        for cell in cells:
            for operation, blocks in _read(run, cell).items():
                one = (looks[cell.name], {operation: blocks})
                drawn.setdefault(title, {}).setdefault(operation, []).append(one)
    return tuple(
        picture
        for index, (title, operations) in enumerate(drawn.items())
        for place, (operation, cells_drawn) in enumerate(operations.items())
        for picture in _of_operation(f"calls-{index}-{place}", f"{operation} in {title}", operation, cells_drawn)
    )


def _of_operation(
    name: str, title: str, operation: str, cells: Sequence[tuple[Style, _Blocks]]
) -> tuple[Picture, Picture]:
    latency, together = [], []
    for style, by_operation in cells:
        blocks = _equally_long(by_operation[operation])
        number = np.arange(1, blocks.shape[1] + 1, dtype=np.float64)
        latency.append(Curve(style, *_thinned(number, np.median(blocks, axis=0) / _MS)))
        sums = np.cumsum(blocks, axis=1) / _MS
        together.append(Curve(style, *_every(number, np.median(sums, axis=0)), _spread(number, sums)))
    return (
        Picture(
            f"ms a call: {title}",
            curves.draw(f"{name}-each", f"Latency of each call, {title}", latency, "number of the call", is_log=True),
        ),
        Picture(
            f"ms in all: {title}",
            curves.draw(f"{name}-all", f"Cumulative time, {title}", together, "number of calls", is_log=False),
        ),
    )


def _read(run: Run, cell: CellSummary) -> _Blocks:
    """Return the successful calls of a cell by operation; what can't be read is told with the latency curves."""
    blocks: _Blocks = {}
    for record in cell.records:
        try:
            file = HistogramFile.read(run.folder / record.histogram_file)
        except WirebenchError:
            continue
        for each in file.calls:
            if each.code == OK:
                blocks.setdefault(each.operation, []).append(np.asarray(each.latencies_ns, dtype=np.int64))
    return blocks


def _equally_long(blocks: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return blocks as an array of shape (blocks, calls): as many calls as all of them have."""
    shortest = min(map(len, blocks))
    return np.stack([block[:shortest] for block in blocks])


def _thinned(number: NDArray[np.float64], values: NDArray[np.float64]) -> _Points:
    """Return as many points as can be told apart: the median of those that fall together."""
    parts = min(len(number), _MEDIANS_MAX)
    return (
        np.array([part[0] for part in np.array_split(number, parts)]),
        np.array([np.median(part) for part in np.array_split(values, parts)]),
    )


def _every(number: NDArray[np.float64], values: NDArray[np.float64]) -> _Points:
    """Return as many points as can be told apart, the first and the last among them."""
    at = np.unique(np.linspace(0, len(number) - 1, _POINTS_MAX).round().astype(int))
    return number[at], values[at]


def _spread(number: NDArray[np.float64], sums: NDArray[np.float64]) -> _Points | None:
    """Return the least and the greatest of the blocks at the points of `_every`; None of one block."""
    if len(sums) == 1:
        return None
    return _every(number, sums.min(axis=0))[1], _every(number, sums.max(axis=0))[1]
