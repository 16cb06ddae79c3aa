"""Gates fail for real, where a machine or another client has the fault that they are there to find."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

from tests.support.runs import ONE_CELL, needs_tools, only_run, second_lane, wirebench

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
