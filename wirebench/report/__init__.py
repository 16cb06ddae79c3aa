"""A run as one HTML file that a person enjoys reading: it holds all that it shows, and loads nothing."""

from __future__ import annotations

from pathlib import Path

from wirebench.results.runs import Run
from wirebench.system.files import write_atomic

FILE_NAME = "report.html"


def write_report(run: Run, path: Path | None = None) -> Path:
    """Write the report of a run, by default into its folder, whole or not at all; return where it is.

    A histogram that can't be read is noted in the report. Raises WirebenchError if the report can't be written.
    """
    from wirebench.report.page import render

    target = path or run.folder / FILE_NAME
    write_atomic(target, render(run))
    return target
