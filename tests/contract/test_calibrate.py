"""Calibrating for real: `wirebench calibrate`, and a run that measures what its driver's figures are worth."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.contract.runs import ONE_CELL, WIREBENCH, only_run
from wirebench.drivers import DRIVERS
from wirebench.measure.truth import SERVER

pytestmark = pytest.mark.skipif(
    not SERVER.exists() or DRIVERS["wireload"].version() is None, reason="wireload and truth are not built: make setup"
)
BY_WIRELOAD = ONE_CELL.replace("{transport: socket}", "{transport: socket, driver: wireload, concurrency: 4}")
UNCALIBRATED = BY_WIRELOAD.replace("concurrency: 4", "concurrency: 4096").replace("blocks: 1", "blocks: 2")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where calibrations are kept."""
    path = tmp_path / "state" / "calibration.json"
    monkeypatch.setenv("WIREBENCH_CALIBRATION", str(path))
    return path


def wirebench(*arguments: str | Path) -> str:
    """Run a command that succeeds, and return what it says on stderr."""
    done = subprocess.run([WIREBENCH, *arguments], capture_output=True, text=True, timeout=110, check=False)
    assert 0 == done.returncode, done.stderr
    return done.stderr


def test_a_run_measures_its_own_loads_once(tmp_path: Path, file: Path, scenario: Callable[[str], Path]) -> None:
    """It says so beforehand, replaces a file that is none, and its records have error and ceiling, marked coarse."""
    path = scenario(BY_WIRELOAD)
    file.parent.mkdir()
    file.write_text("{")
    told = wirebench("run", path, "--out", tmp_path / "first", "--calibrate")
    assert f"{file} is no calibration" in told
    assert "calibrating wireload, about " in told
    (record,) = only_run(tmp_path / "first").records
    assert record.instrument is not None
    assert record.instrument.coarse
    assert record.instrument.p50_error_ms is not None
    assert record.instrument.ceiling_per_s is not None
    assert record.instrument.ceiling_share == pytest.approx(
        record.rate_achieved_per_s / record.instrument.ceiling_per_s
    )
    assert "ceiling" in {gate.name for gate in record.gates}
    # Latencies of an idle machine: no request is faster than its reply, and none waits for a second.
    points = json.loads(file.read_text())["points"]
    assert [(16, 0), (4, 0), (4, 1), (4, 10)] == [(point["concurrency"], point["server_ms"]) for point in points]
    assert all(0 <= point["service"]["p50_ms"][0] < 1000 for point in points)

    doctor = subprocess.run([WIREBENCH, "doctor"], capture_output=True, text=True, check=False)
    assert "wireload socket: up to " in doctor.stdout
    assert " ms (coarsely calibrated 20" in doctor.stdout
    assert "not calibrated: wireload rest" in doctor.stdout

    assert "calibrating" not in wirebench("run", path, "--out", tmp_path / "second", "--calibrate")
    assert points == json.loads(file.read_text())["points"]
    assert only_run(tmp_path / "second").records[0].instrument is not None


def test_without_calibration_records_have_none(tmp_path: Path, file: Path, scenario: Callable[[str], Path]) -> None:
    """And no gate that rests on it, also where there is one."""
    wirebench("run", scenario(BY_WIRELOAD), "--out", tmp_path / "out", "--no-calibrate")
    (record,) = only_run(tmp_path / "out").records
    assert record.instrument is None
    assert "ceiling" not in {gate.name for gate in record.gates}
    assert not file.exists()


def test_a_calibration_that_cannot_be_kept_is_used_all_the_same(
    tmp_path: Path, file: Path, scenario: Callable[[str], Path]
) -> None:
    """The run says so, on the terminal and in its notes."""
    file.mkdir(parents=True)
    told = wirebench("run", scenario(BY_WIRELOAD), "--out", tmp_path / "out", "--calibrate")
    run = only_run(tmp_path / "out")
    note = f"the next run will calibrate again: can't write {file}: Is a directory: name a file"
    assert f"note: {note}" in told
    assert note in run.info.notes
    assert run.records[0].instrument is not None


@pytest.mark.parametrize("command", ["calibrate", "run"])
def test_ctrl_c_leaves_neither_process_nor_file(
    tmp_path: Path, file: Path, scenario: Callable[[str], Path], command: str
) -> None:
    """Nor a run that has measured nothing."""
    out = tmp_path / "out"
    arguments: dict[str, list[str | Path]] = {
        "calibrate": ["calibrate", "--driver", "wireload", "--transport", "socket"],
        "run": ["run", scenario(UNCALIBRATED), "--out", out, "--calibrate"],
    }
    with subprocess.Popen([WIREBENCH, *arguments[command]], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert any("about " in line for line in process.stderr)
        ours = psutil.Process(process.pid)
        while not (family := ours.children(recursive=True)):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert "stopping" in process.stderr.read()
    assert 130 == process.returncode
    _, alive = psutil.wait_procs(family, timeout=20)
    assert [] == alive
    assert not file.exists()
    assert not list(out.glob("*/run.json"))
