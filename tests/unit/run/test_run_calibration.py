"""A run that can't calibrate its drivers."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

from tests.support.scenario_text import read
from wirebench.errors import WirebenchError
from wirebench.measure.calibration import Calibration
from wirebench.plan.plan import make_plan
from wirebench.run.execution import Execution

SCENARIO = """\
question: What are the figures of a load pod worth?
factors: {transport: rest, concurrency: 4}
load: {warmup_s: 0.5, window_s: 1, generators: 2}
blocks: 1
"""


def test_a_run_goes_on_without_calibration(tmp_path: Path) -> None:
    """The run notes why no load pod could be had for it."""
    plan = make_plan(read(tmp_path, SCENARIO), seed=1, target="kubernetes")
    target = MagicMock(start=MagicMock(side_effect=WirebenchError("no room for a pod", "make room")), cores=None)
    execution = Execution(plan, target, MagicMock(), MagicMock(), tmp_path)
    assert Calibration() == execution.find_calibration()
    expected = "the drivers' error isn't known everywhere: no room for a pod: make room"
    execution.writer.note.assert_called_once_with(expected)  # type: ignore[attr-defined]
