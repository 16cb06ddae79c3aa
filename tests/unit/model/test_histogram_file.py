"""Histogram files: what parts of one load come to together."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.histogram_files import make_file, make_series
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import ERROR_TEXTS_MAX, ErrorText, HistogramFile, Streams, merge, merge_parallel

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


def test_equal_error_texts_are_added_up() -> None:
    """What failed often in every part is the most frequent, before what failed more often in one alone."""
    merged = merge([part(0, {"reset": 5, "refused": 3}), part(1, {"timeout": 4, "refused": 3})])
    assert ["unavailable: refused (6×)", "unavailable: reset (5×)", "unavailable: timeout (4×)"] == [
        str(error) for error in merged.errors
    ]


def test_the_most_frequent_error_texts_are_kept() -> None:
    """A part with many rare errors doesn't push out the frequent ones of a later part."""
    rare = {f"rare {number}": 1 for number in range(ERROR_TEXTS_MAX)}
    merged = merge([part(0, rare), part(1, {"frequent": 1000})])
    assert ERROR_TEXTS_MAX == len(merged.errors)
    assert ("frequent", 1000) == (merged.errors[0].message, merged.errors[0].count)


def test_latencies_add_up_whatever_the_outcome() -> None:
    """A request that failed was in flight too, and so was one of another part."""
    merged = merge([part(0, {}, {"ok": [100, 300], "unavailable": [500]}), part(1, {}, {"ok": [100]})])
    assert 1.0 == pytest.approx(merged.sum_s("service"), rel=1e-3)


def test_retries_and_classes_of_errors_add_up() -> None:
    """Both are counts of whole loads."""
    one = part(0, {}).model_copy(update={"retried": 2, "error_classes": {"refused": 3}})
    other = part(1, {}).model_copy(update={"retried": 1, "error_classes": {"refused": 1, "timeout": 4}})
    merged = merge([one, other])
    assert (3, {"refused": 4, "timeout": 4}) == (merged.retried, merged.error_classes)


def test_streams_read_side_by_side_add_up() -> None:
    """Generators that share a load of streams count the items of the same second; cancelled streams were sent too."""
    counts = ((10, (4, 5), 1), (20, (7,), 2))
    one, two = (
        part(0, {}).model_copy(
            update={"streams": Streams(items_total=total, items_per_second=seconds, cancelled=cancelled)}
        )
        for total, seconds, cancelled in counts
    )
    merged = merge_parallel([one, two])
    assert Streams(items_total=30, items_per_second=(11, 5), cancelled=3) == merged.streams
    assert 3 == merged.sent
    assert (11,) == merged.count_full_seconds()


def test_the_wait_for_items_is_that_for_the_first_and_the_gaps() -> None:
    """What a stream takes is the time to its first item and the gaps up to the last."""
    times = part(0, {}, {"first_item": [30], "gap": [10, 20]})
    renamed = tuple(each.model_copy(update={"clock": each.code, "code": "ok"}) for each in times.series)
    assert 0.06 == pytest.approx(times.model_copy(update={"series": renamed}).sum_s("first_item", "gap"), rel=0.001)
