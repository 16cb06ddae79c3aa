"""`wirebench index`: what the index of the runs holds, updated or rebuilt."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.cli.options import Json, Out, check_folder
from wirebench.cli.output import print_json, warn_of_damaged
from wirebench.cli.progress import ProgressBar
from wirebench.errors import UsageError
from wirebench.model.labels import pluralise
from wirebench.present.numbers import format_minutes
from wirebench.results.runs import DEFAULT_FOLDER
from wirebench.system.signals import Interrupted

if TYPE_CHECKING:
    from wirebench.results import index as indexes


def index(
    *,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild it from the runs in the folder.")] = False,
    take_out: Annotated[
        bool, typer.Option("--take-out", help="With --rebuild: also if a shared database loses others' runs by it.")
    ] = False,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Update the index of runs, and show what it holds.

    The index is index.db in the folder, unless WIREBENCH_DATABASE_URL names a database: postgresql://…
    """
    from wirebench.results.index import Index, find_database_url, is_own

    check_folder(out)
    if take_out and not rebuild:
        raise UsageError("--take-out: nothing is rebuilt", "add --rebuild")
    with Index(find_database_url(out), damaged_aside=rebuild) as found:
        try:
            with ProgressBar("reading runs", None) as bar:
                show = _show_progress(bar)
                if rebuild:
                    changes = found.rebuild(out, show, take_out=take_out or is_own(out))
                else:
                    changes = found.catch_up(out, show)
        except Interrupted:
            sys.stderr.write(f"the index is {'unchanged' if rebuild else 'intact, but may lack runs'}\n")
            raise
        contents, name = found.contents(), found.name
        if found.aside:
            sys.stderr.write(f"warning: {name} was damaged, and is {found.aside} now\n")
    for damaged in changes.damaged:
        warn_of_damaged(damaged)
    if json:
        print_json(_describe_index(name, contents, changes))
    else:
        sys.stdout.write("\n".join(_describe_changes(name, contents, changes, rebuilt=rebuild)) + "\n")


def _describe_index(name: str, contents: indexes.Contents, changes: indexes.Changes) -> dict[str, object]:
    return {
        "database": name,
        "runs": contents.runs,
        "cells": contents.cells,
        "records": contents.records,
        "put": {"runs": changes.runs, "records": changes.records},
        "damaged": [{"run": run.folder.name, "reason": run.reason} for run in changes.damaged],
        "not_in_folder": list(changes.elsewhere),
    }


def _describe_changes(
    name: str, contents: indexes.Contents, changes: indexes.Changes, *, rebuilt: bool
) -> Iterator[str]:
    counts = {"run": contents.runs, "cell": contents.cells, "record": contents.records}
    of = ", ".join(pluralise(count, noun) for noun, count in counts.items())
    yield f"{name}: {of}"
    if rebuilt:
        yield "rebuilt"
    elif changes.runs:
        yield f"added: {pluralise(changes.runs, 'run')}, {pluralise(changes.records, 'record')}"
    else:
        yield "nothing was missing"
    if changes.elsewhere:
        those = f"{pluralise(len(changes.elsewhere), 'run')} not in the folder"
        yield f"{those}, and removed" if rebuilt else f"{those}: --rebuild removes them"


def _show_progress(bar: ProgressBar) -> indexes.Progress:
    started = time.monotonic()

    def update(done: int, total: int, records: int) -> None:
        left_s = (time.monotonic() - started) / done * (total - done)
        note = f"{pluralise(records, 'record')}; {format_minutes(left_s)} left"
        bar.update(f"{done:,} of {pluralise(total, 'run')}, {note}", completed=done, total=total, note=note)

    return update
