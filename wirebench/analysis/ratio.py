"""The ratio of two cells with its confidence interval: block by block, or of blocks that don't pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

CONFIDENCE = 0.95
LEVEL = 1 - CONFIDENCE
POWER = 0.8
#: Fewer say too little of their own spread: two that happen to agree would have a narrow interval.
BLOCKS_MIN = 3
#: Ratios end at e^±300, about 10^±130, so that the quotient of two is a number as well: blocks that lie further apart
#: leave an interval that holds everything anyway.
_LOG_MAX = 300.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of figures: 1 is no difference.

    `low` and `high` bound it with 95 % confidence.
    `blocks` are those that pair, or the fewer of both sides. `log_error` is the standard error of the logarithm, with
    its degrees of freedom. All but estimate and blocks are None for fewer than `BLOCKS_MIN` blocks.

    What holds has to hold for `alternative` as well: the ratio under another assumption. The bounds hold both
    intervals, and p-values are the greater ones (R. L. Berger: Multiparameter hypothesis testing and acceptance
    sampling, Technometrics 24, 1982).
    """

    estimate: float
    low: float | None
    high: float | None
    blocks: int
    log_error: float | None
    degrees_of_freedom: float | None
    alternative: Ratio | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    def allow_for(self, alternative: Ratio) -> Ratio:
        """Return the ratio with an alternative of as many blocks."""
        if self.interval is None or alternative.interval is None:
            return self
        lows, highs = zip(self.interval, alternative.interval, strict=True)
        return replace(self, low=min(lows), high=max(highs), alternative=alternative)

    def p_value(self, bound: float, *, below: bool) -> float:
        """Return the chance of a ratio that far below the bound (or else above it), were the true one at the bound.

        One-sided; 1 without an interval.
        """
        from scipy.special import stdtr

        if self.log_error is None or self.degrees_of_freedom is None:
            return 1.0
        least = self.alternative.p_value(bound, below=below) if self.alternative else 0.0
        distance = (math.log(self.estimate) - math.log(bound)) * (-1 if below else 1)
        if self.log_error == 0:
            return least if distance > 0 else 1.0
        return max(least, float(stdtr(self.degrees_of_freedom, -distance / self.log_error)))

    @property
    def p_difference(self) -> float:
        """The chance of a ratio that far from 1, were the true one 1; two-sided."""
        return min(1.0, 2 * min(self.p_value(1, below=True), self.p_value(1, below=False)))

    def p_equivalence(self, margin: float) -> float:
        """Return the chance of a ratio that far within the margin, were the true one at its nearer end."""
        return max(self.p_value(1 + margin, below=True), self.p_value(1 / (1 + margin), below=False))

    def reach(self, level: float, blocks: int) -> float:
        """Return the least distance of a log ratio from its bound that so many blocks, as noisy, find in 80 % of runs.

        Tested two-sidedly at this level. Infinite without an interval.
        """
        if self.log_error is None or self.degrees_of_freedom is None:
            return math.inf
        degrees = self.degrees_of_freedom * (blocks - 1) / (self.blocks - 1)
        error = self.log_error * math.sqrt(self.blocks / blocks)
        reach = (compute_t_quantile(degrees, 1 - level / 2) + compute_t_quantile(degrees, POWER)) * error
        if self.alternative is None:
            return reach
        apart = abs(math.log(self.estimate) - math.log(self.alternative.estimate))
        return max(reach, apart + self.alternative.reach(level, blocks))

    def detectable(self, level: float) -> float:
        """Return the least ratio over 1 that as many blocks find in 80 % of runs, tested two-sidedly at this level."""
        return _compute_exp(self.reach(level, self.blocks))


def paired_ratio(subject: Sequence[float], baseline: Sequence[float]) -> Ratio:
    """Return subject / baseline of figures that stand in the order of their blocks; all must be positive.

    The geometric mean of the blocks' ratios, and Student's t interval of the mean of their logarithms: in a
    block, what disturbs the machine disturbs both cells, and a ratio of ratios is symmetric.
    """
    logs = np.log(subject) - np.log(baseline)
    blocks = len(logs)
    error = float(logs.std(ddof=1)) / math.sqrt(blocks) if blocks > 1 else 0.0
    return _make_ratio(float(logs.mean()), error, blocks - 1, blocks)


def unpaired_ratio(subject: Sequence[float], baseline: Sequence[float]) -> Ratio:
    """Return subject / baseline of figures whose blocks have nothing to do with each other; all must be positive.

    The ratio of the geometric means, and Welch's t interval of the difference of the logarithms' means, which lets each
    side have a spread and a number of blocks of its own (B. L. Welch: The generalization of "Student's" problem when
    several different population variances are involved, Biometrika 34, 1947). Its degrees of freedom are those of F. E.
    Satterthwaite (An approximate distribution of estimates of variance components, Biometrics Bulletin 2, 1946):
    (a + b)² / (a² / (n - 1) + b² / (m - 1)), where a and b are the squared standard errors of the means of n and m
    blocks.
    """
    sides = (np.log(subject), np.log(baseline))
    mean = float(sides[0].mean() - sides[1].mean())
    blocks = min(map(len, sides))
    if blocks < BLOCKS_MIN:
        return _make_ratio(mean, 0.0, 0.0, blocks)
    squares = [float(logs.var(ddof=1)) / len(logs) for logs in sides]
    weights = [square**2 / (len(logs) - 1) for square, logs in zip(squares, sides, strict=True)]
    # Blocks that agree to the last digit have no spread to share their degrees of freedom by.
    degrees = sum(squares) ** 2 / sum(weights) if sum(weights) else sum(map(len, sides)) - 2
    return _make_ratio(mean, math.sqrt(sum(squares)), degrees, blocks)


def _compute_exp(log: float) -> float:
    """Return e to that power, within limits: never 0, and never infinite."""
    return math.exp(min(max(log, -_LOG_MAX), _LOG_MAX))


def _make_ratio(log_ratio: float, error: float, degrees_of_freedom: float, blocks: int) -> Ratio:
    """Return a ratio from its logarithm, with Student's t interval from that one's error; of few blocks without."""
    if blocks < BLOCKS_MIN:
        return Ratio(_compute_exp(log_ratio), None, None, blocks, None, None)
    half_width = compute_t_quantile(degrees_of_freedom, 1 - LEVEL / 2) * error
    return Ratio(
        estimate=_compute_exp(log_ratio),
        low=_compute_exp(log_ratio - half_width),
        high=_compute_exp(log_ratio + half_width),
        blocks=blocks,
        log_error=error,
        degrees_of_freedom=degrees_of_freedom,
    )


def compute_t_quantile(degrees_of_freedom: float, probability: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees_of_freedom, probability))
