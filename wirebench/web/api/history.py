"""A cell over the runs of a scenario, read from their folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from wirebench.analysis.change_points import find_changes
from wirebench.analysis.history_search import (
    explain_missing_runs,
    find_cells,
    find_results,
    find_run_folders,
    match_cells,
)
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.labels import pluralise
from wirebench.model.metric import COMPARED
from wirebench.present.history_data import HistoryData, make_history_data
from wirebench.results.query import One, ParameterError
from wirebench.web.api.endpoint import ApiRequest
from wirebench.web.histories import RUNS_MAX, CellQuery, read_kept_history

#: So many names of cells stand in an error.
_NAMED_MAX = 10


class HistoryQuery(CellQuery):
    """Which cell of which scenario is meant."""

    scenario: Annotated[str, One] = Field(description="The scenario whose runs are looked at.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAnswer:
    """A cell over the newest runs, at most 100, with the changes of its level; and the runs that can't be read."""

    scenario: str
    history: HistoryData
    unreadable: tuple[str, ...]


def history(asked: ApiRequest[HistoryQuery]) -> HistoryAnswer:
    """Show a cell's figure over the runs of a scenario, and since when it has been at another level."""
    query, catalogue = asked.query, asked.catalogue
    filters = query.filters(query.scenario)
    with catalogue.index() as index:
        cells = find_cells(index, filters, {})
        chosen = match_cells(cells, query.cell or "")
        if len(chosen) != 1:
            names = ", ".join(repr(cell.name) for cell in (chosen or cells)[:_NAMED_MAX])
            reason = f"{pluralise(len(chosen), 'cell')} of {query.scenario} match: one has to"
            raise ParameterError("cell", reason, f"choose one of {names}")
        paths = find_run_folders(find_results(index, filters, chosen[0], RUNS_MAX), catalogue.folder)
    if not paths:
        raise explain_missing_runs(query.scenario)
    found, damaged = read_kept_history(paths, COMPARED.get(query.metric or ""))
    if found is None and len(damaged) == len(paths):
        raise WirebenchError(f"{damaged[0].folder.name}: {damaged[0].reason}", "no run of the cell can be read")
    if found is None:
        raise UsageError("no run of the cell has the figure", "choose another metric")
    return HistoryAnswer(
        scenario=query.scenario,
        history=make_history_data(found, find_changes(found)),
        unreadable=tuple(f"{run.folder.name}: {run.reason}" for run in damaged),
    )
