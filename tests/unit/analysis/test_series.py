"""Series over a factor: which there are, what served the most, what gave way first; and how they are drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.report_run import RunBuilder, cell, passed
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.series import find_numeric_factors, find_series
from wirebench.analysis.summary import summarise
from wirebench.model.cell import Cell
from wirebench.model.histogram_file import ErrorText
from wirebench.model.record import Gate
from wirebench.present.remarks import describe_sweep, write_answer

SWEPT = tuple(cell(transport, concurrency=level) for transport in ("rest", "grpc") for level in (1, 4, 16, 64))


def test_cells_that_differ_in_a_number_alone_are_a_series(tmp_path: Path) -> None:
    """Each transport has a line over the connections; a factor with two levels, or of words, has none."""
    cells = summarise(RunBuilder((*SWEPT, cell("rest", workers=2))).write(tmp_path).records)
    assert ("concurrency",) == find_numeric_factors(cells)
    assert [(1.0, 4.0, 16.0, 64.0)] * 2 == [each.levels for each in find_series(cells, "concurrency")]


def test_payloads_are_drawn_over_their_size(tmp_path: Path) -> None:
    """A named payload stands at the number of bytes that its name is for."""
    levels = (100, 10_000, "512k")
    cells = summarise(
        RunBuilder([cell("rest", operation="echo.echo", payload=level) for level in levels]).write(tmp_path).records
    )
    assert [(100.0, 10_000.0, 524_288.0)] == [each.levels for each in find_series(cells, "payload")]


def test_a_sweep_says_what_gave_way_first(tmp_path: Path) -> None:
    """The least number of connections at which something broke is said, with the error that it broke with."""

    def gates(of: Cell, _block: int) -> tuple[Gate, ...]:
        return (passed(passed=of.concurrency < 16, value=0.2),)

    texts = (ErrorText(code="unavailable", message="connection refused", count=3),)
    run = RunBuilder(SWEPT[:4], gates=gates, record={"error_texts": texts}).write(tmp_path)
    (line,) = find_series(summarise(run.records), "concurrency")
    assert "first, at 16 connections, requests failed (unavailable: connection refused (9×))." in describe_sweep(line)


def test_what_a_sweep_has_found_is_the_first_answer(tmp_path: Path) -> None:
    """Each transport's sentence stands before who is faster; while the run isn't over, there is none at all."""
    run = RunBuilder(SWEPT).write(tmp_path)
    rest, grpc, *others = write_answer(run, find_comparisons(run))
    assert rest.startswith("REST, users.get: serves the most from ")
    assert rest.endswith("; no limit was reached up to 64 connections.")
    assert grpc.startswith("gRPC, users.get: serves the most from ")
    assert others
    assert not any("serves the most" in each for each in others)
    assert () == write_answer(replace(run, info=run.info.model_copy(update={"status": "running"})), ())
