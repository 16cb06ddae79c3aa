"""`wirebench compare`: what has become faster or slower from one run to another."""

from __future__ import annotations

from typing import Annotated

import typer

from wirebench.cli.options import Json, Out, make_run_argument
from wirebench.system.paths import DEFAULT_FOLDER


def compare(
    base: Annotated[str, make_run_argument("The run to compare with", "BASE")],
    head: Annotated[str, make_run_argument("The run that is judged", "HEAD")],
    *,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with 1 if a cell is slower by more than the margin.")
    ] = False,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Compare two runs by the cells that both have.

    It shows intervals, a verdict a cell, and what the runs differ in.

    wirebench compare last~1 last
    wirebench compare 20260131T120000Z-quick last --fail-on-regression
    """
    from wirebench.analysis.compare_runs import compare_runs
    from wirebench.cli.console import make_console, print_json
    from wirebench.cli.output import print_comparison
    from wirebench.present.two_runs import make_run_comparison_view
    from wirebench.store.runs import find_run

    found = compare_runs(find_run(base, out), find_run(head, out))
    view = make_run_comparison_view(found)
    if json:
        print_json(view)
    else:
        print_comparison(view, make_console())
    if fail_on_regression and found.regressions:
        raise typer.Exit(1)
