"""The pictures of a run: latencies of all its requests, its answer, and figures over the levels of a factor."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.support.drawn import Drawn
from tests.support.report_run import GENERATOR_GATE, SAMPLES_GATE, RunBuilder, cell, passed
from wirebench.analysis.summary import summarise
from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS
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
    assert 3 == len(latency.block_curves)


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
    section = draw_run(run, summarise(run.records)).chapters[1]
    assert "Over connections" == section.heading
    assert ["REST", "socket"] == [style.name for style in section.legend]
    (p99,) = (Drawn(chart.svg) for chart in section.charts if chart.title.startswith("p99"))
    assert (2, 6, 3) == (len(p99.lines()), len(p99.marks()), len(p99.all("mark unfit")))


def answer_of(run: Run) -> Chapter:
    """Return the picture that a run's report opens with."""
    groups = group_cells(summarise(run.records), run.info.compare)
    return draw_answer(groups, assign_styles(cell for cells in groups.values() for cell in cells))


def test_an_answer_over_levels_tells_many_services_apart(tmp_path: Path) -> None:
    """Also by a factor that tells groups of cells apart."""
    cells = [
        dataclasses.replace(cell(wire, workers=workers), tls=tls)
        for wire in ("rest", "grpc")
        for tls in ("none", "server")
        for workers in (1, 2, 4)
    ]
    found = answer_of(RunBuilder(cells, blocks=1, samples=50).write(tmp_path))
    assert 4 == len({style.name for style in found.legend}) == len(found.legend)


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


def test_what_a_scenario_sweeps_is_answered_over_its_levels(tmp_path: Path) -> None:
    """A line a transport, with a legend; an open load is judged by how long users wait."""
    cells = [cell(wire, concurrency=level, rate_per_s=100.0) for wire in ("rest", "socket") for level in (1, 4, 16)]
    found = answer_of(RunBuilder(cells, blocks=3, samples=1000).write(tmp_path))
    assert ["REST", "socket"] == [style.name for style in found.legend]
    assert ["p99, ms", "server CPU per request, µs"] == [panel.title.partition(":")[0] for panel in found.charts]
    for panel in found.charts:
        drawn = Drawn(panel.svg)
        assert (2, 6, 6) == (len(drawn.lines()), len(drawn.marks()), len(drawn.all("interval")))


def names_by_group(folder: Path, cells: tuple[Cell, ...], compared: str) -> dict[str, list[str]]:
    """Return the names of cells by the title of their group."""
    run = RunBuilder(cells, blocks=1, samples=50).write(folder)
    return {
        title: [each.name for each in members]
        for title, members in group_cells(summarise(run.records, compared), compared).items()
    }


DELAYS = ("with a delay of 0 ms", "with a delay of 5 ms")


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (
            (0, 5),
            {"users.get, 16 connections": [f"{name} {each}" for name in ("REST", "gRPC", "socket") for each in DELAYS]},
        ),
        (
            (0, 1, 5),
            {f"users.get, 16 connections, a delay of {delay} ms": ["REST", "gRPC", "socket"] for delay in (0, 1, 5)},
        ),
    ],
    ids=["few", "many"],
)
def test_many_cells_are_told_apart_by_what_is_not_compared(
    tmp_path: Path, levels: tuple[int, ...], expected: dict[str, list[str]]
) -> None:
    """Up to eight cells of a load are side by side, and of more each level has a picture that names don't repeat."""
    cells = tuple(cell(each, delay_ms=level) for each, level in itertools.product(TRANSPORTS, levels))
    assert expected == names_by_group(tmp_path, cells, "transport")


def test_what_is_compared_stays_in_one_picture(tmp_path: Path) -> None:
    """However many cells there are, the levels that a run compares are side by side."""
    cells = tuple(cell(each, workers=workers) for each, workers in itertools.product(TRANSPORTS, (1, 2, 4)))
    assert ["users.get, 16 connections"] == list(names_by_group(tmp_path, cells, "workers"))


def test_names_tell_the_level_that_is_compared_at_its_default_too(tmp_path: Path) -> None:
    """`REST` beside `REST with 2 workers` would not say that it has one; the default comes first."""
    cells = tuple(cell("rest", workers=workers) for workers in (1, 2))
    expected = {"users.get, 16 connections": ["REST with 1 worker", "REST with 2 workers"]}
    assert expected == names_by_group(tmp_path / "workers", cells, "workers")
    cells = tuple(dataclasses.replace(cell("rest"), tls=tls) for tls in ("server", "none"))
    expected = {"users.get, 16 connections": ["REST with plain text", "REST with TLS"]}
    assert expected == names_by_group(tmp_path / "tls", cells, "tls")
