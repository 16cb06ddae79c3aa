"""The index on SQLite: what it finds is what the records say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.report_run import RunBuilder
from wirebench.index import Filters, Index, database_url
from wirebench.stats import METRICS, summarise


def test_figures_are_those_of_the_typical_block(tmp_path: Path) -> None:
    """The view's geometric means are those that tables and reports show."""
    run = RunBuilder(blocks=3, samples=200).write(tmp_path)
    with Index.open(database_url(tmp_path)) as index:
        index.catch_up(tmp_path)
        found = {row.cell: row for row in index.results(Filters()).rows}
    cells = summarise(run.records)
    assert {cell.cell for cell in cells} == found.keys()
    for cell in cells:
        row = found[cell.cell]
        assert pytest.approx(cell.typical(METRICS["throughput"])) == row.throughput
        assert pytest.approx(cell.typical(METRICS["p50"])) == row.p50_latency_ms
        assert pytest.approx(cell.typical(METRICS["p99"])) == row.p99_latency_ms
        assert pytest.approx(cell.typical(METRICS["cpu"])) == row.cpu_ms_per_request
        assert (len(cell.records), cell.factors) == (row.blocks, row.factors)
