"""`make coverage`: simulate how often intervals cover the truth, and how often runs without differences find one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from accuracy.table import print_table
from wirebench.analysis.ratio import CONFIDENCE, LEVEL, Ratio, paired_ratio
from wirebench.analysis.significance import compute_significance

BLOCKS = (3, 4, 5, 8, 12, 20)
RUNS = 4000
RESAMPLES = 500
#: Of the simulation of runs: comparisons in each, and blocks.
COMPARISONS, ERROR_BLOCKS, ERROR_RUNS = (1, 12), 5, 1000

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
#: Draws log ratios whose mean is 0, of a shape.
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _draw_contaminated(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return random.normal(size=shape) * np.where(random.random(shape) < 0.1, 10, 1)  # noqa: PLR2004 - one in ten


def _draw_dependent(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    noise = random.normal(size=shape)
    for block in range(1, shape[-1]):
        noise[..., block] = 0.5 * noise[..., block - 1] + 0.75**0.5 * noise[..., block]
    return noise


KNOWN: dict[str, Noise] = {
    "normal": lambda random, shape: random.normal(size=shape),
    "Student's t with 3 degrees of freedom": lambda random, shape: random.standard_t(3, size=shape),
    "one block in ten 10 times as noisy": _draw_contaminated,
    "normal, each block half like the one before (AR(1), 0.5)": _draw_dependent,
    "exponential (as skewed as few are)": lambda random, shape: random.exponential(size=shape) - 1,
}


def compute_ratios(logs: Array) -> Iterator[Ratio]:
    """Yield the ratio of each row of log ratios, as verdicts have it."""
    for row in logs:
        yield paired_ratio(list(np.exp(0.05 * row)), [1.0] * len(row))


def compute_coverage(logs: Array) -> float:
    """Return the share of rows whose interval covers a ratio of 1."""
    bounds = [(ratio.low, ratio.high) for ratio in compute_ratios(logs)]
    return float(np.mean([low is not None and high is not None and low <= 1 <= high for low, high in bounds]))


def compute_bootstrap_coverage(logs: Array, random: np.random.Generator) -> float:
    """Return the same of the percentile bootstrap, which is often used in place of Student's t."""
    rows, blocks = logs.shape
    covered = 0
    for row in logs:
        means = row[random.integers(blocks, size=(RESAMPLES, blocks))].mean(axis=1)
        low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        covered += int(low <= 0 <= high)
    return covered / rows


def compute_error_rate(noise: Noise, comparisons: int, *, corrected: bool) -> float:
    """Return the share of runs that find a difference where there is none."""
    random = np.random.default_rng(2)
    wrong = 0
    for _ in range(ERROR_RUNS):
        ratios = tuple(compute_ratios(noise(random, (comparisons, ERROR_BLOCKS))))
        if corrected:
            wrong += any(each.is_different for each in compute_significance(ratios, [1e-9] * comparisons))
        else:
            wrong += any(ratio.p_difference <= LEVEL for ratio in ratios)
    return wrong / ERROR_RUNS


def tabulate_coverage() -> Iterator[Sequence[str]]:
    """Yield a row for each noise."""
    random = np.random.default_rng(1)
    for name, noise in KNOWN.items():
        yield name, *(_format(compute_coverage(noise(random, (RUNS, blocks)))) for blocks in BLOCKS)
    bootstrap = (compute_bootstrap_coverage(KNOWN["normal"](random, (RUNS, blocks)), random) for blocks in BLOCKS)
    yield "normal, percentile bootstrap in place of Student's t", *map(_format, bootstrap)


def tabulate_errors() -> Iterator[Sequence[str]]:
    """Yield a row for each number of comparisons."""
    contaminated = KNOWN["one block in ten 10 times as noisy"]
    for comparisons in COMPARISONS:
        rates = (
            compute_error_rate(KNOWN["normal"], comparisons, corrected=True),
            compute_error_rate(contaminated, comparisons, corrected=True),
            compute_error_rate(KNOWN["normal"], comparisons, corrected=False),
        )
        yield str(comparisons), *map(_format, rates)


def _format(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> None:
    """Print both tables."""
    print_table(("noise", *(f"{blocks} blocks" for blocks in BLOCKS)), tabulate_coverage())
    uncorrected = "normal noise, uncorrected"
    print_table(("comparisons", "normal noise", "one block in ten 10 times as noisy", uncorrected), tabulate_errors())


if __name__ == "__main__":
    main()
