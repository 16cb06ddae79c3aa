"""The search for a capacity: on simulated services, and what a window comes to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.histogram_files import make_file, make_series
from tests.support.jobs import JOB
from tests.support.report_run import RunBuilder, cell
from tests.support.simulated_service import SimulatedService, make_search
from wirebench.drivers import Job
from wirebench.measure.observe import Observation
from wirebench.measure.search import choose_first_rate, choose_rate, judge_window, search_capacity
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import Clock
from wirebench.model.record import Record, SearchWindow
from wirebench.model.scenario import Load, Objective
from wirebench.model.variant import RATE_MAX
from wirebench.run.ids import ID_STEP

LOAD = Load(model="capacity", objective=Objective(p99_ms=50))


def window(rate_per_s: int, *, kept: bool) -> SearchWindow:
    """Return a window that was kept or not."""
    service = SimulatedService(capacity_per_s=rate_per_s + (1 if kept else -1), seed=0, noise=0)
    return service.answer(rate_per_s)


@pytest.mark.parametrize("capacity_per_s", [40, 800, 5000, 40_000])
def test_the_capacity_is_found_within_the_resolution(capacity_per_s: int) -> None:
    """It takes about eight windows, half of which are nearer to it than 5 %."""
    for block in range(20):
        service = SimulatedService(capacity_per_s, seed=block, noise=0)
        windows = service.search(LOAD, 1.1 * capacity_per_s, f"{block}")
        search = make_search(windows, LOAD.resolution)
        assert search.bracket <= search.bracket_max
        assert search.capacity_per_s == pytest.approx(capacity_per_s, rel=search.bracket_max / 2 + 0.5 / capacity_per_s)
        assert len(windows) <= 12
        near = [each for each in windows if abs(each.rate_asked_per_s / capacity_per_s - 1) < 0.05]
        assert len(near) >= len(windows) / 2


def test_a_disturbed_window_is_put_right() -> None:
    """Hardly a search ends far off without a word where one window in twenty is disturbed."""
    off = 0
    for block in range(200):
        service = SimulatedService(2000, seed=block, noise=0.1, disturbed=0.05)
        search = make_search(service.search(LOAD, 2200, f"{block}"), LOAD.resolution)
        is_settled = search.bracket <= search.bracket_max
        off += is_settled and abs((search.capacity_per_s or 0) / 2000 - 1) > 0.05
    assert off <= 10


def test_blocks_begin_at_rates_of_their_own() -> None:
    """Within half a step of the one that is asked for; the same block begins at the same one again."""
    load = LOAD.model_copy(update={"from_rate_per_s": 1000})
    rates = [choose_first_rate(load, None, f"{block}") for block in range(50)]
    assert len(set(rates)) > 40
    assert 890 <= min(rates) < max(rates) <= 1120
    assert rates[7] == choose_first_rate(load, None, "7")


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ([(100, True), (125, True), (156, True)], 243),
        ([(100, True), (125, False)], 112),
        ([(100, True), (102, False), (100, True), (102, False)], None),
        # The ends disagree with themselves: a third window decides.
        ([(100, True), (102, False), (100, False)], 100),
        ([(100, True), (102, False), (100, True), (102, True), (102, True)], 128),
        # Rates are whole numbers, and have ends.
        ([(1, True)], 2),
        ([(1, False)], None),
        ([(RATE_MAX, True)], None),
    ],
)
def test_the_next_rate_follows_from_the_windows(windows: list[tuple[int, bool]], expected: int | None) -> None:
    """Growing, halving, testing both ends again; None at the end."""
    done = [window(1000, kept=kept).model_copy(update={"rate_asked_per_s": rate}) for rate, kept in windows]
    assert expected == choose_rate(done, 500, 0.03)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return the record of an open load that keeps the objective."""
    builder = RunBuilder(cells=[cell("rest", rate_per_s=1000)], blocks=1)
    (made,) = builder.write(tmp_path).records
    return made.model_copy(update={"requests": 1600, "window_s": 1.6})


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, True),
        ({"errors": {"unavailable": 1}}, True),
        ({"errors": {"unavailable": 2}}, False),
        ({"dropped_iterations": 2}, False),
        ({"requests": 1585}, True),
        ({"requests": 1580}, False),
        ({"response": None}, False),
    ],
)
def test_a_window_keeps_the_objective_or_not(record: Record, changes: dict[str, object], kept: bool) -> None:  # noqa: FBT001 - a parameter
    """Its p99, its failed and dropped requests, and those that ended in it decide."""
    assert kept is judge_window(record.model_copy(update=changes), Objective(p99_ms=1000)).kept
    assert not judge_window(record, Objective(p99_ms=0.001)).kept


def observe_service(job: Job) -> Observation:
    """Return what a generator sees of a service that takes 10 ms up to 1,000 requests/s, and 100 ms beyond.

    Beyond, the generator is full.
    """
    rate_per_s = job.cell.rate_per_s or 1100
    is_over = rate_per_s > 1000
    histogram = Histogram.of_values(np.full(2 * rate_per_s, 100_000_000 if is_over else 10_000_000))
    clocks: tuple[Clock, ...] = ("service", "response") if job.cell.rate_per_s else ("service",)
    series = tuple(make_series(histogram, clock=clock) for clock in clocks)
    return Observation(
        file=make_file(10**18, 2, series=series, requests_total={"ok": histogram.count}),
        window_s=2.0,
        generator_cpu_s=1.9 if is_over else 0.5,
        generator_share=0.95 if is_over else 0.25,
        server_cpu_s=1.0,
        server_memory_bytes=10**8,
    )


def search_service(folder: Path, jobs: list[Job], disturbed: tuple[int, int] = (0, 0)) -> Record:
    """Return the record of a search of that service, and the jobs that were sent; some rates may be disturbed."""
    searched = cell("rest", shape="capacity")
    load = LOAD.model_copy(update={"window_s": 2.0})
    job = replace(JOB, cell=searched, load=load, output=folder / "h.json")

    def send(own: Job) -> Observation:
        jobs.append(own)
        is_disturbed = disturbed[0] <= (own.cell.rate_per_s or 0) <= disturbed[1]
        interference = 0.2 if is_disturbed else 0.01
        return observe_service(own).model_copy(update={"interference": interference})

    return search_capacity(job, send, ids_per_window=ID_STEP)


def test_the_record_is_that_of_the_highest_rate_that_was_kept(tmp_path: Path) -> None:
    """It is the record of the planned cell, with all windows."""
    jobs: list[Job] = []
    record = search_service(tmp_path, jobs)
    search = record.search
    assert search is not None
    assert (cell("rest", shape="capacity").id, "capacity") == (record.cell, record.factors["shape"])
    assert 1000 == pytest.approx(search.capacity_per_s, rel=0.015)
    assert search.rate_kept_per_s == record.rate_asked_per_s
    assert record.response is not None
    assert 10 == pytest.approx(record.response.p99_ms, rel=0.01)
    # A window to begin with, of a closed load; and each creates what no other one does.
    assert ["closed", *["open"] * len(search.windows)] == [job.load.model for job in jobs]
    assert len(jobs) == len({job.id_base for job in jobs})
    assert {1.0} == {job.load.timeout_s for job in jobs}
    assert all("capacity" in gate.metrics for gate in record.gates)
    assert "resolution" in {gate.name for gate in record.gates}


def test_gates_look_at_all_windows_near_the_answer(tmp_path: Path) -> None:
    """What disturbed one of them, kept or missed, may have moved the answer; a window far away can't."""
    for rates, expected in (((950, 1000), 0.2), ((1001, 1050), 0.2), ((1, 900), 0.01), ((1100, 9999), 0.01)):
        record = search_service(tmp_path, [], disturbed=rates)
        gates = {gate.name: gate for gate in record.gates}
        assert expected == gates["interference"].value
        assert (expected < 0.05) == gates["interference"].passed
