"""`wirebench results`: the figures of a run."""

from __future__ import annotations

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.scaling import find_scalings
from wirebench.analysis.summary import summarise
from wirebench.cli.options import Json, Out, RunName
from wirebench.cli.output import make_console, print_json, print_run, warn_of_damaged
from wirebench.model.metric import METRICS
from wirebench.present.caveats import describe_disturbances
from wirebench.present.data import make_comparison_data, make_scaling_data
from wirebench.results.runs import DEFAULT_FOLDER, LAST, Run, find_run


def results(
    *,
    run: RunName = LAST,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Show the figures and verdicts of a run."""
    show_run(find_run(run, out, warn_of_damaged), json=json)


def show_run(run: Run, *, json: bool) -> None:
    if not json:
        print_run(run, make_console())
        return
    cells = summarise(run.records)
    print_json(
        {
            "run": run.info.model_dump(),
            "records": [record.model_dump() for record in run.records],
            "cells": [
                {
                    "cell": cell.cell,
                    "factors": cell.factors,
                    "blocks": len(cell.records),
                    **{name: cell.figure(metric) for name, metric in METRICS.items()},
                    "errors_by_class": cell.error_counts,
                    "failed_gates": [gate.name for gate in cell.failed_gates()],
                }
                for cell in cells
            ],
            "disturbances": list(describe_disturbances(run)),
            "comparisons": list(map(make_comparison_data, find_comparisons(run))),
            "scaling": list(map(make_scaling_data, find_scalings(cells))),
        }
    )
