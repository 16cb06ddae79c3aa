"""What disturbed a run as a whole: drift, outliers, and cells that are slower after a heavy one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wirebench.analysis.summary import CellSummary, summarise
from wirebench.model.run_info import Run

#: Each is reported if it is that unlikely by chance, and greater than the equivalence margin.
_LEVEL = 0.01
#: With fewer, nothing can be said of a block among others.
_BLOCKS_MIN = 4
_OUTLIERS_MAX = 10

_Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Disturbances:
    """Ratios of the figures that verdicts are on, greater than 1 where they are better; what isn't there is left out.

    `drift` is that of the last block to the first, of all cells together, `apart` that of the cell
    that drifts the most against the others, `blocks` those of outlier blocks to the others by number, `windows`
    those of outlier windows by block and cell, `after_heavy` that of cells that follow the cell whose server took the
    most CPU time to those that follow the one that took the least.
    """

    drift: float | None = None
    apart: tuple[CellSummary, float] | None = None
    blocks: tuple[tuple[int, float], ...] = ()
    windows: tuple[tuple[int, CellSummary, float], ...] = ()
    after_heavy: float | None = None


def find_disturbances(run: Run) -> Disturbances:
    """Look for disturbances in the log figures of all cells, less each cell's mean, in the blocks that all have."""
    cells = [cell for cell in summarise(run.records) if len(cell.by_block(cell.judged_metric)) >= _BLOCKS_MIN]
    measured = [frozenset(cell.by_block(cell.judged_metric)) for cell in cells]
    blocks = sorted(frozenset.intersection(*measured)) if measured else []
    if len(blocks) < _BLOCKS_MIN:
        return Disturbances()
    figures = np.array([_log_figures(cell, blocks) for cell in cells])
    least = math.log1p(run.info.equivalence_margin)
    by_cell = figures - figures.mean(axis=1, keepdims=True)
    by_block = by_cell.mean(axis=0)
    rest = by_cell - by_block
    (drift, p_drift), *drifts = (_fit_drift(row) for row in (by_block, *rest))
    cell, (apart, p_apart) = max(zip(cells, drifts, strict=True), key=lambda each: abs(each[1][0]))
    effect, p_effect = _find_order_effect(cells, blocks, rest)
    places = [divmod(place, len(blocks)) for place in find_outliers(rest.ravel())]
    return Disturbances(
        drift=math.exp(drift) if p_drift <= _LEVEL and abs(drift) > least else None,
        apart=(cell, math.exp(apart)) if p_apart <= _LEVEL / len(cells) and abs(apart) > least else None,
        blocks=tuple(
            (blocks[place], math.exp(by_block[place] - np.median(by_block)))
            for place in find_outliers(by_block)
            if abs(by_block[place] - np.median(by_block)) > least
        ),
        windows=tuple(
            (blocks[block], cells[cell], math.exp(rest[cell, block]))
            for cell, block in places
            if abs(rest[cell, block]) > least
        ),
        after_heavy=math.exp(effect) if p_effect <= _LEVEL and abs(effect) > least else None,
    )


def _log_figures(cell: CellSummary, blocks: list[int]) -> list[float]:
    metric = cell.judged_metric
    figures, sign = cell.by_block(metric), 1 if metric.higher_is_better else -1
    return [sign * math.log(figures[block]) for block in blocks]


def _find_order_effect(cells: list[CellSummary], blocks: list[int], rest: _Array) -> tuple[float, float]:
    """Return the log ratio of what follows the heaviest cell to what follows the lightest, and its p-value."""
    orders = {(record.block, record.order): place for place, cell in enumerate(cells) for record in cell.records}
    used = [[record.server.cpu_s for record in cell.records] for cell in cells]
    heaviness = [float(np.mean([math.nan if each is None else each for each in cpu_s])) for cpu_s in used]
    before = np.full(rest.shape, np.nan)
    for (block, order), place in orders.items():
        if block in blocks and (block, order - 1) in orders:
            before[place, blocks.index(block)] = heaviness[orders[block, order - 1]]
    there = ~np.isnan(before)
    before -= np.nansum(before, axis=1, keepdims=True) / np.maximum(there.sum(axis=1, keepdims=True), 1)
    slope, p_value = _fit_line(before[there], rest[there], int(there.sum()) - sum(rest.shape))
    return slope * (max(heaviness) - min(heaviness)), p_value


def _fit_drift(row: _Array) -> tuple[float, float]:
    """Return the log ratio of the last block to the first, and its p-value."""
    slope, p_value = _fit_line(np.arange(len(row), dtype=np.float64), row, len(row) - 2)
    return slope * (len(row) - 1), p_value


def _fit_line(x: _Array, y: _Array, degrees_of_freedom: int) -> tuple[float, float]:
    """Return the slope of the least squares line, and its two-sided p-value; 1 where it can't be computed."""
    from scipy.special import stdtr

    if degrees_of_freedom < 1 or np.ptp(x) <= 1e-9 * np.abs(x).max():
        return 0.0, 1.0
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    error = math.sqrt(float(np.sum((y - y.mean() - slope * x) ** 2)) / degrees_of_freedom / float(x @ x))
    return slope, 2 * float(stdtr(degrees_of_freedom, -abs(slope) / error)) if error else 0.0


def find_outliers(values: _Array) -> tuple[int, ...]:
    """Return the places of values that lie too far from the others to be one of them: at most a fifth, and ten.

    F. E. Grubbs: Procedures for detecting outlying observations in samples, Technometrics 11, 1969, at 1 %; repeated
    without the value that was found.
    """
    from scipy.special import stdtrit

    left, found = np.arange(len(values)), []
    for _ in range(min(len(values) // 5, _OUTLIERS_MAX)):
        others, count = values[left], len(left)
        distances = np.abs(others - others.mean())
        quantile = float(stdtrit(count - 2, 1 - _LEVEL / (2 * count)))
        limit = (count - 1) / math.sqrt(count) * math.sqrt(quantile**2 / (count - 2 + quantile**2))
        if distances.max() <= limit * others.std(ddof=1):
            break
        found.append(int(left[distances.argmax()]))
        left = np.delete(left, distances.argmax())
    return tuple(found)
