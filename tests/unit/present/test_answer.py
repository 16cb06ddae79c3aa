"""What a run comes to, in three sentences at most, and what was found beside them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.ratio import Ratio
from wirebench.analysis.summary import summarise
from wirebench.model.cell import Cell
from wirebench.model.histogram_file import ErrorText
from wirebench.model.record import Gate
from wirebench.present.answer import describe_sweeps, summarise_run
from wirebench.present.comparison import ComparisonView, make_comparison_view
from wirebench.present.run import make_run_view

SWEPT = tuple(cell(transport, concurrency=level) for transport in ("rest", "grpc") for level in (1, 4, 16, 64))


@pytest.fixture
def comparison(tmp_path: Path) -> ComparisonView:
    """One comparison: socket against REST."""
    (only,) = find_comparisons(RunBuilder(cells=[cell("rest"), cell("socket")]).write(tmp_path))
    return make_comparison_view(only)


def test_an_answer_has_at_most_three_sentences(tmp_path: Path) -> None:
    """More pairs are counted, not listed; what a sweep found is a note beside them."""
    cells = [cell("rest", workers=workers, store="postgres") for workers in (1, 2, 3, 4)]
    view = make_run_view(RunBuilder(cells=cells, info={"compare": "workers"}).write(tmp_path / "workers"))
    assert (3, "4 more pairs are in the table.") == (len(view.summary), view.summary[-1])
    view = make_run_view(RunBuilder(SWEPT).write(tmp_path / "swept"))
    assert ["gRPC is faster than REST in all 4 situations"] == [each.partition(":")[0] for each in view.summary]
    assert 2 == sum("; no limit was reached up to 64 connections." in note for note in view.notes)


def test_a_sentence_counts_mixed_verdicts(comparison: ComparisonView) -> None:
    """Faster here and withheld there is neither; figures are of the situations that have a verdict."""
    noise = {"throughput": Ratio(77.7, None, None, 1, None, None)}
    withheld = dataclasses.replace(comparison, verdict="withheld", ratios=noise)
    (only,) = summarise_run((), [comparison, withheld, comparison])
    assert only.startswith("Socket against REST: faster in 2, withheld in 1 of 3 situations; ")
    assert "77.7" not in only
    assert ("Socket against REST: withheld in 2 of 2 situations.",) == summarise_run((), [withheld, withheld])


def test_a_sweep_says_what_gave_way_first(tmp_path: Path) -> None:
    """The least number of connections at which something broke is said, with the error that it broke with."""

    def gates(of: Cell, _block: int) -> tuple[Gate, ...]:
        return (passed(passed=of.concurrency < 16, value=0.2),)

    texts = (ErrorText(code="unavailable", message="connection refused", count=3),)
    run = RunBuilder(SWEPT[:4], gates=gates, record={"error_texts": texts}).write(tmp_path)
    (sentence,) = describe_sweeps(summarise(run.records))
    assert sentence.startswith("REST, users.get: serves the most from ")
    failed = "the gate error rate failed first at 16 connections (unavailable: connection refused (9×))."
    assert sentence.endswith(failed)


def test_a_run_that_is_not_over_has_no_answer(tmp_path: Path) -> None:
    """Who sees verdicts come and go is tempted to stop at the one they like."""
    run = RunBuilder(SWEPT).write(tmp_path)
    running = dataclasses.replace(run, info=run.info.model_copy(update={"status": "running"}))
    view = make_run_view(running)
    assert ((), (), ()) == (view.summary, view.notes, view.comparisons)
    assert len(SWEPT) == len(view.cells)


def test_gates_and_errors_are_told_once(tmp_path: Path) -> None:
    """However many windows fail one gate, it is one entry, with the worst value, and where it failed."""
    cells = [cell("rest"), cell("socket")]
    texts = (ErrorText(code="internal", message="broken", count=2),)
    worse = GENERATOR_GATE.model_copy(update={"value": 0.99})
    run = RunBuilder(
        cells, gates=lambda _, block: (worse if block == 2 else GENERATOR_GATE,), record={"error_texts": texts}
    ).write(tmp_path)
    view = make_run_view(run)
    (failed,) = view.failed_gates
    assert (6, 6, 0.99) == (failed.failures, failed.checks, failed.worst.value)
    assert ("REST: blocks 1, 2, 3", "socket: blocks 1, 2, 3") == failed.where
    assert failed.sentence.startswith("gate generator CPU failed in 6 of 6 windows: give the generator more cores")
    assert ("12× internal: broken (2 cells, most in REST)",) == view.errors
