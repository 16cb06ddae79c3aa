"""`wirebench list`: the questions that can be asked, and those that were."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Column, Table

from wirebench.cli.console import make_console, print_json
from wirebench.cli.options import Json, Out, list_scenario_files
from wirebench.errors import WirebenchError
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import count_cells, list_needs
from wirebench.store.runs import load_info, record_paths, run_folders
from wirebench.system.paths import DEFAULT_FOLDER

#: What the list shows without `--all`.
_FIRST = (
    "quick", "sequential-crud", "workers", "payload-512k", "implementation", "capacity", "latency", "replicas"
)  # fmt: skip


def list_(
    what: Annotated[Literal["scenarios", "runs"] | None, typer.Argument(help="Default: both.")] = None,
    *,
    out: Out = DEFAULT_FOLDER,
    every: Annotated[bool, typer.Option("--all", help="List all scenarios.")] = False,
    json: Json = False,
) -> None:
    """List scenarios and runs."""
    sources: dict[str, Callable[[], Iterable[dict[str, Any]]]] = {
        "scenarios": lambda: _read_scenarios(list(list_scenario_files()) if every or json else _FIRST),
        "runs": lambda: _read_runs(out),
    }
    rows = {name: list(read()) for name, read in sources.items() if what in (None, name)}
    if json:
        print_json(rows)
        return
    console = make_console()
    if "scenarios" in rows:
        console.print(_make_scenario_table(rows["scenarios"]))
        if not every:
            console.print(f"`wirebench list --all` shows all {len(list_scenario_files())} scenarios.")
    if runs := rows.get("runs"):
        console.print(_make_run_table(runs, out))
        if any(row["status"] == "incomplete" for row in runs):
            console.print("`wirebench resume RUN` measures what an incomplete run has left.")
    elif what == "runs":
        console.print(f"no runs in {out}/: `wirebench run` makes one")


def _make_scenario_table(scenarios: Sequence[Mapping[str, Any]]) -> Table:
    question = Column("question", no_wrap=True, overflow="ellipsis")
    table = Table(_make_name_column("scenario", scenarios), "time", "needs", question, title_justify="left")
    table.title = "Scenarios"
    for row in scenarios:
        minutes = f"{'≤ ' if row['model'] == 'calls' else ''}{math.ceil(row['load_s'] / 60)} min"
        table.add_row(row["scenario"], minutes, ", ".join(row["needs"]) or "–", row["question"])
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


def _read_scenarios(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    files = list_scenario_files()
    for name in names:
        scenario = read_scenario(files[name])
        needs = list(list_needs(scenario))
        cells, load = count_cells(scenario, "kubernetes" if "cluster" in needs else "local"), scenario.load
        yield {
            "scenario": name,
            "needs": needs,
            "cells": cells,
            "blocks": scenario.blocks,
            "model": load.model,
            "load_s": cells * scenario.blocks * load.windows * (load.warmup_s + load.window_s),
            "question": scenario.question,
        }


def _read_runs(folder: Path) -> Iterator[dict[str, Any]]:
    for run in run_folders(folder):
        try:
            info = load_info(run)
        except WirebenchError as error:
            reason = error.message.replace(f"{run}/", "")
            unknown = dict.fromkeys(("records", "expected", "question"))
            yield {"run": run.name, "status": "damaged", "reason": reason, **unknown}
            continue
        yield {
            "run": info.id,
            "status": info.status,
            "reason": info.reason,
            "records": sum(1 for _ in record_paths(run)),
            "expected": info.cells * info.blocks,
            "question": info.question,
        }
