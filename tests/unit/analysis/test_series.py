"""Series over a factor: which there are."""

from __future__ import annotations

from pathlib import Path

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.series import find_numeric_factors, find_series
from wirebench.analysis.summary import summarise

SWEPT = tuple(cell(transport, concurrency=level) for transport in ("rest", "grpc") for level in (1, 4, 16, 64))


def test_cells_that_differ_in_a_number_alone_are_a_series(tmp_path: Path) -> None:
    """Each transport has a line over the connections; a factor with two levels, or of words, has none."""
    cells = summarise(RunBuilder((*SWEPT, cell("rest", workers=2)), samples=20).write(tmp_path).records)
    assert ("concurrency",) == find_numeric_factors(cells)
    assert [(1.0, 4.0, 16.0, 64.0)] * 2 == [each.levels for each in find_series(cells, "concurrency")]


def test_payloads_are_drawn_over_their_size(tmp_path: Path) -> None:
    """A named payload stands at the number of bytes that its name is for."""
    levels = (100, 10_000, "512k")
    echoes = [cell("rest", operation="echo.echo", payload=level) for level in levels]
    cells = summarise(RunBuilder(echoes, samples=20).write(tmp_path).records)
    assert [(100.0, 10_000.0, 524_288.0)] == [each.levels for each in find_series(cells, "payload")]
