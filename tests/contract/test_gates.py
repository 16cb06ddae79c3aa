"""Gates fail for real, where a machine or another client has the fault that they are there to find."""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from tests.support.runs import ONE_CELL, needs_tools, only_run, running, second_lane, wirebench

pytestmark = [second_lane, needs_tools]


def test_what_else_runs_on_the_cores_fails_a_gate(tmp_path: Path) -> None:
    """A process that keeps the run's core busy."""
    burner = multiprocessing.get_context("spawn").Process(target=_burn, args=(os.sched_getaffinity(0),), daemon=True)
    burner.start()
    try:
        path = tmp_path / "disturbed.yaml"
        path.write_text(ONE_CELL, encoding="utf-8")
        done = wirebench("run", path, "--no-calibrate", "--out", tmp_path / "results")
        assert 0 == done.returncode, done.stderr
        assert "interference" in done.stdout
        (record,) = only_run(tmp_path / "results").records
        assert "interference" in {gate.name for gate in record.gates if not gate.passed}
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
