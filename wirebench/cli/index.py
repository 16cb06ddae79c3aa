"""`wirebench index`: what the index of the runs holds, caught up or made anew."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from wirebench.cli.options import Json, Out
from wirebench.cli.output import warn_of_damaged
from wirebench.errors import UsageError
from wirebench.interrupts import Interrupted
from wirebench.stats.names import counted
from wirebench.store.results import DEFAULT_FOLDER

if TYPE_CHECKING:
    from wirebench import index as indexes

_PLAIN_INTERVAL_S = 5.0


def index(
    *,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make it anew from the runs in the folder.")] = False,
    take_out: Annotated[
        bool, typer.Option("--take-out", help="With --rebuild: also if a shared database loses others' runs by it.")
    ] = False,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Put into the index what it lacks, and say what it holds.

    The index is index.db in the folder, unless WIREBENCH_DATABASE_URL names a database: postgresql://…
    """
    # Imported late: SQLAlchemy takes longer to load than a short command to run.
    from wirebench.index import Index, database_url, is_own  # noqa: PLC0415

    if not out.is_dir():
        raise UsageError(f"--out {out}: no such folder", "name the folder that the runs are in")
    if take_out and not rebuild:
        raise UsageError("--take-out: nothing is made anew", "add --rebuild")
    with Index.open(database_url(out), damaged_aside=rebuild) as found:
        try:
            with _progress() as progress:
                if rebuild:
                    changes = found.rebuild(out, progress, take_out=take_out or is_own(out))
                else:
                    changes = found.catch_up(out, progress)
        except Interrupted:
            sys.stderr.write(f"the index is {'what it was' if rebuild else 'whole, and may lack runs'}\n")
            raise
        contents, name = found.contents(), found.name
        if found.aside:
            sys.stderr.write(f"warning: {name} was damaged, and is {found.aside} now\n")
    for damaged in changes.damaged:
        warn_of_damaged(damaged)
    if json:
        sys.stdout.write(orjson.dumps(_as_json(name, contents, changes), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        sys.stdout.write("\n".join(_lines(name, contents, changes, rebuilt=rebuild)) + "\n")


def _as_json(name: str, contents: indexes.Contents, changes: indexes.Changes) -> dict[str, object]:
    return {
        "database": name,
        "runs": contents.runs,
        "cells": contents.cells,
        "records": contents.records,
        "put": {"runs": changes.runs, "records": changes.records},
        "damaged": [{"run": run.folder.name, "reason": run.reason} for run in changes.damaged],
        "not_in_folder": list(changes.elsewhere),
    }


def _lines(name: str, contents: indexes.Contents, changes: indexes.Changes, *, rebuilt: bool) -> Iterator[str]:
    of = f"{counted(contents.runs, 'run')}, {counted(contents.cells, 'cell')}, {counted(contents.records, 'record')}"
    yield f"{name}: {of}"
    if rebuilt:
        yield "made anew"
    elif changes.runs:
        yield f"put in now: {counted(changes.runs, 'run')}, {counted(changes.records, 'record')}"
    else:
        yield "nothing was missing"
    if changes.elsewhere:
        those = f"{counted(len(changes.elsewhere), 'run')} not in the folder"
        yield f"{those}, and taken out" if rebuilt else f"{those}: --rebuild takes them out"


@contextmanager
def _progress() -> Iterator[indexes.Progress]:
    """Show how far it is: a bar on a terminal, plain lines elsewhere if it takes long."""
    console = Console(stderr=True)
    last_line = time.monotonic()
    with Progress(
        TextColumn("reading runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[records]:,} records"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("", total=None, records=0)

        def looked_at(done: int, total: int, records: int) -> None:
            nonlocal last_line
            bar.update(task, completed=done, total=total, records=records)
            if not console.is_terminal and time.monotonic() - last_line >= _PLAIN_INTERVAL_S:
                last_line = time.monotonic()
                left_s = round((last_line - started) / done * (total - done))
                so_far = f"{done:,} of {counted(total, 'run')}, {counted(records, 'record')}"
                sys.stderr.write(f"{so_far}; {left_s // 60}:{left_s % 60:02d} left\n")

        started = time.monotonic()
        yield looked_at
