"""`make coverage`: how often intervals cover the truth and verdicts are wrong, on recorded blocks and on known noise.

Writes its tables into docs/method.md. Recorded blocks are those of recorded_blocks.csv: figures of each cell in each
block of long runs; the truth of two cells is the mean over all their blocks. Other runs take their place by
`make coverage ARGS="quiet=results/RUN busy=results/RUN"`.
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from wirebench.analysis.ratio import CONFIDENCE, LEVEL, Ratio, paired_ratio
from wirebench.analysis.significance import compute_significance
from wirebench.model.metric import METRICS
from wirebench.present.numbers import ABSENT
from wirebench.results.runs import load_run
from wirebench.run.settling import schedule_looks

RECORDED = Path(__file__).parent / "recorded_blocks.csv"
BLOCKS = (3, 4, 5, 8, 12, 20)
#: Consecutive blocks are drawn from at least so many times as many.
CONSECUTIVE_PARTS_MIN = 8
METRICS_RECORDED = ("throughput", "p99", "cpu")
RUNS = 4000
RESAMPLES = 500

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
#: Draws log ratios whose mean is 0, of a shape.
Noise = Callable[[np.random.Generator, tuple[int, ...]], Array]


def record(named: Sequence[str]) -> None:
    """Write the figures of runs, each given as NAME=FOLDER, in place of the recorded ones."""
    with RECORDED.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("run", "cell", "block", *METRICS_RECORDED))
        for name, _, folder in (each.partition("=") for each in named):
            for each in load_run(Path(folder)).records:
                figures = [METRICS[metric].of(each) for metric in METRICS_RECORDED]
                rows.writerow((name, each.cell, each.block, *(f"{figure:.5g}" for figure in figures if figure)))


def read_recorded() -> dict[str, list[Array]]:
    """Return the log ratios of all pairs of recorded cells over their blocks, less their mean, by run and metric."""
    figures: dict[tuple[str, str], dict[str, list[float]]] = {}
    if not RECORDED.exists():
        return {}
    with RECORDED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            run, cell = row.pop("run"), row.pop("cell")
            row.pop("block")
            for metric, figure in row.items():
                figures.setdefault((run, metric), {}).setdefault(cell, []).append(float(figure))
    return {
        f"{run}, {metric}": [
            logs - logs.mean()
            for a, b in itertools.combinations(by_cell.values(), 2)
            for logs in [np.log(np.array(a) / np.array(b))]
        ]
        for (run, metric), by_cell in figures.items()
    }


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


def draw_recorded(pairs: Sequence[Array], random: np.random.Generator, blocks: int, *, consecutive: bool) -> Array:
    """Return rows of recorded blocks, drawn at random or as a shorter run would have had them."""
    rows = []
    for _ in range(RUNS // len(pairs)):
        for logs in pairs:
            start = random.integers(len(logs) - blocks + 1)
            places = np.arange(start, start + blocks) if consecutive else random.integers(len(logs), size=blocks)
            rows.append(logs[places])
    return np.array(rows)


def tabulate_coverage() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of coverage."""
    random = np.random.default_rng(1)
    yield ("noise", *(f"{blocks} blocks" for blocks in BLOCKS))
    yield ("---",) * (1 + len(BLOCKS))
    for name, pairs in read_recorded().items():
        for how, consecutive in (("at random", False), ("consecutive", True)):
            cells = []
            for blocks in BLOCKS:
                drawn = draw_recorded(pairs, random, blocks, consecutive=consecutive)
                # A part of the recorded blocks that isn't small is too near their mean.
                tells = not consecutive or blocks * CONSECUTIVE_PARTS_MIN <= len(pairs[0])
                cells.append(f"{compute_coverage(drawn):.1%}" if tells else ABSENT)
            yield (f"recorded: {name}, {how}", *cells)
    for name, noise in KNOWN.items():
        yield (name, *(f"{compute_coverage(noise(random, (RUNS, blocks))):.1%}" for blocks in BLOCKS))
    bootstrap = (compute_bootstrap_coverage(KNOWN["normal"](random, (RUNS, blocks)), random) for blocks in BLOCKS)
    yield ("normal, percentile bootstrap in place of Student's t", *(f"{each:.1%}" for each in bootstrap))


def compute_error_rate(noise: Noise, looks: Sequence[int], *, corrected: bool, comparisons: int, runs: int) -> float:
    """Return the share of runs without differences that find one at any of these looks."""
    random = np.random.default_rng(2)
    wrong = 0
    for _ in range(runs):
        logs = noise(random, (comparisons, looks[-1]))
        wrong += any(
            any(
                each.is_different if corrected else ratio.p_difference <= LEVEL
                for each, ratio in zip(compute_significance(ratios, 1e-9, len(looks)), ratios, strict=True)
            )
            for blocks in looks
            for ratios in [tuple(compute_ratios(logs[:, :blocks]))]
        )
    return wrong / runs


def tabulate_errors() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of runs that find a difference where there is none."""
    looks = schedule_looks(BLOCKS[1]).blocks
    yield ("comparisons", "looks at blocks", "normal noise", "one block in ten 10 times as noisy", "uncorrected")
    yield ("---",) * 5
    for comparisons, blocks in itertools.product((1, 12), ((5,), looks)):
        rates = [
            compute_error_rate(KNOWN[name], blocks, corrected=corrected, comparisons=comparisons, runs=1000)
            for name, corrected in (("normal", True), ("one block in ten 10 times as noisy", True), ("normal", False))
        ]
        yield (str(comparisons), ", ".join(map(str, blocks)), *(f"{rate:.1%}" for rate in rates))


def main(named: Sequence[str]) -> None:
    """Record the runs that are named, if any are, and write the tables."""
    if named:
        record(named)
    for _, rows in (
        ("coverage", tabulate_coverage()),
        ("errors", tabulate_errors()),
    ):
        table = "".join(f"| {' | '.join(row)} |\n".replace("%", " %") for row in rows)
        print(table, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
