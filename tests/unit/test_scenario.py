"""Scenario files: what is read, and how mistakes are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.cli.list_ import plan_anywhere
from wirebench.errors import UsageError
from wirebench.places import SCENARIOS
from wirebench.scenario import Scenario, make_plan, read_scenario
from wirebench.scenario.contract import TargetName
from wirebench.scenario.drivers import DRIVERS

GOOD = """\
question: Which transport?
factors:
  transport: [rest, grpc, socket]
  operation: users.get
  concurrency: [1, 16]
  driver: {rest: k6, grpc: [k6, ghz], socket: k6}
load: {model: closed, warmup_s: 0.5, window_s: 1}
blocks: 3
"""


def read(tmp_path: Path, text: str) -> Scenario:
    """Read a scenario of this text."""
    path = tmp_path / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return read_scenario(path)


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_makes_a_plan(path: Path) -> None:
    """A scenario that comes with wirebench can be run."""
    plan, targets = plan_anywhere(read_scenario(path))
    assert plan.cells
    in_pods = all(DRIVERS[cell.driver].in_clusters for cell in plan.cells)
    assert in_pods == ("kubernetes" in targets)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("blocks", "block", "8: block: no such key; did you mean 'blocks'?"),
        ("warmup_s", "zzz", "7: load.zzz: no such key; the keys are model,"),
        ("[1, 16]", '[1, "16"]', "5: factors.concurrency: must be a whole number (it is '16')"),
        ("[1, 16]", "[1, 0]", "5: factors.concurrency: must be at least 1 (it is 0)"),
        ("[1, 16]", "[1, 20000]", "5: factors.concurrency: must be at most 10000 (it is 20000)"),
        ("[1, 16]", "[]", "5: factors.concurrency: needs at least one level"),
        ("[1, 16]", "", "5: factors.concurrency: needs at least one level"),
        ("[1, 16]", "{rest: []}", "5: factors.concurrency: needs at least one level"),
        ("[1, 16]", "{}", "5: factors.concurrency: needs at least one level"),
        (
            "{rest: k6,",
            "{'*': k6,",
            "6: factors.driver: no transport '*'; levels by transport are for rest, grpc, socket",
        ),
        ("{rest: k6,", "{tcp: k6,", "6: factors.driver: no transport 'tcp'; levels by transport are"),
        (
            "{rest: k6,",
            "{rest: wrk,",
            "6: factors.driver.rest: must be one of k6, ghz, fortio, oha, locust (it is 'wrk')",
        ),
        ("0.5", "soon", "7: load.warmup_s: must be a number (it is 'soon')"),
        ("window_s: 1", "window_s: .nan", "7: load.window_s: must be a finite number (it is nan)"),
        ("window_s: 1", "window_s: 0.1", "7: load.window_s: must be at least 0.5 (it is 0.1)"),
        (
            "{model: closed, warmup_s: 0.5, window_s: 1}",
            "5",
            "7: load: must be a mapping of keys to values",
        ),
        ("rest, grpc", "rset, grpc", "3: factors.transport: must be one of rest, grpc, socket (it is 'rset')"),
        ("Which transport?", "''", "1: question: must not be empty (it is '')"),
        ("Which transport?", "3", "1: question: must be text (it is 3)"),
        ("blocks: 3", "blocks: 3\nblocks: 4", "9: 'blocks' stands twice"),
        ("blocks: 3", "blocks: 3\n\tx: 1", "9: not valid YAML"),
        ("question: Which transport?", "", "2: question: is missing"),
        ("blocks", "[1, 2]", "8: a key must be a word"),
        ("blocks", "on", "8: a key must be a word"),
        ("blocks: 3", "x: \x01", "8: not valid YAML: special characters"),
        ("[1, 16]", "1" + "0" * 5000, "5: not valid YAML: this is no int"),
        ("Which transport?", "2026-13-01", "1: not valid YAML: this is no timestamp"),
        ("blocks: 3", "x: " + "[" * 1000, "1: nested too deeply"),
        (GOOD, "", "1: a scenario is a mapping"),
        (GOOD, "- 1\n", "1: a scenario is a mapping"),
        (GOOD, "question: x\nfactors: 5\n", "2: factors: must be a mapping of keys to values"),
        (GOOD, "question: x\nfactors:\n", "2: factors: must be a mapping of keys to values"),
    ],
)
def test_a_mistake_is_named_once_with_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """What is wrong in a file is said in plain words with line and field, and nothing starts."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, GOOD.replace(old, new))
    assert f"{tmp_path}/scenario.yaml:{expected}" == error.value.message[: len(f"{tmp_path}/scenario.yaml:{expected}")]
    assert "" == error.value.details
    assert error.value.hint


def test_every_mistake_is_named(tmp_path: Path) -> None:
    """Several mistakes are told at once, one line each."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, GOOD.replace("[1, 16]", '["a", 0]').replace("blocks: 3", "blocks: 0"))
    lines = [error.value.message, *error.value.details.splitlines()]
    assert ["5", "5", "8"] == [line.split(":")[1] for line in lines]


def test_yaml_that_stands_for_more_than_itself_is_read_at_once(tmp_path: Path) -> None:
    """Aliases that multiply, or that stand within their own anchor, take no time and no memory."""
    multiplied = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30))
    with pytest.raises(UsageError, match=r"scenario\.yaml:9: a0: no such key"):
        read(tmp_path, f"{GOOD}a0: &a0 [x]\n{multiplied}")
    with pytest.raises(UsageError, match=r"scenario\.yaml:9: a: no such key"):
        read(tmp_path, f"{GOOD}a: &a [*a]\n")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """Binary content gives one clear line."""
    path = tmp_path / "scenario.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_scenario(path)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("driver: {rest: k6,", "driver: {rest: ghz,", "6: factors.driver.rest: rest has no driver 'ghz'"),
        ("operation: users.get", "runtime: aio", "4: factors.runtime: rest has no runtime 'aio'"),
        ("operation: users.get", "codec: json", "4: factors.codec: grpc has no codec 'json'"),
        ("operation: users.get", "threads: 4", "4: factors.threads: the runtime 'asyncio' has no thread pool"),
        (
            "operation: users.get",
            "workers: 2\n  operation: users.create",
            "4: factors.workers: users.create on 2",
        ),
        ("operation: users.get", "connection: reopen", "4: factors.connection: ghz keeps its connections"),
        ("operation: users.get", "runtime: {rest: gunicorn-sync}", "4: factors.runtime.rest: gunicorn-sync closes"),
        (
            "operation: users.get",
            "runtime: {rest: [uvicorn,\n    gunicorn-sync]}\n  connection: {rest: keep}",
            "5: factors.runtime.rest: gunicorn-sync closes the connection",
        ),
        ("[1, 16]", "[1, 1]", "5: factors.concurrency: a level stands twice in the list"),
        ("[rest, grpc, socket]", "[rest, grpc]", "6: factors.driver.socket: socket is not in factors.transport"),
        ("[rest, grpc, socket]", "[rest, rest]", "3: factors.transport: a level stands twice in the list"),
        ("blocks: 3", "compare: workers", "8: compare: there is nothing to compare: no two cells differ in workers"),
        (
            "operation: users.get",
            "connection: {rest: reopen, socket: reopen}\n  workers: {rest: 1, grpc: 2, socket: 4}",
            "3: factors.transport: there is nothing to compare: no two cells differ in transport alone",
        ),
        (
            "operation: users.get",
            f"workers: {[*range(1, 65)]}\n  threads: {{rest: {[*range(1, 1025)]}}}",
            "2: factors: 131456 cells",
        ),
        ("operation: users.get", "runtime: {rest: net-http}", "4: factors.runtime.rest: 'net-http' is a runtime in go"),
        ("operation: users.get", "implementation: go\n  workers: 2", "5: factors.workers: 2 workers in Go"),
        ("operation: users.get", "implementation: [go]\n  store: sqlite", "5: factors.store: in Go there is no store"),
        ("closed", "open", "7: load.model: an open load needs a rate"),
        ("operation: users.get", "rate_per_s: 5", "4: factors.rate_per_s: a closed load has no rate"),
    ],
)
def test_an_impossible_combination_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """A plan that can't give right answers is refused before anything starts, with what to do instead."""
    scenario = read(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UsageError) as error:
        make_plan(scenario, seed=1)
    expected = f"{tmp_path}/scenario.yaml:{expected}"
    assert expected == error.value.message[: len(expected)]
    assert error.value.hint


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("operation: users.get", "replicas: 2\n  operation: users.create", "4: factors.replicas: users.create on 2"),
        ("operation: users.get", "placement: same-pod\n  replicas: 2", "4: factors.placement: a load in the same pod"),
        ("operation: users.get", "placement: same-pod\n  balancing: pod", "4: factors.placement: a load in the same"),
        ("operation: users.get", "disruption: kill-pod\n  balancing: pod", "4: factors.disruption: replicas get new"),
        ("operation: users.get", "disruption: kill-pod\n  placement: same-pod", "4: factors.disruption: a load in the"),
        ("operation: users.get", "disruption: {grpc: kill-pod}", "4: factors.disruption.grpc: ghz doesn't tell"),
        ("operation: users.get", "connections: {rest: 1}", "4: factors.connections.rest: each user of k6"),
        (
            "driver: {rest: k6, grpc: [k6, ghz], socket: k6}",
            "driver: {grpc: ghz}\n  connections: {grpc: 2}",
            "7: factors.connections.grpc: 2 connections are more",
        ),
        ("model: closed", "generators: 2", "7: load.generators: ghz can't share a load"),
        ("blocks: 3", "", None),
        ("operation: users.get", "replicas: [1, 2, 4]\n  balancing: headless", None),
    ],
)
def test_what_a_cluster_can_not_do_is_refused(tmp_path: Path, old: str, new: str, expected: str | None) -> None:
    """Where a load could not go where it is told to, or its figures would be wrong, nothing starts."""
    scenario = read(tmp_path, GOOD.replace(old, new))
    if expected is None:
        assert make_plan(scenario, 1, "kubernetes").cells
        return
    with pytest.raises(UsageError) as error:
        make_plan(scenario, 1, "kubernetes")
    assert f"{tmp_path}/scenario.yaml:{expected}" == error.value.message[: len(f"{tmp_path}/scenario.yaml:{expected}")]


DRIVEN = """\
question: x
factors:
  transport: [rest, grpc]
  driver: {rest: [oha, k6], grpc: [fortio, k6]}
  operation: users.get
compare: driver
"""


@pytest.mark.parametrize(
    ("old", "new", "expected", "hint"),
    [
        ("[oha, k6]", "[ghz, k6]", "4: factors.driver.rest: rest has no driver 'ghz'", "choose from k6, fortio, oha, "),
        (
            "[fortio, k6]",
            "[locust, k6]",
            "4: factors.driver.grpc: grpc has no driver 'locust'",
            "choose from k6, ghz, ",
        ),
        (
            "users.get",
            "users.update",
            "4: factors.driver.rest: oha can't drive users.update",
            "drive it by k6 or locust",
        ),
        (
            "users.get",
            "users.create",
            "4: factors.driver.rest: oha can't drive users.create",
            "drive it by k6 or locust",
        ),
        (
            "users.get",
            "{grpc: users.list}",
            "4: factors.driver.grpc: fortio can't drive users.list: it sends the same",
            "",
        ),
        ("users.get", "{grpc: users.list}", "4: factors.driver.grpc", "drive it by k6 or ghz"),
        (
            "users.get",
            "users.get\n  connection: {grpc: reopen}",
            "6: factors.connection.grpc: fortio keeps its",
            "by k6",
        ),
        (
            "{rest: [oha, k6], grpc: [fortio, k6]}",
            "{rest: [locust, k6]}\n  connection: {rest: reopen}",
            "5: factors.connection.rest: locust keeps",
            "by k6 or ",
        ),
        (
            "users.get",
            "users.get\n  codec: {rest: protobuf}",
            "4: factors.driver.rest: oha sends JSON over REST",
            "by k6",
        ),
    ],
)
def test_what_a_driver_can_not_do_is_refused(tmp_path: Path, old: str, new: str, expected: str, hint: str) -> None:
    """Each driver is asked only for what it can do right; the hint names those that can do the rest."""
    assert old in DRIVEN
    with pytest.raises(UsageError) as error:
        make_plan(read(tmp_path, DRIVEN.replace(old, new)), seed=1)
    assert f"{tmp_path}/scenario.yaml:{expected}" == error.value.message[: len(f"{tmp_path}/scenario.yaml:{expected}")]
    assert hint in error.value.hint


def test_open_loads_are_for_drivers_that_measure_from_when_a_request_was_due(tmp_path: Path) -> None:
    """The time that a late request has waited is what an open load is about."""
    opened = """\
question: x
factors: {transport: rest, driver: [k6, oha], rate_per_s: 100}
load: {model: open}
compare: driver
"""
    assert 2 == len(make_plan(read(tmp_path, opened), 1).cells)
    for driver, why in (("fortio", "from the actual send"), ("locust", "paces its users by their replies")):
        with pytest.raises(UsageError, match=f"{driver} .*{why}.*no response time") as error:
            make_plan(read(tmp_path, opened.replace("oha", driver)), seed=1)
        assert "drive open loads by k6 or oha" == error.value.hint


def test_a_cluster_has_the_drivers_of_its_image_alone(tmp_path: Path) -> None:
    """Load pods hold k6 and ghz: others are refused before anything is deployed."""
    make_plan(read(tmp_path, DRIVEN), 1, "external")
    with pytest.raises(UsageError, match=r"factors\.driver\.rest: oha is not in the image of the load pods") as error:
        make_plan(read(tmp_path, DRIVEN), 1, "kubernetes")
    assert "drive it by k6 or ghz, or run it on another target" == error.value.hint


@pytest.mark.parametrize("target", ["local", "external"])
def test_what_only_a_cluster_can_vary_is_refused_elsewhere(tmp_path: Path, target: TargetName) -> None:
    """A single level is a setting, which is left out; several are the question, and more than one replica too."""
    settings = "cpu_limit_millicores: 250\n  placement: same-node\n  replicas: 1"
    plan = make_plan(read(tmp_path, GOOD.replace("operation: users.get", settings)), 1, target)
    assert {"cpu_limit_millicores", "placement"} == set(plan.left_out)
    assert {(None, None, 1)} == {(cell.cpu_limit_millicores, cell.placement, cell.replicas) for cell in plan.cells}
    for varied in ("balancing: [pod, service]", "replicas: 2", "placement: {rest: same-pod, grpc: same-node}"):
        with pytest.raises(UsageError, match=f"factors.{varied.partition(':')[0]}: the target {target}"):
            make_plan(read(tmp_path, GOOD.replace("operation: users.get", varied)), 1, target)


def test_a_cluster_sets_limits_where_the_scenario_does_not(tmp_path: Path) -> None:
    """Limits are always set there, and no other target has any."""
    scenario = read(tmp_path, GOOD)
    (limits,) = {
        (cell.cpu_limit_millicores, cell.memory_limit_mib) for cell in make_plan(scenario, 1, "kubernetes").cells
    }
    assert (500, 512) == limits
    assert {None} == {cell.cpu_limit_millicores for cell in make_plan(scenario, 1, "local").cells}


def test_one_cell_may_be_measured_without_a_comparison(tmp_path: Path) -> None:
    """What isn't asked to be compared needs no second level."""
    plan = make_plan(read(tmp_path, "question: How fast?\nfactors: {transport: rest}\n"), seed=1)
    assert 1 == len(plan.cells)


def test_what_varies_is_offered_for_comparison(tmp_path: Path) -> None:
    """Who asks to compare what each transport has one level of is told what has several."""
    text = GOOD.replace("operation: users.get", "workers: {rest: 1, grpc: 2, socket: 1}") + "compare: workers\n"
    with pytest.raises(UsageError) as error:
        make_plan(read(tmp_path, text), seed=1)
    expected = "or compare what varies: transport (rest, socket), driver (k6, ghz), concurrency (1, 16)"
    assert f"give the cells the same levels of all others, {expected}" == error.value.hint


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


def test_threads_in_go_are_the_cores_that_it_uses(tmp_path: Path) -> None:
    """Every runtime in Go takes them."""
    text = GOOD.replace("operation: users.get", "implementation: go\n  threads: [1, 2]") + "compare: threads\n"
    assert {1, 2} == {cell.threads for cell in make_plan(read(tmp_path, text), seed=1).cells}


def test_a_runtime_that_closes_connections_may_reopen_them(tmp_path: Path) -> None:
    """The refusal is of a connection that is said to be kept and isn't."""
    text = "question: x\nfactors: {transport: rest, runtime: gunicorn-sync, connection: reopen}\n"
    assert "reopen" == make_plan(read(tmp_path, text), seed=1).cells[0].connection


def test_workers_may_write_to_a_store_that_they_share(tmp_path: Path) -> None:
    """The refusal is of writing to each worker's own memory, not of writing with several workers."""
    for store in ("sqlite", "postgres"):
        text = GOOD.replace("operation: users.get", f"operation: users.create\n  workers: 2\n  store: {store}")
        assert {2} == {cell.workers for cell in make_plan(read(tmp_path, text), seed=1).cells}


def test_replicas_may_write_to_a_store_that_they_share(tmp_path: Path) -> None:
    """And may be replaced meanwhile: what they have written isn't theirs."""
    text = GOOD.replace("operation: users.get", "operation: users.create\n  store: postgres\n  replicas: 2")
    text = text.replace("driver: {rest: k6, grpc: [k6, ghz], socket: k6}", "disruption: rolling-restart")
    assert {2} == {cell.replicas for cell in make_plan(read(tmp_path, text), seed=1, target="kubernetes").cells}


def test_levels_by_transport_apply_to_that_transport(tmp_path: Path) -> None:
    """A factor written as a mapping varies for the transports it names."""
    plan = make_plan(read(tmp_path, GOOD), seed=1)
    drivers = {(cell.transport, cell.driver) for cell in plan.cells}
    assert {("rest", "k6"), ("grpc", "k6"), ("grpc", "ghz"), ("socket", "k6")} == drivers


def test_every_block_holds_every_cell_once_in_its_own_order(tmp_path: Path) -> None:
    """Blocks repeat all cells, shuffled anew."""
    plan = make_plan(read(tmp_path, GOOD), seed=7)
    assert 3 == len(plan.blocks)
    for block in plan.blocks:
        assert set(plan.cells) == {planned.cell for planned in block}
        assert list(range(len(plan.cells))) == [planned.order for planned in block]
    assert len({tuple(planned.cell for planned in block) for block in plan.blocks}) > 1


def test_a_seed_repeats_the_order(tmp_path: Path) -> None:
    """The same seed gives the same plan, another seed another order."""
    scenario = read(tmp_path, GOOD)
    assert make_plan(scenario, seed=7).blocks == make_plan(scenario, seed=7).blocks
    assert make_plan(scenario, seed=7).blocks != make_plan(scenario, seed=8).blocks


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


def test_workloads_are_levels_of_the_operation(tmp_path: Path) -> None:
    """A scenario names sequences, mixes and kinds of clients, and measures them as it does operations."""
    plan = make_plan(read(tmp_path, WORKLOADS), seed=1)
    assert ["crud", "shop", "crud", "shop"] == [cell.operation for cell in plan.cells]
    shop = plan.scenario.load.workload("shop")
    assert {"readers": 9, "editors": 1} == {name: client.users for name, client in shop.kinds.items()}
    assert ("users.get", "users.list", "users.create", "users.delete") == shop.operations


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[crud, shop]", "[crud, shopp]", "4: factors.operation: there is no operation or workload 'shopp'"),
        ("[crud, shop]", "crud", "10: load.workloads.shop: no cell has this workload"),
        ("[crud, shop]", "[crud, shop, users.delete]", "4: factors.operation: a load deletes only users that it has"),
        (
            "payload: profile",
            "payload: huge",
            "5: factors.payload: must be one of small, profile, list, batch, 512k, or",
        ),
        ("payload: profile", "payload: 0", "5: factors.payload: must be one of small, profile, list, batch, 512k, or"),
        ("payload: profile", "payload: true", "5: factors.payload: must be one of small"),
        ("payload: profile", "payload: 512k", "5: factors.payload: crud has no payload '512k'"),
        ("[users.create, users.update, users.get, users.delete]", "[]", "9: load.workloads.crud: needs either a"),
        ("[users.create, users.update,", "[users.delete, users.create,", "9: load.workloads.crud: users.delete needs"),
        ("[users.create, users.update,", "[users.make,", "9: load.workloads.crud.sequence: must be one of users.get,"),
        (
            "sequence: [users.create",
            "mix: {users.get: 0}, sequence: [users.create",
            "9: load.workloads.crud.mix.users.get",
        ),
        ("users: 9", "users: 0", "12: load.workloads.shop.clients.readers.users: must be at least 1 (it is 0)"),
        ("  payload: profile", "  workers: 2", "on 2 workers with a store in each one's memory"),
        (
            "  payload: profile",
            "  driver: {grpc: ghz}",
            "5: factors.driver.grpc: ghz can't drive crud: it sends one call over",
        ),
        ("  concurrency: 10", "  concurrency: 4", "13: load.workloads.shop.clients.editors: none of 4 users is one of"),
        ("    crud:", "    Crud:", "9: load.workloads.Crud"),
    ],
)
def test_workloads_and_payloads_that_cannot_be_are_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """Each mistake in a workload or payload is one line with its place."""
    assert old in WORKLOADS
    with pytest.raises(UsageError) as error:
        make_plan(read(tmp_path, WORKLOADS.replace(old, new)), seed=1)
    assert expected in error.value.message


SWEEP = """\
question: Where does it break?
factors: {transport: [rest, grpc]}
load: {model: sweep, concurrency_max: 48}
"""


def test_a_sweep_doubles_its_connections(tmp_path: Path) -> None:
    """A sweep's levels are the powers of two up to the last one, which is where it was told to end."""
    plan = make_plan(read(tmp_path, SWEEP), seed=1)
    assert [1, 2, 4, 8, 16, 32, 48] == [cell.concurrency for cell in plan.cells if cell.transport == "rest"]
    to_the_end = make_plan(read(tmp_path, SWEEP.replace(", concurrency_max: 48", "")), seed=1)
    assert [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096] == [
        cell.concurrency for cell in to_the_end.cells if cell.transport == "rest"
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[rest, grpc]}", "[rest, grpc], concurrency: 4}", "2: factors.concurrency: a sweep has its own numbers"),
        ("[rest, grpc]}", "[rest, grpc], rate_per_s: 4}", "2: factors.rate_per_s: a closed load has no rate"),
        ("model: sweep", "model: closed", "3: load.concurrency_max: a closed load has no concurrency_max"),
        ("concurrency_max: 48", "concurrency_max: 1", "3: load.concurrency_max: must be at least 2 (it is 1)"),
    ],
)
def test_sweeps_that_cannot_be_are_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """What a sweep decides itself, or what isn't one, is named."""
    with pytest.raises(UsageError) as error:
        make_plan(read(tmp_path, SWEEP.replace(old, new)), seed=1)
    assert expected in error.value.message


CALLS = """\
question: What do 500 calls take?
factors: {transport: [rest, grpc]}
load: {model: calls, calls: 500}
"""


def test_a_number_of_calls_has_no_warm_up(tmp_path: Path) -> None:
    """Every call counts from the first one on, and the window is only a limit."""
    load = read(tmp_path, CALLS).load
    assert (500, 0, 60) == (load.calls, load.warmup_s, load.window_s)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (", calls: 500", "", "3: load.model: it needs a number of calls"),
        ("calls: 500", "calls: 9", "3: load.calls: must be at least 10 (it is 9)"),
        ("model: calls", "model: closed", "3: load.calls: a closed load has no calls"),
        ("calls: 500", "calls: 500, warmup_s: 1", "3: load.warmup_s: every call counts"),
        ("calls: 500", "calls: 500, generators: 2", "3: load.generators: several generators have no common order"),
        ("grpc]}", "grpc], driver: {grpc: ghz}}", "2: factors.driver: ghz sends for a time, and not a number"),
        (
            "grpc]}",
            "grpc], concurrency: 1000}",
            "3: load.calls: 500 calls on each of 1000 connections are over 100,000",
        ),
        ("grpc]}", "grpc], rate_per_s: 10}", "2: factors.rate_per_s: a closed load has no rate"),
    ],
)
def test_numbers_of_calls_that_cannot_be_are_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """Each is one line with its place."""
    with pytest.raises(UsageError) as error:
        make_plan(read(tmp_path, CALLS.replace(old, new)), seed=1)
    assert expected in error.value.message
