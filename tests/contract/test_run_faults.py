"""`wirebench run` when something goes wrong: one clear line, nothing left running, and what was measured kept."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import (
    LONG,
    ONE_CELL,
    RUN_TIMEOUT_S,
    WIREBENCH,
    first_lane,
    interruptible,
    needs_tools,
    only_run,
    running,
    wait_for_files,
    wirebench,
)
from tests.support.waiting import TIMEOUT_S

pytestmark = [first_lane, needs_tools]


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_run_keeps_its_cells_and_leaves_nothing_running(
    scenario: Callable[[str], Path], tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C and `kill` end with status 130; what was finished stays, marked incomplete."""
    out = tmp_path / "results"
    with running(scenario(LONG), out, 2) as (process, _):
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT_S)
        assert 130 == process.returncode
    assert "stopping …" in errors
    assert "Traceback" not in errors
    run = only_run(out)
    assert ("incomplete", f"it was interrupted ({number.name})") == (run.info.status, run.info.reason)
    assert len(run.records) >= 2
    assert 0 == wirebench("results", "last", "--out", out).returncode


def test_a_killed_run_leaves_nothing_running(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Even SIGKILL, which can't be handled, ends services, driver and proxy; the records stay readable."""
    out = tmp_path / "results"
    with running(scenario(LONG.replace("concurrency: 4", "delay_ms: 1")), out, 1) as (process, family):
        assert any(each.name().startswith("toxiproxy") for each in family)
        process.kill()
    assert ("incomplete", "it was killed") == (only_run(out).info.status, only_run(out).info.reason)


def test_a_service_that_dies_is_named_with_its_last_words(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """One clear line, the service's log, status 1."""
    out = tmp_path / "results"
    with running(scenario(LONG.replace("implementation: go, ", "")), out, records=1) as (process, family):
        command = next(each for each in family if "wirebench-socket" in " ".join(each.cmdline()))
        next(each for each in command.children() if "asyncio_server" in " ".join(each.cmdline())).kill()
        _, errors = process.communicate(timeout=TIMEOUT_S)
        assert 1 == process.returncode
    assert "error: the service socket-asyncio-w1-memory ended with status 1" in errors
    assert "the server ended with status -9" in errors
    assert "Traceback" not in errors
    assert "incomplete" == only_run(out).info.status


@pytest.mark.slow
def test_a_report_that_cannot_be_written_costs_no_figure(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """The figures are printed before, the error says how to have the report written, and nothing half is left."""
    out = tmp_path / "results"
    with interruptible([WIREBENCH, "run", scenario(ONE_CELL), "--out", out]) as process:
        info = wait_for_files(process, out, "*/run.json")
        (info.parent / "report.html").mkdir()  # is in the way of the report, also for root
        printed, errors = process.communicate(timeout=RUN_TIMEOUT_S)
    assert 1 == process.returncode, errors
    assert "How fast is one?" in printed
    assert "wirebench report " in errors
    assert "Traceback" not in errors
    run = only_run(out)
    assert ("complete", 1) == (run.info.status, len(run.records))
    assert [] == list(run.folder.glob("*.tmp"))


def test_a_run_that_is_interrupted_before_its_first_cell_leaves_no_folder(
    scenario: Callable[[str], Path], tmp_path: Path
) -> None:
    """A folder without a record would only be in the way of the last run that measured something."""
    out = tmp_path / "results"
    with interruptible([WIREBENCH, "run", scenario(ONE_CELL), "--out", out]) as process:
        assert process.stderr is not None
        while "starting services" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_S)
    assert 130 == process.returncode
    assert "nothing had been measured" in errors
    assert [] == list(out.glob("*"))
