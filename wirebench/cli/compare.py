"""`wirebench compare`: what has become faster or slower from one run to another."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.table import Table

from wirebench.cli.options import Json, Out
from wirebench.cli.output import stdout_console, visible, warn_of_damaged
from wirebench.report.numbers import ABSENT, number
from wirebench.stats import Across, Change, across
from wirebench.stats.across_data import Compared, compared
from wirebench.stats.across_words import remarks, sentence, summary
from wirebench.stats.names import in_common
from wirebench.stats.words import interval
from wirebench.store import find_run
from wirebench.store.results import DEFAULT_FOLDER

_A_RUN = "name, its folder, or `last`."

#: How each verdict looks in a terminal.
_STYLES = {"faster": "green", "slower": "red", "withheld": "yellow"}


def compare(
    base: Annotated[str, typer.Argument(metavar="BASE", help=f"The run to compare with: its {_A_RUN}")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help=f"The run that is judged: its {_A_RUN}")],
    *,
    fail_on_regression: Annotated[
        bool,
        typer.Option(help="Exit with 1 if a cell is slower by more than the margin, and that with certainty."),
    ] = False,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Compare two runs by the cells that both have.

    It shows intervals, a verdict a cell, and what the runs differ in.
    """
    found = across(find_run(base, out, warn_of_damaged), find_run(head, out, warn_of_damaged))
    if json:
        sys.stdout.write(_as_json(found) + "\n")
    else:
        print_across(found, stdout_console())
    if fail_on_regression and found.regressions:
        raise typer.Exit(1)


def _as_json(found: Across) -> str:
    """Return what the API answers."""
    return TypeAdapter(Compared).dump_json(compared(found), indent=2).decode()


def print_across(found: Across, console: Console) -> None:
    """Print a table of cells, a sentence a cell, and what all of them come to."""
    console.print(f"\nbase {found.base.id}, head {found.head.id}", style="bold")
    table = Table("cell", "figure", caption="typical block (geometric mean); ratio is head / base")
    for heading in ("base", "head", "ratio"):
        table.add_column(heading, justify="right", overflow="fold")
    table.add_column("verdict")
    for change in found.changes:
        table.add_row(*_row(change), style=_STYLES.get(change.verdict))
    console.print(table)
    for change in found.changes:
        console.print(f"• {visible(sentence(change))}", soft_wrap=True)
    for remark in remarks(found):
        console.print(f"! {visible(remark)}", style="yellow", soft_wrap=True)
    console.print(summary(found), style="bold", soft_wrap=True)


def _row(change: Change) -> tuple[str, ...]:
    metric = change.metric
    ratio = change.ratios.get(metric.name)
    return (
        in_common(change.subject.factors),
        metric.heading,
        *(number(cell.typical(metric)) for cell in (change.baseline, change.subject)),
        interval(ratio) if ratio else ABSENT,
        f"{change.verdict}{', beyond the margin' if change.regressed else ''}",
    )
