"""The report of a search for the capacity: what it says, and latency against load."""

from __future__ import annotations

from pathlib import Path

from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell
from tests.support.simulated_service import SimulatedService, make_search
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.summary import summarise
from wirebench.model.metric import CAPACITIES
from wirebench.model.scenario import Load, Objective
from wirebench.present.remarks import describe_capacities
from wirebench.report.page import render
from wirebench.results.runs import Run

LOAD = Load(model="capacity", objective=Objective(p99_ms=50))


def write_run(folder: Path, **changes: object) -> Run:
    """Write and return a run of two transports that were searched, changed."""
    search = make_search(SimulatedService(2000, seed=1).search(LOAD, 2100, "1"))
    cells = [cell(transport, shape="capacity") for transport in ("rest", "socket")]
    builder = RunBuilder(cells=cells, blocks=3, record={"search": search, **changes})
    return builder.write(folder)


def test_the_capacity_is_said_and_drawn(tmp_path: Path) -> None:
    """With its interval, per core and per GB; every window is a mark, and the objective a line."""
    run = write_run(tmp_path)
    said = describe_capacities(summarise(run.records))
    assert said[0].startswith("REST serves 2,0") or said[0].startswith("REST serves 1,9")
    assert "(95 % CI " in said[0]
    assert " requests/s with a p99 of at most 50 ms and at most 0.1 % errors; " in said[0]
    assert " per core that it keeps busy; " in said[0]
    page = render(run)
    assert 'id="load-curves"' in page
    assert page.count(": users.get, the capacity over 16 connections") >= 2
    assert "the limit is 50.0" in page


def test_cells_are_compared_by_their_capacities_alone(tmp_path: Path) -> None:
    """What else was measured was measured at a rate of each cell's own."""
    (comparison,) = find_comparisons(write_run(tmp_path))
    assert "capacity" == comparison.metric.name
    assert set(CAPACITIES) == comparison.ratios.keys()


def test_a_capacity_that_was_limited_is_a_lower_bound(tmp_path: Path) -> None:
    """By the generator, or as the search did not end."""
    gate = GENERATOR_GATE.model_copy(update={"metrics": CAPACITIES})
    said = describe_capacities(summarise(write_run(tmp_path, gates=(gate,)).records))
    assert "REST serves at least " in said[0]
    assert "(the search was limited: generator CPU)" in said[0]


def test_no_rate_that_keeps_the_objective_is_an_answer(tmp_path: Path) -> None:
    """The lowest that was tried is named."""
    windows = [each for each in SimulatedService(2000, seed=1).search(LOAD, 2100, "1") if not each.kept]
    run = write_run(tmp_path, search=make_search(windows))
    said, _ = describe_capacities(summarise(run.records))
    assert "REST keeps a p99 of at most 50 ms and at most 0.1 % errors at no rate that was tried, down to 2,0" in said
    assert 'id="load-curves"' in render(run)


def test_a_block_without_a_kept_rate_leaves_no_capacity(tmp_path: Path) -> None:
    """The mean of the other blocks would hide it."""
    missed = make_search([SimulatedService(1, seed=1).answer(2000)])
    run = write_run(tmp_path)
    records = [each.model_copy(update={"search": missed}) if each.block == 1 else each for each in run.records]
    said, _ = describe_capacities(summarise(records))
    assert "REST keeps a p99 of at most 50 ms and at most 0.1 % errors in 2 of 3 blocks; no capacity." == said
