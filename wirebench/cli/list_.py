"""`wirebench list`: the questions that can be asked, and those that were."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Column, Table

from wirebench.cli.console import make_console, print_json
from wirebench.cli.dry_run import describe_needs
from wirebench.cli.options import Json, Out
from wirebench.errors import WirebenchError
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import count_cells
from wirebench.store.runs import load_info, record_paths, run_folders
from wirebench.system.paths import DEFAULT_FOLDER, list_scenarios

#: What the list shows without `--all`.
_FIRST = ("quick", "crud", "workers", "payload-512k", "profile", "ledger", "distance", "replicas")
_QUESTION_WIDTH_MIN = 20


def list_(
    what: Annotated[
        Literal["scenarios", "runs"] | None, typer.Argument(metavar="WHAT", help="scenarios or runs; default: both.")
    ] = None,
    *,
    out: Out = DEFAULT_FOLDER,
    every: Annotated[bool, typer.Option("--all", help="List all scenarios.")] = False,
    json: Json = False,
) -> None:
    """List scenarios and runs.

    wirebench list
    wirebench list scenarios --all
    """
    known = list_scenarios()
    scenarios = [] if what == "runs" else list(_read_scenarios(known if every or json else _FIRST))
    runs = [] if what == "scenarios" else list(_read_runs(out))
    if json:
        print_json({"scenarios": scenarios, "runs": runs})
        return
    console = make_console()
    if scenarios:
        _print_table("Scenarios", ("scenario", "time", "needs", "question"), map(_format_scenario, scenarios), console)
        if not every:
            console.print(f"`wirebench list --all` shows all {len(known)} scenarios.")
    if runs:
        _print_table(f"Runs in {out}/", ("run", "status", "records", "question"), map(_format_run, runs), console)
        if any(run["status"] == "incomplete" for run in runs):
            console.print("`wirebench resume RUN` measures what an incomplete run has left.")
    elif what == "runs":
        console.print(f"no runs in {out}/: `wirebench run` makes one")


def _print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], console: Console) -> None:
    """Print rows, of the last column as many words as a line takes; the first column is to be typed, and whole."""
    rows = list(rows)
    widths = [max(map(len, cells)) for cells in zip(headings, *rows, strict=True)][:-1]
    room = max(_QUESTION_WIDTH_MIN, console.width - sum(width + 2 for width in widths))
    columns = [Column(heading, no_wrap=True, min_width=width) for heading, width in zip(headings, widths, strict=False)]
    table = Table(*columns, headings[-1], box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for *cells, question in rows:
        table.add_row(*cells, textwrap.shorten(question, room, placeholder=" …"))
    console.print(f"\n{title}", style="bold")
    console.print(table)


def _format_scenario(row: dict[str, Any]) -> Sequence[str]:
    if row["question"] is None:
        return row["scenario"], "–", "–", f"can't be read: {row['reason']}"
    minutes = f"{'≤ ' if row['model'] == 'calls' else ''}{math.ceil(row['load_s'] / 60)} min"
    return row["scenario"], minutes, ", ".join(row["needs"]) or "–", row["question"]


def _format_run(row: dict[str, Any]) -> Sequence[str]:
    if row["status"] == "damaged":
        return row["run"], "damaged", "–", f"can't be read: {row['reason']}"
    return row["run"], row["status"], f"{row['records']} of {row['expected']}", row["question"]


def _read_scenarios(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    files = list_scenarios()
    for name in names:
        try:
            scenario = read_scenario(files[name])
        except WirebenchError as error:  # such as an application, which wireload reads: `make setup` builds it
            yield {"scenario": name, "reason": f"{error.message}; {error.hint}", "question": None}
            continue
        needs = describe_needs(scenario)
        is_clustered = any(need.startswith("cluster") for need in needs)
        cells, load = count_cells(scenario, "kubernetes" if is_clustered else "local"), scenario.load
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
