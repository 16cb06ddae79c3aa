"""The charts of a run's cells that the report and the pages share."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wirebench.analysis.summary import CellSummary
from wirebench.present.charts.style import Style, assign_styles
from wirebench.present.charts.svg import Chart
from wirebench.present.groups import group_cells
from wirebench.present.latencies import CellLatency, read_latencies
from wirebench.present.picture import AnswerPicture, Groups, draw_answer, draw_latencies
from wirebench.results.runs import Run


@dataclass(frozen=True, slots=True)
class RunCharts:
    """Cells as pictures: the answer, and latency by percentile, a chart for each group of requests.

    `left_out` are the titles of the groups whose latencies aren't drawn, `unreadable` says which histograms aren't.
    """

    groups: Groups
    looks: Mapping[str, Style]
    answer: AnswerPicture
    latencies: Mapping[str, CellLatency]
    latency: tuple[Chart, ...]
    left_out: Sequence[str]
    unreadable: tuple[str, ...]

    @property
    def legend(self) -> tuple[Style, ...]:
        return tuple(self.looks.values())


def draw_run(run: Run, cells: Iterable[CellSummary], latencies_max: int | None = None) -> RunCharts:
    """Draw cells of a run; latencies, whose histograms take time to read, of so many groups at most."""
    groups = group_cells(cells, run.info.compare)
    looks = assign_styles(itertools.chain(*groups.values()))
    of_requests = select_requests(groups)
    shown = dict(itertools.islice(of_requests.items(), latencies_max))
    latencies, unreadable = read_latencies(run, itertools.chain(*shown.values()))
    return RunCharts(
        groups,
        looks,
        draw_answer(groups, looks),
        latencies,
        draw_latencies("Latency", shown, looks, latencies),
        [*of_requests][len(shown) :],
        unreadable,
    )


def select_requests(groups: Groups) -> Groups:
    """Return the groups whose cells have requests that are answered at once, rather than streams."""
    return {title: cells for title, cells in groups.items() if not cells[0].has_streams}
