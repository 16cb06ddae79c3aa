"""`/`: what the filters select of the newest run, as charts and as a table, and the table of runs."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from wirebench.analysis.results import RunRow
from wirebench.analysis.summary import summarise
from wirebench.errors import WirebenchError, pluralise
from wirebench.present.operations import split_operations
from wirebench.present.pictures import RunPictures, draw_run
from wirebench.present.run import make_run_view
from wirebench.present.table import FigureTable, make_full_table
from wirebench.store.query import Filters, Single
from wirebench.store.runs import load_run, read_changed_ns
from wirebench.store.select import PAGE_ROWS_MAX
from wirebench.store.store import Store
from wirebench.web.pages.form import Pairs, make_address, make_fields
from wirebench.web.render import render_template

#: So many runs are listed on a page.
LISTED_RUNS = 25
_KEPT_MAX = 16


class ResultsQuery(Filters):
    """What is drawn, and where the table of runs begins."""

    cursor: Single[str] = Field(None, description="Where the table of runs begins.")


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """A run as charts, what it comes to in sentences, and where its figures are for programs."""

    run: RunRow
    #: How much of what was planned is measured, in words.
    far: str
    cells: int
    table: FigureTable
    #: None if the run can't be read any more.
    pictures: RunPictures | None
    answer: tuple[str, ...]
    json_address: str


def show_results(request: Request) -> Response:
    pairs = request.query_params.multi_items()
    filled = [(name, value) for name, value in pairs if value]
    if filled != pairs:  # a form sends its empty fields, too; an address that is shared needs none of them
        return RedirectResponse(make_address("/", filled), HTTPStatus.SEE_OTHER)
    store: Store = request.app.state.store
    query = ResultsQuery.read(pairs)
    store.update()
    choices = store.choices()
    # The newest run that has a cell that matches the filters, of complete ones if one is near.
    complete = [row.run_id for row in store.runs(query, limit=LISTED_RUNS).rows if row.status == "complete"]
    newest = complete or [result.run_id for result in store.results(query, limit=1).rows]
    drawn = _draw(store, query.model_copy(update={"run_id": (newest[0],)}), pairs) if newest else None
    runs = store.runs(query.model_copy(update={"run_id": ()}), limit=LISTED_RUNS, cursor=query.cursor)
    text = render_template(
        "results.html.j2",
        current_page="/",
        title=drawn.run.question if drawn else "Results",
        is_empty=not (choices["scenario"] or store.damaged),
        is_filtered=bool(pairs),
        chosen=query.run_id,
        fields=make_fields(query, choices),
        drawn=drawn,
        runs=runs,
        newest=make_address("/", pairs, "cursor") if query.cursor else "",
        older=make_address("/", pairs, cursor=runs.next_cursor) if runs.next_cursor else "",
        damaged=store.damaged,
    )
    return HTMLResponse(text)


def _draw(store: Store, filters: Filters, pairs: Pairs) -> DrawnRun | None:
    """Draw the cells that match of the one run that the filters name; None if it has gone meanwhile."""
    runs = store.runs(Filters(run_id=filters.run_id)).rows
    if not runs:
        return None
    found = store.results(filters, limit=PAGE_ROWS_MAX).rows
    run_id = runs[0].run_id
    folder = store.find_folder(run_id)
    of_run = [("run_id", run_id), *((name, value) for name, value in pairs if name not in ("run_id", "cursor"))]
    pictures, answer = _draw_cells(folder, read_changed_ns(folder), frozenset(cell.cell for cell in found))
    return DrawnRun(
        run=runs[0],
        far=f"{runs[0].records:,} of {pluralise(runs[0].cells * runs[0].blocks, 'window')} measured",
        cells=len(found),
        table=make_full_table(found),
        pictures=pictures,
        answer=answer,
        json_address=make_address("/api/v1/results", of_run),
    )


@functools.lru_cache(_KEPT_MAX)
def _draw_cells(
    folder: Path,
    changed_ns: int,  # noqa: ARG001 - a changed run is drawn again
    drawn: frozenset[str],
) -> tuple[RunPictures | None, tuple[str, ...]]:
    """Draw these cells of the run in a folder, and return what the whole run comes to.

    A run that can't be read any more has neither, and its own page says why.
    """
    try:
        run = load_run(folder)
    except WirebenchError:
        return None, ()
    cells = summarise(run.records, run.info.compare)
    chosen = [cell for cell in cells if cell.cell in drawn]
    return draw_run(run, chosen, split_operations(run, chosen)), make_run_view(run, cells, ()).summary
