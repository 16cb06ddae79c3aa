"""`wirebench bundle`: export a run as one file."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.options import STDOUT, Out, RunArgument
from wirebench.cli.output import warn_of_damaged
from wirebench.errors import UsageError
from wirebench.report import write_report
from wirebench.results.bundle.write import Bundle, write_bundle
from wirebench.results.runs import DEFAULT_FOLDER, Run, find_run


def bundle(
    run: RunArgument,
    *,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write; default: <run>.wirebench.tar.gz here; - is stdout."),
    ] = None,
    with_logs: Annotated[bool, typer.Option("--with-logs", help="The logs, too: they may name hosts.")] = False,
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Export a run as one file, for others.

    It has records, histograms, scenario and report; `wirebench import` takes it in elsewhere.
    """
    found = find_run(run, out, warn_of_damaged)
    if output == STDOUT:
        made = _print(found, with_logs=with_logs)
        summary = sys.stderr
    else:
        made = write_bundle(found, write_report, output, with_logs=with_logs)
        summary = sys.stdout
        summary.write(f"{made.path}\n")
    expected = found.info.cells * found.info.blocks
    if found.info.status != "complete":
        summary.write(f"this run is {found.info.status}: {found.info.reason}\n")
    summary.write(f"{len(found.records)} of {expected} records, {made.size / 1024:,.0f} KiB; digest {made.digest}\n")


def _print(run: Run, *, with_logs: bool) -> Bundle:
    """Put the bundle on stdout, once it is whole. Raises UsageError at a terminal."""
    if sys.stdout.isatty():
        raise UsageError("a bundle is binary and isn't written to a terminal", "name a file, or pipe it: --output FILE")
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        made = write_bundle(run, write_report, Path(folder) / "bundle", with_logs=with_logs)
        with made.path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    return made
