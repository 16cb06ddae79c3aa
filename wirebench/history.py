"""The runs that a history is made of: the index finds the cells, the folders of the runs have their records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from wirebench.errors import UsageError, WirebenchError
from wirebench.index import PAGE_ROWS_MAX, Filters, Index, Result
from wirebench.scenario import Cell
from wirebench.stats import Metric
from wirebench.stats.history import History, history
from wirebench.stats.names import Factors, in_common
from wirebench.store import DamagedRun, Run, load_run

#: A history reaches so many runs back.
RUNS_MAX = 500
#: So many cells are shown together; of more, one is to be chosen.
CELLS_MAX = 4
_ABSENT = "none"

#: What the index has of one cell, the oldest run first; there is at least one. On another target it has the same name,
#: but other factors: those that only clusters have.
Results = tuple[Result, ...]


def levels_by_factor(given: Iterable[str]) -> dict[str, list[str]]:
    """Return the levels that are asked for by factor, from texts of the form NAME=LEVEL. Raises UsageError."""
    known = [field.name for field in dataclasses.fields(Cell)]
    levels: dict[str, list[str]] = {}
    for text in given:
        name, equals, level = text.partition("=")
        if not equals:
            raise UsageError(f"factor {text!r}: no NAME=LEVEL", "such as concurrency=16")
        if name not in known:
            raise UsageError(f"no factor {name!r}", f"factors are {', '.join(known)}")
        levels.setdefault(name, []).append(level)
    return levels


def find_cells(
    index: Index, scenario: str, levels: Mapping[str, Sequence[str]], since: datetime | None
) -> tuple[Results, ...]:
    """Return what the index has of each cell of a scenario that has one of the levels of each factor that is named.

    Levels are texts, None is `none`. Raises UsageError if there is no such cell, IndexUnusableError.
    """
    results = list(_newest(index, Filters(scenario=(scenario,), since=since)))
    if not results:
        raise _nothing(index, scenario, since)
    cells: dict[str, list[Result]] = {}
    for result in reversed(results):
        if _has(result.factors, levels):
            cells.setdefault(in_common(result.factors), []).append(result)
    if not cells:
        asked = ", ".join(f"{name}={level}" for name, each in levels.items() for level in each)
        raise UsageError(f"no cell of {scenario} has {asked}", "`wirebench list` shows the scenarios, `results` a run")
    return tuple(map(tuple, cells.values()))


def named(cells: Iterable[Results], text: str) -> tuple[Results, ...]:
    """Return the cells with that name or id, or else those whose name or id has the text in it."""
    exact, partly = [], []
    for cell in cells:
        names = {in_common(cell[-1].factors), *(result.cell for result in cell)}
        if text in names:
            exact.append(cell)
        elif any(text.casefold() in name.casefold() for name in names):
            partly.append(cell)
    return tuple(exact or partly)


def read_histories(
    cells: Iterable[Results], folder: Path, metric: Metric | None, on_damaged: Callable[[DamagedRun], None]
) -> tuple[History, ...]:
    """Return the histories of cells, by default of the figure that verdicts are on.

    `on_damaged` is told of runs that can't be read. Raises UsageError if no run of any cell has the figure.
    """
    found = [each for cell in cells if (each := history(_runs(folder, cell, on_damaged), metric))]
    if not found:
        raise UsageError(f"no run has {metric.label if metric else 'figures'} there", "choose another figure, or cell")
    return tuple(found)


def _newest(index: Index, filters: Filters) -> Iterator[Result]:
    """Yield the results of the newest runs, page by page, the newest first."""
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


def _nothing(index: Index, scenario: str, since: datetime | None) -> UsageError:
    scenarios = index.choices().scenarios
    if scenario in scenarios and since:
        return UsageError(f"no run of {scenario} since {since:%Y-%m-%d}", "ask for an earlier day")
    there = f"there are runs of {', '.join(scenarios)}" if scenarios else "`make bench` makes one"
    return UsageError(f"no run of a scenario {scenario!r}", there)


def _has(factors: Factors, levels: Mapping[str, Sequence[str]]) -> bool:
    return all(str(_ABSENT if factors.get(name) is None else factors[name]) in each for name, each in levels.items())


def _runs(folder: Path, cell: Results, on_damaged: Callable[[DamagedRun], None]) -> Iterator[Run]:
    """Yield the runs of a cell that are in the folder, with its records alone: an index may know of others."""
    for path, result in ((folder / result.run_id, result) for result in cell):
        if path.is_dir():
            try:
                yield load_run(path, result.cell)
            except WirebenchError as error:
                on_damaged(DamagedRun(path, error.message.replace(f"{path}/", "")))
