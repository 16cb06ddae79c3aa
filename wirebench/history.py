"""The runs that a history is made of: the index finds the cells, the folders of the runs have their records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from wirebench.errors import UsageError, WirebenchError
from wirebench.index import PAGE_ROWS_MAX, Filters, Index, Result
from wirebench.scenario import Cell
from wirebench.stats import Metric
from wirebench.stats.history import History, history
from wirebench.stats.names import Factors, counted, in_common
from wirebench.store import DamagedRun, Run, load_run

#: A history reaches so many runs back.
RUNS_MAX = 500
#: So many cells are shown side by side; of more, a choice is asked for.
CELLS_MAX = 4
_LISTED_MAX = 40
_ABSENT = "none"


@dataclass(frozen=True, slots=True)
class Query:
    """Which cells are asked for: those of a scenario, with one of the levels of each factor that is named.

    `cell` is a cell's id or name, or a part of these. Levels are written as text, None as `none`.
    """

    scenario: str
    cell: str = ""
    factors: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    since: datetime | None = None


def histories(
    index: Index,
    folder: Path,
    query: Query,
    metric: Metric | None = None,
    on_damaged: Callable[[DamagedRun], None] = lambda _: None,
) -> tuple[History, ...]:
    """Return the histories of the cells that are asked for, which are `CELLS_MAX` at most.

    `on_damaged` is told of runs that can't be read. Raises UsageError if there is no such cell, or more than that, or
    if none of them has the figure; IndexUnusableError.
    """
    cells = find_cells(index, query)
    if len(cells) > CELLS_MAX:
        hint = "choose with --cell, by a part of the name or id, or with --factor NAME=LEVEL"
        raise UsageError(f"{counted(len(cells), 'cell')} of {query.scenario} match", hint, _listed(cells))
    found = []
    for results in cells:
        runs = _runs(folder, results, on_damaged)
        if each := history(runs, metric):
            found.append(each)
    if not found:
        what = metric.label if metric else "figures"
        raise UsageError(f"no run has {what} of {in_common(cells[0][0].factors)}", "choose another --metric, or cell")
    return tuple(found)


def find_cells(index: Index, query: Query) -> tuple[tuple[Result, ...], ...]:
    """Return the results of each cell that matches, the oldest first. Raises UsageError if none does."""
    _check(query.factors)
    everything = _by_factors(_results(index, Filters(scenario=(query.scenario,), since=query.since)))
    if not everything:
        raise _no_scenario(index, query)
    cells = [cell for cell in everything if _has_levels(cell[0].factors, query.factors)]
    if query.cell:
        exact = [cell for cell in cells if query.cell in (cell[0].cell, in_common(cell[0].factors))]
        cells = exact or [cell for cell in cells if _mentions(cell[0], query.cell)]
    if not cells:
        raise UsageError(f"no cell of {query.scenario} is like that", "choose one of these", _listed(everything))
    return tuple(cells)


def _check(factors: Mapping[str, Sequence[str]]) -> None:
    known = [field.name for field in dataclasses.fields(Cell)]
    for name in factors:
        if name not in known:
            raise UsageError(f"--factor: no factor {name!r}", f"factors are {', '.join(known)}")


def _results(index: Index, filters: Filters) -> Iterator[Result]:
    """Yield the newest results, page by page."""
    cursor: str | None = None
    runs: set[str] = set()
    while True:
        page = index.results(filters, limit=PAGE_ROWS_MAX, cursor=cursor)
        for result in page.rows:
            runs.add(result.run_id)
            if len(runs) > RUNS_MAX:
                return
            yield result
        cursor = page.next_cursor
        if cursor is None:
            return


def _by_factors(results: Iterator[Result]) -> list[tuple[Result, ...]]:
    cells: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        cells.setdefault(tuple(sorted(result.factors.items())), []).append(result)
    return [tuple(reversed(cell)) for cell in cells.values()]


def _no_scenario(index: Index, query: Query) -> UsageError:
    scenarios = index.choices().scenarios
    if query.scenario in scenarios and query.since:
        return UsageError(f"no run of {query.scenario} since {query.since:%Y-%m-%d}", "ask for an earlier --since")
    there = f"there are runs of {', '.join(scenarios)}" if scenarios else "`make bench` makes one"
    return UsageError(f"no run of a scenario {query.scenario!r}", there)


def _has_levels(factors: Factors, asked: Mapping[str, Sequence[str]]) -> bool:
    return all(_ABSENT if factors[name] is None else str(factors[name]) in levels for name, levels in asked.items())


def _mentions(result: Result, text: str) -> bool:
    return any(text.casefold() in name.casefold() for name in (result.cell, in_common(result.factors)))


def _listed(cells: Sequence[Sequence[Result]]) -> str:
    lines = [f"{in_common(cell[0].factors)}  ({cell[0].cell}; {counted(len(cell), 'run')})" for cell in cells]
    more = [f"and {len(lines) - _LISTED_MAX} more"] if len(lines) > _LISTED_MAX else []
    return "\n".join((*lines[:_LISTED_MAX], *more))


def _runs(folder: Path, results: Sequence[Result], on_damaged: Callable[[DamagedRun], None]) -> Iterator[Run]:
    """Yield the runs of a cell, with its records alone."""
    for result in results:
        try:
            yield load_run(folder / result.run_id, result.cell)
        except WirebenchError as error:
            on_damaged(DamagedRun(folder / result.run_id, error.message))
