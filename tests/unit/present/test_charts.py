"""The charts of report and pages: where marks go, what is written beside them, and what they say in words."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.drawn import Drawn
from wirebench.model.histogram import Histogram
from wirebench.present.charts import bars, lines
from wirebench.present.charts.bars import Bar
from wirebench.present.charts.lines import make_latency_series
from wirebench.present.charts.plot import PlotSeries
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import assign_styles_to_names
from wirebench.present.latencies import CellLatency, make_curve

REST, GRPC = assign_styles_to_names([("REST", "rest"), ("gRPC", "grpc")]).values()


@pytest.mark.parametrize("values", [[], [0.0], [5.0], [5.0, 5.0], [1e-3, 1e5], [5e-324, 1e300]])
def test_a_logarithmic_scale_holds_whatever_was_measured(values: list[float]) -> None:
    """Nothing, nothing positive, the same everywhere, and much of everything."""
    scale = Scale.logarithmic(values)
    assert 1 <= len(scale.ticks()) <= 7
    assert all(0 <= scale.at(value) <= 1 for value in (*values, *scale.ticks()))


@pytest.mark.parametrize("high", [1e-8, 0.003, 1.0, 7.3, 10.0, 999.0, 24_035.0, 1e300])
def test_a_linear_scale_begins_at_nothing_and_has_round_numbers(high: float) -> None:
    """However great the figures are."""
    scale = Scale.linear([high, 0.0])
    assert 3 <= len(scale.ticks()) <= 7
    assert 0 == next(iter(scale.ticks()))
    assert all(0 <= scale.at(tick) <= 1 for tick in scale.ticks())
    assert 3 <= len(scale.ticks(5)) <= 5


def test_bars_begin_at_nothing_and_lengths_compare_as_figures_do() -> None:
    """Each has its name, its figure in digits, its blocks as dots, and what failed for it."""
    rows = [Bar(REST, 50.0, (40.0, 60.0)), Bar(GRPC, 200.0, failed_gates=("generator CPU",))]
    drawn = Drawn(bars.draw_bars("Throughput", {"one load": rows}))
    shorter, longer = drawn.numbers("area", "width")
    assert longer == pytest.approx(4 * shorter, abs=0.5)
    assert (["REST", "gRPC !"], ["50.0", "200"]) == (drawn.texts("name"), drawn.texts("value"))
    assert (["one load"], 2, 1) == (drawn.texts("title"), len(drawn.all("block")), len(drawn.all("mark unfit")))
    assert "failed: generator CPU" == drawn.root.findtext(".//title")
    assert "one load: REST 50.0; gRPC 200, where a gate failed" == drawn.description


def make_latency(*values_ms: float) -> CellLatency:
    """Return latencies of 1,000 requests each of these values."""
    histogram = Histogram.of_values(np.repeat([int(value * 1e6) for value in values_ms], 1000))
    return CellLatency("service", histogram, make_curve(histogram), {"p50": (-0.1, 0.2)})


def test_less_latency_is_drawn_lower_and_slower_percentiles_further_right() -> None:
    """A cell's curve goes through more than its percentiles, and a band is the truth."""
    series = make_latency_series(REST, make_latency(1.0, 4.0, 8.0), {"p99"})
    on = lines.make_latency_plot([series])
    assert on is not None
    drawn = Drawn(lines.draw_latencies("users.get", [series], on))
    (line,) = drawn.lines()
    assert sorted(line, key=lambda point: -point[1]) == line == sorted(line)
    assert (4, 1, 1) == tuple(len(drawn.all(kind)) for kind in ("mark", "mark unfit", "truth"))
    assert "REST p50 4.00 ms, p99 8.00 ms, where a gate failed" == drawn.description
    assert ("img", "users.get") == (drawn.root.get("role"), drawn.root.get("aria-label"))
    assert ["REST p50 4.00", "REST p90 8.00"] == [each.text for each in drawn.root.iter("title")][:2]
    assert None is lines.make_latency_plot([PlotSeries(REST)])
