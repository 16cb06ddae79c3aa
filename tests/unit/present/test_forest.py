"""Forests: ratios with their intervals on a logarithmic scale."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.support.drawn import Drawn
from tests.support.report_run import SAMPLES_GATE, RunBuilder, cell
from wirebench.analysis.compare_cells import Comparison, find_comparisons
from wirebench.analysis.ratio import Ratio
from wirebench.present import sentences
from wirebench.present.charts.forest import draw_forests
from wirebench.present.charts.svg import WIDTH


def with_ratio(
    comparison: Comparison, estimate: float, low: float | None = None, high: float | None = None
) -> Comparison:
    """Return a comparison that has only this ratio, of throughput."""
    ratio = Ratio(estimate, low, high, blocks=3, log_error=None, degrees_of_freedom=None)
    return dataclasses.replace(comparison, ratios={"throughput": ratio})


def draw_forest(*comparisons: Comparison) -> list[Drawn]:
    """Return what a forest draws of each comparison."""
    return [Drawn(chart.svg) for charts in draw_forests(comparisons, 0.05).values() for chart in charts]


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    """One comparison: socket against REST."""
    (only,) = find_comparisons(RunBuilder(cells=[cell("rest"), cell("socket")]).write(tmp_path))
    return only


def test_forest_places_are_on_a_log_scale_around_one(comparison: Comparison) -> None:
    """2× and 0.5× lie as far from 1×; the margin's band lies around it."""
    double = with_ratio(comparison, estimate=2.0, low=1.8, high=2.2)
    half = with_ratio(comparison, estimate=0.5, low=0.4, high=0.6)
    right, left = draw_forest(double, half)
    one = right.numbers("band", "x")[0] + right.numbers("band", "width")[0] / 2
    (over,), (under,) = (each.numbers("dot", "cx") for each in (right, left))
    assert one - under == pytest.approx(over - one, abs=0.3)
    assert "1×" in right.texts("scale")


def test_lanes_say_which_side_is_better(comparison: Comparison) -> None:
    """More requests/s and less latency are better; of two drivers neither is."""
    (drawn,) = draw_forest(comparison)
    assert ["req/s →", "p99 ←", "CPU/req ←"] == drawn.texts("label")
    assert "p99 (less is better) " in drawn.description
    (drawn,) = draw_forest(dataclasses.replace(comparison, instruments=True))
    assert ["req/s", "p50", "p99"] == drawn.texts("label")


def test_an_interval_wider_than_the_forest_ends_at_its_edges(comparison: Comparison) -> None:
    """Two noisy blocks must not squeeze all other comparisons; arrows show that it continues."""
    wide = with_ratio(comparison, estimate=1.1, low=0.001, high=1000.0)
    drawn, whole = draw_forest(wide, with_ratio(comparison, estimate=1.1, low=1.0, high=1.2))
    ((low,), (high,)) = drawn.numbers("interval", "x1"), drawn.numbers("interval", "x2")
    assert (True, True) == (low < drawn.numbers("band", "x")[0], high <= WIDTH)
    assert 2 == len(drawn.all("cut"))
    assert [] == whole.all("cut")


def test_a_figure_beside_the_verdict_that_failed_a_gate_says_so(tmp_path: Path) -> None:
    """A verdict on throughput stands, but the p99 next to it rests on too few samples."""
    run = RunBuilder(cells=[cell("rest"), cell("socket")], gates=(SAMPLES_GATE,)).write(tmp_path)
    (only,) = find_comparisons(run)
    assert "faster" == only.verdict
    assert "the p99 (unreliable: samples)" in sentences.describe_verdict(only)
    (drawn,) = draw_forest(only)
    hollow = ["unfit" in each.attrib["class"] for each in drawn.all("dot")]
    assert (["req/s →", "p99 ←", "CPU/req ←"], [False, True, False]) == (drawn.texts("label"), hollow)
