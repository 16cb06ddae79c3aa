"""Factors and loads of scenario files: what is planned of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import scenario_text as base
from tests.support.scenario_text import GOOD, read
from wirebench.model.contract import TargetName
from wirebench.plan.plan import make_plan

OPERATION = "operation: users.get"


@pytest.mark.parametrize("target", ["local", "external"])
def test_what_only_a_cluster_sets_is_left_out_elsewhere(tmp_path: Path, target: TargetName) -> None:
    """A single level is a setting and no question."""
    settings = "cpu_limit_millicores: 250\n  placement: same-node\n  replicas: 1"
    plan = make_plan(read(tmp_path, GOOD.replace(OPERATION, settings)), 1, target)
    assert {"cpu_limit_millicores", "placement"} == set(plan.left_out)
    assert {(None, None, 1)} == {(cell.cpu_limit_millicores, cell.placement, cell.replicas) for cell in plan.cells}


def test_each_implementation_has_its_own_runtimes(tmp_path: Path) -> None:
    """Each takes its own of the runtimes that are named, or its default; the languages are compared."""
    levels = "implementation: [python, go]\n  runtime: {rest: uvicorn, socket: [threaded, goroutines]}"
    text = GOOD.replace(OPERATION, levels)
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


def test_versions_of_http_are_compared_on_one_service(tmp_path: Path) -> None:
    """HTTP/1.1 is no level in records, and both versions have one service."""
    plan = make_plan(read(tmp_path, f"{base.HTTP}compare: http\n"), seed=1)
    assert [("rest", None), ("rest", None), ("rest", 2), ("rest", 2), ("grpc", None)] == [
        (cell.transport, cell.http) for cell in plan.cells
    ]
    assert ["rest-net-http-w1-memory", "grpc-grpc-go-w1-memory"] == [str(service) for service in plan.services]


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
    text = base.CROSS_CHECKED.replace("concurrency: 16}", "concurrency: {rest: 1, grpc: [1, 16]}}")
    cells = make_plan(read(tmp_path, text), seed=1).cells
    found = [(cell.transport, cell.concurrency) for cell in cells if cell.driver in ("k6", "ghz")]
    assert [("rest", 1), ("grpc", 1), ("grpc", 16)] == found


def test_streams_are_planned_with_their_number_of_items(tmp_path: Path) -> None:
    """A scenario that names no number has streams of 1,000 items; `none` is no limit; each cell has its own name."""
    plan = make_plan(read(tmp_path, base.STREAMS), seed=1)
    assert [(1000, 100), (1000, None)] * 2 == [(each.stream_items, each.stream_rate_limit_per_s) for each in plan.cells]
    assert 4 == len({each.id for each in plan.cells})
    assert plan.cells[0].id.endswith("-i1000-l100-c1")


def test_workloads_are_levels_of_the_operation(tmp_path: Path) -> None:
    """A scenario names sequences and mixes, and measures them as it does operations."""
    plan = make_plan(read(tmp_path, base.WORKLOADS), seed=1)
    assert ["crud", "shop", "crud", "shop"] == [cell.operation for cell in plan.cells]
    shop = plan.scenario.load.find_workload("shop")
    assert ("users.get", "users.list", "users.create", "users.delete") == shop.operations


def test_a_sweep_doubles_its_connections(tmp_path: Path) -> None:
    """A sweep's levels are the powers of two up to the last one, which is where it was told to end."""
    plan = make_plan(read(tmp_path, base.SWEEP), seed=1)
    assert [1, 2, 4, 8, 16, 32, 48] == [cell.concurrency for cell in plan.cells if cell.transport == "rest"]


def test_a_search_is_a_load_model(tmp_path: Path) -> None:
    """It has no rate; each block may take so many windows, and one to begin with."""
    plan = make_plan(read(tmp_path, base.CAPACITY), seed=1)
    assert {("capacity", None)} == {(cell.shape, cell.rate_per_s) for cell in plan.cells}
    load = plan.scenario.load
    assert (0.001, 0.03) == (load.objective and load.objective.error_share, load.resolution)
    assert plan.measured_s == plan.cells_total * 21 * 3
