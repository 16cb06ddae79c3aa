"""`wirebench list`: the questions that can be asked, and those that were."""

from __future__ import annotations

import sys

import orjson
from rich.console import Console
from rich.table import Table

from wirebench.cli.options import Json, Out
from wirebench.places import SCENARIOS
from wirebench.scenario import make_plan, read_scenario
from wirebench.store import list_runs
from wirebench.store.results import DEFAULT_FOLDER


def list_(*, out: Out = DEFAULT_FOLDER, json: Json = False) -> None:
    """List the scenarios that come with wirebench, and the runs so far."""
    scenarios = []
    for path in sorted(SCENARIOS.glob("*.yaml")):
        plan = make_plan(read_scenario(path), seed=0)
        scenarios.append((path.stem, len(plan.cells), len(plan.blocks), plan.measured_s, plan.scenario.question))
    runs = []
    for run in list_runs(out):
        expected = run.info.cells * run.info.blocks
        runs.append((run.info.id, run.info.status, len(run.records), expected, run.info.question))
    if json:
        names = (
            ("scenario", "cells", "blocks", "load_s", "question"),
            ("run", "status", "records", "expected", "question"),
        )
        data = {
            "scenarios": [dict(zip(names[0], row, strict=True)) for row in scenarios],
            "runs": [dict(zip(names[1], row, strict=True)) for row in runs],
        }
        sys.stdout.write(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n")
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table("scenario", "cells", "blocks", "load", "question", title="Scenarios", title_justify="left")
    for name, cells, blocks, load_s, question in scenarios:
        table.add_row(name, str(cells), str(blocks), f"{load_s:.0f} s", question)
    console.print(table)
    if runs:
        table = Table("run", "status", "records", "question", title=f"Runs in {out}/", title_justify="left")
        for run_name, status, records, expected, question in runs:
            table.add_row(run_name, status, f"{records} of {expected}", question)
        console.print(table)
