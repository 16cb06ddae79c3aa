"""Where the level of a cell's figure has changed over its history, with a stated rate of false alarms."""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wirebench.analysis.history import History, HistoryPoint, Line
from wirebench.analysis.ratio import LEVEL, mean
from wirebench.model.metric import Metric

_PERMUTATIONS = 9999
#: The same history has the same changes each time it is shown.
_SEED = 1
#: Statistics that differ by less are equal: sums of ranks in another order.
_TOLERANCE = 1e-9

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Split:
    """Where figures begin to be at another level: their place, and the chance of so clear a change without any."""

    place: int
    p_value: float


@dataclass(frozen=True, slots=True)
class LevelChange:
    """The runs of one level, and those of the level after it, the oldest first."""

    before: tuple[HistoryPoint, ...]
    after: tuple[HistoryPoint, ...]
    p_value: float

    @property
    def first(self) -> HistoryPoint:
        return self.after[0]

    @property
    def ratio(self) -> float:
        """The new level over the old one."""
        return compute_level(self.after) / compute_level(self.before)

    @property
    def reference_ratio(self) -> float | None:
        """How much longer a fixed piece of work took beside the new level's runs; None if that isn't known of all."""
        before, after = ([point.cell.reference_us() for point in points] for points in (self.before, self.after))
        known = [us for us in (*before, *after) if us]
        if len(known) < len(before) + len(after):
            return None
        return mean(known[len(before) :]).estimate / mean(known[: len(before)]).estimate


@dataclass(frozen=True, slots=True)
class LineChanges:
    """The changes of level on a line, the oldest first.

    A stretch is what can be compared: `stretches` has how many runs each has, without those `left_out`, whose gates
    failed or which are still running. One with fewer than `runs_needed` isn't searched.
    """

    line: Line
    changes: tuple[LevelChange, ...]
    stretches: tuple[int, ...]
    left_out: int
    runs_needed: int

    @property
    def runs_searched(self) -> int:
        """How many runs are in stretches that are long enough."""
        return sum(runs for runs in self.stretches if runs >= self.runs_needed)


def compute_level(points: Sequence[HistoryPoint]) -> float:
    """Return the median of the runs' figures: a run that was disturbed hardly moves it."""
    return statistics.median(point.figure.estimate for point in points)


def find_changes(history: History) -> tuple[LineChanges, ...]:
    """Return the changes of each line of a history.

    A line is searched in stretches: where `compare` keeps a run's figures apart from those of the run before, another
    stretch begins. A history whose levels don't change has any change found in 5 % of cases at most: the stretches
    share that level. One within the scenario's equivalence margin is left out. As in `compare`, one has to hold at any
    speed of the machine, where that is known.
    """
    lines = [_divide(line) for line in history.lines]
    searched = sum(_is_decidable(len(points), LEVEL) for stretches in lines for points in stretches)
    level = LEVEL / max(searched, 1)
    found = []
    for line, stretches in zip(history.lines, lines, strict=True):
        margin = line.equivalence_margin
        changes = [change for points in stretches for change in _find_in_stretch(points, history.metric, level, margin)]
        counts = tuple(map(len, stretches))
        found.append(
            LineChanges(line, tuple(changes), counts, len(line.points) - sum(counts), count_runs_needed(level))
        )
    return tuple(found)


def _divide(line: Line) -> list[list[HistoryPoint]]:
    """Return the stretches of a line, each with the runs that are fit to be compared; none is empty."""
    stretches: list[list[HistoryPoint]] = [[]]
    for point in line.points:
        if point.change and point.change.reasons:
            stretches.append([])
        if not point.failed_gates and point.run.status != "running":
            stretches[-1].append(point)
    return [points for points in stretches if points]


def _find_in_stretch(points: Sequence[HistoryPoint], metric: Metric, level: float, margin: float) -> list[LevelChange]:
    views = [[point.figure.estimate for point in points]]
    at_one_speed = [point.cell.by_block_at_one_speed(metric) for point in points]
    if all(at_one_speed):
        views.append([statistics.geometric_mean(blocks) for blocks in at_one_speed])
    splits = find_splits(views, level, margin)
    ends = [0, *(split.place for split in splits), len(points)]
    levels = [tuple(points[start:end]) for start, end in itertools.pairwise(ends)]
    return [
        LevelChange(before, after, split.p_value)
        for (before, after), split in zip(itertools.pairwise(levels), splits, strict=True)
    ]


def find_splits(
    views: Sequence[Sequence[float] | Array], level: float = LEVEL, margin: float = 0.0
) -> tuple[Split, ...]:
    """Return the places where figures, in the order of their time, begin to be at another level.

    `views` are the same figures by different readings. A change has to be significant, and in the same direction larger
    than the margin, in all of them (an intersection–union test: R. L. Berger, Technometrics 24, 1982).

    The statistic is the greatest standardised Wilcoxon rank sum over all places that may divide the figures (A. N.
    Pettitt: A non-parametric approach to the change-point problem, Applied Statistics 28, 1979; F. Lombard: Rank tests
    for changepoint problems, Biometrika 74, 1987). Its p-value comes from permutations, so it holds for figures of any
    distribution, as long as their order says nothing (B. Phipson, G. K. Smyth: Permutation p-values should never be
    zero, Statistical Applications in Genetics and Molecular Biology 9, 2010). Where a change is found, both parts are
    searched again, as in D. S. Matteson, N. A. James: A nonparametric approach for multiple change point analysis of
    multivariate data, Journal of the American Statistical Association 109, 2014; each at half of the level, so that
    all parts together keep to it.
    """
    split = _find_split(views, level, margin)
    if split is None:
        return ()
    before = find_splits([figures[: split.place] for figures in views], level / 2, margin)
    after = find_splits([figures[split.place :] for figures in views], level / 2, margin)
    return (*before, split, *(Split(split.place + each.place, each.p_value) for each in after))


def _find_split(views: Sequence[Sequence[float] | Array], level: float, margin: float) -> Split | None:
    """Return the likeliest of the places that are significant, and where the level changes enough, if any is."""
    if not _is_decidable(len(views[0]), level):
        return None
    p_values = np.max([_compute_p_values(_rank(figures)) for figures in views], axis=0)
    logs = np.log(np.asarray(views, dtype=np.float64))
    places = (np.flatnonzero(p_values <= level) + 1).tolist()
    if not (changed := [place for place in places if _exceeds(logs, place, math.log1p(margin))]):
        return None
    place = min(changed, key=lambda each: _sum_distances(logs[0], each))
    return Split(place, float(min(p_values[each - 1] for each in changed)))


def _compute_p_values(ranks: Array) -> Array:
    """Return the chance of so clear a division at each place, if the order of the figures said nothing."""
    null = _simulate(tuple(np.sort(ranks).tolist()))
    greater = len(null) - np.searchsorted(null, _compute_statistics(ranks) - _TOLERANCE)
    p_values: Array = (1 + greater) / (1 + len(null))
    return p_values


def _exceeds(logs: Array, place: int, margin: float) -> bool:
    """Return whether the medians of both sides differ by more than the margin, in one direction in all rows."""
    differences = np.median(logs[:, place:], axis=1) - np.median(logs[:, :place], axis=1)
    return bool(differences.min() > margin or differences.max() < -margin)


def _sum_distances(logs: Array, place: int) -> float:
    """Return how far figures lie from the medians of both parts: least at the likeliest place.

    J. Bai: Least absolute deviation estimation of a shift, Econometric Theory 11, 1995.
    """
    return sum(float(np.abs(part - np.median(part)).sum()) for part in (logs[:place], logs[place:]))


def _is_decidable(runs: int, level: float) -> bool:
    """Return whether so many figures can be significant: the clearest order is one of two among all ways to divide."""
    return 2 / math.comb(runs, runs // 2) <= level


def count_runs_needed(level: float = LEVEL) -> int:
    return next(runs for runs in itertools.count(2) if _is_decidable(runs, level))


def _rank(figures: Sequence[float] | Array) -> Array:
    """Return the ranks of figures from 1; equal ones share the mean of theirs."""
    _, places, counts = np.unique(np.asarray(figures, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Array = (last - (counts - 1) / 2)[places]
    return ranks


def _compute_statistics(ranks: Array) -> Array:
    """Return how far the rank sum of the first 1, 2, … figures lies from its mean, in standard deviations.

    `ranks` has shape (..., figures), and the result one fewer in its last dimension.
    """
    total = ranks.shape[-1]
    firsts = np.arange(1, total)
    distances = np.abs(np.cumsum(ranks, axis=-1)[..., :-1] - firsts * (total + 1) / 2)
    statistics: Array = distances / np.sqrt(firsts * (total - firsts) * (total + 1) / 12)
    return statistics


@functools.lru_cache(maxsize=256)
def _simulate(ranks: tuple[float, ...]) -> Array:
    """Return the greatest statistics of ranks in random orders, the least first."""
    random = np.random.default_rng(_SEED)
    orders = random.permuted(np.tile(np.asarray(ranks), (_PERMUTATIONS, 1)), axis=1)
    greatest: Array = np.sort(_compute_statistics(orders).max(axis=1))
    return greatest
