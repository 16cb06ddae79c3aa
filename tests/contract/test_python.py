"""Runs from Python: the example of the documentation, as it stands there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.support.runs import ONE_CELL, RUN_TIMEOUT_S, needs_tools, only_run, second_lane
from tests.support.waiting import run_program
from wirebench.errors import UsageError
from wirebench.model.run_info import RunInfo
from wirebench.plan import make_plan, read_scenario
from wirebench.run.runner import execute
from wirebench.run.target_options import TargetOptions
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
    assert "python -c" == run.info.command
    assert f"socket users.get {round(record.rate_achieved_per_s)}\n" == done.stdout


def test_a_run_from_python_is_whole(tmp_path: Path) -> None:
    """It returns what is on disk; a plan for another target is rejected before anything is written."""
    (tmp_path / "one.yaml").write_text(ONE_CELL)
    plan = make_plan(read_scenario(tmp_path / "one.yaml"), seed=1)
    with pytest.raises(UsageError, match="the plan is for the target local, not kubernetes"):
        execute(plan, TargetOptions("kubernetes"), tmp_path / "results")
    assert not (tmp_path / "results").exists()
    run = execute(plan, out=tmp_path / "results", calibrate=False)
    assert run == only_run(tmp_path / "results")
    assert run.info == RunInfo.model_validate_json((run.folder / "run.json").read_text())
