"""Scenarios that can't be: each mistake is one line with its place and a next step, before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import scenario_text as base
from tests.support.scenario_text import read, reject
from wirebench.errors import UsageError
from wirebench.model.contract import TargetName
from wirebench.plan.plan import make_plan
from wirebench.plan.validation import RECORDED_IN_CLUSTER_MAX

#: What most changes stand in the place of.
OPERATION = "operation: users.get"
#: By scenario: what is changed in it, to what, and what is said of that.
REJECTED = {
    base.GOOD: [
        ("blocks", "block", "8: block: no such key: there are blocks"),
        ("[1, 16]", '[1, "16"]', "5: factors.concurrency: must be a valid integer (it is '16')"),
        ("[1, 16]", "[1, 1]", "5: factors.concurrency: a level appears twice in the list"),
        ("{rest: k6,", "{'*': k6,", "6: factors.driver: no transport '*'; levels by transport are for rest, grpc,"),
        ("{model: closed, warmup_s: 0.5, window_s: 1}", "5", "7: load: must be a mapping of keys (it is 5)"),
        ("blocks: 3", "source: x", "8: source: no such key"),
        ("model: closed", "model: closed, recording: x", "7: load.recording: no such key"),
        ("blocks: 3", "blocks: 3\nblocks: 4", "9: 'blocks' appears twice"),
        ("[1, 16]", "[1, 016]", "5: factors.concurrency: must be a valid integer (it is '016')"),
        ("blocks: 3", "x: " + "[" * 1000, "1: nested too deeply"),
        (base.GOOD, "", "1: a scenario is a mapping"),
        (OPERATION, "runtime: {rest: aio}", "4: factors.runtime.rest: no transport and implementation here has the"),
        (OPERATION, "delay_ms: 5001", "4: factors.delay_ms: must be at most 5000 (it is 5001)"),
        (OPERATION, "codec: json", "4: factors.codec: grpc has no codec 'json'"),
        (OPERATION, "threads: 4", "4: factors.threads: threads 4 needs runtime"),
        (OPERATION, "store_connections: {rest: 4}", "4: factors.store_connections.rest: store_connections 4 needs st"),
        (OPERATION, "workers: 2\n  operation: users.create", "4: factors.workers: users.create on 2"),
        ("blocks: 3", "compare: workers", "8: compare: there is nothing to compare: no two cells differ in workers"),
        (OPERATION, f"workers: {[*range(1, 65)]}\n  threads: {{rest: {[*range(1, 1025)]}}}", "2: factors: 131456"),
        ("closed", "open", "7: load.model: the load model open needs factors.rate_per_s"),
        (OPERATION, "rate_per_s: 5", "4: factors.rate_per_s: the load model closed has no rate_per_s"),
        (OPERATION, "connections: {rest: 1}", "4: factors.connections.rest: REST over HTTP/1.1 has one request at"),
        (OPERATION, "implementation: go\n  http: {rest: 2}", "5: factors.http.rest: http 2 needs driver wireload"),
    ],
    base.HTTP: [
        ("[1, 2]", "3", "5: factors.http.rest: must be "),
        ("{rest: [1, 2]}", "2", "5: factors.http: http 2 needs transport rest, and not"),
    ],
    base.DRIVEN: [
        ("[oha, k6]", "[ghz, k6]", "4: factors.driver.rest: rest has no driver 'ghz'"),
        ("users.get", "users.create", "4: factors.driver.rest: oha can't drive users.create"),
        (
            "[oha, k6], grpc: [ghz, wireload]}",
            "[locust, k6]}\n  connection: {rest: reopen}",
            "5: factors.connection.rest: connection reopen needs driver wireload or k6 or oha, and not locust",
        ),
        ("users.get", "users.get\n  codec: {rest: protobuf}", "4: factors.driver.rest: driver oha needs codec json"),
    ],
    base.CROSS_CHECKED: [
        (OPERATION, "operation: users.list", "6: cross_check: it adds no cell"),
        (OPERATION, "operation: users.create", "6: cross_check.driver.rest: k6 can't drive"),
    ],
    base.WORKLOADS: [
        ("[crud, shop]", "[crud, shopp]", "4: factors.operation: there is no operation or workload 'shopp'"),
        ("payload: profile", "payload: 512k", "5: factors.payload: crud has no payload '512k'"),
        ("[users.create, users.update,", "[users.delete, users.create,", "9: load.workloads.crud: users.delete needs"),
    ],
    base.SWEEP: [
        ("]}", "], concurrency: 4}", "2: factors.concurrency: the load model sweep has no concurrency of its own"),
        ("model: sweep", "model: closed", "3: load.concurrency_max: the load model closed has no concurrency_max"),
    ],
    base.OPEN: [
        ("concurrency_max: 48", "spawn_rate_per_s: 9", "3: load.spawn_rate_per_s: the load model open has no"),
    ],
    base.CALLS: [
        ("calls: 500", "calls: 500, warmup_s: 1", "3: load.warmup_s: every call counts"),
        ("grpc]}", "grpc], concurrency: 1000}", "3: load.calls: 500 calls on each of 1000 connections are over"),
    ],
    base.PHASES: [
        ("  model: calls\n  calls: 40\n", "", "5: load.workloads.crud.phases: the load model closed has no phases"),
        ("calls: 40", "calls: 42", "5: load.calls: 42 calls can't be divided among the 4 phases of crud"),
        ("[users.create, users.list", "[users.list", "7: load.workloads.crud: users.delete needs users.create before"),
    ],
    base.SPAWNED: [
        ("warmup_s: 2", "warmup_s: 1.9", "3: load.spawn_rate_per_s: the last of 21 users starts after 2 s, and the"),
    ],
    base.CAPACITY: [
        ("  objective: {p99_ms: 50}\n", "", "4: load.model: the load model capacity needs load.objective"),
        ("p99_ms: 50", "p99_ms: 201", "6: load.window_s: a window of 2 s is too short to show a p99 of 201 ms"),
        ("window_s: 2", "window_s: 2\n  timeout_s: 0.05", "7: load.timeout_s: requests end after 0.05 s, and none"),
        ("16}", "16, operation: ledger.stream_transactions}", "4: load.model: the load model capacity is of req"),
    ],
    base.STREAMS: [
        ("[rest, grpc]", "socket", "4: factors.operation: ledger.stream_transactions has no socket request"),
        ("stream_transactions", "get_balance", "5: factors.stream_rate_limit_per_s: ledger.get_balance is not a str"),
        ("  stream_rate", "  driver: {grpc: ghz}\n  stream_rate", "5: factors.driver.grpc: ghz can't drive ledger"),
        ("  stream_rate", "  codec: {rest: protobuf}\n  stream_rate", "5: factors.codec.rest: REST streams are Server"),
        ("[100, none]", "1\nload: {model: calls, calls: 9, warmup_calls: 5}", "6: load.warmup_calls: streams have no"),
        (
            "ledger.stream_transactions\n",
            "reads\nload: {workloads: {reads: {mix: {ledger.stream_transactions: 1}}}}\n# ",
            "5: load.workloads.reads.mix.ledger.stream_transactions",
        ),
    ],
    base.REPLAY: [
        ("timing.json", "gone.json", "3: load.timing: {folder}/gone.json: No such file"),
        (", timing: timing.json", "", "3: load.model: the load model replay needs load.timing"),
        ("timing.json", "timing.json, speedup: 3", "3: load.timing: a window of 0.333 s is not"),
    ],
}
#: What only a cluster can't do: a load could not go where it is told to, or its figures would be wrong.
REJECTED_IN_A_CLUSTER = {
    base.GOOD: [
        (OPERATION, "replicas: 2\n  operation: users.create", "4: factors.replicas: users.create on 2"),
        (OPERATION, "store: [memory, postgres]", "4: factors.store: the target kubernetes brings no PostgreSQL server"),
        (OPERATION, "placement: same-pod\n  replicas: 2", "4: factors.placement: placement same-pod needs replicas 1,"),
    ],
    base.DRIVEN: [("", "", "4: factors.driver.rest: oha is not in the image of the load pods")],
    base.CAPACITY: [("", "", "4: load.model: each window of a search for the capacity would start")],
}


@pytest.fixture(autouse=True)
def timing(tmp_path: Path) -> Path:
    """Write the timing file of replays."""
    path = tmp_path / "timing.json"
    path.write_text("[0, 0.25, 0.5, 0.75]", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("target", "text", "change"),
    [
        (target, text, change)
        for target, rejected in (("local", REJECTED), ("kubernetes", REJECTED_IN_A_CLUSTER))
        for text, changes in rejected.items()
        for change in changes
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, target: TargetName, text: str, change: tuple[str, ...]
) -> None:
    """The line has the field and says in plain words what is wrong with it, before anything starts."""
    old, new, expected = change
    reject(tmp_path, text.replace(old, new), expected.replace("{folder}", str(tmp_path)), target)


def test_every_mistake_is_named(tmp_path: Path) -> None:
    """Several mistakes are told at once, one line each."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, base.GOOD.replace("[1, 16]", '["a", 0]').replace("blocks: 3", "blocks: 0"))
    lines = [error.value.message, *error.value.details.splitlines()]
    assert ["5", "5", "8"] == [line.split(":")[1] for line in lines]


@pytest.mark.parametrize(
    ("text", "old", "new", "hint"),
    [
        (base.DRIVEN, "[oha, k6]", "[ghz, k6]", "choose from wireload, k6,"),
        (base.DRIVEN, "users.get", "users.create", "drive it by wireload"),
        (base.HTTP, "{rest: [1, 2]}", "2", "for some transports alone: http: {rest: …}"),
    ],
)
def test_the_next_step_names_what_would_do(tmp_path: Path, text: str, old: str, new: str, hint: str) -> None:
    """Who asks for what can't be is told which levels, drivers or factors there are instead."""
    assert hint in reject(tmp_path, text.replace(old, new), "")


def test_yaml_that_stands_for_more_than_itself_is_read_at_once(tmp_path: Path) -> None:
    """Aliases that multiply, or that stand within their own anchor, take no time and no memory."""
    multiplied = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30))
    reject(tmp_path, f"{base.GOOD}a0: &a0 [x]\n{multiplied}", "9: a0: no such key")
    reject(tmp_path, f"{base.GOOD}a: &a [*a]\n", "9: a: no such key")


def test_a_recording_that_no_task_holds_is_rejected_in_a_cluster(tmp_path: Path, timing: Path) -> None:
    """A part of it is taken."""
    timing.write_text(json.dumps([each / 10_000 for each in range(RECORDED_IN_CLUSTER_MAX + 1)]), encoding="utf-8")
    assert make_plan(read(tmp_path, base.REPLAY), 1, "local").cells
    reject(tmp_path, base.REPLAY, "3: load.timing: 30,001 requests are more than load pods take", "kubernetes")
    part = base.REPLAY.replace("timing.json", "timing.json, window_s: 1")
    assert make_plan(read(tmp_path, part), 1, "kubernetes").cells


@pytest.mark.parametrize("target", ["local", "external"])
@pytest.mark.parametrize(
    "varied", ["balancing: [pod, service]", "replicas: 2", "placement: {rest: same-pod, grpc: same-node}"]
)
def test_what_only_a_cluster_can_vary_is_rejected_elsewhere(tmp_path: Path, target: TargetName, varied: str) -> None:
    """Several levels of it are the question, and so is more than one replica."""
    factor = varied.partition(":")[0]
    reject(tmp_path, base.GOOD.replace(OPERATION, varied), f"4: factors.{factor}: the target {target}", target)
