"""`wirebench delete`: remove runs from the disk."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.options import Out, check_folder, complete_runs
from wirebench.errors import UsageError, WirebenchError
from wirebench.system.paths import DEFAULT_FOLDER


def delete(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Names, or how they begin; `last`.", autocompletion=complete_runs),
    ],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Delete runs.

    All that was measured in them is gone, with their reports and logs.

    wirebench delete last

    wirebench delete 20260131-120000-quick --yes
    """
    from wirebench.model.labels import pluralise
    from wirebench.store.runs import find_run

    found = {run.folder: run for run in (find_run(name, check_folder(out)) for name in runs)}
    for path, run in found.items():
        if run.info.status == "running":
            raise UsageError(f"{path} is being measured", "end it first")
        sys.stderr.write(f"{path}\n")
    is_sure = yes or (sys.stdin.isatty() and typer.confirm(f"Delete {pluralise(len(found), 'run')}?", err=True))
    if not is_sure:
        raise UsageError("nothing was deleted", "answer y, or give --yes")
    for path in found:
        _remove(path)


def _remove(path: Path) -> None:
    """Remove a folder. Raises WirebenchError if it is still there then."""
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise WirebenchError(f"can't delete {path}: {error.strerror}", "check who owns its files") from error
