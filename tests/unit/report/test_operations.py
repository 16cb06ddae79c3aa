"""Loads of several operations: their figures by operation, in the record and in the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.drawn import Drawn
from tests.support.histogram_files import make_file, make_series
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.measure.figures import summarise_operations
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.labels import name_gate
from wirebench.present.charts.style import assign_styles
from wirebench.present.latencies import read_latencies
from wirebench.present.numbers import format_number
from wirebench.report import operations


def file_of(**medians_ms: float) -> HistogramFile:
    """Return a histogram file with 1,000 requests of each operation, all of which took as long."""
    series = tuple(
        make_series(Histogram.of_values(np.full(1000, int(ms * 1e6), dtype=np.int64)), name.replace("_", "."))
        for name, ms in medians_ms.items()
    )
    return make_file(series=series, requests_total={"ok": 1000 * len(series)})


def test_each_operation_of_a_load_has_figures_of_its_own() -> None:
    """Reads and writes of one load aren't averaged: each has its requests and its distribution."""
    figures = summarise_operations(file_of(users_get=1.0, users_create=4.0))
    assert {"users.create": 1000, "users.get": 1000} == {name: each.requests for name, each in figures.items()}
    medians = {name: round(each.service.p50_ms) for name, each in figures.items() if each.service}
    assert {"users.create": 4, "users.get": 1} == medians


def test_a_load_of_one_operation_has_no_figures_by_operation() -> None:
    """They would say what the record says."""
    assert {} == summarise_operations(file_of(users_get=1.0))


def test_the_report_has_a_row_and_a_bar_for_each_operation(tmp_path: Path) -> None:
    """For all transports side by side; requests/s are of those that succeeded, and a gate that failed is marked."""
    figures = summarise_operations(file_of(users_get=1.0, users_create=4.0))
    figures["users.get"] = figures["users.get"].model_copy(update={"errors": {"internal": 400}})
    cells, gates = [cell(transport, operation="crud") for transport in ("rest", "grpc")], (GENERATOR_GATE,)
    run = RunBuilder(cells, record={"operations": figures}, gates=gates).write(tmp_path)
    for record in run.records:
        file_of(users_get=record.block, users_create=4 * record.block).write(run.folder / record.histogram_file)
    groups = {"crud": summarise(run.records)}
    latencies, _ = read_latencies(run, groups["crud"])
    table = operations.make_operation_table(groups, latencies)
    assert ["requests", "requests/s", "p50", "p99", "max", "errors"] == [column.heading for column in table.columns]
    titles = ["users.create in crud", "users.get in crud"]
    assert {title: ["REST", "gRPC"] for title in titles} == {
        group.title: [row.name for row in group.rows] for group in table.groups
    }
    row = next(group.rows[0] for group in table.groups if group.title == titles[1])
    assert format_number(600 / run.records[0].window_s) == row.figures[1]
    assert (name_gate(GENERATOR_GATE.name),) == row.failed_gates
    charts = operations.draw(groups, assign_styles(groups["crud"]), latencies)
    assert titles == [chart.title for chart in charts]
    assert all(Drawn(chart.svg).all("mark unfit") for chart in charts)


def test_a_block_may_have_met_one_operation_of_several(tmp_path: Path) -> None:
    """It is in the curves of all operations together, whichever block that is."""
    run = RunBuilder([cell("rest", operation="crud")], blocks=2).write(tmp_path)
    file_of(users_get=1.0).write(run.folder / run.records[0].histogram_file)
    file_of(users_get=1.0, users_create=4.0).write(run.folder / run.records[1].histogram_file)
    latencies, _ = read_latencies(run, summarise(run.records))
    assert [3000] == [each.merged.count for each in latencies.values()]
