"""`wirebench compare`: what has become faster or slower from one run to another."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table

from wirebench.analysis.compare_runs import RunComparison, compare_runs
from wirebench.cli.options import BuildFiles, Json, Out, complete_runs
from wirebench.cli.output import make_console, print_json, warn_of_damaged
from wirebench.present.data import RunComparisonData, describe_run_comparison
from wirebench.present.escape import escape_controls
from wirebench.present.run_comparison_sentences import (
    HEADINGS,
    describe_change,
    list_caveats,
    make_build_summary,
    summarise_comparison,
    tabulate_change,
)
from wirebench.results.runs import DEFAULT_FOLDER, find_run

_A_RUN = "name, its folder, or `last`."

#: How each verdict looks in a terminal.
_STYLES = {"faster": "green", "slower": "red", "withheld": "yellow"}


def compare(  # noqa: PLR0913 - one parameter an option
    base: Annotated[
        str,
        typer.Argument(metavar="BASE", help=f"The run to compare with: its {_A_RUN}", autocompletion=complete_runs),
    ],
    head: Annotated[
        str, typer.Argument(metavar="HEAD", help=f"The run that is judged: its {_A_RUN}", autocompletion=complete_runs)
    ],
    *,
    fail_on_regression: Annotated[
        bool,
        typer.Option(help="Exit with 1 if a cell is significantly slower by more than the margin."),
    ] = False,
    files: BuildFiles,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Compare two runs by the cells that both have.

    It shows intervals, a verdict a cell, and what the runs differ in.
    """
    found = compare_runs(find_run(base, out, warn_of_damaged), find_run(head, out, warn_of_damaged))
    if json:
        print_json(TypeAdapter(RunComparisonData).dump_python(describe_run_comparison(found), mode="json"))
    else:
        print_comparison(found, make_console())
    files.write(make_build_summary(found))
    if fail_on_regression and found.regressions:
        raise typer.Exit(1)


def print_comparison(found: RunComparison, console: Console) -> None:
    """Print a table of cells, a sentence a cell, and what all of them come to."""
    console.print(f"\nbase {found.base.id}, head {found.head.id}", style="bold")
    table = Table(
        caption="latencies are of all blocks; others, and the ratio head / base, are geometric means of blocks"
    )
    for heading in HEADINGS:
        is_number = heading in ("base", "head", "ratio")
        table.add_column(
            heading, justify="right" if is_number else "left", overflow="fold" if is_number else "ellipsis"
        )
    for change in found.changes:
        table.add_row(*tabulate_change(change), style=_STYLES.get(change.verdict))
    console.print(table)
    for change in found.changes:
        console.print(f"• {escape_controls(describe_change(change))}", soft_wrap=True)
    for remark in list_caveats(found):
        console.print(f"! {escape_controls(remark)}", style="yellow", soft_wrap=True)
    console.print(summarise_comparison(found), style="bold", soft_wrap=True)
