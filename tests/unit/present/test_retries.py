"""Requests that were sent again are shown wherever failures are."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.cli.output import make_console, print_run
from wirebench.model.metric import METRICS
from wirebench.present.caveats import describe_retries, list_caveats
from wirebench.present.run_data import describe_cells
from wirebench.present.table import make_request_table
from wirebench.report.page import render
from wirebench.results.export import make_table, write_table
from wirebench.results.index import Filters, Index
from wirebench.web.pages.chapter import make_chapter


def test_requests_that_were_sent_again_are_a_caveat_of_their_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With how many they were in all blocks: terminal and report; nothing is said where there are none."""
    run = RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=2, record={"retried": 1500}).write(tmp_path)
    found = tuple(describe_retries(run))
    assert [f"{each.full_name}: 3,000 requests were sent again" for each in summarise(run.records)] == [
        each.partition(", because")[0] for each in found
    ]
    assert set(found) <= set(list_caveats(run))
    print_run(run, make_console())
    printed = capsys.readouterr().out
    assert all(f"! {each}\n" in printed for each in found)
    assert all(each in render(run) for each in found)
    assert [] == list(describe_retries(RunBuilder(cells=[cell("rest")], blocks=1).write(tmp_path / "none")))


def test_requests_that_were_sent_again_are_a_figure_of_every_table(tmp_path: Path) -> None:
    """Report, pages, API, index and files have the sum over the blocks."""
    run = RunBuilder(cells=[cell("rest")], blocks=2, record={"retried": 1500}).write(tmp_path)
    (summary,) = summarise(run.records)
    assert 3000 == summary.figure(METRICS["retried"]) == describe_cells(run)[0].retried
    for table in (make_request_table({"": [summary]}), make_chapter(describe_cells(run), None).table):
        headings = [column.heading for column in table.columns]
        assert "3,000" == table.groups[0].rows[0].figures[headings.index("retried")]
    file = io.BytesIO()
    with Index(f"sqlite:///{tmp_path}/index.db") as index:
        index.catch_up(tmp_path)
        write_table("csv", file, make_table(index, "results", Filters()))
    (row,) = csv.DictReader(io.StringIO(file.getvalue().decode()))
    assert "3000" == row["retried"]
