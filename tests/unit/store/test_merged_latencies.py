"""The latencies of a cell are of its blocks' merged histograms: one figure in every view."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell, run_info
from wirebench.analysis.compare_runs import compare_runs
from wirebench.analysis.results import describe_cells
from wirebench.analysis.summary import summarise
from wirebench.model.metric import METRICS
from wirebench.model.run_info import Run
from wirebench.present.two_runs import make_run_comparison_view
from wirebench.store.histograms import merge_blocks, read_histograms
from wirebench.store.runs import RunWriter, load_run

P99 = METRICS["p99"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write a run of one cell, whose second block has a long tail."""
    tails = {1: 0.0, 2: 0.1, 3: 0.0}
    return RunBuilder([cell("rest")], samples=2000, slow_share=tails.__getitem__).write(tmp_path)


def read_merged_ms(run: Run) -> float:
    """Return the p99 of the merged histograms, which the report's curve is of."""
    histograms = read_histograms(run.folder, run.records, "service")
    (blocks,) = histograms.operations.values()
    return merge_blocks(blocks).compute_quantiles_ns(0.99)[0] / 1e6


def test_the_p99_is_that_of_all_requests(run: Run) -> None:
    """And not a mean of the blocks' percentiles: in what all views show, and in the comparison of two runs."""
    merged_ms = read_merged_ms(run)
    (summary,) = summarise(run.records)
    typical_ms = summary.typical(P99)
    assert typical_ms
    assert merged_ms > 1.3 * typical_ms
    other = dataclasses.replace(run, info=run.info.model_copy(update={"id": f"{run.info.id}-2"}))
    (change,) = make_run_comparison_view(compare_runs(run, other)).changes
    (described,) = describe_cells(run.info, [summary])
    assert [merged_ms] * 2 == pytest.approx([described.p99_ms, change.baseline_figures["p99_ms"]])


def test_a_histogram_that_cant_be_read_leaves_no_figure(tmp_path: Path) -> None:
    """A percentile of some blocks would pass for that of all."""
    cells, blocks = [cell("rest")], 2
    writer = RunWriter(tmp_path, run_info(len(cells), blocks, {"id": "20261121T101500Z-damaged"}))
    first, second = RunBuilder(cells, blocks, samples=100).write(tmp_path).records
    writer.add(first)
    writer.histogram_path(first.id).write_text("{}")
    writer.add(second)
    run = load_run(writer.folder)
    (summary,) = summarise(run.records)
    assert {} == run.records[-1].merged
    assert None is summary.figure(P99)
    assert summary.typical(P99)
