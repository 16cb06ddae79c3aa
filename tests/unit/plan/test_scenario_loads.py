"""Loads of scenario files: workloads and payloads, sweeps, numbers of calls."""

from __future__ import annotations

from pathlib import Path

from tests.support.scenario_text import CALLS, CAPACITY, OPEN, PHASES, SPAWNED, SWEEP, WORKLOADS, read
from wirebench.plan.plan import make_plan


def test_workloads_are_levels_of_the_operation(tmp_path: Path) -> None:
    """A scenario names sequences, mixes and kinds of clients, and measures them as it does operations."""
    plan = make_plan(read(tmp_path, WORKLOADS), seed=1)
    assert ["crud", "shop", "crud", "shop"] == [cell.operation for cell in plan.cells]
    shop = plan.scenario.load.find_workload("shop")
    assert {"readers": 9, "editors": 1} == {name: client.users for name, client in shop.kinds.items()}
    assert ("users.get", "users.list", "users.create", "users.delete") == shop.operations


def test_a_sweep_doubles_its_connections(tmp_path: Path) -> None:
    """A sweep's levels are the powers of two up to the last one, which is where it was told to end."""
    plan = make_plan(read(tmp_path, SWEEP), seed=1)
    assert [1, 2, 4, 8, 16, 32, 48] == [cell.concurrency for cell in plan.cells if cell.transport == "rest"]
    to_the_end = make_plan(read(tmp_path, SWEEP.replace(", concurrency_max: 48", "")), seed=1)
    assert [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096] == [
        cell.concurrency for cell in to_the_end.cells if cell.transport == "rest"
    ]


def test_an_open_load_may_open_more_connections(tmp_path: Path) -> None:
    """Their greatest number is the same for all cells; a sweep has its own numbers."""
    plan = make_plan(read(tmp_path, OPEN), seed=1)
    assert [4, 16, 16] == [cell.concurrency for cell in plan.cells]
    assert {48} == {plan.scenario.load.add_connections(cell).concurrency for cell in plan.cells}
    swept = make_plan(read(tmp_path, SWEEP), seed=1)
    assert list(swept.cells) == list(map(swept.scenario.load.add_connections, swept.cells))


def test_a_number_of_calls_has_no_warm_up(tmp_path: Path) -> None:
    """Every call counts from the first one on, and the window is only a limit."""
    load = read(tmp_path, CALLS).load
    assert (500, 0, 60) == (load.calls, load.warmup_s, load.window_s)


def test_the_last_user_may_start_as_the_window_opens(tmp_path: Path) -> None:
    """The first one starts at once, so the time is that of the others."""
    assert 2.0 == make_plan(read(tmp_path, SPAWNED), seed=1).scenario.load.compute_spawn_s(21)


def test_phases_are_a_workload_of_calls(tmp_path: Path) -> None:
    """All users do them, in order."""
    crud = make_plan(read(tmp_path, PHASES), seed=1).scenario.load.find_workload("crud")
    assert ("users.create", "users.list", "users.get", "users.delete") == crud.operations == crud.kinds[""].phases


def test_a_search_is_a_load_model(tmp_path: Path) -> None:
    """It has no rate; each block may take so many windows, and one to begin with."""
    plan = make_plan(read(tmp_path, CAPACITY), seed=1)
    assert {("capacity", None)} == {(cell.shape, cell.rate_per_s) for cell in plan.cells}
    load = plan.scenario.load
    assert (0.001, 0.03) == (load.objective and load.objective.error_share, load.resolution)
    assert plan.measured_s == plan.cells_total * 21 * 3
