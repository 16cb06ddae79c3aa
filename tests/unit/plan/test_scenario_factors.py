"""Factors of scenario files: which levels go together, for which transport, driver and target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.scenario_text import GOOD, read, reject
from wirebench.errors import UsageError
from wirebench.model.contract import TargetName
from wirebench.plan.overrides import Override
from wirebench.plan.plan import make_plan

#: What most changes stand in the place of.
OPERATION = "operation: users.get"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (OPERATION, "runtime: {rest: aio}", "4: factors.runtime.rest: no transport and implementation here has the"),
        (OPERATION, "codec: json", "4: factors.codec: grpc has no codec 'json'"),
        (OPERATION, "threads: 4", "4: factors.threads: threads 4 needs runtime"),
        (
            OPERATION,
            "store: {grpc: postgres, socket: postgres}\n  store_connections: {grpc: 2, rest: 4}",
            "5: factors.store_connections.rest: store_connections 4 needs store postgres, and not memory",
        ),
        (OPERATION, "workers: 2\n  operation: users.create", "4: factors.workers: users.create on 2"),
        ("[1, 16]", "[1, 1]", "5: factors.concurrency: a level appears twice in the list"),
        ("blocks: 3", "compare: workers", "8: compare: there is nothing to compare: no two cells differ in workers"),
        (
            OPERATION,
            "connection: {rest: reopen, socket: reopen}\n  workers: {rest: 1, grpc: 2, socket: 4}",
            "3: factors.transport: there is nothing to compare: no two cells differ in transport alone",
        ),
        (OPERATION, f"workers: {[*range(1, 65)]}\n  threads: {{rest: {[*range(1, 1025)]}}}", "2: factors: 131456"),
        ("closed", "open", "7: load.model: an open load needs factors.rate_per_s"),
        (OPERATION, "rate_per_s: 5", "4: factors.rate_per_s: a closed load has no rate_per_s"),
        (OPERATION, "http: {rest: [1, 2]}", "4: factors.http.rest: http 2 needs runtime net-http, and not gunicorn"),
        (OPERATION, "connections: {rest: 1}", "4: factors.connections.rest: REST over HTTP/1.1 has one request at"),
        (
            OPERATION,
            "connections: {socket: 1}",
            "4: factors.connections.socket: the socket has one",
        ),
        (
            OPERATION,
            "connections: {grpc: 2}",
            "4: factors.connections.grpc: 2 connections are more than one",
        ),
        (OPERATION, "implementation: go\n  http: {rest: 2}", "5: factors.http.rest: http 2 needs driver wireload"),
    ],
)
def test_an_impossible_combination_is_rejected(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """A plan that can't give right answers is rejected before anything starts, with what to do instead."""
    reject(tmp_path, GOOD.replace(old, new), expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (OPERATION, "replicas: 2\n  operation: users.create", "4: factors.replicas: users.create on 2"),
        (
            OPERATION,
            "placement: same-pod\n  replicas: 2",
            "4: factors.placement: placement same-pod needs replicas 1, and not 2: a load",
        ),
        ("model: closed", "generators: 2", "6: factors.driver.rest: k6 takes no load.generators"),
        ("blocks: 3", "", None),
        (OPERATION, "replicas: [1, 2, 4]\n  balancing: headless", None),
    ],
)
def test_what_a_cluster_can_not_do_is_rejected(tmp_path: Path, old: str, new: str, expected: str | None) -> None:
    """Where a load could not go where it is told to, or its figures would be wrong, nothing starts."""
    if expected is None:
        assert make_plan(read(tmp_path, GOOD.replace(old, new)), 1, "kubernetes").cells
    else:
        reject(tmp_path, GOOD.replace(old, new), expected, "kubernetes")


DRIVEN = """\
question: x
factors:
  transport: [rest, grpc]
  driver: {rest: [oha, k6], grpc: [ghz, wireload]}
  operation: users.get
compare: driver
"""


@pytest.mark.parametrize(
    ("old", "new", "expected", "hint"),
    [
        ("[oha, k6]", "[ghz, k6]", "4: factors.driver.rest: rest has no driver 'ghz'", "choose from wireload, k6,"),
        ("[ghz, wireload]", "[k6, wireload]", "4: factors.driver.grpc: grpc has no driver 'k6'", "wireload, ghz"),
        ("users.get", "users.create", "4: factors.driver.rest: oha can't drive users.create", "drive it by wireload"),
        (
            "users.get",
            "{grpc: users.create_batch}",
            "4: factors.driver.grpc: ghz can't drive users.create_batch: it repeats requests",
            "drive it by wireload",
        ),
        (
            "{rest: [oha, k6], grpc: [ghz, wireload]}",
            "{rest: [locust, k6]}\n  connection: {rest: reopen}",
            "5: factors.connection.rest: connection reopen needs driver wireload or k6 or oha, and not locust",
            "set factors.driver to wireload or k6 or oha",
        ),
        (
            "users.get",
            "users.get\n  codec: {rest: protobuf}",
            "4: factors.driver.rest: driver oha needs codec json",
            "set factors.codec to json, or change driver; for some transports alone: driver: {rest: …}",
        ),
    ],
)
def test_what_a_driver_can_not_do_is_rejected(tmp_path: Path, old: str, new: str, expected: str, hint: str) -> None:
    """Each driver is asked only for what it can do right; the hint names those that can do the rest."""
    assert hint in reject(tmp_path, DRIVEN.replace(old, new), expected)


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
        with pytest.raises(UsageError, match="others don't time requests from when they were due") as error:
            make_plan(read(tmp_path, other), seed=1)
        assert error.value.hint.startswith("set factors.driver to wireload")


def test_a_cluster_has_the_drivers_of_its_image_alone(tmp_path: Path) -> None:
    """Load pods hold wireload, k6 and ghz: others are rejected before anything is deployed."""
    make_plan(read(tmp_path, DRIVEN), 1, "external")
    with pytest.raises(UsageError, match=r"factors\.driver\.rest: oha is not in the image of the load pods") as error:
        make_plan(read(tmp_path, DRIVEN), 1, "kubernetes")
    assert "drive it by wireload or k6 or ghz, or run it on another target" == error.value.hint


@pytest.mark.parametrize("target", ["local", "external"])
def test_what_only_a_cluster_can_vary_is_rejected_elsewhere(tmp_path: Path, target: TargetName) -> None:
    """A single level is a setting, which is left out; several are the question, and more than one replica too."""
    settings = "cpu_limit_millicores: 250\n  placement: same-node\n  replicas: 1"
    plan = make_plan(read(tmp_path, GOOD.replace(OPERATION, settings)), 1, target)
    assert {"cpu_limit_millicores", "placement"} == set(plan.left_out)
    assert {(None, None, 1)} == {(cell.cpu_limit_millicores, cell.placement, cell.replicas) for cell in plan.cells}
    for varied in (
        "balancing: [pod, service]",
        "replicas: 2",
        "placement: {rest: same-pod, grpc: same-node}",
    ):
        with pytest.raises(UsageError, match=f"factors.{varied.partition(':')[0]}: the target {target}"):
            make_plan(read(tmp_path, GOOD.replace(OPERATION, varied)), 1, target)


def test_a_cluster_sets_a_limit_where_the_scenario_does_not(tmp_path: Path) -> None:
    """A CPU limit is always set there."""
    plan = make_plan(read(tmp_path, GOOD), 1, "kubernetes")
    assert {500} == {cell.cpu_limit_millicores for cell in plan.cells}


def test_what_varies_is_offered_for_comparison(tmp_path: Path) -> None:
    """Who asks to compare what each transport has one level of is told what has several."""
    text = GOOD.replace(OPERATION, "workers: {rest: 1, grpc: 2, socket: 1}") + "compare: workers\n"
    hint = reject(tmp_path, text, "9: compare: there is nothing to compare")
    expected = "or compare what varies: driver (wireload, ghz), concurrency (1, 16)"
    assert f"give the cells the same levels of all others, {expected}" == hint


def test_each_implementation_has_its_own_runtimes(tmp_path: Path) -> None:
    """Of the runtimes that are named each takes its own, or else its default; the comparison is of the languages."""
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


HTTP = """\
question: x
factors:
  transport: [rest, grpc]
  implementation: go
  http: {rest: [1, 2]}
  codec: {rest: [json, protobuf]}
"""


def test_versions_of_http_are_compared_on_one_service(tmp_path: Path) -> None:
    """HTTP/1.1 is no level in records, which had none before there was a choice; both versions have one service."""
    plan = make_plan(read(tmp_path, HTTP), seed=1)
    assert [("rest", None), ("rest", None), ("rest", 2), ("rest", 2), ("grpc", None)] == [
        (cell.transport, cell.http) for cell in plan.cells
    ]
    assert ["rest-net-http-w1-memory", "grpc-grpc-go-w1-memory"] == [str(service) for service in plan.services]
    assert len({cell.id for cell in plan.cells}) == 5
    compared = make_plan(read(tmp_path, f"{HTTP}compare: http\n"), seed=1)
    assert plan.cells == compared.cells


@pytest.mark.parametrize("level", ["3", "1.1", "true", "h2c", "none"])
def test_other_versions_of_http_are_rejected(tmp_path: Path, level: str) -> None:
    """Those that there are stand in the message."""
    reject(tmp_path, HTTP.replace("[1, 2]", level), "5: factors.http.rest: must be 1 (HTTP/1.1) or 2 (HTTP/2)")


def test_only_rest_has_a_choice_of_http_versions(tmp_path: Path) -> None:
    """The hint says how to give a level to REST alone."""
    hint = reject(
        tmp_path, HTTP.replace("{rest: [1, 2]}", "2"), "5: factors.http: http 2 needs transport rest, and not"
    )
    assert hint.endswith("for some transports alone: http: {rest: …}")


def test_pools_of_a_store_are_compared(tmp_path: Path) -> None:
    """Each size is a service of its own, with a name of its own."""
    text = GOOD.replace(OPERATION, "store: postgres\n  store_connections: [1, 4]")
    plan = make_plan(read(tmp_path, text + "compare: store_connections\n"), seed=1)
    assert {1, 4} == {cell.store_connections for cell in plan.cells}
    names = {str(service) for service in plan.services}
    assert {f"rest-gunicorn-gthread-w1-postgres-p{size}" for size in (1, 4)} < names
    assert len(plan.services) == len(names) == 6


@pytest.mark.parametrize("factor", ["workers", "replicas"])
def test_workers_and_replicas_may_write_to_a_store_that_they_share(tmp_path: Path, factor: str) -> None:
    """The rejection is of writing to each one's own memory, not of writing with several of them."""
    text = GOOD.replace(OPERATION, f"operation: users.create\n  store: postgres\n  {factor}: 2")
    plan = make_plan(read(tmp_path, re.sub("  driver: .*\n", "", text)), seed=1, target="kubernetes")
    assert {2} == {cell.factors[factor] for cell in plan.cells}


CROSS_CHECKED = """\
question: x
factors:
  transport: [rest, grpc]
  operation: [users.get, users.create]
  concurrency: [1, 16]
cross_check: {driver: {rest: [k6, oha], grpc: ghz}, operation: users.get, concurrency: 16}
"""


def test_a_cross_check_adds_cells_by_other_drivers(tmp_path: Path) -> None:
    """Of the operation and concurrency that it names; without them, of all cells."""
    cells = make_plan(read(tmp_path, CROSS_CHECKED), seed=1).cells
    checks = [cell for cell in cells if cell.driver != "wireload"]
    assert (8, 3) == (len(cells) - len(checks), len(checks))
    assert {("users.get", 16)} == {(cell.operation, cell.concurrency) for cell in checks}
    assert [("rest", "k6"), ("rest", "oha"), ("grpc", "ghz")] == [(cell.transport, cell.driver) for cell in checks]
    text = CROSS_CHECKED.replace("{rest: [k6, oha], grpc: ghz}, operation: users.get, concurrency: 16", "{grpc: ghz}")
    text = text.replace("users.create", "users.list")
    drivers = [cell.driver for cell in make_plan(read(tmp_path, text), seed=1).cells]
    assert (8, 4) == (drivers.count("wireload"), drivers.count("ghz"))
    text = CROSS_CHECKED.replace("concurrency: 16}", "concurrency: {rest: 1, grpc: [1, 16]}}")
    cells = make_plan(read(tmp_path, text), seed=1).cells
    found = [(cell.transport, cell.concurrency) for cell in cells if cell.driver in ("k6", "ghz")]
    assert [("rest", 1), ("grpc", 1), ("grpc", 16)] == found
    cells = make_plan(read(tmp_path, text.replace("rest: 1, ", "")), seed=1).cells
    assert {"grpc"} == {cell.transport for cell in cells if cell.driver != "wireload"}


def test_a_cross_check_by_a_missing_driver_is_skipped(tmp_path: Path) -> None:
    """The others stay, and mistakes are found all the same; a driver that a factor names isn't skipped."""
    scenario = read(tmp_path, CROSS_CHECKED)
    plan = make_plan(scenario, 1, missing=["k6", "oha"])
    assert {"wireload", "ghz"} == {cell.driver for cell in plan.cells}
    assert (("k6", "oha"), ()) == (plan.skipped, make_plan(scenario, 1).skipped)
    assert make_plan(scenario, 1, missing=["k6", "ghz", "oha"]).cells == plan.cells[:8]
    named = "question: x\nfactors: {transport: rest, driver: k6}\n"
    plan = make_plan(read(tmp_path, named), 1, missing=["k6"])
    assert (("k6",), ()) == (tuple(cell.driver for cell in plan.cells), plan.skipped)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (OPERATION, "operation: users.list", ": it adds no cell"),
        ("operation: users.get", "operation: users.create", ".driver.rest: k6 can't drive"),
        ("{rest: [k6, oha], grpc: ghz}", "wireload", ": it adds no cell"),
    ],
)
def test_a_cross_check_that_can_not_be_is_rejected(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """With the line and key of the cross-check."""
    reject(tmp_path, CROSS_CHECKED.replace(old, new), f"6: cross_check{expected}")


def test_one_driver_can_drive_all(tmp_path: Path) -> None:
    """In place of those that the scenario names; then there is nothing to check it by."""
    text = CROSS_CHECKED.replace("  concurrency", "  driver: {grpc: [ghz, wireload]}\n  concurrency")
    override = Override("--driver wireload", ("factors", "driver"), "wireload")
    cells = make_plan(read(tmp_path, text, override), seed=1).cells
    assert ["wireload"] * 8 == [cell.driver for cell in cells]
