"""Runs from Python: the example of the documentation, as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.support.runs import ONE_CELL, RUN_TIMEOUT_S, needs_tools, only_run, second_lane
from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

pytestmark = [second_lane, needs_tools]


def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    """With a scenario of this name in the current folder."""
    (example,) = re.findall(r"(?ms)^```python\n(.+?)^```", (ROOT / "docs/python.md").read_text("utf-8"))
    (tmp_path / "quick").write_text(ONE_CELL)
    command = [sys.executable, "-W", "error::UserWarning", "-c", example]
    done = run_program(command, cwd=tmp_path, timeout=RUN_TIMEOUT_S)
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert ("complete", "quick", ONE_CELL) == (run.info.status, run.info.scenario, run.info.scenario_text)
    (record,) = run.records
    assert f"socket users.get {round(record.rate_achieved_per_s)}\n" == done.stdout
