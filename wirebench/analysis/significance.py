"""Tests of the ratios of a run: difference and equivalence, corrected for how many are tested."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wirebench.analysis.ratio import LEVEL, Ratio
from wirebench.model.contract import BLOCKS_MAX

#: A ratio of 1 is rejected at `LEVEL`, and each end of the margin at half of it: one side of a 95 % interval.
EQUIVALENCE_LEVEL = LEVEL / 2
#: The chance that a run is said to break any limit, or a cell to be slower beyond the margin, where none does or is.
FALSE_ALARMS = EQUIVALENCE_LEVEL


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """The tests of a ratio; their p-values are adjusted for all `comparisons` of the run.

    `p_difference` is of a true ratio of 1, `p_equivalence` of one beyond the margin. `detectable` is the least ratio
    over 1 that as many blocks, as noisy as these, find in 80 % of runs. `blocks_needed` would decide it in 80 % of
    runs, if the true ratio is the measured one; None if it is decided, or if `BLOCKS_MAX` are too few.
    """

    p_difference: float
    p_equivalence: float
    comparisons: int
    detectable: float
    blocks_needed: int | None

    @property
    def is_different(self) -> bool:
        return self.p_difference <= LEVEL

    @property
    def is_equivalent(self) -> bool:
        return self.p_equivalence <= EQUIVALENCE_LEVEL


def compute_significance(ratios: Sequence[Ratio], margins: Sequence[float]) -> tuple[Significance, ...]:
    """Test ratios that have an interval, all of a run together.

    Each is tested for a difference (Student's t, two-sided) and for equivalence (two one-sided tests: D. J.
    Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
    """
    different = adjust([ratio.p_difference for ratio in ratios])
    equivalent = adjust([ratio.p_equivalence(margin) for ratio, margin in zip(ratios, margins, strict=True)])
    decided = (sum(p <= LEVEL for p in different), sum(p <= EQUIVALENCE_LEVEL for p in equivalent))
    # What the next comparison that is decided has to reach; two-sided, as twice the level of equivalence is.
    levels = [LEVEL * min(1 + count, len(ratios)) / max(len(ratios), 1) for count in decided]
    return tuple(
        Significance(
            p_difference=p_difference,
            p_equivalence=p_equivalence,
            comparisons=len(ratios),
            detectable=ratio.detectable(levels[0]),
            blocks_needed=None
            if p_difference <= LEVEL or p_equivalence <= EQUIVALENCE_LEVEL
            else _count_needed(ratio, margin, levels),
        )
        for ratio, margin, p_difference, p_equivalence in zip(ratios, margins, different, equivalent, strict=True)
    )


def _count_needed(ratio: Ratio, margin: float, levels: Sequence[float]) -> int | None:
    """Return how many more blocks than there are decide a ratio in 80 % of runs: as a difference, or as equivalence.

    As noisy as these; None if `BLOCKS_MAX` are too few.
    """
    distance = abs(math.log(ratio.estimate))
    goals = tuple(zip((distance, math.log1p(margin) - distance), levels, strict=True))

    def are_enough(blocks: int) -> bool:
        return any(ratio.reach(level, blocks) <= goal for goal, level in goals)

    more = range(ratio.blocks + 1, BLOCKS_MAX + 1)
    place = bisect.bisect_left(more, True, key=are_enough)  # noqa: FBT003
    return more[place] if place < len(more) else None


def adjust(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for their number: those up to a level are wrong in at most that share, on average.

    Y. Benjamini, Y. Hochberg: Controlling the false discovery rate, Journal of the Royal Statistical Society B 57,
    1995: the i-th smallest of m is multiplied by m/i, and no greater than those after it.
    """
    order = np.argsort(p_values)
    scaled = np.asarray(p_values)[order] * len(p_values) / np.arange(1, len(p_values) + 1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return tuple(adjusted.tolist())
