"""Runs for real, in processes of their own, for the tests that look at them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.waiting import TIMEOUT_S, run_program, wait_until
from wirebench.drivers import DRIVERS
from wirebench.drivers.driver import SETUP
from wirebench.model.run_info import Run
from wirebench.store.runs import load_run

WIREBENCH = Path(sys.executable).parent / "wirebench"
#: Services in Go start much sooner than Python's, which `make bench` measures.
TINY = """\
question: Does a tiny run hold together?
factors:
  transport: [rest, grpc, socket]
  operation: users.create
  concurrency: 4
  implementation: go
load: {model: closed, warmup_s: 0.2, window_s: 0.5}
blocks: 2
"""
ONE_CELL = """\
question: How fast is one?
factors: {transport: socket, implementation: go}
load: {warmup_s: 0.1, window_s: 0.5}
blocks: 1
"""
#: For what happens to a run: its one service starts soon, and it runs for as long as a test needs.
LONG = """\
question: What becomes of a run that is stopped?
factors: {transport: socket, implementation: go, operation: [users.get, users.create], concurrency: 4}
load: {warmup_s: 0.1, window_s: 0.9}
blocks: 40
"""

needs_tools = pytest.mark.skipif(
    any(driver.read_version() is None for driver in DRIVERS.values() if driver.setup == SETUP),
    reason="wireload is not built: make setup",
)
needs_cross_check = pytest.mark.skipif(
    any(DRIVERS[name].read_version() is None for name in ("k6", "ghz")),
    reason="k6 and ghz are not built: make setup-cross-check",
)

#: Runs wait for each other's cores. A lane is a worker of pytest-xdist, and has a half of the cores: see conftest.py.
all_cores = pytest.mark.xdist_group("runs")
first_lane, second_lane = (pytest.mark.xdist_group(f"runs-{number}") for number in (1, 2))


#: Of a command that measures. It may have to wait for the runs of other tests.
RUN_TIMEOUT_S = 480


def wirebench(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - of run_program
    """Run a command to its end."""
    return run_program([WIREBENCH, *arguments], timeout=RUN_TIMEOUT_S, **options)


@contextmanager
def running(
    scenario: Path, out: Path, records: int, *options: str
) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """Start a run, and yield it with all its processes once so many records are on disk; check that none is left."""
    with watched([WIREBENCH, "run", scenario, "--out", out, "--seed", "1", *options], out, records) as started:
        yield started


@contextmanager
def watched(
    command: Sequence[str | Path], out: Path, records: int
) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """Start a command that measures, and yield it with its processes as `running` does."""
    with interruptible(command) as process:
        wait_for_files(process, out, "*/records/*.json", records)
        time.sleep(0.4)  # into the next cell
        family = psutil.Process(process.pid).children(recursive=True)
        try:
            yield process, family
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()
            _, alive = psutil.wait_procs(family, timeout=TIMEOUT_S)
            for each in alive:
                each.kill()
            assert [] == [each.cmdline() for each in alive]


@contextmanager
def interruptible(command: Sequence[str | Path]) -> Iterator[subprocess.Popen[str]]:
    """Start a command to be interrupted; end it if it doesn't end."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_files(process: subprocess.Popen[str], out: Path, pattern: str, count: int = 1) -> Path:
    """Wait until a command that runs has written so many files of a pattern, and return one of them."""

    def find() -> list[Path]:
        found = list(out.glob(pattern))
        assert process.poll() is None, process.communicate()
        return found if len(found) >= count else []

    (first, *_) = wait_until(find, f"{count} of {pattern} are there", timeout_s=RUN_TIMEOUT_S)
    return first


def only_run(out: Path) -> Run:
    """Return the one run of a results folder."""
    (path,) = out.glob("*/run.json")
    return load_run(path.parent)
