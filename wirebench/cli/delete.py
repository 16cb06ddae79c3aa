"""`wirebench delete`: remove runs from the disk."""

from __future__ import annotations

import shutil
import sys
from typing import Annotated

import typer

from wirebench.cli.options import Out, complete_runs
from wirebench.errors import UsageError, WirebenchError
from wirebench.system.paths import DEFAULT_FOLDER


def delete(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN…", help="Names, or how they begin; `last`.", autocompletion=complete_runs),
    ],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")] = False,
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Delete runs, with all that was measured in them, their reports and logs.

    wirebench delete last
    wirebench delete 20260131T120000Z-quick last~1 --yes
    """
    from wirebench.errors import pluralise
    from wirebench.store.runs import find_run

    found = {run.folder: run for run in (find_run(name, out, prefers_complete=False) for name in runs)}
    for path, run in found.items():
        if run.info.status == "running":
            raise UsageError(f"{path} is being measured", "end it first")
        sys.stderr.write(f"{path}\n")
    is_sure = yes or (sys.stdin.isatty() and typer.confirm(f"Delete {pluralise(len(found), 'run')}?", err=True))
    if not is_sure:
        raise UsageError("nothing was deleted", "answer y, or give --yes")
    for path in found:
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise WirebenchError(f"can't delete {path}: {error.strerror}", "check who owns its files") from error
