"""`wirebench results`: the figures of a run."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from wirebench.cli.options import Json, Out, RunArgument
from wirebench.system.paths import DEFAULT_FOLDER, LAST

if TYPE_CHECKING:
    from wirebench.model.run_info import Run


def results(
    run: RunArgument = LAST,
    *,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Show the figures and verdicts of a run.

    wirebench results
    wirebench results last~1 --json
    """
    from wirebench.store.runs import find_run

    show_run(find_run(run, out), json=json)


def show_run(run: Run, *, json: bool, known: Collection[str] = ()) -> None:
    """Print a run; caveats that are `known` stand on the terminal already."""
    from wirebench.cli.console import make_console, print_json
    from wirebench.cli.output import print_run

    if not json:
        print_run(run, make_console(), known)
        return
    from pydantic import TypeAdapter

    from wirebench.present.run import RunView, make_run_view

    data = TypeAdapter(RunView).dump_python(make_run_view(run), mode="json")
    print_json({**data, "records": run.records})
