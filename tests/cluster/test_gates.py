"""Gates that fail in a cluster only, or by what its engine brings: each by a run with the fault that it is to find."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, Started, load_pods, wait_until
from tests.support.runs import RUN_TIMEOUT_S, WIREBENCH, only_run
from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("no_namespace_is_left")]

LIMIT = "cpu_limit_millicores: 250"
CLOSED = "load: {warmup_s: 0.5, window_s: 2}"
#: With the core of a load pod more than the machine has, and still room beside what is deployed, which asks for 500m.
TOO_MUCH = 1000 * (os.cpu_count() or 1) - 750
#: Factors and load by gate.
FAULTS = {
    "replica_balance": (f"transport: rest, replicas: 2, balancing: headless, concurrency: 1, {LIMIT}", CLOSED),
    "shared_host": (f"transport: rest, concurrency: 2, cpu_limit_millicores: {TOO_MUCH}", CLOSED),
}


@pytest.mark.parametrize("gate", FAULTS)
def test_a_fault_fails_its_gate(gate: str, tmp_path: Path) -> None:
    """Pods that get no request, and that share too few cores."""
    factors, load = FAULTS[gate]
    started = Started(
        tmp_path, f"question: Is this fault found?\nfactors: {{{factors}}}\n{load}\nblocks: 1\n", "--no-calibrate"
    )
    assert 0 == started.end(), started.printed
    (record,) = started.run().records
    assert gate in {each.name for each in record.gates if not each.passed}, record.gates
    assert gate.replace("_", " ") in started.printed or gate in started.printed


def test_a_load_pod_at_its_cpu_limit_fails_a_gate(cluster: Cluster, tmp_path: Path) -> None:
    """By what else runs in one of them, each of which may use a quarter of a core."""
    load = "load: {warmup_s: 1, window_s: 10, generators: 4}"
    text = (
        f"question: Is this fault found?\nfactors: {{transport: socket, concurrency: 4, {LIMIT}}}\n{load}\nblocks: 1\n"
    )
    started = Started(tmp_path, text, "--no-calibrate")
    wait_until(lambda: len(load_pods(cluster)) == 4, "all generators run")
    namespace, pod = load_pods(cluster)[0]
    busy = ["timeout", "20", "python3", "-c", "while True: pass"]
    with contextlib.suppress(subprocess.CalledProcessError):  # its end, or the pod's
        cluster.kubectl("exec", pod, "--namespace", namespace, "--", *busy)
    assert 0 == started.end(), started.printed
    (record,) = started.run().records
    assert "throttled_generator" in {each.name for each in record.gates if not each.passed}, record.gates


def test_a_full_table_of_connections_fails_a_gate(tmp_path: Path) -> None:
    """On this machine, in a network of its own, by connections that are opened for each request."""
    (tmp_path / "fault.yaml").write_text(
        "question: Is this fault found?\nfactors: {transport: socket, connection: reopen, concurrency: 4}\n"
        "load: {warmup_s: 0.1, window_s: 4}\nblocks: 1\n"
    )
    # Enough until the load begins, and soon used up by it.
    room = "2000"
    soon_full = ["unshare", "--net", sys.executable, "-m", "tests.support.full_connection_table", room]
    run = f"{WIREBENCH} run {tmp_path}/fault.yaml --no-calibrate --out {tmp_path}/results"
    done = run_program([*soon_full, *run.split()], timeout=RUN_TIMEOUT_S, cwd=ROOT)
    assert 0 == done.returncode, done.stderr
    (record,) = only_run(tmp_path / "results").records
    assert "dropped_packets" in {gate.name for gate in record.gates if not gate.passed}, record.gates
