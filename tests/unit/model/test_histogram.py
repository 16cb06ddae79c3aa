"""Histograms: exact merging, three digits, and HdrHistogram's own encoding."""

from __future__ import annotations

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from wirebench.model.histogram import VALUE_MAX_NS, Histogram

LATENCIES = st.lists(st.integers(1, VALUE_MAX_NS), min_size=1, max_size=200)


@settings(deadline=None)
@given(LATENCIES, st.floats(0, 1))
def test_quantiles_are_those_of_the_values(values: list[int], quantile: float) -> None:
    """Any quantile agrees, to three digits, with that of the sorted values."""
    (ours,) = Histogram.of_values(np.array(values)).compute_quantiles_ns(quantile)
    assert float(np.quantile(values, quantile, method="inverted_cdf")) == pytest.approx(ours, rel=1e-3)


@settings(deadline=None)
@given(LATENCIES)
def test_counts_lie_where_hdrhistogram_puts_them(values: list[int]) -> None:
    """The layout is HdrHistogram's own, index by index, and what is written is what is read."""
    theirs, ours = HdrHistogram(1, VALUE_MAX_NS, 3), Histogram.of_values(np.array(values))
    for value in values:
        theirs.record_value(value)
    assert list(theirs.counts) == list(ours.counts) == list(Histogram.decode(ours.encode()).counts)


@settings(deadline=None)
@given(LATENCIES, LATENCIES)
def test_merging_is_exact(first: list[int], second: list[int]) -> None:
    """Merged histograms are the histogram of all values."""
    merged = Histogram.of_values(np.array(first)) + Histogram.of_values(np.array(second))
    assert (merged.counts == Histogram.of_values(np.array(first + second)).counts).all()


def test_mean_and_deviation_are_those_of_the_values() -> None:
    """Mean and standard deviation agree with numpy's to three digits."""
    values = np.random.default_rng(1).lognormal(12, 1, 100_000).astype(np.int64)
    histogram = Histogram.of_values(values)
    assert values.mean() == pytest.approx(histogram.mean_ns, rel=1e-3)
    assert values.std() == pytest.approx(histogram.stdev_ns, rel=1e-3)


def test_an_empty_histogram_has_no_quantiles() -> None:
    """No values give an error, not a zero."""
    with pytest.raises(ValueError, match="no values"):
        Histogram.empty().compute_quantiles_ns(0.5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "HdrHistogram"),
        ("HISTFAAAAAAAAAA=", "HdrHistogram"),
        (HdrHistogram(1, 1000, 2).encode().decode(), "another layout"),
    ],
)
def test_what_is_no_histogram_of_ours_is_rejected(text: str, problem: str) -> None:
    """Counts that don't line up are never added."""
    with pytest.raises(ValueError, match=problem):
        Histogram.decode(text)
