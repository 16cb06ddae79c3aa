"""What the terminal shows of a run, and of two."""

from __future__ import annotations

from collections.abc import Collection

from rich.console import Console

from wirebench.cli.table import print_list, print_table
from wirebench.errors import pluralise
from wirebench.model.run_info import Run
from wirebench.present.labels import list_some
from wirebench.present.run import make_run_view
from wirebench.present.table import make_comparison_table, make_first_table, make_operation_table
from wirebench.present.two_runs import RunComparisonView

_ERROR_TEXTS_SHOWN = 5
_VERDICTS = "Ratios with 95 % intervals; !: a gate failed for it; –: two drivers of one service have no verdict"
_CHANGES = "Ratios of head to base with 95 % intervals; !: a gate failed for it"
_OPERATIONS = "Operation by operation; verdicts and ratios are of the mean latency, to the first of each group"


def print_comparison(found: RunComparisonView, console: Console) -> None:
    """Print a table of the cells of two runs, and what all of them come to."""
    console.print(f"\nbase {found.base.id}, head {found.head.id}", style="bold")
    _print_alike(found.alike, console)
    console.print(_CHANGES)
    print_table(make_comparison_table(found.changes), console)
    print_list("!", found.caveats, console, "yellow")
    console.print(found.summary, style="bold")


def print_run(run: Run, console: Console, known: Collection[str] = ()) -> None:
    """Print a run on what `make_console` returns: its question, tables, what it comes to, and what to doubt.

    Caveats that are `known` stand on the terminal already.
    """
    info, view = run.info, make_run_view(run)
    console.print(f"\n{info.question}", style="bold")
    if info.status != "complete":
        done = f"{len(run.records)} of {pluralise(info.cells * info.blocks, 'window')}"
        reason = info.reason or "it is still running"
        console.print(f"This run is {info.status}: {reason}; {done} are measured.", style="yellow")
    if info.status == "incomplete":
        console.print(f"`wirebench resume {info.id}` measures the rest, where these were measured.", style="yellow")
    if not view.cells:
        return
    _print_alike(view.alike, console)
    # Gates that failed are listed below, with what to do.
    print_table(make_first_table(view.cells, info.compare), console, has_notes=False)
    if info.blocks > 1:
        console.print("Requests and errors are sums of the blocks, latencies of all requests; others geometric means.")
    for heading, table in (
        (_VERDICTS, make_comparison_table(view.comparisons)),
        (_OPERATIONS, make_operation_table(view.operations, view.operation_comparisons, info.compare)),
    ):
        if table.groups:
            console.print(f"\n{heading}", style="bold")
            print_table(table, console)
    print_list("•", (*view.summary, *view.notes), console)
    caveats = (caveat for caveat in view.caveats if caveat not in known)
    failed = (gate.sentence for gate in view.failed_gates)
    print_list("!", (*caveats, *failed, *list_some(view.errors, _ERROR_TEXTS_SHOWN)), console, "yellow")


def _print_alike(alike: str, console: Console) -> None:
    if alike:
        console.print(f"All cells: {alike}")
