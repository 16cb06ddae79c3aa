"""The charts of a run's cells that the report and the pages share: which cells share one, and how they are drawn."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wirebench.analysis.summary import CellSummary
from wirebench.model import labels as names
from wirebench.model.cell import FACTORS
from wirebench.present.charts.style import Style, assign_styles
from wirebench.present.charts.svg import Chart
from wirebench.present.latencies import CellLatency, read_latencies
from wirebench.present.picture import ChartSection, Groups, draw_answer, draw_latencies
from wirebench.results.runs import Run

#: More curves than these are a tangle.
_CELLS_MAX = 8
#: Who is measured and by what: what pictures are there to show side by side.
_SIDE_BY_SIDE = frozenset({"transport", "variant", "implementation", "runtime", "http", "codec", "threads", "driver"})


@dataclass(frozen=True, slots=True)
class RunCharts:
    """Cells as pictures: the answer, and latency by percentile, a chart for each group of requests.

    `left_out` are the titles of the groups whose latencies aren't drawn, `unreadable` says which histograms aren't.
    """

    groups: Groups
    styles: Mapping[str, Style]
    answer: ChartSection
    latencies: Mapping[str, CellLatency]
    latency: tuple[Chart, ...]
    left_out: Sequence[str]
    unreadable: tuple[str, ...]

    @property
    def legend(self) -> tuple[Style, ...]:
        return tuple(self.styles.values())


def draw_run(run: Run, cells: Iterable[CellSummary], latencies_max: int | None = None) -> RunCharts:
    """Draw cells of a run; latencies, whose histograms take time to read, of so many groups at most."""
    groups = group_cells(cells, run.info.compare)
    styles = assign_styles(itertools.chain(*groups.values()))
    of_requests = select_requests(groups)
    shown = dict(itertools.islice(of_requests.items(), latencies_max))
    latencies, unreadable = read_latencies(run, itertools.chain(*shown.values()))
    return RunCharts(
        groups,
        styles,
        draw_answer(groups, styles),
        latencies,
        draw_latencies("Latency", shown, styles, latencies),
        [*of_requests][len(shown) :],
        unreadable,
    )


def select_requests(groups: Groups) -> Groups:
    """Return the groups whose cells have requests that are answered at once, rather than streams."""
    return {title: cells for title, cells in groups.items() if not any(cell.has_streams for cell in cells)}


def group_cells(cells: Iterable[CellSummary], compared: str) -> dict[str, list[CellSummary]]:
    """Put together the cells of the same operation and load, which share a picture; their names leave that out.

    Where those are many, each level of the factors that the run doesn't compare has a group of its own. Of each
    transport, the cell at its defaults comes first.
    """
    by_load: dict[str, list[CellSummary]] = {}
    for cell in cells:
        by_load.setdefault(names.describe_situation(cell.factors), []).append(cell)
    groups: dict[str, list[CellSummary]] = {}
    for title, together in by_load.items():
        apart = _find_factors_apart(together, compared)
        for cell in together:
            settings = names.describe_settings(cell.factors, cell.factors.keys() - apart)
            named = dataclasses.replace(cell, shared=cell.shared | apart)
            groups.setdefault(", ".join((title, *settings)), []).append(named)
    for members in groups.values():
        transports = [cell.factors["transport"] for cell in members]
        members.sort(key=lambda cell: len(names.name_cell(cell.factors, cell.shared)))
        members.sort(key=lambda cell: transports.index(cell.factors["transport"]))
    return groups


def _find_factors_apart(cells: Sequence[CellSummary], compared: str) -> frozenset[str]:
    """Return the factors each of whose levels has a picture of its own: none where one holds all cells."""
    if len(cells) <= _CELLS_MAX:
        return frozenset()
    varied = {name for name in cells[0].factors if len({cell.factors[name] for cell in cells}) > 1}
    return frozenset(varied - {*_SIDE_BY_SIDE, compared, *FACTORS[compared].comes_with})
