"""`wirebench run --target kubernetes`: what it measures, and what it leaves."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.cluster import LONG, Cluster, Started
from wirebench.model.record import Record
from wirebench.targets.cluster.namespace import LABEL

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("no_namespace_is_left")]

ALL = """\
question: Does every placement work?
factors:
  transport: rest
  placement: [same-pod, same-node, cross-node]
  operation: users.create
  concurrency: 4
  cpu_limit_millicores: 250
load: {warmup_s: 0.5, window_s: 1}
blocks: 1
compare: placement
"""
BALANCING = """\
question: Who spreads calls over replicas?
factors:
  transport: grpc
  driver: ghz
  connections: 1
  concurrency: 8
  replicas: 2
  balancing: [service, headless, pod]
  cpu_limit_millicores: 250
load: {warmup_s: 1, window_s: 2}
blocks: 1
compare: balancing
"""


def test_every_placement_measures_server_and_load(tmp_path: Path) -> None:
    """Requests are counted alike on both sides, CPU time and memory are the container's, and a report is written."""
    started = Started(tmp_path, ALL)
    assert 0 == started.end(), started.printed
    run = started.run()
    assert ("complete", 3) == (run.info.status, len(run.records))
    assert run.info.conformance_requests >= 100
    assert any("one machine" in note for note in run.info.notes)
    for record in run.records:
        assert {} == record.errors
        gates = {gate.name: gate for gate in record.gates}
        assert gates["counts"].passed
        assert gates["shared_host"].passed
        check_server(record)
        assert record.generator.cpu_share is not None
        assert 0 < record.generator.cpu_share < 1.1
    assert (run.folder / "report.html").is_file()


def check_server(record: Record) -> None:
    """See that agents have read the service's container, which is held to 250m and 512 MiB."""
    # A period's quota may be used at both ends of the window.
    assert record.server.cpu_s is not None
    assert 0.02 * record.window_s < record.server.cpu_s < 0.4 * record.window_s, record.id
    assert record.server.memory_bytes is not None
    assert 10 * 2**20 < record.server.memory_bytes < 512 * 2**20, record.id
    assert record.server.throttled_periods is not None
    assert 0 <= record.server.throttled_periods <= 10 * record.window_s + 4, record.id


@pytest.mark.slow
def test_one_grpc_connection_sticks_to_a_pod_and_a_client_that_balances_spreads(tmp_path: Path) -> None:
    """The Service balances connections, and one connection has one pod; by the headless name, calls are spread."""
    started = Started(tmp_path, BALANCING)
    assert 0 == started.end(), started.printed
    shares = {}
    for record in started.run().records:
        counts = record.server.requests_by_replica
        assert counts is not None
        assert 2 == len(counts)
        shares[record.factors["balancing"]] = max(counts.values()) / sum(counts.values())
    assert 1 == shares["service"] == shares["pod"]
    assert 0.5 <= shares["headless"] < 0.6


def test_an_interrupted_run_keeps_its_cells_and_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C in the middle of the second cell: the first one's record stays, and the cluster is as it was."""
    started = Started(tmp_path, LONG)
    started.wait_for("1/2")
    time.sleep(8)
    started.process.send_signal(signal.SIGINT)
    assert 130 == started.end(), started.printed
    assert ("incomplete", 1) == (started.run().info.status, len(started.run().records))


def test_a_service_that_does_not_start_shows_events_and_log(tmp_path: Path) -> None:
    """Its memory limit is too low: the message says which pod, why, and what it printed last."""
    values = tmp_path / "values.yaml"
    values.write_text("common: {resources: {memory: 64Mi}}\n")
    scenario = LONG.replace("cpu_limit_millicores: 250", "runtime: asyncio, workers: 8")
    started = Started(tmp_path, scenario, "--values", str(values))
    assert 1 == started.end()
    assert "error: the pod wirebench-socket-" in started.printed
    assert "  | event " in started.printed
    assert "OOMKilled" in started.printed


@pytest.mark.slow
def test_a_second_run_at_once_is_rejected_and_a_killed_one_is_cleared(cluster: Cluster, tmp_path: Path) -> None:
    """Two would take CPU time from each other; what a run left that was killed outright goes with the next one."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = Started(tmp_path / "a", LONG)
    first.wait_for("1/2")
    second = Started(tmp_path / "b", LONG)
    assert 1 == second.end()
    assert "another run is measuring" in second.printed
    os.kill(first.process.pid, signal.SIGKILL)
    first.end()
    left = cluster.kubectl("get", "namespaces", f"--selector={LABEL}", "--output=name").split()
    assert 2 == len(left), "one for services and load, one for agents"
    third = Started(tmp_path / "b", LONG.replace("window_s: 10", "window_s: 1"))
    assert 0 == third.end(), third.printed
