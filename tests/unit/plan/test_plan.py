"""Factors and loads of scenario files: what is planned of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import scenario_text as base
from tests.support.scenario_text import GOOD, read
from wirebench.errors import UsageError
from wirebench.model.contract import TargetName
from wirebench.plan.plan import make_plan

OPERATION = "operation: users.get"


def test_open_loads_are_for_drivers_that_measure_from_when_a_request_was_due(tmp_path: Path) -> None:
    """The time that a late request has waited is what an open load is about."""
    opened = """\
question: x
factors: {transport: rest, driver: [k6, oha], rate_per_s: 100}
load: {model: open}
compare: driver
"""
    assert 2 == len(make_plan(read(tmp_path, opened), 1).cells)
    for other in (opened.replace("oha", "locust"), opened.replace("rest", "grpc").replace("k6, oha", "wireload, ghz")):
        with pytest.raises(UsageError, match="rate_per_s 100 needs driver wireload") as error:
            make_plan(read(tmp_path, other), seed=1)
        assert error.value.hint.startswith("set factors.driver to wireload")


@pytest.mark.parametrize("target", ["local", "external"])
def test_what_only_a_cluster_sets_is_left_out_elsewhere(tmp_path: Path, target: TargetName) -> None:
    """A single level is a setting and no question."""
    settings = "cpu_limit_millicores: 250\n  placement: same-node\n  replicas: 1"
    plan = make_plan(read(tmp_path, GOOD.replace(OPERATION, settings)), 1, target)
    assert {"cpu_limit_millicores", "placement"} == set(plan.left_out)
    assert {(None, None, 1)} == {(cell.cpu_limit_millicores, cell.placement, cell.replicas) for cell in plan.cells}


def test_a_cluster_sets_a_limit_where_the_scenario_does_not(tmp_path: Path) -> None:
    """A CPU limit is always set there."""
    plan = make_plan(read(tmp_path, GOOD), 1, "kubernetes")
    assert {500} == {cell.cpu_limit_millicores for cell in plan.cells}


def test_each_implementation_has_its_own_runtimes(tmp_path: Path) -> None:
    """Each takes its own of the runtimes that are named, or its default; the languages are compared."""
    text = GOOD.replace(
        "operation: users.get",
        "implementation: [python, go]\n  runtime: {rest: uvicorn, socket: [threaded, goroutines]}",
    )
    plan = make_plan(read(tmp_path, text + "compare: implementation\n"), seed=1)
    assert {
        ("rest", "python", "uvicorn"),
        ("rest", "go", "net-http"),
        ("grpc", "python", "sync"),
        ("grpc", "go", "grpc-go"),
        ("socket", "python", "threaded"),
        ("socket", "go", "goroutines"),
    } == {(cell.transport, cell.implementation, cell.runtime) for cell in plan.cells}
    assert {"python", "go"} == {service.implementation for service in plan.services}
    # Every runtime in Go takes threads, which are the cores that it uses.
    text = GOOD.replace(OPERATION, "implementation: go\n  threads: [1, 2]") + "compare: threads\n"
    assert {1, 2} == {cell.threads for cell in make_plan(read(tmp_path, text), seed=1).cells}


def test_versions_of_http_are_compared_on_one_service(tmp_path: Path) -> None:
    """HTTP/1.1 is no level in records, which had none before there was a choice; both versions have one service."""
    plan = make_plan(read(tmp_path, base.HTTP), seed=1)
    assert [("rest", None), ("rest", None), ("rest", 2), ("rest", 2), ("grpc", None)] == [
        (cell.transport, cell.http) for cell in plan.cells
    ]
    assert ["rest-net-http-w1-memory", "grpc-grpc-go-w1-memory"] == [str(service) for service in plan.services]
    assert len({cell.id for cell in plan.cells}) == 5
    compared = make_plan(read(tmp_path, f"{base.HTTP}compare: http\n"), seed=1)
    assert plan.cells == compared.cells


def test_pools_of_a_store_are_compared(tmp_path: Path) -> None:
    """Each size is a service of its own, with a name of its own."""
    text = GOOD.replace(OPERATION, "store: postgres\n  store_connections: [1, 4]")
    plan = make_plan(read(tmp_path, text + "compare: store_connections\n"), seed=1)
    assert {1, 4} == {cell.store_connections for cell in plan.cells}
    names = {str(service) for service in plan.services}
    assert {f"rest-gunicorn-gthread-w1-postgres-p{size}" for size in (1, 4)} < names
    assert len(plan.services) == len(names) == 6


def test_workers_may_write_to_a_store_that_they_share(tmp_path: Path) -> None:
    """The rejection is of writing to each one's own memory, not of writing with several of them."""
    text = GOOD.replace(OPERATION, "operation: users.create\n  store: postgres\n  workers: 2")
    plan = make_plan(read(tmp_path, re.sub("  driver: .*\n", "", text)), seed=1)
    assert {2} == {cell.workers for cell in plan.cells}


def test_a_cross_check_adds_cells_by_other_drivers(tmp_path: Path) -> None:
    """They have the operation and concurrency that it names; without these, all cells are checked."""
    cells = make_plan(read(tmp_path, base.CROSS_CHECKED), seed=1).cells
    checks = [cell for cell in cells if cell.driver != "wireload"]
    assert (8, 3) == (len(cells) - len(checks), len(checks))
    assert {("users.get", 16)} == {(cell.operation, cell.concurrency) for cell in checks}
    assert [("rest", "k6"), ("rest", "oha"), ("grpc", "ghz")] == [(cell.transport, cell.driver) for cell in checks]
    text = base.CROSS_CHECKED.replace(
        "{rest: [k6, oha], grpc: ghz}, operation: users.get, concurrency: 16", "{grpc: ghz}"
    )
    text = text.replace("users.create", "users.list")
    drivers = [cell.driver for cell in make_plan(read(tmp_path, text), seed=1).cells]
    assert (8, 4) == (drivers.count("wireload"), drivers.count("ghz"))
    text = base.CROSS_CHECKED.replace("concurrency: 16}", "concurrency: {rest: 1, grpc: [1, 16]}}")
    cells = make_plan(read(tmp_path, text), seed=1).cells
    found = [(cell.transport, cell.concurrency) for cell in cells if cell.driver in ("k6", "ghz")]
    assert [("rest", 1), ("grpc", 1), ("grpc", 16)] == found
    cells = make_plan(read(tmp_path, text.replace("rest: 1, ", "")), seed=1).cells
    assert {"grpc"} == {cell.transport for cell in cells if cell.driver != "wireload"}


def test_streams_are_planned_with_their_number_of_items(tmp_path: Path) -> None:
    """A scenario that names no number has streams of 1,000 items; `none` is no limit; each cell has its own name."""
    plan = make_plan(read(tmp_path, base.STREAMS), seed=1)
    assert [(1000, 100), (1000, None)] * 3 == [(each.stream_items, each.stream_rate_limit_per_s) for each in plan.cells]
    assert 6 == len({each.id for each in plan.cells})
    assert plan.cells[0].id.endswith("-i1000-l100-c1")


def test_workloads_are_levels_of_the_operation(tmp_path: Path) -> None:
    """A scenario names sequences, mixes and kinds of clients, and measures them as it does operations."""
    plan = make_plan(read(tmp_path, base.WORKLOADS), seed=1)
    assert ["crud", "shop", "crud", "shop"] == [cell.operation for cell in plan.cells]
    shop = plan.scenario.load.find_workload("shop")
    assert {"readers": 9, "editors": 1} == {name: client.users for name, client in shop.kinds.items()}
    assert ("users.get", "users.list", "users.create", "users.delete") == shop.operations


def test_a_sweep_doubles_its_connections(tmp_path: Path) -> None:
    """A sweep's levels are the powers of two up to the last one, which is where it was told to end."""
    plan = make_plan(read(tmp_path, base.SWEEP), seed=1)
    assert [1, 2, 4, 8, 16, 32, 48] == [cell.concurrency for cell in plan.cells if cell.transport == "rest"]
    to_the_end = make_plan(read(tmp_path, base.SWEEP.replace(", concurrency_max: 48", "")), seed=1)
    assert [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096] == [
        cell.concurrency for cell in to_the_end.cells if cell.transport == "rest"
    ]


def test_an_open_load_may_open_more_connections(tmp_path: Path) -> None:
    """Their greatest number is the same for all cells; a sweep has its own numbers."""
    plan = make_plan(read(tmp_path, base.OPEN), seed=1)
    assert [4, 16, 16] == [cell.concurrency for cell in plan.cells]
    assert {48} == {plan.scenario.load.add_connections(cell).concurrency for cell in plan.cells}
    swept = make_plan(read(tmp_path, base.SWEEP), seed=1)
    assert list(swept.cells) == list(map(swept.scenario.load.add_connections, swept.cells))


def test_a_number_of_calls_has_no_warm_up(tmp_path: Path) -> None:
    """Every call counts from the first one on, and the window is only a limit."""
    load = read(tmp_path, base.CALLS).load
    assert (500, 0, 60) == (load.calls, load.warmup_s, load.window_s)


def test_the_last_user_may_start_as_the_window_opens(tmp_path: Path) -> None:
    """The first one starts at once, so the time is that of the others."""
    assert 2.0 == make_plan(read(tmp_path, base.SPAWNED), seed=1).scenario.load.compute_spawn_s(21)


def test_phases_are_a_workload_of_calls(tmp_path: Path) -> None:
    """All users do them, in order."""
    crud = make_plan(read(tmp_path, base.PHASES), seed=1).scenario.load.find_workload("crud")
    assert ("users.create", "users.list", "users.get", "users.delete") == crud.operations == crud.kinds[""].phases


def test_a_search_is_a_load_model(tmp_path: Path) -> None:
    """It has no rate; each block may take so many windows, and one to begin with."""
    plan = make_plan(read(tmp_path, base.CAPACITY), seed=1)
    assert {("capacity", None)} == {(cell.shape, cell.rate_per_s) for cell in plan.cells}
    load = plan.scenario.load
    assert (0.001, 0.03) == (load.objective and load.objective.error_share, load.resolution)
    assert plan.measured_s == plan.cells_total * 21 * 3
