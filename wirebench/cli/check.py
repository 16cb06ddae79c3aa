"""`wirebench check`: whether a run keeps the limits of a budget file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wirebench.analysis.budget import check_budget
from wirebench.cli.options import BuildFiles, Json, Out, RunArgument, complete_runs
from wirebench.cli.output import make_console, print_check, print_json, warn_of_damaged
from wirebench.model.budget import read_budget
from wirebench.present.budget_sentences import make_budget_build_summary
from wirebench.present.data import describe_budget_check
from wirebench.results.runs import DEFAULT_FOLDER, LAST, find_run


def check(  # noqa: PLR0913 - one parameter an option
    budget: Annotated[Path, typer.Argument(metavar="BUDGET", help="The budget file: YAML.")],
    run: RunArgument = LAST,
    *,
    base: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="The run that slower_than_base_max is of.", autocompletion=complete_runs),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 unless all limits are met, rather than if any is broken.")
    ] = False,
    files: BuildFiles,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Check the figures of a run against a budget.

    Exit status 1 if a limit is broken. One that the run can't decide, or that a failed gate withholds, fails by
    --strict alone.
    """
    limits, source = read_budget(budget)
    head = find_run(run, out, warn_of_damaged)
    found = check_budget(limits, source, head, find_run(base, out, warn_of_damaged) if base else None)
    summary = make_budget_build_summary(found)
    if json:
        print_json(describe_budget_check(found))
    else:
        print_check(summary, make_console())
    files.write(summary)
    failing = found.with_verdict("broken", "undecided", "withheld") if strict else found.with_verdict("broken")
    if failing:
        raise typer.Exit(1)
