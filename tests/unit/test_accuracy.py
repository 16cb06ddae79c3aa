"""What `make accuracy`, `make coverage` and `make replicate` compute, without their measurements."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from accuracy import coverage, drivers, replicate
from accuracy.replicate import Outcome
from tests.support.report_run import RunBuilder
from wirebench.analysis.pair import Verdict
from wirebench.measure.truth import TruthMeasurement
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import HistogramFile


@pytest.mark.parametrize("noise", ["normal", "Student's t with 3 degrees of freedom"])
def test_intervals_of_symmetric_noise_cover_the_truth(noise: str) -> None:
    """In at least 95 % of the cases, but for chance."""
    assert 0.935 <= coverage.compute_coverage(coverage.KNOWN[noise](np.random.default_rng(1), (1500, 5))) <= 0.99


@pytest.mark.parametrize(("off_ms", "over"), [(0.1, []), (0.25, ["p50: +0.25 ms", "p90: +0.25 ms"])])
def test_errors_are_compared_with_their_limits(tmp_path: Path, off_ms: float, over: list[str]) -> None:
    """Each request took 5 ms, and was measured as longer."""
    run = RunBuilder(blocks=1, samples=20).write(tmp_path)
    file = HistogramFile.read(run.folder / run.records[0].histogram_file)
    times = np.full(2000, 5_000_000)
    measured = Histogram.of_values(times + int(off_ms * 1e6))
    (series,) = (each for each in file.series if each.clock == "service")
    file = file.model_copy(update={"series": (series.model_copy(update={"histogram": measured.encode()}),)})
    case = drivers.Case("constant", "closed-1", "rest", "wireload")
    found = drivers.list_rows_over_limit(case, TruthMeasurement(Histogram.of_values(times), file, 1.0, 0))
    assert [f"constant, closed-1, rest, {each}" for each in over] == list(found)


def test_right_and_wrong_verdicts() -> None:
    """A copy is equivalent, and what takes more CPU time is slower; who says otherwise is wrong."""
    verdicts = get_args(Verdict)
    copies, slower = ([Outcome("cpu", percent, verdict, 1.0) for verdict in verdicts] for percent in (0, 5))
    assert ["equivalent"] == [each.verdict for each in copies if each.is_right]
    assert ["faster", "slower"] == [each.verdict for each in copies if each.is_wrong]
    assert ["slower"] == [each.verdict for each in slower if each.is_right]
    assert ["faster", "equivalent"] == [each.verdict for each in slower if each.is_wrong]
    assert (1.05, 1 / 1.05) == (slower[0].truth, Outcome("throughput", 5, "slower", 1.0).truth)
    (row,) = replicate.tabulate(copies)
    assert ("1.00×", "1.00×", "5", "1", "1", "1") == tuple(row[1:-1])
    assert "2 of 4 (6.8 %–93.2 %)" == row[-1]
