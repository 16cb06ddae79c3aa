"""Drift and outliers: found where they are, seldom elsewhere, and said wherever a run is shown."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.support.command_line import render_run
from tests.support.report_run import RunBuilder, quick_cells
from wirebench.analysis.disturbances import Disturbances, find_disturbances, find_outliers
from wirebench.cli.results import show_run
from wirebench.model.run_info import Run
from wirebench.present.caveats import describe_disturbances
from wirebench.present.run import make_run_view

BLOCKS = 8
_CELLS = [each for each in quick_cells() if each.driver == "wireload"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run whose rates `disturb` replaces."""
    return RunBuilder(cells=_CELLS, blocks=BLOCKS, samples=50).write(tmp_path_factory.mktemp("runs"))


def disturb(run: Run, logs: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Run:
    """Return a run whose cells' rates are 1,000/s times e to these, of shape (cells, blocks)."""
    names = [each.id for each in _CELLS]
    records = (
        each.model_copy(
            update={"rate_achieved_per_s": 1000 * float(np.exp(logs[names.index(each.cell), each.block - 1]))}
        )
        for each in run.records
    )
    return dataclasses.replace(run, records=tuple(records))


def noise(seed: int = 1) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return a noise of 2 %, half of it shared by the cells of a block."""
    random = np.random.default_rng(seed)
    return random.normal(0, 0.014, (len(_CELLS), BLOCKS)) + random.normal(0, 0.014, BLOCKS)


def test_a_quiet_run_has_no_disturbances(built: Run) -> None:
    """Of a hundred, hardly any has one; nor one that drifts within the margin, however certain that is."""
    found = [find_disturbances(disturb(built, noise(seed))) for seed in range(100)]
    assert sum(each != Disturbances() for each in found) <= 5
    assert find_disturbances(disturb(built, 0.1 * noise() - np.linspace(0, 0.04, BLOCKS))) == Disturbances()


def test_drift_is_that_of_the_last_block_to_the_first(built: Run) -> None:
    """A machine that grows hot slows all cells down."""
    found = find_disturbances(disturb(built, noise() - np.linspace(0, 0.3, BLOCKS)))
    assert found.drift == pytest.approx(np.exp(-0.3), rel=0.05)
    assert () == found.blocks


def test_a_cell_that_drifts_against_the_others_is_named(built: Run) -> None:
    """One that leaks, or fills its store: its ratio depends on how long the run is."""
    logs = noise()
    logs[2] -= np.linspace(0, 0.5, BLOCKS)
    run = disturb(built, logs)
    cell, ratio = find_disturbances(run).apart or (None, 0)
    assert cell is not None
    assert _CELLS[2].id == cell.cell
    assert 0.55 < ratio < 0.7
    assert any(f"{cell.full_name} became" in each for each in describe_disturbances(run))


def test_an_outlier_block_is_named(built: Run) -> None:
    """Something else ran in the third."""
    logs = noise()
    logs[:, 2] -= 0.4
    found = find_disturbances(disturb(built, logs))
    ((block, ratio),) = found.blocks
    assert 3 == block
    assert np.exp(-0.4) == pytest.approx(ratio, rel=0.05)
    assert ((), None) == (found.windows, found.drift)


def test_an_outlier_window_is_named(built: Run) -> None:
    """One cell in one block, which widens the intervals of its comparisons."""
    logs = noise()
    logs[1, 4] -= 0.5
    ((block, cell, ratio),) = find_disturbances(disturb(built, logs)).windows
    assert (5, _CELLS[1].id) == (block, cell.cell)
    assert 0.55 < ratio < 0.75


def test_outliers_are_grubbs() -> None:
    """His example of 1969: eight values, of which the greatest is 2.469 deviations off, which is beyond 1 %."""
    assert (5,) == find_outliers(np.array([199.31, 199.53, 200.19, 200.82, 201.92, 245.57, 201.95, 202.18]))
    assert () == find_outliers(np.array([1.0, 1.0, 1.0, 1.0, 1.0]))


def test_disturbances_are_said_wherever_a_run_is_shown(built: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Terminal, report and pages, API and JSON."""
    logs = noise() - np.linspace(0, 0.3, BLOCKS)
    logs[1, 4] -= 0.5
    run = disturb(built, logs)
    drift, *windows = describe_disturbances(run)
    assert drift.startswith("drift: from the first block to the last, all cells together became ")
    assert "% worse than its other blocks; it stays in all figures" in windows[0]
    show_run(run, json=True)
    for shown in (render_run(run), "\n".join(make_run_view(run).caveats), capsys.readouterr().out):
        assert drift in shown
    running = dataclasses.replace(run, info=run.info.model_copy(update={"status": "running"}))
    assert [] == list(describe_disturbances(running))
