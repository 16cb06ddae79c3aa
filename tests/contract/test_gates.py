"""Gates fail for real, by a service or a machine with the fault that they are there to find."""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from tests.support.faulty_service import write_application
from tests.support.runs import needs_tools, only_run, running, second_lane, wirebench

pytestmark = [second_lane, needs_tools]


def measure(folder: Path, factors: str, load: str = "{warmup_s: 0.1, window_s: 0.5}") -> set[str]:
    """Measure one cell, of the faulty services or of our own, and return the gates that failed."""
    write_application(folder / "faulty.yaml")
    text = f"question: Is this fault found?\n{factors}\nload: {load}\nblocks: 1\n"
    (folder / "fault.yaml").write_text(text, encoding="utf-8")
    done = wirebench("run", folder / "fault.yaml", "--no-calibrate", "--out", folder / "results")
    assert 0 == done.returncode, done.stderr
    assert "gate" in done.stdout + done.stderr
    (record,) = only_run(folder / "results").records
    return {gate.name for gate in record.gates if not gate.passed}


def name_variant(fault: str, more: str = "") -> str:
    """Return the part of a scenario that names a faulty service."""
    return f"application: faulty.yaml\nfactors: {{operation: get, variant: {fault}, concurrency: 1{more}}}"


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "gate"), [("errors", "error_rate"), ("wrong", "conformance")])
def test_a_fault_fails_its_gate(fault: str, gate: str, tmp_path: Path) -> None:
    """On a service that is sound until it has been verified."""
    assert gate in measure(tmp_path, name_variant(fault), "{warmup_s: 0.5, window_s: 1}")


@pytest.mark.slow
def test_a_service_without_a_fault_fails_none_of_them(tmp_path: Path) -> None:
    """But for what a short window can't have, or what others do who keep its core busy."""
    load = "{model: open, warmup_s: 0.2, window_s: 1}"
    failed = measure(tmp_path, name_variant("none", ", rate_per_s: 20"), load)
    assert "interference" in failed or failed <= {"shared_cores", "samples"}, failed


def test_what_else_runs_on_the_cores_fails_a_gate(tmp_path: Path) -> None:
    """A process that keeps the run's core busy."""
    burner = multiprocessing.get_context("spawn").Process(target=_burn, args=(os.sched_getaffinity(0),), daemon=True)
    burner.start()
    try:
        assert "interference" in measure(tmp_path, "factors: {transport: socket, implementation: go}")
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
    text = "question: x\nfactors: {transport: rest}\nload: {warmup_s: 0.1, window_s: 2}\nblocks: 2\n"
    (tmp_path / "others.yaml").write_text(text, encoding="utf-8")
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
