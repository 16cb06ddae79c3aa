"""`wirebench results`: the figures of a run."""

from __future__ import annotations

import sys

import orjson

from wirebench.cli.options import Json, Out, RunName
from wirebench.cli.output import print_run, stdout_console, warn_of_damaged
from wirebench.stats import METRICS, conclude, summarise
from wirebench.stats.compare_data import describe_comparison
from wirebench.store import Run, find_run
from wirebench.store.results import DEFAULT_FOLDER, LAST


def results(
    *,
    run: RunName = LAST,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Show the figures of a run, and what they support."""
    found = find_run(run, out, warn_of_damaged)
    if json:
        sys.stdout.write(as_json(found) + "\n")
    else:
        print_run(found, stdout_console())


def as_json(run: Run) -> str:
    """Return a run with its records, figures a cell and comparisons as JSON."""
    cells = summarise(run.records)
    return orjson.dumps(
        {
            "run": run.info.model_dump(),
            "records": [record.model_dump() for record in run.records],
            "cells": [
                {
                    "cell": cell.cell,
                    "factors": cell.factors,
                    "blocks": len(cell.records),
                    **{name: cell.typical(metric) for name, metric in METRICS.items()},
                    "failed_gates": [gate.name for gate in cell.failed_gates()],
                }
                for cell in cells
            ],
            "comparisons": list(map(describe_comparison, conclude(run))),
        },
        option=orjson.OPT_INDENT_2,
    ).decode()
