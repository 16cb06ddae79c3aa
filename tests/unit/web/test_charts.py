"""The pages' charts: those of the report, of what matches the filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.drawn import Drawn
from tests.support.report_run import GENERATOR_GATE, SAMPLES_GATE, RunBuilder, cell, passed, quick_cells
from wirebench.model.cell import Cell
from wirebench.model.record import Gate
from wirebench.present.run_charts import RunCharts
from wirebench.present.table import FigureTable
from wirebench.report.page import gather
from wirebench.results.index import Filters, Index
from wirebench.results.runs import Run
from wirebench.web.pages.form import make_address, make_moment_fields
from wirebench.web.pages.results import draw_results, make_result_table


def chapter(
    folder: Path,
    cells: Sequence[Cell],
    filters: Filters | None = None,
    failed: Callable[[Cell, int], tuple[Gate, ...]] | None = None,
) -> tuple[Run, RunCharts, FigureTable]:
    """Return a run with these cells, and the charts and the table of what matches the filters."""
    run = RunBuilder(cells, samples=50, gates=failed or gates).write(folder)
    with Index(f"sqlite:///{folder}/index.db") as index:
        index.catch_up(folder)
        found = index.results(filters or Filters()).rows
    charts = draw_results(found, run.folder)
    assert charts
    return run, charts, make_result_table(found)


def gates(of: Cell, _: int) -> tuple[Gate, ...]:
    """Fail a gate of the socket."""
    return (GENERATOR_GATE,) if of.transport == "socket" else (passed(),)


def test_pages_and_report_show_the_same_pictures(tmp_path: Path) -> None:
    """So that what is tested of the report's holds for the pages."""
    run, charts, _ = chapter(tmp_path, quick_cells())
    of_report = gather(run)["charts"]
    assert (of_report.legend, of_report.answer, of_report.latency) == (charts.legend, charts.answer, charts.latency)


def test_what_the_filters_leave_out_is_not_drawn(tmp_path: Path) -> None:
    """The filters are those of cells, too."""
    _, charts, table = chapter(tmp_path, quick_cells(), Filters(transport=("grpc",), driver=("ghz",)))
    assert ["gRPC by ghz"] == [style.name for style in charts.legend]
    assert 4 * ["gRPC by ghz"] == [row.name for _, rows in table.groups for row in rows]


def test_a_page_draws_the_latencies_of_the_first_groups(tmp_path: Path) -> None:
    """And names the others, which the report has: reading their histograms would take too long."""
    operations = ("users.get", "users.create", "users.update", "users.delete", "users.list", "echo.echo", "echo.upper")
    run, charts, _ = chapter(tmp_path, [cell("rest", operation=operation) for operation in operations])
    assert (6, ["users.update, 16 connections"]) == (len(charts.latency), charts.left_out)
    assert 7 == len(gather(run)["charts"].latency)


def test_a_gate_marks_the_percentiles_that_it_concerns_alone(tmp_path: Path) -> None:
    """Too few requests for a p99 say nothing against medians; p90 can't be trusted either."""
    _, charts, table = chapter(tmp_path, [cell("rest")], failed=lambda *_: (SAMPLES_GATE,))
    marks = Drawn(charts.latency[0].svg).all("mark")
    assert [False, True] == ["unfit" in mark.attrib["class"] for mark in marks]
    assert ("samples",) == table.groups[0][1][0].failed_gates


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("", "date", ""),
        ("2026-11-21", "date", "2026-11-21"),
        ("2026-11-21T18:00Z", "datetime-local", "2026-11-21T18:00:00"),
        ("2026-11-21T18:00:00.5+02:00", "datetime-local", "2026-11-21T16:00:00.500"),
    ],
)
def test_a_time_is_asked_for_again(text: str, kind: str, value: str) -> None:
    """A field of a date can't hold one; what the field sends is read as the same moment."""
    asked = Filters.read([("since", text)])
    made, _ = make_moment_fields(asked, [("since", text)])
    assert (kind, value) == (made.kind, made.value)
    assert asked == Filters.read([("since", made.value)])


def test_an_address_keeps_what_it_does_not_change() -> None:
    """Parameters are escaped, replaced, left out and added."""
    pairs = (("scenario", "a&b"), ("cursor", "old"), ("protocol", "rest"))
    assert "/?scenario=a%26b&protocol=rest" == make_address("/", pairs, "cursor")
    assert "/?scenario=a%26b&protocol=rest&cursor=new" == make_address("/", pairs, cursor="new")
    assert "/" == make_address("/", ())
