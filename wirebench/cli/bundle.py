"""`wirebench bundle`: a run as one file, for somebody else."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.options import STDOUT, Out
from wirebench.cli.output import warn_of_damaged
from wirebench.errors import UsageError
from wirebench.share import Bundle, write_bundle
from wirebench.store import Run, find_run
from wirebench.store.results import DEFAULT_FOLDER


def bundle(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, its folder, or `last`.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write; default: <run>.wirebench.tar.gz here; - is stdout."),
    ] = None,
    with_logs: Annotated[bool, typer.Option("--with-logs", help="The logs, too: they may name hosts.")] = False,
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Put a run into one file, for others.

    It has records, histograms, scenario and report; `wirebench import` takes it in elsewhere.
    """
    found = find_run(run, out, warn_of_damaged)
    if output == STDOUT:
        made = _print(found, with_logs=with_logs)
        told = sys.stderr
    else:
        made = write_bundle(found, output, with_logs=with_logs)
        told = sys.stdout
        told.write(f"{made.path}\n")
    expected = found.info.cells * found.info.blocks
    if found.info.status != "complete":
        told.write(f"this run is {found.info.status}: {found.info.reason}\n")
    told.write(f"{len(found.records)} of {expected} records, {made.size / 1024:,.0f} KiB; digest {made.digest}\n")


def _print(run: Run, *, with_logs: bool) -> Bundle:
    """Put the bundle on stdout, once it is whole. Raises UsageError at a terminal."""
    if sys.stdout.isatty():
        raise UsageError("a bundle is nothing to read on a terminal", "name a file, or pipe it: --output FILE")
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        made = write_bundle(run, Path(folder) / "bundle", with_logs=with_logs)
        with made.path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    return made
