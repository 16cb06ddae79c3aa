"""`wirebench history`: a figure over runs, machines and targets kept apart."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from wirebench.analysis.change_points import LineChanges, find_changes
from wirebench.analysis.history import History, Line
from wirebench.cli.options import Json, Out, RunFilters, check_folder, complete_scenarios
from wirebench.cli.output import make_console, print_json, warn_of_damaged
from wirebench.errors import UsageError
from wirebench.model.labels import describe_factors, list_some, pluralise
from wirebench.model.metric import COMPARED, Metric
from wirebench.present.caveats import list_history_notes
from wirebench.present.escape import escape_controls
from wirebench.present.history_data import make_history_data
from wirebench.present.level_changes import describe_line_changes, list_change_caveats
from wirebench.present.numbers import ABSENT, format_number, format_range
from wirebench.present.run_comparison_sentences import summarise_change
from wirebench.present.sentences import format_gate_names
from wirebench.present.text_plot import IntervalPlot
from wirebench.results.runs import DEFAULT_FOLDER, DamagedRun

if TYPE_CHECKING:
    from wirebench.analysis.history_search import FoundCell, Results

_LISTED_MAX = 40
_VERSION_LENGTH = 18
_VERDICT_STYLES = {"faster": "green", "slower": "red"}


def history(  # noqa: PLR0913 - one parameter an option
    *,
    scenario: Annotated[
        str,
        typer.Option(metavar="NAME", help="The scenario whose runs are looked at.", autocompletion=complete_scenarios),
    ],
    cell: Annotated[str, typer.Option(metavar="TEXT", help="A cell's name or id, or a part of it.")] = "",
    factor: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LEVEL", help="Only cells with this level of a factor; given twice: either."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"The figure: {', '.join(COMPARED)}; default: what verdicts are on."),
    ] = None,
    filters: RunFilters,
    changes: Annotated[
        bool, typer.Option("--changes", help="Find since which run the figure has been at another level.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it as well, into an .svg or a .png.")] = None,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Show a cell's figure over all runs.

    It has intervals, and what has changed from one run to the next; machines and targets are kept apart. --changes
    finds the runs since which the figure has been at another level.
    """
    from wirebench.analysis.history_search import explain_missing_runs, find_run_folders, read_history

    if metric is not None and metric not in COMPARED:
        raise UsageError(f"--metric: no figure {metric!r}", f"figures are {', '.join(COMPARED)}")
    figure = COMPARED[metric] if metric else None
    warn_once = functools.cache(warn_of_damaged)
    chosen = _choose(check_folder(out), {"scenario": [scenario], **filters.given}, cell, factor or [], warn_once)
    paths = [find_run_folders(results, out) for results in chosen]
    if not any(paths):
        raise explain_missing_runs(scenario)
    histories = [read_history(each, figure, warn_once) for each in paths]
    found = [each for each in histories if each]
    if not found:
        raise UsageError(f"no run has {figure.label if figure else 'figures'} there", "choose another figure, or cell")
    of_levels = [find_changes(each) if changes else None for each in found]
    if plot:
        from wirebench.present.charts import file
        from wirebench.present.charts import history as chart

        file.write(chart.arrange(found, [each for each in of_levels if each is not None]), plot)
    both = list(zip(found, of_levels, strict=True))
    if json:
        print_json({"scenario": scenario, "cells": [make_history_data(*each) for each in both]})
        return
    console = make_console()
    for each, of_each in both:
        _print(each, console)
        if of_each:
            _print_changes(of_each, each.metric, console)
    for note in list_history_notes(found):
        console.print(f"! {note}", style="yellow", soft_wrap=True)
    if plot:
        console.print(f"\n{plot}")


def _choose(
    out: Path,
    given: Mapping[str, Sequence[str]],
    text: str,
    factors: Sequence[str],
    on_damaged: Callable[[DamagedRun], None],
) -> Sequence[Results]:
    """Return what the index has of the cells that are asked for. Raises UsageError, with a list, for none and many."""
    from wirebench.analysis.history_search import CELLS_MAX, find_cells, find_results, match_cells, parse_levels
    from wirebench.results.index import Filters, Index, find_database_url

    levels = parse_levels(factors)
    filters = Filters.read((name, level) for name, each in given.items() for level in each)
    if len(filters.scenario) != 1:
        raise UsageError("--scenario: name one scenario", "`wirebench list` shows the scenarios")
    (scenario,) = filters.scenario
    with Index(find_database_url(out)) as index:
        for damaged in index.catch_up(out).damaged:
            on_damaged(damaged)
        cells = find_cells(index, filters, levels)
        chosen = match_cells(cells, text)
        if not chosen:
            raise UsageError(f"no cell of {scenario} is like {text!r}", "choose one of these", _list_cells(cells))
        if len(chosen) > CELLS_MAX:
            hint = "choose with --cell, by a part of the name or id, or with --factor NAME=LEVEL"
            raise UsageError(f"{pluralise(len(chosen), 'cell')} of {scenario} match", hint, _list_cells(chosen))
        return [find_results(index, filters, cell) for cell in chosen]


def _list_cells(cells: Sequence[FoundCell]) -> str:
    lines = [f"{cell.name}  ({cell.ids[-1]}; {pluralise(cell.runs, 'run')})" for cell in cells]
    return "\n".join(list_some(lines, _LISTED_MAX))


def _print(found: History, console: Console) -> None:
    """Print a table a machine and target; all of them have one scale."""
    metric = found.metric
    console.print(f"\n{describe_factors(found.factors)}: {metric.heading} ({metric.better})", style="bold")
    strip = IntervalPlot.of([point.figure for line in found.lines for point in line.points])
    for line in found.lines:
        console.print(_make_table(line, metric, strip))


def _print_changes(found: Sequence[LineChanges], metric: Metric, console: Console) -> None:
    for line_changes in found:
        where = f"{line_changes.line.name}: " if len(found) > 1 else ""
        for sentence in describe_line_changes(line_changes, metric):
            console.print(f"• {escape_controls(where + sentence)}", soft_wrap=True)
    for caveat in list_change_caveats(found):
        console.print(f"! {caveat}", style="yellow", soft_wrap=True)


def _make_table(line: Line, metric: Metric, strip: IntervalPlot) -> Table:
    table = Table(title=escape_controls(line.name), title_justify="left")
    table.add_column("run")
    table.add_column("began (UTC)")
    table.add_column("version")
    table.add_column("blocks", justify="right")
    table.add_column(metric.heading, justify="right")
    table.add_column(metric.spread, justify="right")
    table.add_column(strip.heading)
    table.add_column("against the run before")
    table.add_column("gates")
    for point in line.points:
        change = point.change
        table.add_row(
            f"{point.run.id}{'' if point.run.status == 'complete' else f' ({point.run.status})'}",
            f"{point.started_at:%Y-%m-%d %H:%M}",
            escape_controls(point.version[:_VERSION_LENGTH]),
            str(point.figure.blocks),
            format_number(point.figure.estimate),
            format_range(point.figure),
            strip.draw(point.figure, fit=not point.failed_gates),
            escape_controls(summarise_change(change)) if change else ABSENT,
            format_gate_names(point.failed_gates) or "passed",
            style=_VERDICT_STYLES.get(change.verdict) if change else None,
        )
    return table
