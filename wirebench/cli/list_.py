"""`wirebench list`: the questions that can be asked, and those that were."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import orjson
from rich.table import Table

from wirebench.cli.options import Json, Out
from wirebench.cli.output import stdout_console
from wirebench.errors import UsageError
from wirebench.places import SCENARIOS
from wirebench.scenario import Plan, Scenario, make_plan, read_scenario
from wirebench.scenario.contract import TargetName
from wirebench.scenario.words import describe_load
from wirebench.store import DamagedRun, list_runs
from wirebench.store.results import DEFAULT_FOLDER


def list_(*, out: Out = DEFAULT_FOLDER, json: Json = False) -> None:
    """List the scenarios, and the runs so far."""
    scenarios, runs = list(_scenarios()), list(_runs(out))
    if json:
        data = {"scenarios": scenarios, "runs": runs}
        sys.stdout.write(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n")
        return
    console = stdout_console()
    table = Table("scenario", "targets", "cells", "blocks", "load", "question", title="Scenarios", title_justify="left")
    for row in scenarios:
        cells, blocks = str(row["cells"]), str(row["blocks"])
        load = f"{row['load']}; {'≤ ' if row['model'] == 'calls' else ''}{row['load_s']:.0f} s"
        targets = "all" if row["targets"] == list(get_args(TargetName)) else ", ".join(row["targets"])
        table.add_row(row["scenario"], targets, cells, blocks, load, row["question"])
    console.print(table)
    if runs:
        table = Table("run", "status", "records", "question", title=f"Runs in {out}/", title_justify="left")
        for row in runs:
            if row["status"] == "damaged":
                table.add_row(row["run"], "damaged", "–", f"can't be read: {row['reason']}")
            else:
                table.add_row(row["run"], row["status"], f"{row['records']} of {row['expected']}", row["question"])
        console.print(table)
    if any(row["status"] == "incomplete" for row in runs):
        console.print("`wirebench resume RUN` measures what an incomplete run has left.")


def _scenarios() -> Iterator[dict[str, Any]]:
    for path in sorted(SCENARIOS.glob("*.yaml")):
        plan, targets = plan_anywhere(read_scenario(path))
        yield {
            "scenario": path.stem,
            "targets": list(targets),
            "cells": len(plan.cells),
            "blocks": len(plan.blocks),
            "model": plan.scenario.load.model,
            "load": describe_load(plan.scenario.load),
            "load_s": plan.measured_s,
            "question": plan.scenario.question,
        }


def plan_anywhere(scenario: Scenario) -> tuple[Plan, tuple[TargetName, ...]]:
    """Return a scenario's plan, and the targets that it can be run on. Raises UsageError if there is none."""
    plans: dict[TargetName, Plan] = {}
    refusals: list[UsageError] = []
    for target in get_args(TargetName):
        try:
            plans[target] = make_plan(scenario, 0, target)
        except UsageError as error:
            refusals.append(error)
    if not plans:
        raise refusals[0]
    return next(iter(plans.values())), tuple(plans)


def _runs(folder: Path) -> Iterator[dict[str, Any]]:
    for run in list_runs(folder):
        if isinstance(run, DamagedRun):
            unknown = dict.fromkeys(("records", "expected", "question"))
            yield {"run": run.folder.name, "status": "damaged", "reason": run.reason, **unknown}
        else:
            yield {
                "run": run.info.id,
                "status": run.info.status,
                "reason": run.info.reason,
                "records": len(run.records),
                "expected": run.info.cells * run.info.blocks,
                "question": run.info.question,
            }
