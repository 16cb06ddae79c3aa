"""What is known of one run, or of two that are compared, read from their folders."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from pydantic import Field

from wirebench.analysis.compare_runs import compare_runs
from wirebench.analysis.summary import summarise
from wirebench.model.histogram_file import Clock
from wirebench.model.record import Latency, summarise_histogram
from wirebench.present.run import RunView, make_run_view
from wirebench.present.two_runs import RunComparisonView, make_run_comparison_view
from wirebench.store.histograms import CellHistograms, merge_blocks, read_histograms
from wirebench.store.query import Levels, One, Query
from wirebench.store.runs import load_run, read_changed_ns
from wirebench.web.api.endpoint import ApiRequest
from wirebench.web.problems import HttpError

#: So many replies are kept for the next who asks: merging and encoding a run's histograms takes a second.
_HISTOGRAMS_MAX = 8


def run(asked: ApiRequest[Query]) -> RunView:
    """Show a run."""
    return make_run_view(asked.store.load(asked.run_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class CellHistogram:
    """The latencies of a cell's successful requests on one clock, its blocks merged exactly.

    `operation` is null where several are merged. `hdr_histogram` is HdrHistogram's V2 compressed form in base64, of
    nanoseconds, with 3 significant digits.
    """

    cell: str
    operation: str | None
    clock: Clock
    blocks: int
    latency: Latency
    hdr_histogram: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histograms:
    """The histograms of a run; and what could not be read of them, a line each."""

    run_id: str
    histograms: tuple[CellHistogram, ...]
    unreadable: tuple[str, ...]


class HistogramQuery(Query):
    """Which cells are wanted."""

    cell: Levels[str] = Field((), description="Ids of cells; all, if none is given.")


def histograms(asked: ApiRequest[HistogramQuery]) -> Histograms:
    """Show the distribution of latencies in each cell of a run."""
    folder = asked.store.find_folder(asked.run_id)
    return _merge_histograms(folder, read_changed_ns(folder), asked.query.cell)


@functools.lru_cache(_HISTOGRAMS_MAX)
def _merge_histograms(
    folder: Path,
    changed_ns: int,  # noqa: ARG001 - a changed run is read again
    names: tuple[str, ...],
) -> Histograms:
    run = load_run(folder)
    cells = {cell.cell: cell for cell in summarise(run.records)}
    chosen = tuple(dict.fromkeys(names or cells))
    if missing := [name for name in chosen if name not in cells]:
        hint = f"/api/v1/runs/{run.info.id} lists its cells"
        raise HttpError(HTTPStatus.NOT_FOUND, f"the run has no cell {missing[0]}", hint, parameter="cell")
    unreadable: list[str] = []
    merged: list[CellHistogram] = []
    for name in chosen:
        found = read_histograms(folder, cells[name].records)
        unreadable += found.problems
        merged += _describe_histograms(name, found)
    return Histograms(run_id=run.info.id, histograms=tuple(merged), unreadable=tuple(unreadable))


def _describe_histograms(cell: str, found: CellHistograms) -> Iterator[CellHistogram]:
    """Yield a cell's histograms: one a clock, and one an operation besides where it has several."""
    for (clock, operation), blocks in found.blocks.items():
        merged = merge_blocks(blocks)
        if latency := summarise_histogram(merged):
            yield CellHistogram(
                cell=cell,
                operation=operation,
                clock=clock,
                blocks=len(blocks),
                latency=latency,
                hdr_histogram=merged.encode(),
            )


class CompareQuery(Query):
    """Two runs."""

    base: Annotated[str, One] = Field(description="The run that is compared with.")
    head: Annotated[str, One] = Field(description="The run that is judged.")


def compare(asked: ApiRequest[CompareQuery]) -> RunComparisonView:
    """Compare two runs by the cells that both have."""
    base, head = asked.store.load(asked.query.base), asked.store.load(asked.query.head)
    return make_run_comparison_view(compare_runs(base, head))
