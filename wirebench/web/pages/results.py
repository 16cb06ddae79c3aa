"""`/`: what the filters select, as charts, and the table of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from wirebench.errors import WirebenchError
from wirebench.index import PAGE_ROWS_MAX, Filters, Index, RunRow
from wirebench.scenario.contract import Comparable
from wirebench.selection.filters import CURSOR, FILTERS, filters_of
from wirebench.selection.parameters import read
from wirebench.stats.names import counted
from wirebench.store import DamagedRun
from wirebench.store.progress import read_progress
from wirebench.store.results import load_info, run_folders
from wirebench.web.catalogue import Catalogue
from wirebench.web.charts import plot
from wirebench.web.pages.chapter import Chapter, make_chapter
from wirebench.web.pages.findings import summary
from wirebench.web.pages.form import Field, Moment, Pairs, address, fields, moment_fields
from wirebench.web.pages.live import left_in_words
from wirebench.web.render import render

#: So many runs are drawn at most, and so many listed on a page.
CHARTED_RUNS_MAX = 4
LISTED_RUNS = 25

#: Scenario and transport: on a phone, more filters would leave no room for results.
_FIRST_FIELDS = 2
_PARAMETERS = (*FILTERS, CURSOR)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A run as charts, what it comes to in sentences, and where its figures are for programs.

    Its folder may not be here: the index may be one that others write to as well.
    """

    run: RunRow
    #: How much of what was planned is measured, in words; empty where all of it is.
    far: str
    chapter: Chapter
    is_here: bool
    answer: tuple[str, ...]
    json_address: str
    csv_address: str


@dataclass(frozen=True, slots=True)
class Runs:
    """A page of the table of runs."""

    rows: tuple[RunRow, ...]
    total: int
    #: Names of runs: those that are drawn, and those that were chosen to be.
    shown: tuple[str, ...]
    chosen: tuple[str, ...]
    #: How far those are that go on, in words, by their names.
    progress: Mapping[str, str]
    #: Addresses; empty where there is no such page.
    newest: str
    older: str
    charts_max: int = CHARTED_RUNS_MAX


@dataclass(frozen=True, slots=True)
class Page:
    """What the template shows."""

    title: str
    #: Whether there is no run at all; and whether there are some that the index doesn't have yet.
    is_empty: bool
    is_reading: bool
    is_filtered: bool
    is_newest: bool
    #: The filters that are always there, the others, and whether any of those is set.
    fields: tuple[Field, ...]
    more_fields: tuple[Field, ...]
    moments: tuple[Moment, ...]
    asks_more: bool
    notices: tuple[str, ...]
    drawn: tuple[Drawn, ...]
    runs: Runs
    damaged: tuple[DamagedRun, ...]


def results(request: Request) -> Response:
    """Answer with the page of what the address selects."""
    pairs = request.query_params.multi_items()
    filled = [(name, value) for name, value in pairs if value]
    if filled != pairs:  # a form sends its empty fields, too; an address that is shared needs none of them
        return RedirectResponse(address("/", filled), HTTPStatus.SEE_OTHER)
    levels = read(pairs, _PARAMETERS)
    return render("results.html.j2", here="/", page=_page(request.app.state.catalogue, levels, pairs), size=plot)


def _page(catalogue: Catalogue, levels: Mapping[str, tuple[Any, ...]], pairs: Pairs) -> Page:
    filters = filters_of(levels)
    given = dict(pairs)
    with catalogue.index() as index:
        choices = index.choices()
        newest = not filters.run_id
        chosen = filters.run_id or _newest(index, filters)
        drawn = tuple(
            made
            for run_id in chosen[:CHARTED_RUNS_MAX]
            if (made := _drawn(catalogue, index, replace(filters, run_id=(run_id,)), pairs))
        )
        runs = _runs(catalogue, index, replace(filters, run_id=()), levels, pairs)
    asked = fields(levels, choices)
    moments = moment_fields(levels, given)
    damaged = catalogue.damaged()
    is_empty = not (choices.scenarios or damaged)
    return Page(
        title=drawn[0].run.question if len(drawn) == 1 else "Results",
        is_empty=is_empty,
        is_reading=is_empty and any(run_folders(catalogue.folder)),
        is_filtered=bool(pairs),
        is_newest=newest,
        fields=asked[:_FIRST_FIELDS],
        more_fields=asked[_FIRST_FIELDS:],
        moments=moments,
        asks_more=any(moment.value for moment in moments) or any(field.is_set for field in asked[_FIRST_FIELDS:]),
        notices=tuple(_notices(chosen, drawn)),
        drawn=drawn,
        runs=replace(runs, shown=tuple(each.run.run_id for each in drawn), chosen=filters.run_id),
        damaged=damaged,
    )


def _newest(index: Index, filters: Filters) -> tuple[str, ...]:
    """Return the newest run that has a cell that the filters let through, if there is one."""
    return tuple(result.run_id for result in index.results(filters, limit=1).rows)


def _drawn(catalogue: Catalogue, index: Index, filters: Filters, pairs: Pairs) -> Drawn | None:
    """Draw the one run that the filters name; None if it isn't there, or has nothing that they let through."""
    runs = index.runs(Filters(run_id=filters.run_id)).rows
    found = index.results(filters, limit=PAGE_ROWS_MAX).rows
    if not (runs and found):
        return None
    run_id = runs[0].run_id
    folder = catalogue.find_folder(run_id)
    of_run = [("run_id", run_id), *((name, value) for name, value in pairs if name not in ("run_id", "cursor"))]
    return Drawn(
        run=runs[0],
        far=_far(runs[0]),
        chapter=make_chapter(found, _compared(folder)),
        is_here=folder is not None,
        # What it comes to, it says when it is over: who sees verdicts come and go is tempted to stop where they please.
        answer=_answer(folder) if folder and runs[0].status != "running" else (),
        json_address=address("/api/v1/results", of_run),
        csv_address=address("/api/v1/results", of_run, format="csv"),
    )


def _compared(folder: Path | None) -> Comparable:
    """Return the factor that the run compares, or else the one that most do: only its folder says it."""
    try:
        return load_info(folder).compare if folder else "transport"
    except WirebenchError:
        return "transport"


def _far(run: RunRow) -> str:
    """Say how much was measured of a run that isn't whole."""
    planned = run.cells * run.blocks
    return "" if run.status == "complete" else f"{run.records:,} of {counted(planned, 'window')} measured"


def _answer(folder: Path) -> tuple[str, ...]:
    """Say what the whole run comes to; nothing if it can't be read any more, which its own page says."""
    try:
        return summary(folder)
    except WirebenchError:
        return ()


def _goes(catalogue: Catalogue, run_id: str) -> str:
    """Say how far a run is that goes on; nothing where nothing was heard of it."""
    folder = catalogue.find_folder(run_id)
    progress = read_progress(folder) if folder else None
    return f"{progress.done:,} of {counted(progress.total, 'cell')}, {left_in_words(progress)}" if progress else ""


def _runs(
    catalogue: Catalogue, index: Index, filters: Filters, levels: Mapping[str, tuple[Any, ...]], pairs: Pairs
) -> Runs:
    cursor = next(iter(levels["cursor"]), None)
    page = index.runs(filters, limit=LISTED_RUNS, cursor=cursor)
    return Runs(
        rows=page.rows,
        total=page.total,
        shown=(),
        chosen=(),
        progress={run.run_id: _goes(catalogue, run.run_id) for run in page.rows if run.status == "running"},
        newest=address("/", pairs, "cursor") if cursor else "",
        older=address("/", pairs, cursor=page.next_cursor) if page.next_cursor else "",
    )


def _notices(chosen: Sequence[str], drawn: Sequence[Drawn]) -> Iterator[str]:
    """Say what isn't drawn of what was asked for, and what must not be read into what is."""
    if len(chosen) > CHARTED_RUNS_MAX:
        yield f"{len(chosen)} runs were chosen; the first {CHARTED_RUNS_MAX} are drawn."
    runs = [each.run for each in drawn]
    for missing in sorted({*chosen[:CHARTED_RUNS_MAX]} - {run.run_id for run in runs}):
        yield f"{missing} is not drawn: there is no such run, or it has nothing that the filters let through."
    machines = {(run.target, run.machine) for run in runs}
    if len(machines) > 1:
        yield (
            f"These {len(runs)} runs are from {len(machines)} different machines or targets: compare cells within a "
            "run, not across them."
        )
