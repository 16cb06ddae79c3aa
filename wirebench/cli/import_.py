"""`wirebench import`: a run that was bundled elsewhere."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from wirebench.cli.options import Out
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure import environment
from wirebench.present.escape import escape_controls
from wirebench.report import write_report
from wirebench.results.bundle.importing import import_bundle
from wirebench.results.runs import DEFAULT_FOLDER

STDIN = "-"


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `wirebench bundle` has made; - is stdin.")],
    *,
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Import a run that was bundled elsewhere.

    Everything in it is checked first; its report is drawn again from its records.
    """
    with open_input(file) as stream:
        taken = import_bundle(stream, file, out, write_report)
    info = taken.run.info
    _put_into_index(out, taken.run.folder)
    if not taken.is_new:
        sys.stdout.write(f"{taken.run.folder} is here already, the same\ndigest {taken.digest}\n")
        return
    machine = escape_controls(
        f"{info.machine.get('cpu', 'a machine without a name')}, {info.machine.get('cores', '?')} cores"
    )
    elsewhere = (
        "" if environment.read_machine().items() <= info.machine.items() else ", which isn't this one as it is now"
    )
    sys.stdout.write(f"{taken.run.folder}\nmeasured on {machine}{elsewhere}\n")
    if info.status != "complete":
        sys.stdout.write(f"this run is {info.status}: {escape_controls(info.reason)}\n")
    sys.stdout.write(f"{len(taken.run.records)} of {info.cells * info.blocks} records; digest {taken.digest}\n")


def _put_into_index(results: Path, folder: Path) -> None:
    """Have the run found by its figures; where that fails it is here all the same."""
    from wirebench.results.index import Index, find_database_url

    try:
        with Index(find_database_url(results)) as index:
            index.catch_up_run(folder)
    except WirebenchError as error:
        sys.stderr.write(f"warning: {escape_controls(error.message)}; the run is in {folder}, and not in the index\n")


def open_input(file: str) -> AbstractContextManager[BinaryIO]:
    """Return a file, or stdin for `-`, to be read in a `with` block. Raises UsageError if it can't be."""
    if file == STDIN:
        if sys.stdin.isatty():
            raise UsageError("-: stdin is this terminal", "name a file, or pipe one in")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", "name a file that `wirebench bundle` has made") from None
