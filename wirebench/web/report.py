"""A run's page as one HTML file: it holds all that it shows, and loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wirebench.analysis.summary import summarise
from wirebench.model.run_info import Run
from wirebench.present.facts import list_facts, make_repeat_command
from wirebench.present.operations import split_operations
from wirebench.present.pictures import draw_run
from wirebench.present.run import make_run_view
from wirebench.present.table import make_comparison_table, make_full_table, make_operation_table
from wirebench.system.files import write_atomic
from wirebench.web.render import render_template

FILE_NAME = "report.html"


def write_report(run: Run, path: Path | None = None) -> Path:
    """Write the report of a run, by default into its folder, whole or not at all; return where it is.

    A histogram that can't be read is noted in the report. Raises WirebenchError if the report can't be written.
    """
    target = path or run.folder / FILE_NAME
    write_atomic(target, render_report(run))
    return target


def render_report(run: Run) -> str:
    return render_template("run.html.j2", is_file=True, dashboards="", **gather_run(run))


def gather_run(run: Run) -> dict[str, Any]:
    """Return what the page of a run shows."""
    cells = summarise(run.records, run.info.compare)
    operations = split_operations(run, cells)
    view = make_run_view(run, cells, operations)
    return {
        "view": view,
        "measured": len(run.records),
        "pictures": draw_run(run, cells, operations),
        "comparisons": make_comparison_table(view.comparisons),
        "operations": make_operation_table(view.operations, view.operation_comparisons, run.info.compare),
        "operation_comparisons": make_comparison_table(view.operation_comparisons),
        "figures_table": make_full_table(view.cells, run.info.compare),
        "command": make_repeat_command(run.info),
        "facts": list_facts(run.info),
    }
