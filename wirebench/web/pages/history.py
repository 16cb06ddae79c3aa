"""`/history`: a cell's figure over the runs of a scenario, machines and targets kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wirebench.analysis.change_points import find_changes
from wirebench.analysis.history import History, HistoryPoint
from wirebench.analysis.history_search import (
    FoundCell,
    Paths,
    explain_missing_runs,
    find_cells,
    find_results,
    find_run_folders,
    match_cells,
)
from wirebench.errors import UsageError
from wirebench.model.labels import capitalise, describe_factors
from wirebench.model.metric import COMPARED, Metric
from wirebench.present.caveats import list_history_notes
from wirebench.present.charts import history as chart
from wirebench.present.level_changes import VERSION_LENGTH, describe_line_changes, list_change_caveats
from wirebench.present.numbers import ABSENT, format_number, format_range
from wirebench.present.sentences import format_gate_names, format_interval
from wirebench.results.index import Filters, Index
from wirebench.results.query import Single
from wirebench.results.runs import DamagedRun
from wirebench.web.catalogue import Catalogue
from wirebench.web.histories import RUNS_MAX, CellQuery, read_kept_history
from wirebench.web.pages.form import Option, make_fields, make_moment_fields
from wirebench.web.render import render

#: So wide that dates stand side by side.
_PLOT_WIDTH = 1080


class HistoryPageQuery(CellQuery):
    """Which cell is shown, of the newest scenario unless one is named."""

    scenario: Single[str] = Field(None, description="The scenario whose runs are looked at.")


def show_history(request: Request) -> Response:
    """Answer with the history of the cell that is asked for, or of the first of the newest run's scenario.

    What one field is set to may not fit what another has just been set to: then something that is there is shown, and
    that it isn't what was asked for.
    """
    pairs = request.query_params.multi_items()
    query = HistoryPageQuery.read(pairs)
    catalogue: Catalogue = request.app.state.catalogue
    notices: list[str] = []
    with catalogue.index() as index:
        choices = index.choices()
        scenario = query.scenario or next((each.scenario for each in index.results(Filters(), limit=1).rows), "")
        filters = query.filters(scenario)
        cells = _find_cells(index, filters, notices) if scenario else ()
        cell = _choose(cells, query.cell or "", scenario, notices) if cells else None
        results = find_results(index, filters, cell, RUNS_MAX) if cell else ()
    if cell and cell.runs > len(results):
        notices.append(f"These are the newest {len(results)} of {cell.runs} runs; choose others by their days.")
    paths = find_run_folders(results, catalogue.folder)
    if cell and not paths:
        notices.append(_describe(explain_missing_runs(scenario)))
    found, damaged = _read(paths, COMPARED.get(query.metric or ""), notices)
    metrics = found.metrics if found else tuple(COMPARED.values())
    return render(
        "history.html.j2",
        current_page="/history",
        scenarios=_make_options(dict.fromkeys(filter(None, (*choices["scenario"], scenario))), scenario),
        cells=_make_options((each.name for each in cells), cell.name if cell else ""),
        metrics=tuple(
            Option(each.name, each.label, each.name == (found.metric.name if found else query.metric))
            for each in metrics
        ),
        fields=tuple(field for field in make_fields(filters, choices) if field.name in ("machine", "target")),
        moments=make_moment_fields(query, pairs),
        notices=tuple(notices),
        damaged=damaged,
        **(_draw(found) if found else {"name": ""}),
    )


def _find_cells(index: Index, filters: Filters, notices: list[str]) -> tuple[FoundCell, ...]:
    try:
        return find_cells(index, filters, {})
    except UsageError as error:
        notices.append(_describe(error))
        return ()


def _describe(error: UsageError) -> str:
    return f"{capitalise(error.message)}: {error.hint}."


def _choose(cells: Sequence[FoundCell], name: str, scenario: str, notices: list[str]) -> FoundCell:
    """Return the first cell of that name, or else the first of all: the form keeps a name from another scenario."""
    if of_name := match_cells(cells, name):
        return of_name[0]
    notices.append(f"{scenario} has no cell {name}: this is the first that it has.")
    return cells[0]


def _read(paths: Paths, metric: Metric | None, notices: list[str]) -> tuple[History | None, tuple[DamagedRun, ...]]:
    """Return the history in a figure, or else in that which verdicts are on: the form keeps a figure, too."""
    found, damaged = read_kept_history(paths, metric)
    if found or not metric or not paths:
        return found, damaged
    found, damaged = read_kept_history(paths, None)
    if found:
        notices.append(f"{describe_factors(found.factors)} has no {metric.label}: this is {found.metric.label}.")
    return found, damaged


def _make_options(values: Iterable[str], chosen: str) -> tuple[Option, ...]:
    return tuple(Option(value, value, value == chosen) for value in values)


def _draw(found: History) -> dict[str, Any]:
    changes = find_changes(found)
    return {
        "name": describe_factors(found.factors),
        "metric": found.metric,
        "chart": chart.draw(found, _PLOT_WIDTH, changes),
        "styles": chart.legend(found).values(),
        "changes": [(each.line.name, describe_line_changes(each, found.metric)) for each in changes],
        "change_caveats": list(list_change_caveats(changes)),
        "notes": list(list_history_notes([found])),
        "lines": found.lines,
        "version_length": VERSION_LENGTH,
        "describe_change": _describe_change,
        "format_number": format_number,
        "format_range": format_range,
        "format_gate_names": format_gate_names,
    }


def _describe_change(point: HistoryPoint) -> str:
    """Write the ratio to the run before, and why there is no verdict, as far as its own gates don't say so."""
    change = point.change
    if change is None:
        return ABSENT
    ratio = change.ratios.get(change.metric.name)
    own = {gate.name for gate in point.failed_gates}
    before = ["a gate failed in the run before"] if any(gate.name not in own for gate in change.failed_gates) else []
    reason = "; ".join((*change.reasons, *before))
    return f"{format_interval(ratio) if ratio else ABSENT}{f' ({reason})' if reason else ''}"
