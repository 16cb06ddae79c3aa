"""What a report takes: a run of 48 records and 10 million samples to HTML, a process of its own, imports included."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS_MAX = 5.0
PEAK_MB_MAX = 300.0
BLOCKS = 3
SAMPLES = 10_000_000

_WRITE_REPORT = """
import pathlib, sys
from wirebench.report import write_report
from wirebench.results.runs import load_run
write_report(load_run(pathlib.Path(sys.argv[1])))
"""


def main() -> bool:
    """Print seconds and peak memory against their limits; return whether both are kept."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # In a process of its own, so that what building takes is not counted as the report's.
        builder = multiprocessing.get_context("spawn").Process(target=_build, args=(folder,))
        builder.start()
        builder.join()
        if builder.exitcode != 0:
            return False
        (run,) = folder.iterdir()
        seconds, peak_mb = _measure([sys.executable, "-c", _WRITE_REPORT, str(run)])
        size_kb = (run / "report.html").stat().st_size / 1e3
    print(f"report of {SAMPLES:,} samples in {BLOCKS} blocks of 16 cells ({size_kb:.0f} kB of HTML)")
    print(f"  time         {seconds:6.2f} s   limit {SECONDS_MAX:g} s")
    print(f"  peak memory  {peak_mb:6.0f} MB  limit {PEAK_MB_MAX:g} MB")
    return seconds <= SECONDS_MAX and peak_mb <= PEAK_MB_MAX


def _build(folder: Path) -> None:
    from tests.support.report_run import RunBuilder, quick_cells  # noqa: PLC0415 - only the builder needs numpy

    RunBuilder(blocks=BLOCKS, samples=SAMPLES // (BLOCKS * len(quick_cells()))).write(folder)


def _measure(command: list[str]) -> tuple[float, float]:
    """Run a command; return its seconds and its peak resident memory in MB. Raises CalledProcessError if it fails."""
    started = time.monotonic()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    bytes_per_unit = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_maxrss * bytes_per_unit / 1e6
