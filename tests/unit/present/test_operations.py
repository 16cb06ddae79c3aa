"""Loads of several operations: their figures by operation, in the record and in the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.histogram_files import make_file, make_series
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell
from wirebench.measure.figures import summarise_operations
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.record import Latency, Record
from wirebench.present.run import make_run_view
from wirebench.present.table import make_operation_table


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


def test_each_operation_is_compared_with_that_of_the_first_cell(tmp_path: Path) -> None:
    """Side by side, by the ratio of mean latencies; requests/s are of those that succeeded, and gates are marked."""
    figures = summarise_operations(file_of(users_get=1.0, users_create=4.0))
    figures["users.get"] = figures["users.get"].model_copy(update={"errors": {"internal": 400}})
    cells, gates = [cell(transport, operation="crud") for transport in ("rest", "grpc")], (GENERATOR_GATE,)

    def change(record: Record) -> dict[str, object]:
        factor = 0.5 if record.factors["transport"] == "grpc" else 1.0
        return {
            "operations": {
                name: of.model_copy(update={"service": speed_up(of.service, factor)}) for name, of in figures.items()
            }
        }

    run = RunBuilder(cells, record=change, gates=gates).write(tmp_path)
    for record in run.records:
        file_of(users_get=record.block, users_create=4 * record.block).write(run.folder / record.histogram_file)
    operations = make_run_view(run).operations
    assert [(name, each) for name in ("users.create", "users.get") for each in ("REST", "gRPC")] == [
        (each.operation, each.name) for each in operations
    ]
    *_, rest, grpc = operations
    assert 600 / run.records[0].window_s == pytest.approx(rest.throughput_per_s)
    assert (1, 2, 3) == (round(rest.min_ms or 0), round(rest.mean_ms or 0), round(rest.max_ms or 0))
    assert (None, rest.cell) == (rest.ratio, grpc.baseline)
    assert grpc.ratio
    assert (0.5, 0.5, 0.5) == pytest.approx((grpc.ratio.estimate, grpc.ratio.low, grpc.ratio.high))
    assert ("generator_cpu",) == grpc.failed_gates
    table = make_operation_table(operations)
    headings = ["requests", "req/s", "mean", "min", "p50", "p99", "max", "errors", "mean"]
    assert headings == [column.heading for column in table.columns]
    assert ["users.create in crud, 16 connections", "users.get in crud, 16 connections"] == [
        g.title for g in table.groups
    ]
    assert "0.50× 0.50–0.50" == table.groups[1].rows[1].figures[-1]


def speed_up(latency: Latency | None, factor: float) -> Latency | None:
    """Return latencies of which the mean is another."""
    return latency.model_copy(update={"mean_ms": factor * latency.mean_ms}) if latency else None
