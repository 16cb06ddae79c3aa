"""The chart of a run in progress: what it has told in the last two minutes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from wirebench.store.progress import Point
from wirebench.web.charts.live import draw

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)


def point(seconds_ago: float, cell_number: int, rate_per_s: float, p99_ms: float | None = 1.0) -> Point:
    """Return a point of the history."""
    return Point(at=NOW - timedelta(seconds=seconds_ago), cell=cell_number, rate_per_s=rate_per_s, p99_ms=p99_ms)


def test_each_cell_is_a_line_and_one_second_alone_is_a_dot() -> None:
    """The scale goes from 0 to a round number; what is older than two minutes, or wasn't measured, is left out."""
    history = [point(150, 1, 9e9), point(60, 2, 120), point(59, 2, 60), point(30, 3, 0), point(0, 4, 180, None)]
    chart = draw("Rate", "requests/s", history, lambda each: each.rate_per_s, NOW)
    assert ["200", "100", "0"] == [tick.label for tick in chart.ticks]
    top, bottom = chart.ticks[0].at, chart.ticks[2].at
    xs, ys = zip(*(map(float, each.split(",")) for each in chart.lines[0].split()), strict=True)
    assert 1 == len(chart.lines)
    assert [round(bottom - (bottom - top) * share, 1) for share in (0.6, 0.3)] == list(ys)
    assert xs[0] < xs[1] < chart.dots[0][0] < chart.dots[1][0]
    assert bottom == chart.dots[0][1]
    assert "Rate in the last two minutes: 0 to 180 requests/s, at last 180" == chart.description
    p99 = draw("p99", "ms", history, lambda each: each.p99_ms, NOW)
    assert 1 == len(p99.dots)


@pytest.mark.parametrize("rate_per_s", [5e-324, 1e-9, 0.3, 1e300])
def test_a_scale_holds_whatever_a_file_says(rate_per_s: float) -> None:
    """Also what nobody could have measured."""
    chart = draw("Rate", "requests/s", [point(0, 1, rate_per_s)], lambda each: each.rate_per_s, NOW)
    assert chart.ticks[0].at <= chart.dots[0][1] <= chart.ticks[-1].at


def test_a_chart_of_nothing_says_so() -> None:
    """Its scale is there."""
    chart = draw("p99", "ms", [], lambda each: each.p99_ms, NOW)
    assert ("p99 in the last two minutes: nothing yet", (), ()) == (chart.description, chart.lines, chart.dots)
    assert "1" == chart.ticks[0].label
