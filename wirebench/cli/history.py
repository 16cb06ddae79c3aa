"""`wirebench history`: a figure over runs, machines and targets kept apart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from wirebench.cli.options import Json, Out, existing
from wirebench.cli.output import stdout_console, visible, warn_of_damaged
from wirebench.cli.strips import Strip
from wirebench.errors import UsageError
from wirebench.report.numbers import ABSENT, number
from wirebench.stats import METRICS, Metric
from wirebench.stats.across_words import brief
from wirebench.stats.history import History, Line, Point
from wirebench.stats.names import counted, in_common
from wirebench.store import DamagedRun
from wirebench.store.results import DEFAULT_FOLDER

if TYPE_CHECKING:
    from wirebench.history import FoundCell, Results

_LISTED_MAX = 40
_VERSION_LENGTH = 18
_VERDICT_STYLES = {"faster": "green", "slower": "red"}


def history(  # noqa: PLR0913 - one parameter an option
    *,
    scenario: Annotated[str, typer.Option(metavar="NAME", help="The scenario whose runs are looked at.")],
    cell: Annotated[str, typer.Option(metavar="TEXT", help="A cell's name or id, or a part of it.")] = "",
    factor: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LEVEL", help="Only cells with this level of a factor; given twice: either."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"The figure: {', '.join(METRICS)}; default: what verdicts are on."),
    ] = None,
    machine: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only runs on these machines.")] = None,
    target: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only runs on these targets.")] = None,
    since: Annotated[str, typer.Option(metavar="TIME", help="Started then or later: 2026-11-21 or with a time.")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="Started then or before; a date counts whole.")] = "",
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it as well, into an .svg or a .png.")] = None,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Show a cell's figure over all runs.

    It has intervals, and what has changed from one run to the next; machines and targets are kept apart.
    """
    # Imported late, here and below: SQLAlchemy takes longer to load than a short command to run.
    from wirebench.history import none_here, paths_of, read_history  # noqa: PLC0415

    figure = _metric(metric)
    given = {"scenario": [scenario], "machine": machine, "target": target, "since": [since], "until": [until]}
    told: set[Path] = set()

    def tell(damaged: DamagedRun) -> None:
        if damaged.folder not in told:
            warn_of_damaged(damaged)
        told.add(damaged.folder)

    chosen = _choose(existing(out), given, cell, factor or [], tell)
    paths = [paths_of(results, out) for results in chosen]
    if not any(paths):
        raise none_here(scenario)
    histories = [read_history(each, figure, tell) for each in paths]
    found = [each for each in histories if each]
    if not found:
        raise UsageError(f"no run has {figure.label if figure else 'figures'} there", "choose another figure, or cell")
    if plot:
        _draw(found, plot)
    if json:
        data = {"scenario": scenario, "cells": [_as_data(each) for each in found]}
        sys.stdout.write(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n")
        return
    console = stdout_console()
    for each in found:
        _print(each, console)
    if plot:
        console.print(f"\n{plot}")


def _choose(
    out: Path,
    given: Mapping[str, Sequence[str] | None],
    text: str,
    factors: Sequence[str],
    on_damaged: Callable[[DamagedRun], None],
) -> Sequence[Results]:
    """Return what the index has of the cells that are asked for. Raises UsageError, with a list, for none and many."""
    from wirebench.history import CELLS_MAX, find_cells, levels_by_factor, named, results_of  # noqa: PLC0415
    from wirebench.index import Index, database_url  # noqa: PLC0415
    from wirebench.selection.filters import FILTERS, filters_of  # noqa: PLC0415
    from wirebench.selection.parameters import read  # noqa: PLC0415

    levels = levels_by_factor(factors)
    filters = filters_of(read([(name, level) for name, each in given.items() for level in each or ()], FILTERS))
    (scenario,) = filters.scenario
    with Index.open(database_url(out)) as index:
        for damaged in index.catch_up(out).damaged:
            on_damaged(damaged)
        cells = find_cells(index, filters, levels)
        chosen = named(cells, text)
        if not chosen:
            raise UsageError(f"no cell of {scenario} is like {text!r}", "choose one of these", _listed(cells))
        if len(chosen) > CELLS_MAX:
            hint = "choose with --cell, by a part of the name or id, or with --factor NAME=LEVEL"
            raise UsageError(f"{counted(len(chosen), 'cell')} of {scenario} match", hint, _listed(chosen))
        return [results_of(index, filters, cell) for cell in chosen]


def _listed(cells: Sequence[FoundCell]) -> str:
    lines = [f"{cell.name}  ({cell.ids[-1]}; {counted(cell.runs, 'run')})" for cell in cells]
    more = [f"and {len(lines) - _LISTED_MAX} more"] if len(lines) > _LISTED_MAX else []
    return "\n".join((*lines[:_LISTED_MAX], *more))


def _metric(name: str | None) -> Metric | None:
    """Return the metric of a name. Raises UsageError."""
    if name is not None and name not in METRICS:
        raise UsageError(f"--metric: no figure {name!r}", f"figures are {', '.join(METRICS)}")
    return METRICS[name] if name else None


def _draw(found: Sequence[History], path: Path) -> None:
    # Imported late: matplotlib takes longer to load than the rest to run.
    from wirebench.report.charts import file, history  # noqa: PLC0415

    file.write(history.draw(found), path, history.describe(found))


def _print(found: History, console: Console) -> None:
    """Print a table a machine and target; all of them have one scale."""
    metric = found.metric
    heading = metric.heading
    better = "more" if metric.higher_is_better else "less"
    console.print(f"\n{in_common(found.factors)}: {heading} ({better} is better)", style="bold")
    strip = Strip.of([point.figure for line in found.lines for point in line.points])
    for line in found.lines:
        console.print(_table(line, heading, strip))


def _table(line: Line, heading: str, strip: Strip) -> Table:
    table = Table(title=visible(line.name), title_justify="left")
    table.add_column("run")
    table.add_column("began (UTC)")
    table.add_column("version")
    table.add_column("blocks", justify="right")
    table.add_column(heading, justify="right")
    table.add_column("95 % CI", justify="right")
    table.add_column(strip.heading)
    table.add_column("against the run before")
    table.add_column("gates")
    for point in line.points:
        change = point.change
        table.add_row(
            f"{point.run.id}{'' if point.run.status == 'complete' else f' ({point.run.status})'}",
            f"{point.started_at:%Y-%m-%d %H:%M}",
            visible(point.version[:_VERSION_LENGTH]),
            str(point.figure.blocks),
            number(point.figure.estimate),
            _interval(point),
            strip.draw(point.figure, fit=not point.failed_gates),
            visible(brief(change)) if change else ABSENT,
            ", ".join(gate.name for gate in point.failed_gates) or "ok",
            style=_VERDICT_STYLES.get(change.verdict) if change else None,
        )
    return table


def _interval(point: Point) -> str:
    figure = point.figure
    return ABSENT if figure.low is None else f"{number(figure.low)}–{number(figure.high)}"


def _as_data(found: History) -> dict[str, Any]:
    return {
        "name": in_common(found.factors),
        "factors": found.factors,
        "metric": found.metric.name,
        "unit": found.metric.unit,
        "higher_is_better": found.metric.higher_is_better,
        "lines": [
            {"target": line.target, "machine": line.machine, "runs": [_point(point) for point in line.points]}
            for line in found.lines
        ],
    }


def _point(point: Point) -> dict[str, Any]:
    change = point.change
    return {
        "run": point.run.id,
        "started_at": point.started_at,
        "status": point.run.status,
        "commit": point.run.commit,
        "versions": point.run.versions,
        "cell": point.cell.cell,
        "blocks": point.figure.blocks,
        "figure": point.figure.estimate,
        "low": point.figure.low,
        "high": point.figure.high,
        "failed_gates": [gate.name for gate in point.failed_gates],
        "change": change
        and {
            "verdict": change.verdict,
            "ratio": change.ratios[change.metric.name],
            "failed_gates": [gate.name for gate in change.failed_gates],
            "reasons": list(change.reasons),
        },
    }
