"""`wirebench bundle`: a run as one file, for somebody else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.options import Out
from wirebench.cli.output import warn_of_damaged
from wirebench.share import write_bundle
from wirebench.store import find_run
from wirebench.store.results import DEFAULT_FOLDER


def bundle(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, its folder, or `last`.")],
    *,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; default: <run>.wirebench.tar.gz here.")
    ] = None,
    with_logs: Annotated[bool, typer.Option("--with-logs", help="The logs, too: they may name hosts.")] = False,
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Put a run into one file, for others.

    It has records, histograms, scenario and report; `wirebench import` takes it in elsewhere.
    """
    found = find_run(run, out, warn_of_damaged)
    made = write_bundle(found, output, with_logs=with_logs)
    sys.stdout.write(f"{made.path}\n")
    expected = found.info.cells * found.info.blocks
    if found.info.status != "complete":
        sys.stdout.write(f"this run is {found.info.status}: {found.info.reason}\n")
    sys.stdout.write(f"{len(found.records)} of {expected} records, {made.size / 1024:,.0f} KiB; digest {made.digest}\n")
