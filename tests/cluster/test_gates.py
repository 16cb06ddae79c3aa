"""Gates that fail in a cluster only: each by a run with the fault that it is to find."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, Started, load_pods, wait_until

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("no_namespace_is_left")]

LIMIT = "cpu_limit_millicores: 250"


def test_pods_that_get_no_request_fail_a_gate(tmp_path: Path) -> None:
    """One connection reaches one of two replicas, where the client is to balance."""
    factors = f"transport: rest, replicas: 2, balancing: headless, concurrency: 1, {LIMIT}"
    load = "load: {warmup_s: 0.5, window_s: 2}"
    started = Started(
        tmp_path, f"question: Is this fault found?\nfactors: {{{factors}}}\n{load}\nblocks: 1\n", "--no-calibrate"
    )
    assert 0 == started.end(), started.printed
    (record,) = started.run().records
    assert "replica_balance" in {each.name for each in record.gates if not each.passed}, record.gates
    assert "replica balance" in started.printed


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
