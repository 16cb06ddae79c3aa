"""Histories of cells, for pages and the API: what may be asked for, and reading runs once as long as none changes."""

from __future__ import annotations

import functools
from pathlib import Path

from pydantic import Field, field_validator

from wirebench.analysis.history import History
from wirebench.analysis.history_search import Paths, read_history
from wirebench.errors import WirebenchError
from wirebench.model.metric import COMPARED, Metric
from wirebench.results.index import Filters
from wirebench.results.progress import read_progress
from wirebench.results.query import RunFilters, Single
from wirebench.results.runs import DamagedRun, load_info

#: So many runs at most are read for a page or an API reply, to keep it fast. `wirebench history` reads more.
RUNS_MAX = 100
#: So many histories are kept: readers often look at one again.
_KEPT_MAX = 16


class CellQuery(RunFilters):
    """Which cell and which figure are shown, over which runs."""

    cell: Single[str] = Field(None, description="A cell's name, or a part of it.")
    metric: Single[str] = Field(None, description=f"The figure: {', '.join(COMPARED)}.")

    @field_validator("metric")
    @classmethod
    def _check_metric(cls, name: str) -> str:
        if name not in COMPARED:
            raise ValueError(f"must be one of {', '.join(COMPARED)} (it is {name!r})")
        return name

    def filters(self, scenario: str) -> Filters:
        return Filters(scenario=(scenario,), **{name: getattr(self, name) for name in RunFilters.model_fields})


def read_kept_history(paths: Paths, metric: Metric | None) -> tuple[History | None, tuple[DamagedRun, ...]]:
    """Return the history of a cell, by default of the figure that verdicts are on, and the runs that can't be read.

    One that was read is kept as long as none of its runs changes.
    """
    return _read_again(paths, tuple(_read_state(path) for path, _ in paths), metric)


@functools.lru_cache(maxsize=_KEPT_MAX)
def _read_again(
    paths: Paths, _states: tuple[tuple[int, str], ...], metric: Metric | None
) -> tuple[History | None, tuple[DamagedRun, ...]]:
    damaged: list[DamagedRun] = []
    return read_history(paths, metric, damaged.append), tuple(damaged)


def _read_state(folder: Path) -> tuple[int, str]:
    """Return what is another once a run has changed: when it was written, and whether one that goes was killed."""
    if read_progress(folder) is None:
        return read_changed_ns(folder), ""
    try:
        return read_changed_ns(folder), load_info(folder).status
    except WirebenchError as error:
        return read_changed_ns(folder), error.message


def read_changed_ns(folder: Path) -> int:
    """Return when something was last written to a run, in nanoseconds; 0 for what isn't there."""
    paths = (folder / name for name in ("run.json", "records", "histograms"))
    return max((path.stat().st_mtime_ns for path in paths if path.exists()), default=0)
