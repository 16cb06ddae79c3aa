"""What disturbed a run as a whole: drift and outliers."""

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

    `drift` is that of the last block to the first, of all cells together, `apart` that of the cell that drifts the
    most against the others, `blocks` those of outlier blocks to the others by number, `windows` those of outlier
    windows by block and cell.
    """

    drift: float | None = None
    apart: tuple[CellSummary, float] | None = None
    blocks: tuple[tuple[int, float], ...] = ()
    windows: tuple[tuple[int, CellSummary, float], ...] = ()


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
    )


def _log_figures(cell: CellSummary, blocks: list[int]) -> list[float]:
    metric = cell.judged_metric
    figures, sign = cell.by_block(metric), 1 if metric.more_is_better else -1
    return [sign * math.log(figures[block]) for block in blocks]


def _fit_drift(row: _Array) -> tuple[float, float]:
    """Return the log ratio of the last block to the first on the least squares line, and its two-sided p-value."""
    from scipy.special import stdtr

    places = np.arange(len(row)) - (len(row) - 1) / 2
    slope = float(places @ row / (places @ places))
    rest = row - row.mean() - slope * places
    error = math.sqrt(float(rest @ rest) / (len(row) - 2) / float(places @ places))
    p_value = 2 * float(stdtr(len(row) - 2, -abs(slope) / error)) if error else 0.0
    return slope * (len(row) - 1), p_value


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
