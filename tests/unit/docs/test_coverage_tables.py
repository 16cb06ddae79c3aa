"""`make coverage`: what it simulates, and that runs can be recorded for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import coverage
from tests.support.report_run import RunBuilder, cell
from wirebench.system.paths import ROOT


@pytest.mark.parametrize(
    "noise", ["normal", "Student's t with 3 degrees of freedom", "one block in ten 10 times as noisy"]
)
@pytest.mark.parametrize("blocks", [4, 10])
def test_intervals_cover_with_heavy_tails_as_well(noise: str, blocks: int) -> None:
    """Symmetric noise never makes them too narrow, however few blocks there are."""
    logs = coverage.KNOWN[noise](np.random.default_rng(1), (1500, blocks))
    assert 0.935 <= coverage.compute_coverage(logs) <= 0.99


def test_the_percentile_bootstrap_is_too_narrow_for_few_blocks() -> None:
    """Which is why it isn't used."""
    random = np.random.default_rng(2)
    assert coverage.compute_bootstrap_coverage(random.normal(size=(600, 5)), random) < 0.9


def test_recorded_runs_are_read_back_as_log_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every two cells, less their mean; blocks are drawn at random or in a row."""
    monkeypatch.setattr(coverage, "RECORDED", tmp_path / "recorded.csv")
    assert {} == coverage.read_recorded()
    run = RunBuilder(cells=[cell("rest"), cell("grpc"), cell("socket")], blocks=6, samples=50).write(tmp_path)
    coverage.record([f"quiet={run.folder}"])
    recorded = coverage.read_recorded()
    assert ["quiet, throughput", "quiet, p99", "quiet, cpu"] == list(recorded)
    assert [(6,)] * 3 == [logs.shape for logs in recorded["quiet, p99"]]
    assert 0 == pytest.approx(sum(float(logs.sum()) for logs in recorded["quiet, p99"]))
    drawn = coverage.draw_recorded(recorded["quiet, cpu"], np.random.default_rng(3), 4, consecutive=True)
    assert (coverage.RUNS // 3 * 3, 4) == drawn.shape


def test_the_table_of_the_documentation_has_every_noise() -> None:
    """Those of the recorded runs that are committed, too."""
    page = (ROOT / "docs/method.md").read_text(encoding="utf-8")
    table = page.partition("<!-- coverage:")[2].partition("<!-- end -->")[0]
    recorded = [f"recorded: {name}, {how}" for name in coverage.read_recorded() for how in ("at random", "consecutive")]
    for name in (*coverage.KNOWN, *recorded):
        assert f"\n| {name} | " in table, "run: make coverage"
