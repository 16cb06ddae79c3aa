"""The ratio of two cells with its confidence interval: block by block, or of blocks that don't pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
POWER = 0.8
#: Ratios end at e^±300, about 10^±130, so that the quotient of two is a number as well: blocks that lie further apart
#: leave an interval that holds everything anyway.
_LOG_MAX = 300.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of figures: 1 is no difference.

    `low` and `high` bound it with 95 % confidence; they are None for fewer than two blocks, which say nothing of their
    own spread. `blocks` are those that pair, or the fewer of both sides. `detectable` is the least ratio over 1 that as
    many blocks, as noisy as these, find in 80 % of runs. `degrees_of_freedom` are those of the interval.
    """

    estimate: float
    low: float | None
    high: float | None
    blocks: int
    detectable: float | None
    degrees_of_freedom: float | None

    def p_value(self, bound: float, *, below: bool) -> float | None:
        """Return the chance of a ratio that far below the bound (or else above it), were the true one at the bound.

        One-sided; None without an interval, from which the standard error is taken.
        """
        if self.low is None or self.high is None or self.degrees_of_freedom is None:
            return None
        # Imported late: scipy takes longer to load than a short command to run.
        from scipy.special import stdtr, stdtrit  # noqa: PLC0415

        distance = (math.log(self.estimate) - math.log(bound)) * (-1 if below else 1)
        quantile = float(stdtrit(self.degrees_of_freedom, (1 + CONFIDENCE) / 2))
        error = (math.log(self.high) - math.log(self.low)) / (2 * quantile)
        if error == 0:
            return 0.0 if distance > 0 else 1.0
        return float(stdtr(self.degrees_of_freedom, -distance / error))


def mean(figures: Sequence[float]) -> Ratio:
    """Return the geometric mean of a cell's blocks with its interval, as a ratio to one of its unit; all positive.

    Raises ValueError for no figures, or some that aren't positive.
    """
    return paired_ratio(figures, [1.0] * len(figures))


def paired_ratio(subject: Sequence[float], baseline: Sequence[float]) -> Ratio:
    """Return subject / baseline of figures that stand in the order of their blocks; all must be positive.

    The geometric mean of the blocks' ratios, and Student's t interval of the mean of their logarithms: in a
    block, what disturbs the machine disturbs both cells, and a ratio of ratios is symmetric. Raises ValueError for
    figures that don't pair or aren't positive.
    """
    if len(subject) != len(baseline) or not subject:
        message = f"{len(subject)} figures don't pair with {len(baseline)}"
        raise ValueError(message)
    logs = _logs(subject) - _logs(baseline)
    blocks = len(logs)
    if blocks == 1:
        return _without_interval(float(logs[0]), blocks)
    return _ratio(float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(blocks), blocks - 1, blocks)


def unpaired_ratio(subject: Sequence[float], baseline: Sequence[float]) -> Ratio:
    """Return subject / baseline of figures whose blocks have nothing to do with each other; all must be positive.

    The ratio of the geometric means, and Welch's t interval of the difference of the logarithms' means, which lets each
    side have a spread and a number of blocks of its own (B. L. Welch: The generalization of "Student's" problem when
    several different population variances are involved, Biometrika 34, 1947). Its degrees of freedom are those of F. E.
    Satterthwaite (An approximate distribution of estimates of variance components, Biometrics Bulletin 2, 1946):
    (a + b)² / (a² / (n - 1) + b² / (m - 1)), where a and b are the squared standard errors of the means of n and m
    blocks. Raises ValueError for no figures, or some that aren't positive.
    """
    if not subject or not baseline:
        message = f"{len(subject)} figures make no ratio with {len(baseline)}"
        raise ValueError(message)
    sides = (_logs(subject), _logs(baseline))
    mean = float(sides[0].mean() - sides[1].mean())
    blocks = min(map(len, sides))
    if blocks == 1:
        return _without_interval(mean, blocks)
    squares = [float(logs.var(ddof=1)) / len(logs) for logs in sides]
    weights = [square**2 / (len(logs) - 1) for square, logs in zip(squares, sides, strict=True)]
    # Blocks that agree to the last digit have no spread to share their degrees of freedom by.
    degrees = sum(squares) ** 2 / sum(weights) if sum(weights) else sum(map(len, sides)) - 2
    return _ratio(mean, math.sqrt(sum(squares)), degrees, blocks)


def _logs(figures: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if min(figures) <= 0:
        message = "a ratio needs positive figures"
        raise ValueError(message)
    return np.log(np.asarray(figures, dtype=np.float64))


def _without_interval(log_ratio: float, blocks: int) -> Ratio:
    return Ratio(_exp(log_ratio), None, None, blocks, None, None)


def _exp(log: float) -> float:
    """Return e to that power, within limits: never 0, and never infinite."""
    return math.exp(min(max(log, -_LOG_MAX), _LOG_MAX))


def _ratio(log_ratio: float, error: float, degrees_of_freedom: float, blocks: int) -> Ratio:
    """Return a ratio with Student's t interval, from its logarithm and that one's standard error."""
    # Imported late: scipy takes longer to load than a short command to run.
    from scipy.special import stdtrit  # noqa: PLC0415

    half_width = float(stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2)) * error
    detectable = half_width + float(stdtrit(degrees_of_freedom, POWER)) * error
    return Ratio(
        estimate=_exp(log_ratio),
        low=_exp(log_ratio - half_width),
        high=_exp(log_ratio + half_width),
        blocks=blocks,
        detectable=_exp(detectable),
        degrees_of_freedom=degrees_of_freedom,
    )
