"""A run on the page of results: the charts of the cells that match the filters, and their figures in a table."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wirebench.analysis.summary import sort_key, summarise
from wirebench.errors import WirebenchError
from wirebench.model import labels as names
from wirebench.model.metric import METRICS, SPREAD, Metric, name_spread
from wirebench.present.numbers import ABSENT, describe_errors, format_count, format_metric, format_number
from wirebench.present.run_charts import RunCharts, draw_run
from wirebench.present.table import FigureTable, TableColumn, make_table
from wirebench.results.index import Result
from wirebench.results.runs import load_run
from wirebench.web.histories import read_changed_ns

#: Latencies of so many groups of cells are drawn on a page; the report has all.
LATENCIES_MAX = 6
_KEPT_MAX = 16


@dataclass(frozen=True, slots=True)
class ChapterView:
    """A run, or what the filters leave of it; there are no charts without its folder."""

    charts: RunCharts | None
    table: FigureTable
    cells: int


def make_chapter(results: Iterable[Result], folder: Path | None) -> ChapterView:
    """Lay out the results of a run: charts from its folder, the table from the index."""
    cells = sorted(results, key=lambda cell: sort_key(cell.factors))
    rows: dict[str, list[tuple[str, tuple[str, ...], Result]]] = {}
    for cell in cells:
        row = names.name_cell(cell.factors), cell.failed_gates, cell
        rows.setdefault(names.describe_situation(cell.factors), []).append(row)
    drawn = frozenset(cell.cell for cell in cells)
    charts = _draw(folder, read_changed_ns(folder), drawn) if folder else None
    return ChapterView(charts, make_table(rows, _COLUMNS), len(cells))


@functools.lru_cache(_KEPT_MAX)
def _draw(folder: Path, changed_ns: int, drawn: frozenset[str]) -> RunCharts | None:  # noqa: ARG001 - drawn again
    """Draw these cells of the run in a folder; None if it can't be read any more, which its own page says."""
    try:
        run = load_run(folder)
    except WirebenchError:
        return None
    return draw_run(
        run, [cell for cell in summarise(run.records, run.info.compare) if cell.cell in drawn], LATENCIES_MAX
    )


def _make_column(metric: Metric) -> TableColumn:
    return TableColumn(metric.label, metric.unit_label, lambda cell: format_metric(metric, getattr(cell, metric.field)))


def _make_block_column(metric: Metric) -> TableColumn:
    def write(cell: Result) -> str:
        low, high = (getattr(cell, name) for name in name_spread(metric))
        return ABSENT if low is None or cell.blocks == 1 else f"{format_number(low)}–{format_number(high)}"

    return TableColumn(f"{metric.label} of blocks", f"{metric.unit_label}, {metric.spread}", write)


_COLUMNS = (
    *(
        column
        for metric in METRICS.values()
        for column in (_make_column(metric), *([_make_block_column(metric)] if metric in SPREAD else []))
    ),
    TableColumn("errors by class", "", lambda cell: describe_errors(cell.errors)),
    TableColumn("blocks", "", lambda cell: format_count(cell.blocks)),
)
