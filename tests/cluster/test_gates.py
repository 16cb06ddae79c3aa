"""Gates that fail in a cluster only: each by a run with the fault that it is there to find."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.cluster import Started

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("no_namespace_is_left")]

LIMIT = "cpu_limit_millicores: 250"
CLOSED = "load: {warmup_s: 0.5, window_s: 2}"
#: With the core of a load pod more than the machine has, and still room beside what is deployed, which asks for 500m.
TOO_MUCH = 1000 * (os.cpu_count() or 1) - 750
#: Factors and load by gate.
FAULTS = {
    "disruption": (
        f"transport: rest, disruption: rolling-restart, replicas: 2, rate_per_s: 50, concurrency: 8, {LIMIT}",
        "load: {model: open, warmup_s: 1, window_s: 3}",
    ),
    "replica_balance": (f"transport: rest, replicas: 2, balancing: headless, concurrency: 1, {LIMIT}", CLOSED),
    "shared_host": (f"transport: rest, concurrency: 2, cpu_limit_millicores: {TOO_MUCH}", CLOSED),
    # A quarter of a core for each generator, which could use a whole one.
    "throttled_generator": (
        "transport: socket, driver: k6, concurrency: 64, cpu_limit_millicores: 1000",
        "load: {warmup_s: 0.5, window_s: 2, generators: 4}",
    ),
}


@pytest.mark.parametrize("gate", FAULTS)
def test_a_fault_fails_its_gate(gate: str, tmp_path: Path) -> None:
    """Pods that come back too late, that get no request, that share too few cores; a load pod at its limit."""
    factors, load = FAULTS[gate]
    started = Started(
        tmp_path, f"question: Is this fault found?\nfactors: {{{factors}}}\n{load}\nblocks: 1\n", "--no-calibrate"
    )
    assert 0 == started.end(), started.printed
    (record,) = started.run().records
    assert gate in {each.name for each in record.gates if not each.passed}, record.gates
    assert gate.replace("_", " ") in started.printed or gate in started.printed
