"""Loads of several operations: their figures by operation, in the record and in the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.histogram_files import make_file, make_series
from tests.support.report_run import RunBuilder, cell, passed
from wirebench.measure.figures import summarise_operations
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.record import Latency, Record
from wirebench.present.run import RunView, make_run_view
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


@pytest.fixture
def view(tmp_path: Path) -> RunView:
    """Return a run of a load of two operations: REST and gRPC, in Python and in Go, where gRPC takes half as long."""
    figures = summarise_operations(file_of(users_get=1.0, users_create=4.0))
    figures["users.get"] = figures["users.get"].model_copy(update={"errors": {"internal": 4}})
    cells = [
        cell("rest", operation="crud"),
        cell("grpc", operation="crud"),
        cell("rest", operation="crud", implementation="go", runtime="net-http"),
        cell("grpc", operation="crud", implementation="go", runtime="grpc-go"),
    ]

    def change(record: Record) -> dict[str, object]:
        factor = 0.5 if record.factors["transport"] == "grpc" else 1.0
        return {
            "operations": {
                name: of.model_copy(update={"service": speed_up(of.service, factor)}) for name, of in figures.items()
            }
        }

    gates = (passed(), passed("samples", limit=1000, metrics=("p99",)))
    run = RunBuilder(cells, record=change, gates=gates).write(tmp_path)
    for record in run.records:
        file_of(users_get=record.block, users_create=4 * record.block).write(run.folder / record.histogram_file)
    return make_run_view(run)


def test_each_operation_is_compared_by_its_mean_latency(view: RunView) -> None:
    """By the rules of cells, within an implementation: corrected, and withheld where its own requests failed a gate."""
    pairs = [(each.situation, each.label, each.verdict) for each in view.operation_comparisons]
    assert [
        (f"users.{name} in crud, 16 connections, {implementation}", "gRPC / REST", verdict)
        for implementation in ("Python", "Go")
        for name, verdict in (("create", "faster"), ("get", "withheld"))
    ] == pairs
    created, got, *_ = view.operation_comparisons
    assert "gRPC is faster than REST: 0.50× (95 % CI 0.50–0.50) the mean latency." == created.conclusion
    assert ("withheld (failed gates: error rate)", "p99: unreliable (samples)") == got.remarks
    assert view.notes[-1].startswith("Those by operation are corrected for 2 comparisons")


def test_operations_have_the_figures_of_cells(view: RunView) -> None:
    """Those that are known of one alone, side by side with what they are compared with."""
    *_, grpc = (each for each in view.operations if each.operation == "users.get in crud")
    assert (3000, 12, {"internal": 12}, None) == (grpc.requests, grpc.failed, grpc.errors, grpc.cpu_us_per_request)
    assert 996 / 1.6 == pytest.approx(grpc.throughput_per_s)
    assert (1, 2, 3) == (round(grpc.min_ms or 0), round(grpc.mean_ms or 0), round(grpc.max_ms or 0))
    table = make_operation_table(view.operations, view.operation_comparisons, "transport")
    headings = ["verdict", "mean", "mean", "min", "p50", "p99", "max", "errors", "requests"]
    assert headings == [column.heading for column in table.columns]
    first, *_ = table.groups
    assert ("users.create in crud, 16 connections, Python", ["REST", "gRPC"]) == (
        first.title,
        [row.name for row in first.rows],
    )
    assert [("–", "–"), ("faster", "0.50× 0.50–0.50")] == [row.figures[:2] for row in first.rows]


def speed_up(latency: Latency | None, factor: float) -> Latency | None:
    """Return latencies of which the mean is another."""
    return latency.model_copy(update={"mean_ms": factor * latency.mean_ms}) if latency else None
