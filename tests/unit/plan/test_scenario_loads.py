"""Loads of scenario files: workloads and payloads, sweeps, numbers of calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scenario_text import read, reject
from wirebench.plan.plan import make_plan

WORKLOADS = """\
question: Which transport?
factors:
  transport: [rest, grpc]
  operation: [crud, shop]
  payload: profile
  concurrency: 10
load:
  workloads:
    crud: {sequence: [users.create, users.update, users.get, users.delete]}
    shop:
      clients:
        readers: {users: 9, mix: {users.get: 8, users.list: 1}}
        editors: {mix: {users.create: 2, users.delete: 1}}
"""
SWEEP = """\
question: Where does it break?
factors: {transport: [rest, grpc]}
load: {model: sweep, concurrency_max: 48}
"""
OPEN = """\
question: Does it keep up?
factors: {transport: [rest, grpc], rate_per_s: 100, concurrency: {rest: [4, 16], grpc: 16}, operation: users.get}
load: {model: open, concurrency_max: 48}
"""
CALLS = """\
question: What do 500 calls take?
factors: {transport: [rest, grpc]}
load: {model: calls, calls: 500}
"""
PHASES = """\
question: In phases?
factors: {transport: [rest, grpc], operation: crud}
load:
  model: calls
  calls: 40
  workloads:
    crud: {phases: [users.create, users.list, users.get, users.delete]}
"""
CAPACITY = """\
question: What does it serve?
factors: {transport: [rest, grpc], concurrency: 16}
load:
  model: capacity
  objective: {p99_ms: 50}
  window_s: 2
"""
#: By scenario: what is changed in it, to what, and what is said of that.
REJECTED = {
    WORKLOADS: [
        ("[crud, shop]", "[crud, shopp]", "4: factors.operation: there is no operation or workload 'shopp'"),
        ("[crud, shop]", "[crud, shop, users.delete]", "4: factors.operation: a load deletes only users that it has"),
        ("payload: profile", "payload: huge", "5: factors.payload: must be one of small, profile, list, batch, 512k,"),
        ("payload: profile", "payload: 512k", "5: factors.payload: crud has no payload '512k'"),
        ("[users.create, users.update, users.get, users.delete]", "[]", "9: load.workloads.crud: needs one of"),
        ("[users.create, users.update,", "[users.delete, users.create,", "9: load.workloads.crud: users.delete needs"),
        (
            "sequence: [users.create",
            "mix: {users.get: 0}, sequence: [users.create",
            "9: load.workloads.crud.mix.users.get",
        ),
        (
            "  payload: profile",
            "  workers: 2",
            "5: factors.workers: crud on 2 workers, each with a store of its own",
        ),
    ],
    SWEEP: [
        (
            "[rest, grpc]}",
            "[rest, grpc], concurrency: 4}",
            "2: factors.concurrency: a sweep has no concurrency of its own",
        ),
        ("[rest, grpc]}", "[rest, grpc], rate_per_s: 4}", "2: factors.rate_per_s: a sweep has no rate_per_s"),
        ("model: sweep", "model: closed", "3: load.concurrency_max: a closed load has no concurrency_max"),
    ],
    OPEN: [
        ("max: 48", "max: 15", "3: load.concurrency_max: 15 connections at most are fewer than the 16 of factors."),
        ("rate_per_s", "driver: {rest: k6}, rate_per_s", "2: factors.driver.rest: k6 takes no load.concurrency_max"),
        (
            "48}",
            "48}\ncross_check: {driver: {rest: k6}}",
            "4: cross_check.driver.rest: k6 takes no load.concurrency_max",
        ),
        (
            "users.get}\nload: {",
            "shop}\nload: {workloads: {shop: {clients: {a: {mix: {users.get: 1}}}}}, ",
            "3: load.concurrency_max: the kinds of clients of shop share a fixed number of connections",
        ),
    ],
    CALLS: [
        ("model: calls", "model: closed", "3: load.calls: a closed load has no calls"),
        ("calls: 500", "calls: 500, warmup_s: 1", "3: load.warmup_s: every call counts"),
        ("model: calls, calls: 500", "warmup_calls: 5", "3: load.warmup_calls: a closed load has no warmup_calls"),
        (
            "grpc]}\nload: {model: calls",
            "grpc], operation: ledger.stream_transactions}\nload: {warmup_calls: 5, model: calls",
            "3: load.warmup_calls: streams have no warm-up by calls",
        ),
        ("calls: 500", "generators: 2, calls: 500", "3: load.generators: 2 generators can't share 1 of"),
        ("grpc]}", "grpc], driver: {grpc: ghz}}", "2: factors.driver.grpc: ghz takes no load.calls"),
        ("grpc]}", "grpc], concurrency: 1000}", "3: load.calls: 500 calls on each of 1000 connections are over"),
        ("grpc]}", "grpc], rate_per_s: 10}", "2: factors.rate_per_s: a load of calls has no rate_per_s"),
    ],
    PHASES: [
        ("  model: calls\n  calls: 40\n", "", "5: load.workloads.crud.phases: a closed load has no phases"),
        ("calls: 40", "calls: 42", "5: load.calls: 42 calls can't be divided among the 4 phases of crud"),
        ("[users.create, users.list", "[users.list", "7: load.workloads.crud: users.delete needs users.create before"),
        ("{phases:", "{sequence: [users.get], phases:", "7: load.workloads.crud: needs one of"),
        (
            "{phases:",
            "{clients: {a: {phases: [users.get]}}} # {phases:",
            "7: load.workloads.crud: clients.a: phases are",
        ),
        ("{phases: [", "{clients: {a: {mix: {users.get: 1}}}, phases: [", "7: load.workloads.crud: needs one of"),
    ],
    CAPACITY: [
        ("  objective: {p99_ms: 50}\n", "", "4: load.model: a search for the capacity needs load.objective"),
        ("p99_ms: 50", "p99_ms: 30001", "5: load.objective.p99_ms: must be at most 30000"),
        ("p99_ms: 50", "p99_ms: 50, error_share: 0.1", "5: load.objective.error_share: must be at most 0.001"),
        ("p99_ms: 50", "p99_ms: 201", "6: load.window_s: a window of 2 s is too short to show a p99 of 201 ms"),
        ("window_s: 2", "window_s: 2\n  timeout_s: 0.05", "7: load.timeout_s: requests end after 0.05 s, and none"),
        ("window_s: 2", "window_s: 2\n  resolution: 0.001", "7: load.resolution: must be at least 0.005"),
        ("window_s: 2", "window_s: 2\n  windows_max: 7", "7: load.windows_max: must be at least 8"),
        ("16}", "16, rate_per_s: 10}", "2: factors.rate_per_s: a search for the capacity has no rate_per_s of"),
        ("16}", "16, driver: k6}", "4: load.model: shape capacity needs driver wireload, and not k6"),
        ("model: capacity", "model: closed", "5: load.objective: a closed load has no objective"),
        (
            "[rest, grpc], concurrency: 16",
            "rest, operation: ledger.stream_transactions",
            "4: load.model: a search for the capacity is of requests that end soon",
        ),
    ],
}


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"), [(text, *change) for text, changes in REJECTED.items() for change in changes]
)
def test_loads_that_cannot_be_are_rejected(tmp_path: Path, text: str, old: str, new: str, expected: str) -> None:
    """Each mistake is one line with its place."""
    reject(tmp_path, text.replace(old, new), expected)


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
    """Up to a number that is the same for all cells; a sweep has its own numbers."""
    plan = make_plan(read(tmp_path, OPEN), seed=1)
    assert [4, 16, 16] == [cell.concurrency for cell in plan.cells]
    assert {48} == {plan.scenario.load.add_connections(cell).concurrency for cell in plan.cells}
    swept = make_plan(read(tmp_path, SWEEP), seed=1)
    assert list(swept.cells) == list(map(swept.scenario.load.add_connections, swept.cells))


def test_a_number_of_calls_has_no_warm_up(tmp_path: Path) -> None:
    """Every call counts from the first one on, and the window is only a limit."""
    load = read(tmp_path, CALLS).load
    assert (500, 0, 60) == (load.calls, load.warmup_s, load.window_s)


@pytest.mark.parametrize(
    ("factors", "load", "expected"),
    [
        ("concurrency: 2", "timeout_s: 61", "3: load.timeout_s: must be at most 60"),
        ("driver: locust", "timeout_s: 1", "2: factors.driver: locust takes no load.timeout_s"),
        (
            "concurrency: 21",
            "spawn_rate_per_s: 10, warmup_s: 1.9",
            "3: load.spawn_rate_per_s: the last of 21 users starts after 2 s, and the",
        ),
        ("concurrency: 2, driver: oha", "spawn_rate_per_s: 9", "2: factors.driver: oha takes no load.spawn_rate_per_s"),
        ("rate_per_s: 10", "spawn_rate_per_s: 9, model: open", "3: load.spawn_rate_per_s: an open load has no"),
    ],
)
def test_timeouts_and_spawn_rates_that_cannot_be_are_rejected(
    tmp_path: Path, factors: str, load: str, expected: str
) -> None:
    """Histograms hold no longer ones, and not every driver has them; users have started when the window opens."""
    reject(tmp_path, f"question: How?\nfactors: {{transport: rest, {factors}}}\nload: {{{load}}}\n", expected)


def test_the_last_user_may_start_as_the_window_opens(tmp_path: Path) -> None:
    """With the first one counted as started at once."""
    text = "question: How?\nfactors: {transport: rest, concurrency: 21}\nload: {spawn_rate_per_s: 10, warmup_s: 2}\n"
    assert 2.0 == make_plan(read(tmp_path, text), seed=1).scenario.load.compute_spawn_s(21)


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


def test_a_cluster_has_no_search(tmp_path: Path) -> None:
    """Each of its windows would start pods."""
    reject(tmp_path, CAPACITY, "4: load.model: each window of a search for the capacity would start", "kubernetes")
