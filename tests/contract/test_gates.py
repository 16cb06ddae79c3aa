"""Gates fail for real: each by a load, a service or a machine with the fault that it is there to find."""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from tests.support.faulty_service import write_application
from tests.support.runs import needs_cross_check, needs_tools, only_run, running, second_lane, wirebench
from wirebench.measure.gates import GATES
from wirebench.results.runs import Run

pytestmark = [second_lane, needs_tools]

OPEN = "load: {model: open, warmup_s: 0.2, window_s: 0.5}"
SHORT = "load: {warmup_s: 0.1, window_s: 0.5}"
STREAMS = "transport: rest, operation: ledger.stream_transactions"


@dataclass(frozen=True)
class Fault:
    """What makes a gate fail: factors and load of a scenario, of a variant of the faulty service if one is named."""

    factors: str
    load: str = SHORT
    variant: str = ""

    @property
    def scenario(self) -> str:
        """The text of the scenario; the application file is to be beside it."""
        application = f"application: faulty.yaml\nfactors: {{operation: get, variant: {self.variant}, "
        opening = application if self.variant else "factors: {"
        return f"question: Is this fault found?\n{opening}{self.factors}}}\n{self.load}\nblocks: 1\n"


FAULTS = {
    "dropped_iterations": Fault("driver: k6, rate_per_s: 200, concurrency: 1", OPEN, "slow"),
    "rate_error": Fault("rate_per_s: 200, concurrency: 1", OPEN, "slow"),
    "connections": Fault("concurrency: 4", SHORT, "single"),
    "calls": Fault("concurrency: 1", "load: {model: calls, calls: 1000, window_s: 0.5}", "slow"),
    "warmup": Fault("concurrency: 1", "load: {warmup_s: 0.01, window_s: 0.5}", "slow"),
    "error_rate": Fault("concurrency: 1", SHORT, "errors"),
    "samples": Fault("concurrency: 1", SHORT, "slow"),
    "conformance": Fault("concurrency: 1", "load: {warmup_s: 0.5, window_s: 1}", "wrong"),
    "drift": Fault("concurrency: 1", "load: {warmup_s: 0.1, window_s: 4}", "slower"),
    "resolution": Fault(
        "concurrency: 1",
        "load: {model: capacity, objective: {p99_ms: 10}, from_rate_per_s: 8, warmup_s: 0.1, window_s: 0.5}",
        "slow",
    ),
    "first_items": Fault(f"{STREAMS}, stream_items: 100000"),
    "rate_limit": Fault(f"{STREAMS}, stream_items: 100000, stream_rate_limit_per_s: 1000000"),
    "shared_cores": Fault("transport: socket"),
}
#: These fail where their test says so: on both cores, beside something else, or in a cluster.
ELSEWHERE = {
    "generator_cpu": "tests/contract/test_full_generator.py",
    "ceiling": "tests/contract/test_calibrate.py",
    "interference": "test_what_else_runs_on_the_cores_fails_a_gate",
    "counts": "test_requests_of_others_fail_a_gate",
    "replica_balance": "tests/cluster/test_gates.py",
    "shared_host": "tests/cluster/test_gates.py",
    "throttled_generator": "tests/cluster/test_gates.py",
    "dropped_packets": "tests/cluster/test_gates.py",
}


def test_every_gate_fails_somewhere() -> None:
    """A new gate needs a test that makes it fail."""
    assert {rule.name for rule in GATES} == FAULTS.keys() | ELSEWHERE.keys()


def find_failed(run: Run) -> set[str]:
    """Return the gates that failed in the one record of a run; one that fails says what to do."""
    (record,) = run.records
    failed = [gate for gate in record.gates if not gate.passed]
    assert all(gate.advice for gate in failed)
    return {gate.name for gate in failed}


def measure(folder: Path, fault: Fault, *options: str) -> set[str]:
    """Measure the scenario of a fault, and return the gates that failed."""
    write_application(folder / "faulty.yaml")
    (folder / "fault.yaml").write_text(fault.scenario, encoding="utf-8")
    done = wirebench("run", folder / "fault.yaml", "--no-calibrate", "--out", folder / "results", *options)
    assert 0 == done.returncode, done.stderr
    assert "gate" in done.stdout + done.stderr
    return find_failed(only_run(folder / "results"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "gate", [pytest.param(each, marks=[needs_cross_check] * (each == "dropped_iterations")) for each in FAULTS]
)
def test_a_fault_fails_its_gate(gate: str, tmp_path: Path) -> None:
    """On a service that is sound until it has been verified."""
    assert gate in measure(tmp_path, FAULTS[gate])


@pytest.mark.slow
def test_a_service_without_a_fault_fails_none_of_them(tmp_path: Path) -> None:
    """But for what a short window can't have, or what others do who keep its core busy."""
    failed = measure(tmp_path, Fault("rate_per_s: 20, concurrency: 4", OPEN.replace("0.5", "1"), "none"))
    assert "interference" in failed or failed <= {"shared_cores", "samples"}, failed


def test_what_else_runs_on_the_cores_fails_a_gate(tmp_path: Path) -> None:
    """A process that keeps the run's core busy."""
    burner = multiprocessing.get_context("spawn").Process(target=_burn, args=(os.sched_getaffinity(0),), daemon=True)
    burner.start()
    try:
        assert "interference" in measure(tmp_path, Fault("transport: socket, implementation: go"))
    finally:
        burner.kill()
        burner.join()


def _burn(cores: set[int]) -> None:
    os.sched_setaffinity(0, cores)
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        pass


@pytest.mark.slow
def test_requests_of_others_fail_a_gate(tmp_path: Path) -> None:
    """The server counts requests that the driver has not sent."""
    text = Fault("transport: rest", "load: {warmup_s: 0.1, window_s: 2}").scenario
    (tmp_path / "others.yaml").write_text(text.replace("blocks: 1", "blocks: 2"), encoding="utf-8")
    out = tmp_path / "results"
    with running(tmp_path / "others.yaml", out, 0, "--no-calibrate") as (process, _):
        while process.poll() is None:
            _ask_services(psutil.Process(process.pid))
            time.sleep(0.02)
    gates = [gate for record in only_run(out).records for gate in record.gates if gate.name == "counts"]
    assert any(not gate.passed for gate in gates)


def _ask_services(run: psutil.Process) -> None:
    """Send a request to whatever processes of a run listen."""
    for child in run.children(recursive=True):
        with suppress(psutil.Error, OSError):
            for each in child.net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN:
                    with suppress(OSError):
                        urlopen(f"http://127.0.0.1:{each.laddr.port}/api/users/1000001", timeout=1).close()
