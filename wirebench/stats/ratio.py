"""The ratio of two cells, block by block, with its confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of paired figures: 1 is no difference.

    `low` and `high` bound it with 95 % confidence; they are None for fewer than two blocks, which say nothing of their
    own spread. `detectable` is the least ratio over 1 that as many blocks, as noisy as these, find in 80 % of runs.
    """

    estimate: float
    low: float | None
    high: float | None
    blocks: int
    detectable: float | None


def paired_ratio(subject: Sequence[float], baseline: Sequence[float]) -> Ratio:
    """Return subject / baseline of figures that stand in the order of their blocks; all must be positive.

    The geometric mean of the blocks' ratios, and Student's t interval of the mean of their logarithms: in a
    block, what disturbs the machine disturbs both cells, and a ratio of ratios is symmetric. Raises ValueError for
    figures that don't pair or aren't positive.
    """
    if len(subject) != len(baseline) or not subject:
        message = f"{len(subject)} figures don't pair with {len(baseline)}"
        raise ValueError(message)
    if min(*subject, *baseline) <= 0:
        message = "a ratio needs positive figures"
        raise ValueError(message)
    logs = np.log(np.asarray(subject, dtype=float) / np.asarray(baseline, dtype=float))
    mean = float(logs.mean())
    blocks = len(logs)
    if blocks == 1:
        return Ratio(math.exp(mean), None, None, blocks, None)
    # Imported late: scipy takes longer to load than a short command to run.
    from scipy.special import stdtrit  # noqa: PLC0415

    error = float(logs.std(ddof=1)) / math.sqrt(blocks)
    half_width = float(stdtrit(blocks - 1, (1 + CONFIDENCE) / 2)) * error
    detectable = half_width + float(stdtrit(blocks - 1, POWER)) * error
    return Ratio(
        estimate=math.exp(mean),
        low=math.exp(mean - half_width),
        high=math.exp(mean + half_width),
        blocks=blocks,
        detectable=math.exp(detectable),
    )
