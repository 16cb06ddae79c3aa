"""`wirebench results`: the figures of a run."""

from __future__ import annotations

import csv
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.cli.options import Json, Out, RunArgument
from wirebench.errors import UsageError
from wirebench.system.paths import DEFAULT_FOLDER, LAST

if TYPE_CHECKING:
    from wirebench.model.run_info import Run


def results(
    run: RunArgument = LAST,
    *,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV: a row for each cell.")] = False,
) -> None:
    """Show the figures and verdicts of a run.

    wirebench results
    wirebench results last~1 --csv
    """
    from wirebench.store.runs import find_run

    if json and csv:
        raise UsageError("--json and --csv: they exclude each other", "choose one of them")
    found = find_run(run, out)
    if csv:
        print_csv(found)
    else:
        show_run(found, json=json)


def show_run(run: Run, *, json: bool, known: Collection[str] = ()) -> None:
    """Print a run; caveats that are `known` stand on the terminal already."""
    from wirebench.cli.console import make_console, print_json
    from wirebench.cli.output import print_run

    if not json:
        print_run(run, make_console(), known)
        return
    from pydantic import TypeAdapter

    from wirebench.present.run import RunView, make_run_view

    data = TypeAdapter(RunView).dump_python(make_run_view(run), mode="json")
    print_json({**data, "records": run.records})


def print_csv(run: Run) -> None:
    """Print the cells of a run: their factors, their figures by the names of the API, and the gates that failed."""
    from wirebench.analysis.results import describe_cells
    from wirebench.analysis.summary import summarise
    from wirebench.model.metric import METRICS, SPREAD, name_spread

    figures = [metric.field for metric in METRICS.values()]
    figures += [name for metric in SPREAD for name in name_spread(metric)]
    rows = [
        {"run_id": cell.run_id, "cell": cell.cell, **cell.factors, "blocks": cell.blocks}
        | {name: getattr(cell, name) for name in figures}
        | {"failed_gates": " ".join(cell.failed_gates)}
        for cell in describe_cells(run.info, summarise(run.records))
    ]
    writer = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
