"""The pictures of a run: latencies of all its requests, its answer, and figures over the levels of a factor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.drawn import Drawn
from tests.support.report_run import GENERATOR_GATE, SAMPLES_GATE, RunBuilder, cell, passed
from wirebench.analysis.summary import summarise
from wirebench.model.histogram import Histogram
from wirebench.model.run_info import Run
from wirebench.present.charts.style import assign_styles
from wirebench.present.latencies import make_curve, read_latencies
from wirebench.present.pictures import Chapter, draw_answer, draw_run, group_cells


def test_blocks_merge_by_adding_counts(tmp_path: Path) -> None:
    """A cell's latency is that of all its requests."""
    run = RunBuilder(cells=[cell("rest")], samples=1000).write(tmp_path)
    latencies, problems = read_latencies(run, summarise(run.records))
    (latency,) = latencies.values()
    assert () == problems
    assert 3000 == latency.merged.count


def test_a_curve_ends_where_fewer_than_ten_samples_lie_beyond() -> None:
    """Of 5,000 samples, the last point is exceeded by ten: one in 500."""
    curve = make_curve(Histogram.of_values(np.arange(1, 5001) * 1000))
    (_, least_ms), *_, (one_in, most_ms) = curve
    assert pytest.approx(500) == one_in
    assert pytest.approx((0.001, 4.99), rel=0.002) == (least_ms, most_ms)
    assert [] == make_curve(Histogram.of_values(np.arange(1, 20)))  # not even the median has ten beyond it


def test_a_sweep_draws_what_failed_a_gate_hollow(tmp_path: Path) -> None:
    """A series whose p99 rests on too few requests isn't left out without a word."""
    cells = [cell(wire, concurrency=level) for wire in ("rest", "socket") for level in (1, 4, 16)]
    run = RunBuilder(
        cells, blocks=2, samples=500, gates=lambda of, _: (SAMPLES_GATE if of.transport == "rest" else passed(),)
    ).write(tmp_path)
    section = draw_run(run, summarise(run.records), ()).chapters[1]
    assert "Over connections" == section.heading
    assert ["REST", "socket"] == [style.name for style in section.legend]
    (p99,) = (Drawn(chart.svg) for chart in section.charts if chart.title.startswith("p99"))
    assert (2, 6, 3) == (len(p99.lines()), len(p99.marks()), len(p99.all("mark unfit")))


def answer_of(run: Run) -> Chapter:
    """Return the picture that a run's report opens with."""
    groups = group_cells(summarise(run.records), run.info.compare)
    return draw_answer(groups, assign_styles(cell for cells in groups.values() for cell in cells))


def test_a_report_opens_with_all_cells_in_one_picture(tmp_path: Path) -> None:
    """What verdicts are on, and what it costs the server: with intervals, and what failed a gate marked."""
    run = RunBuilder(gates=lambda of, _: (GENERATOR_GATE if of.transport == "socket" else passed(),)).write(tmp_path)
    rate, cpu = answer_of(run).charts
    assert ["requests/s", "Server CPU per request"] == [rate.title, cpu.title]
    drawn = Drawn(rate.svg)
    situations = [f"users.{name}, {load}" for name in ("create", "get") for load in ("1 connection", "16 connections")]
    assert situations == drawn.texts("title")
    assert 4 * ["REST", "gRPC", "gRPC with ghz", "socket !"] == drawn.texts("name")
    assert (16, 4, 48) == (len(drawn.all("interval")), len(drawn.all("mark unfit")), len(drawn.all("block")))
