"""`/runs/<id>/histograms`: the latencies of a run's cells; blocks merge by adding counts, no percentile is averaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

from wirebench.drivers.histogram import Histogram
from wirebench.drivers.histogram_file import OK, Clock, HistogramFile
from wirebench.errors import WirebenchError
from wirebench.report.latencies import quantile_ms
from wirebench.selection.filters import names
from wirebench.stats import CellSummary, summarise
from wirebench.store import Run
from wirebench.web.api.answers import CellHistogram, Histograms, Percentile
from wirebench.web.api.endpoint import Asked, Endpoint
from wirebench.web.problems import HttpError

_PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.9, 99.95, 99.99)


@dataclass(slots=True)
class _Merged:
    """The blocks of one cell, operation and clock."""

    histogram: Histogram = field(default_factory=Histogram.empty)
    blocks: set[int] = field(default_factory=set)

    def add(self, histogram: Histogram, block: int) -> None:
        self.histogram += histogram
        self.blocks.add(block)


def _histograms(asked: Asked) -> Histograms:
    run = asked.catalogue.run(asked.run_id)
    cells = {cell.cell: cell for cell in summarise(run.records)}
    chosen = asked.levels["cell"] or tuple(cells)
    if missing := [name for name in chosen if name not in cells]:
        hint = f"/api/v1/runs/{run.info.id} lists its cells"
        raise HttpError(HTTPStatus.NOT_FOUND, f"the run has no cell {missing[0]}", hint, parameter="cell")
    unreadable: list[str] = []
    histograms: list[CellHistogram] = []
    for name in chosen:
        asked.catalogue.go_on()
        histograms += _of_cell(run, cells[name], unreadable)
    return Histograms(run_id=run.info.id, histograms=tuple(histograms), unreadable=tuple(unreadable))


HISTOGRAMS = Endpoint(
    name="histograms",
    path="/runs/{run_id}/histograms",
    summary="Show the distribution of latencies in each cell of a run.",
    answer=_histograms,
    answers=Histograms,
    parameters=(names("cell", "Names of cells; all, if none is given."),),
)


def _of_cell(run: Run, cell: CellSummary, unreadable: list[str]) -> Iterator[CellHistogram]:
    """Yield a cell's histograms: one a clock, and one an operation besides where it has several."""
    merged: dict[tuple[Clock, str | None], _Merged] = {}
    for record in cell.records:
        try:
            file = HistogramFile.read(run.folder / record.histogram_file)
            of_file = [(each, Histogram.decode(each.histogram)) for each in file.series if each.code == OK]
        except (WirebenchError, ValueError) as error:
            unreadable.append(f"{record.id}: {str(error).replace(f'{run.folder}/', '')}")
            continue
        for series, histogram in of_file:
            for operation in (None, series.operation) if record.operations else (series.operation,):
                merged.setdefault((series.clock, operation), _Merged()).add(histogram, record.block)
    for (clock, operation), each in merged.items():
        if each.histogram.count:
            yield _answer(cell.cell, clock, operation, each)


def _answer(cell: str, clock: Clock, operation: str | None, merged: _Merged) -> CellHistogram:
    histogram = merged.histogram
    least_ns, most_ns = histogram.quantiles_ns(0, 1)
    known = ((percentile, quantile_ms(histogram, percentile / 100)) for percentile in _PERCENTILES)
    return CellHistogram(
        cell=cell,
        operation=operation,
        clock=clock,
        blocks=len(merged.blocks),
        count=histogram.count,
        min_ms=least_ns / 1e6,
        mean_ms=histogram.mean_ns / 1e6,
        stdev_ms=histogram.stdev_ns / 1e6,
        max_ms=most_ns / 1e6,
        percentiles=tuple(
            Percentile(percentile, latency_ms) for percentile, latency_ms in known if latency_ms is not None
        ),
        hdr_histogram=histogram.encode(),
    )
