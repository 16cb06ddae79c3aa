"""What a run in a cluster learns of its drivers, and wrong usage of `wirebench calibrate`."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from tests.support.command_line import reject
from tests.support.scenario_text import read
from wirebench.errors import WirebenchError
from wirebench.measure.calibration import Calibration, Point, Probe
from wirebench.plan.plan import make_plan
from wirebench.run.execution import Execution
from wirebench.run.load_pod import main
from wirebench.run.load_pod.task import CalibrateTask, encode_answer, read_task
from wirebench.targets.endpoint import Description

SCENARIO = """\
question: What are the figures of a load pod worth?
factors: {transport: rest, concurrency: 4}
load: {warmup_s: 0.5, window_s: 1, generators: 2}
blocks: 1
"""


class LoadPods:
    """Carries out the tasks of load pods in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._file = folder / "load.json"
        monkeypatch.setenv("GOMAXPROCS", "1")  # which load pods set
        monkeypatch.setattr(main, "measure_coarsely", self.measure)

    def count_cores(self, _: object) -> float:
        """Return the share of one core."""
        return 0.5

    def run_once(self, task: object, cores: float, endpoints: object, expected_s: float) -> str:
        """Carry out a task: the pod has as many cores for the server, and is left alone meanwhile."""
        assert (1.0, ()) == (cores, endpoints)
        assert expected_s > 0.5
        self._file.write_text(json.dumps(task), encoding="utf-8")
        asked = read_task(self._file)
        assert isinstance(asked, CalibrateTask)
        return encode_answer(main._carry_out(asked))

    def measure(self, probes: tuple[Probe, ...], _: object) -> tuple[Point, ...]:
        """Find the same error under every load."""
        return tuple(
            Point(
                **dict(each),
                version="1",
                rate_per_s=10_000,
                p50_error_ms=(0.1, 0.2),
                p99_error_ms=(0.3, 0.4),
                coarse=True,
            )
            for each in probes
        )


def execution_of(load_pods: object, folder: Path, start: Any) -> Execution:  # noqa: ANN401 - a function
    """Return the execution of a plan in a cluster."""
    plan = make_plan(read(folder, SCENARIO), seed=1, target="kubernetes")
    target = SimpleNamespace(load_pods=load_pods, cores=None, start=start, restarts_services=True, describe=Description)
    return Execution(plan, cast("Any", target), MagicMock(), MagicMock(), folder)


def test_a_run_in_a_cluster_measures_the_error_of_a_load_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is that of the share of each generator, and coarse."""
    started: list[object] = []
    execution = execution_of(LoadPods(tmp_path, monkeypatch), tmp_path, started.append)
    found = execution.find_calibration()
    assert [()] == started
    (instrument,) = {found.look_up(cell, 1_000, 2) for cell in execution.plan.cells}
    assert instrument
    assert ((0.1, 0.2), True) == (instrument.p50_error_ms, instrument.coarse)
    execution.progress.step.assert_called_once_with("in a load pod: calibrating wireload, about 3 s")  # type: ignore[attr-defined]
    execution.writer.note.assert_not_called()  # type: ignore[attr-defined]


def test_a_run_goes_on_without_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none can be had, which is noted."""
    start = MagicMock(side_effect=WirebenchError("no room for a pod", "make room"))
    execution = execution_of(LoadPods(tmp_path, monkeypatch), tmp_path, start)
    assert Calibration() == execution.find_calibration()
    expected = "the drivers' error isn't known everywhere: no room for a pod: make room"
    execution.writer.note.assert_called_once_with(expected)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--driver", "nothing"], "no driver 'nothing'"),
        (["--transport", "nothing"], "no transport 'nothing'"),
        (["--driver", "ghz", "--transport", "rest"], "none of these drivers speaks"),
    ],
)
def test_wrong_usage_is_rejected_before_anything_starts(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line with a next step, and exit status 2."""
    monkeypatch.setattr("wirebench.drivers.ghz.Ghz.read_version", lambda _: "1")
    error, _ = reject("calibrate", *arguments).splitlines()
    assert said in error
