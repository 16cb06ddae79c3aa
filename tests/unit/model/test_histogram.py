"""Histograms: exact merging, three digits, HdrHistogram's own encoding, and what files of parts of a load come to."""

from __future__ import annotations

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histogram_files import make_file, make_series
from wirebench.model.histogram import VALUE_MAX_NS, Histogram
from wirebench.model.histogram_file import (
    ErrorText,
    HistogramFile,
    choose_most_frequent,
)

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


SECOND_NS = 1_000_000_000


def part(number: int, errors: dict[str, int], latencies_ms: dict[str, list[int]] | None = None) -> HistogramFile:
    """Return the second that is so many after the beginning, with error texts and latencies by code."""
    return make_file(
        number * SECOND_NS,
        series=tuple(
            make_series(Histogram.of_values(np.array(values) * 1_000_000), code=code)
            for code, values in (latencies_ms or {}).items()
        ),
        errors=tuple(ErrorText(code="unavailable", message=text, count=count) for text, count in errors.items()),
    )


def test_error_texts_add_up() -> None:
    """The most frequent come first."""
    errors = [*part(0, {"reset": 5, "refused": 3}).errors, *part(1, {"timeout": 4, "refused": 3}).errors]
    assert ["unavailable: refused (6×)", "unavailable: reset (5×)", "unavailable: timeout (4×)"] == list(
        map(str, choose_most_frequent(errors))
    )


def test_the_wait_for_items_is_that_for_the_first_and_the_gaps() -> None:
    """What a stream takes is the time to its first item and the gaps up to the last."""
    times = part(0, {}, {"first_item": [30], "gap": [10, 20]})
    renamed = tuple(each.model_copy(update={"clock": each.code, "code": "ok"}) for each in times.series)
    assert 0.06 == pytest.approx(times.model_copy(update={"series": renamed}).sum_s("first_item", "gap"), rel=0.001)
