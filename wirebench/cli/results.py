"""`wirebench results`: the figures of a run."""

from __future__ import annotations

from pydantic import TypeAdapter

from wirebench.cli.options import Json, Out, RunArgument
from wirebench.cli.output import make_console, print_json, print_run, warn_of_damaged
from wirebench.results.runs import DEFAULT_FOLDER, LAST, Run, find_run


def results(run: RunArgument = LAST, *, out: Out = DEFAULT_FOLDER, json: Json = False) -> None:
    """Show the figures and verdicts of a run."""
    show_run(find_run(run, out, warn_of_damaged), json=json)


def show_run(run: Run, *, json: bool) -> None:
    if not json:
        print_run(run, make_console())
        return
    from wirebench.present.run_data import RunData, make_run_data

    data = TypeAdapter(RunData).dump_python(make_run_data(run), mode="json")
    print_json({**data, "records": run.records})
