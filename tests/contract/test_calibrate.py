"""Calibrating for real: `wirebench calibrate`, and a run that measures what its driver's figures are worth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import ONE_CELL, all_cores, only_run, wirebench
from wirebench.drivers import DRIVERS
from wirebench.measure.calibration import (
    Calibration,
    Point,
    identify_version,
    keep_undisturbed,
    locate_calibration,
)
from wirebench.measure.truth import SERVER
from wirebench.measure.usage import Interference
from wirebench.run.environment import read_machine
from wirebench.targets.cores import divide_cores

pytestmark = [
    all_cores,
    pytest.mark.skipif(
        not SERVER.exists() or DRIVERS["wireload"].read_version() is None,
        reason="wireload and truth are not built: make setup",
    ),
]
BY_WIRELOAD = ONE_CELL.replace("implementation: go", "implementation: go, driver: wireload, concurrency: 4")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the calibration of this machine is kept."""
    monkeypatch.setenv("WIREBENCH_CALIBRATION", str(tmp_path / "state"))
    return locate_calibration(divide_cores(), read_machine())


def succeed(*arguments: str | Path) -> str:
    """Run a command that succeeds, and return what it says on stderr."""
    done = wirebench(*arguments)
    assert 0 == done.returncode, done.stderr
    return done.stderr


def test_a_run_measures_its_own_loads(tmp_path: Path, file: Path, scenario: Callable[[str], Path]) -> None:
    """It says so beforehand, also where the file is damaged, and its record has error and ceiling."""
    file.parent.mkdir()
    file.write_text("{")
    output = succeed("run", scenario(BY_WIRELOAD), "--out", tmp_path / "out", "--calibrate")
    assert "calibrating wireload, about " in output
    run = only_run(tmp_path / "out")
    (record,) = run.records
    if any("isn't known everywhere: " in note for note in run.info.notes):
        pytest.skip("the machine is too busy for all probes, and the run says so")
    assert record.instrument is not None
    assert record.instrument.coarse
    # No request is faster than its reply, and none waits for a second.
    assert record.instrument.p50_error_ms is not None
    assert 0 <= record.instrument.p50_error_ms[0] < 1000
    assert record.instrument.ceiling_per_s is not None
    assert record.instrument.ceiling_share == pytest.approx(
        record.rate_achieved_per_s / record.instrument.ceiling_per_s
    )
    assert "ceiling" in {gate.name for gate in record.gates}


def test_a_run_looks_up_what_is_calibrated(
    tmp_path: Path, file: Path, scenario: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It measures nothing then, and `doctor` shows what is known."""
    monkeypatch.setattr(Interference, "compute_share", lambda _: 0.0)
    known = Point(
        driver="wireload",
        version=identify_version("wireload"),
        transport="socket",
        concurrency=4,
        rate_asked_per_s=None,
        server_ms=1,
        rate_per_s=3_000,
        p50_error_ms=(0.125, 0.25),
        p99_error_ms=None,
        coarse=True,
    )
    ceiling = known.model_copy(update={"concurrency": 16, "server_ms": 0, "rate_per_s": 100})
    cores = divide_cores()
    keep_undisturbed(Calibration(points=(known, ceiling)), file, Interference(cores.all))
    content = file.read_bytes()
    assert "calibrating" not in succeed("run", scenario(BY_WIRELOAD), "--out", tmp_path / "out", "--calibrate")
    (record,) = only_run(tmp_path / "out").records
    assert record.instrument is not None
    assert (0.125, 0.25) == record.instrument.p50_error_ms
    assert record.instrument.ceiling_per_s == pytest.approx(100)
    assert "ceiling" in {gate.name for gate in record.gates if not gate.passed}  # more than a full driver sends
    assert content == file.read_bytes()

    doctor = wirebench("doctor")
    assert "wireload socket: up to 100 requests/s; error of p50 +0.12 to +0.25 ms" in doctor.stdout
    assert " ms (coarsely calibrated)" in doctor.stdout
    assert "not calibrated: wireload rest" in doctor.stdout
