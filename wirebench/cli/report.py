"""`wirebench report`: write a run's report again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.options import Out, RunArgument
from wirebench.system.paths import DEFAULT_FOLDER, LAST


def report(
    run: RunArgument = LAST,
    *,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; default: report.html of the run.")
    ] = None,
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Write the report of a run: one HTML file.

    wirebench report
    wirebench report last~1 --output before.html
    """
    from wirebench.store.runs import find_run
    from wirebench.web.report import write_report

    sys.stdout.write(f"{write_report(find_run(run, out), output)}\n")
