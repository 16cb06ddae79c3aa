"""Ratios, intervals and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from wirebench.analysis.ratio import Ratio, paired_ratio, unpaired_ratio
from wirebench.analysis.significance import Significance, compute_significance


def test_a_constant_ratio_has_no_uncertainty() -> None:
    """Blocks that agree leave an interval of no width, however different the blocks are from each other."""
    ratio = paired_ratio([20, 40, 80], [10, 20, 40])
    assert (2, 2, 2) == pytest.approx((ratio.estimate, ratio.low, ratio.high))
    ratio = unpaired_ratio([2, 2, 2], [4, 4, 4])
    assert (0.5, 0.5) == pytest.approx((ratio.low, ratio.high))
    assert (0.0, 1.0) == (ratio.p_value(0.9, below=True), ratio.p_value(0.4, below=True))


def test_the_interval_is_students_t_of_the_log_ratios() -> None:
    """The interval agrees with a calculation by hand: t(0.975, 2) = 4.3027."""
    ratio = paired_ratio([1.0, 1.1, 1.21], [1, 1, 1])
    half_width = 4.3027 * math.log(1.1) / math.sqrt(3)
    assert 1.1 == pytest.approx(ratio.estimate)
    assert 1.1 * math.exp(half_width) == pytest.approx(ratio.high, rel=1e-4)


@pytest.mark.parametrize(
    ("compute", "blocks", "noise"), [(paired_ratio, (5, 5), (0.1, 0.1)), (unpaired_ratio, (4, 9), (0.2, 0.05))]
)
def test_the_interval_covers_the_truth_as_often_as_it_says(
    compute: Callable[[list[float], list[float]], Ratio], blocks: tuple[int, int], noise: tuple[float, float]
) -> None:
    """Of many noisy runs of equal cells, about 95 %; also where one has fewer blocks and more noise."""
    random = np.random.default_rng(42)
    sides = ([list(random.lognormal(0, *each)) for each in zip(noise, blocks, strict=True)] for _ in range(1000))
    assert 925 <= sum(holds(compute(*each)) for each in sides) <= 975


def test_the_unpaired_interval_is_welchs_of_the_logarithms() -> None:
    """It agrees with scipy's, which shares no code with ours."""
    head, base = [1.0, 1.2, 0.9, 1.1], [2.0, 3.1, 1.4]
    ratio = unpaired_ratio(head, base)
    expected = stats.ttest_ind(np.log(head), np.log(base), equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert expected.df == pytest.approx(ratio.degrees_of_freedom)
    assert (math.exp(interval.low), math.exp(interval.high)) == pytest.approx((ratio.low, ratio.high))
    assert expected.pvalue / 2 == pytest.approx(ratio.p_value(1, below=True))
    assert 1 - expected.pvalue / 2 == pytest.approx(ratio.p_value(1, below=False))


@pytest.mark.parametrize("follows", [0.0, 0.5, 1.0])
def test_intervals_cover_however_far_figures_follow_the_machines_speed(follows: float) -> None:
    """Of two runs whose machine is 20 % faster or slower; without an alternative they miss most."""
    random = np.random.default_rng(4)
    plain, allowed = 0, 0
    for _ in range(400):
        speeds = np.exp([random.normal(random.normal(0, 0.2), 0.03, 4) for _ in range(2)])
        figures = np.exp(random.normal(0, 0.05, (2, 4))) * speeds**follows
        ratio = unpaired_ratio(*figures.tolist())
        both = ratio.allow_for(unpaired_ratio(*(figures / speeds).tolist()))
        plain += holds(ratio)
        allowed += holds(both)
        assert both.p_difference >= ratio.p_difference
    assert allowed >= 0.93 * 400
    assert follows == 0 or plain < 0.6 * 400


def holds(ratio: Ratio) -> bool:
    """Return whether an interval holds a ratio of 1."""
    return ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high


def ratio_of(low: float, high: float, blocks: int = 5) -> Ratio:
    """Return the ratio that has this interval."""
    error = math.log(high / low) / 2 / float(stats.t.ppf(0.975, blocks - 1))
    return Ratio(math.sqrt(low * high), low, high, blocks, error, blocks - 1)


def conclusions(tests: Significance) -> tuple[bool, bool]:
    """Return whether a ratio is different, and whether it is equivalent."""
    return tests.is_different, tests.is_equivalent


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.5, 2.0, (True, False)),
        (0.5, 0.8, (True, False)),
        (0.97, 1.03, (False, True)),
        (1.01, 1.04, (True, True)),
        (0.9, 1.2, (False, False)),
        (1.02, 1.2, (True, False)),
    ],
)
def test_one_comparison_is_decided_by_its_interval(low: float, high: float, expected: tuple[bool, bool]) -> None:
    """An interval inside the margin is equivalence, one without 1 a difference: the tests are those of the interval."""
    (tests,) = compute_significance([ratio_of(low, high)], [0.05])
    assert expected == conclusions(tests)
    assert (tests.blocks_needed is None) == any(expected)


def test_p_values_agree_with_scipys() -> None:
    """Those of a difference and their adjustment, which share no code with ours."""
    random = np.random.default_rng(45)
    logs = random.normal(0.02, 0.05, size=(12, 6))
    tests = compute_significance([paired_ratio(list(np.exp(each)), [1.0] * 6) for each in logs], [0.05] * 12)
    expected = stats.false_discovery_control(stats.ttest_1samp(logs, 0, axis=1).pvalue)
    assert list(expected) == pytest.approx([each.p_difference for each in tests])
    assert {12} == {each.comparisons for each in tests}


def test_as_many_blocks_as_needed_decide_most_runs() -> None:
    """And the difference that is said to be detectable is found in about 80 % of runs."""
    random = np.random.default_rng(47)
    (tests,) = compute_significance([ratio_of(0.98, 1.14)], [0.05])
    spread = math.log(1.14 / 0.98) / 2 / float(stats.t.ppf(0.975, 4)) * math.sqrt(5)
    assert tests.blocks_needed is not None
    for blocks, mean in ((tests.blocks_needed, math.log(math.sqrt(0.98 * 1.14))), (5, math.log(tests.detectable))):
        logs = random.normal(mean, spread, size=(2000, blocks))
        assert 0.75 <= np.mean(stats.ttest_1samp(logs, 0, axis=1).pvalue <= 0.05) <= 0.9
