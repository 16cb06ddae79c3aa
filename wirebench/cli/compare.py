"""`wirebench compare`: what has become faster or slower from one run to another."""

from __future__ import annotations

from typing import Annotated

import typer

from wirebench.cli.options import Json, Out, make_run_argument
from wirebench.system.paths import DEFAULT_FOLDER


def compare(  # noqa: PLR0913 - one parameter an option
    base: Annotated[str, make_run_argument("The run to compare with", "BASE")],
    head: Annotated[str, make_run_argument("The run that is judged", "HEAD")],
    *,
    fail_on_regression: Annotated[
        bool, typer.Option(help="Exit with 1 if a cell is significantly slower by more than the margin.")
    ] = False,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print a sentence for each cell as well.")] = False,
) -> None:
    """Compare two runs by the cells that both have.

    It shows intervals, a verdict a cell, and what the runs differ in.
    """
    from wirebench.analysis.compare_runs import compare_runs
    from wirebench.cli.console import make_console, print_json
    from wirebench.cli.output import print_comparison, warn_of_damaged
    from wirebench.present.two_runs import make_run_comparison_view
    from wirebench.store.runs import find_run

    found = compare_runs(find_run(base, out, warn_of_damaged), find_run(head, out, warn_of_damaged))
    view = make_run_comparison_view(found)
    if json:
        print_json(view)
    else:
        print_comparison(view, make_console(), is_verbose=verbose)
    if fail_on_regression and found.regressions:
        raise typer.Exit(1)
