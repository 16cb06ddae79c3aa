"""The runs that a history is made of: the index finds the cells, the folders of the runs have their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.analysis.history import History, build_history
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.cell import has_levels
from wirebench.model.factor import FACTORS
from wirebench.model.labels import Factors, describe_factors
from wirebench.model.metric import Metric
from wirebench.results.index import Filters, Index, Result
from wirebench.results.runs import DamagedRun, Run, load_run

#: A history reaches so many runs back.
RUNS_MAX = 500
#: So many cells are shown together; of more, one is to be chosen.
CELLS_MAX = 4

#: What the index has of one cell, the oldest run first.
Results = tuple[Result, ...]
#: Folders of runs, with the id that the cell has there.
Paths = tuple[tuple[Path, str], ...]


@dataclass(frozen=True, slots=True)
class FoundCell:
    """A cell of a scenario, and in how many runs it is.

    On another target it has the same name, but another id, and other factors: those that only clusters have.
    """

    factors: Factors
    ids: tuple[str, ...]
    runs: int

    @property
    def name(self) -> str:
        return describe_factors(self.factors)


def parse_levels(given: Iterable[str]) -> dict[str, list[str]]:
    """Return the levels that are asked for by factor, from texts of the form NAME=LEVEL. Raises UsageError."""
    levels: dict[str, list[str]] = {}
    for text in given:
        name, equals, level = text.partition("=")
        if not equals:
            raise UsageError(f"factor {text!r}: not NAME=LEVEL", "such as concurrency=16")
        if name not in FACTORS:
            raise UsageError(f"no factor {name!r}", f"factors are {', '.join(FACTORS)}")
        levels.setdefault(name, []).append(level)
    return levels


def find_cells(index: Index, filters: Filters, levels: Mapping[str, Sequence[str]]) -> tuple[FoundCell, ...]:
    """Return the cells of runs of one scenario that have one of the levels of each factor that is named.

    Levels are texts, None is `none`. Raises UsageError if there is no such cell, IndexUnusableError.
    """
    known = index.cells(filters)
    if not known:
        raise _explain_no_match(index, filters)
    cells: dict[str, FoundCell] = {}
    for each in known:
        if has_levels(each.factors, levels):
            name = describe_factors(each.factors)
            before = cells.get(name, FoundCell(each.factors, (), 0))
            cells[name] = FoundCell(before.factors, (*before.ids, each.cell), before.runs + each.runs)
    if not cells:
        asked = ", ".join(f"{name}={level}" for name, each in levels.items() for level in each)
        (scenario,) = filters.scenario
        raise UsageError(f"no cell of {scenario} has {asked}", "`wirebench list` shows the scenarios, `results` a run")
    return tuple(cells.values())


def match_cells(cells: Iterable[FoundCell], text: str) -> tuple[FoundCell, ...]:
    """Return the cells with that name or id, or else those whose name or id has the text in it."""
    exact, partly = [], []
    for cell in cells:
        names = {cell.name, *cell.ids}
        if text in names:
            exact.append(cell)
        elif any(text.casefold() in name.casefold() for name in names):
            partly.append(cell)
    return tuple(exact or partly)


def find_results(index: Index, filters: Filters, cell: FoundCell, runs_max: int = RUNS_MAX) -> Results:
    """Return what the index has of a cell in the newest runs that match, the oldest first."""
    return index.results(filters.model_copy(update={"cell": cell.ids}), limit=runs_max).rows[::-1]


def find_run_folders(results: Results, folder: Path) -> Paths:
    """Return where the runs of a cell are, of those that are in the folder: an index may know of others."""
    paths = ((folder / result.run_id, result.cell) for result in results)
    return tuple((path, cell) for path, cell in paths if path.is_dir())


def read_history(paths: Paths, metric: Metric | None, on_damaged: Callable[[DamagedRun], None]) -> History | None:
    """Return the history of a cell, by default of the figure that verdicts are on; None if no run has the figure.

    `on_damaged` gets the runs that can't be read.
    """
    return build_history(_load_runs(paths, on_damaged), metric)


def explain_missing_runs(scenario: str) -> UsageError:
    """Return the error that says that the index has runs with a cell, and the folder has none of them."""
    hint = "`wirebench index --rebuild` takes such runs out of the index"
    return UsageError(f"all runs of {scenario} with such a cell were removed from the folder, or are elsewhere", hint)


def _explain_no_match(index: Index, filters: Filters) -> UsageError:
    scenarios = index.choices()["scenario"]
    (scenario,) = filters.scenario
    if scenario not in scenarios:
        there = f"there are runs of {', '.join(scenarios)}" if scenarios else "`wirebench run` makes one"
        return UsageError(f"no run of a scenario {scenario!r}", there)
    asked = [
        *(f"since {filters.since:%Y-%m-%d %H:%M}" for _ in range(filters.since is not None)),
        *(f"until {filters.until:%Y-%m-%d %H:%M}" for _ in range(filters.until is not None)),
        *(f"on {' or '.join(levels)}" for levels in (filters.machine, filters.target) if levels),
    ]
    those = " ".join(filter(None, (scenario, ", ".join(asked))))
    if index.runs(filters, limit=1).rows:
        hint = "`wirebench resume RUN` measures what a stopped run lacks"
        return UsageError(f"no window was measured in any run of {those}", hint)
    return UsageError(f"no run of {those}", "ask for other days, machines or targets")


def _load_runs(paths: Paths, on_damaged: Callable[[DamagedRun], None]) -> Iterator[Run]:
    for path, cell in paths:
        try:
            yield load_run(path, cell)
        except WirebenchError as error:
            on_damaged(DamagedRun(path, error.message.replace(f"{path}/", "")))
