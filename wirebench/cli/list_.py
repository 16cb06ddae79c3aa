"""`wirebench list`: the questions that can be asked, and those that were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from rich.table import Column, Table

from wirebench.cli.options import Json, Out, list_scenario_files
from wirebench.cli.output import make_console, print_json
from wirebench.errors import UsageError
from wirebench.model.contract import TargetName
from wirebench.model.scenario import Scenario
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import Plan, make_plan
from wirebench.present.numbers import format_duration
from wirebench.present.remarks import describe_load
from wirebench.results.runs import DEFAULT_FOLDER, DamagedRun, list_runs
from wirebench.run.progress import TimeLeft


def list_(
    what: Annotated[Literal["scenarios", "runs"] | None, typer.Argument(help="Default: both.")] = None,
    *,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """List scenarios and runs."""
    sources: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
        "scenarios": _read_scenarios,
        "runs": lambda: _read_runs(out),
    }
    rows = {name: list(read()) for name, read in sources.items() if what in (None, name)}
    if json:
        print_json(rows)
        return
    console = make_console()
    if "scenarios" in rows:
        console.print(_make_scenario_table(rows["scenarios"]))
    if runs := rows.get("runs"):
        console.print(_make_run_table(runs, out))
        if any(row["status"] == "incomplete" for row in runs):
            console.print("`wirebench resume RUN` measures what an incomplete run has left.")
    elif what == "runs":
        console.print(f"no runs in {out}/: `wirebench run` makes one")


def _make_scenario_table(scenarios: Sequence[Mapping[str, Any]]) -> Table:
    first = _make_name_column("scenario", scenarios)
    table = Table(first, "targets", "cells", "blocks", "load", "question", title="Scenarios", title_justify="left")
    for row in scenarios:
        cells, blocks = str(row["cells"]), str(row["blocks"])
        load = f"{row['load']}; {'≤ ' if row['model'] == 'calls' else ''}{format_duration(row['expected_s'])}"
        targets = "all" if row["targets"] == list(get_args(TargetName)) else ", ".join(row["targets"])
        table.add_row(row["scenario"], targets, cells, blocks, load, row["question"])
    return table


def _make_name_column(heading: str, rows: Sequence[Mapping[str, Any]]) -> Column:
    """Return a column that no terminal is too narrow for: what is in it has to be typed."""
    return Column(heading, no_wrap=True, min_width=max(len(row[heading]) for row in rows))


def _make_run_table(runs: Sequence[Mapping[str, Any]], out: Path) -> Table:
    table = Table(
        _make_name_column("run", runs), "status", "records", "question", title=f"Runs in {out}/", title_justify="left"
    )
    for row in runs:
        if row["status"] == "damaged":
            table.add_row(row["run"], "damaged", "–", f"can't be read: {row['reason']}")
        else:
            table.add_row(row["run"], row["status"], f"{row['records']} of {row['expected']}", row["question"])
    return table


def _read_scenarios() -> Iterator[dict[str, Any]]:
    for name, path in list_scenario_files().items():
        plan, targets = plan_anywhere(read_scenario(path))
        yield {
            "scenario": name,
            "targets": list(targets),
            "cells": len(plan.cells),
            "blocks": len(plan.blocks),
            "model": plan.scenario.load.model,
            "load": describe_load(plan.scenario.load),
            "load_s": plan.measured_s,
            "expected_s": TimeLeft(plan).compute_s(),
            "question": plan.scenario.question,
        }


def plan_anywhere(scenario: Scenario) -> tuple[Plan, tuple[TargetName, ...]]:
    """Return a scenario's plan, and the targets that it can be run on. Raises UsageError if there is none."""
    plans: dict[TargetName, Plan] = {}
    errors: list[UsageError] = []
    for target in get_args(TargetName):
        try:
            plans[target] = make_plan(scenario, 0, target)
        except UsageError as error:
            errors.append(error)
    if not plans:
        raise errors[0]
    return next(iter(plans.values())), tuple(plans)


def _read_runs(folder: Path) -> Iterator[dict[str, Any]]:
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
