"""`docs/recompute.py` finds in the JSON of a run what wirebench says, and says so where it doesn't."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.support.report_run import GENERATOR_GATE, RunBuilder, passed, quick_cells, worker_cells
from tests.support.waiting import run_program
from wirebench.cli.results import show_run
from wirebench.model.record import Instrument
from wirebench.model.run_info import Looks

SCRIPT = Path(__file__).parents[3] / "docs/recompute.py"
_script = runpy.run_path(str(SCRIPT))


def recompute(run: dict[str, Any], folder: Path) -> tuple[int, str]:
    """Run the script as a reader does; return its exit code, and what it prints."""
    command: list[str | Path] = [sys.executable, SCRIPT, folder]
    done = run_program(command, input=json.dumps(run))
    return done.returncode, done.stdout or done.stderr


def show(folder: Path, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a builder
    """Return the JSON of a run with checks by a second driver."""
    run = dataclasses.replace(RunBuilder(blocks=4, samples=60), **changes).write(folder)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show_run(run, json=True)
    shown: dict[str, Any] = json.loads(printed.getvalue())
    return shown


INSTRUMENT = Instrument(
    p50_error_ms=(0.1, 0.9), p99_error_ms=(-0.1, 2.0), ceiling_per_s=90_000, ceiling_share=0.1, coarse=False
)


GAINS = {"cells": worker_cells(), "info": {"compare": "workers"}, "speed_up": lambda of: 1.1 * of.workers}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"blocks": 2},
        {"info": {"looks": Looks(blocks=(4, 6, 9), ended="settled"), "equivalence_margin": 0.3}},
        GAINS,
        {**GAINS, "gates": lambda of, block: (GENERATOR_GATE if (of.transport, block) == ("rest", 2) else passed(),)},
        {"gates": lambda of, block: (GENERATOR_GATE if (of.transport, block) == ("rest", 2) else passed(),)},
        {
            "cells": [dataclasses.replace(each, rate_per_s=500) for each in quick_cells()],
            "record": {"instrument": INSTRUMENT},
        },
    ],
)
def test_every_figure_is_found_again(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Ratios, intervals, p-values, verdicts, and how many blocks are needed; to the sixth digit."""
    assert (0, True) == (
        (found := recompute(show(tmp_path, **changes), tmp_path))[0],
        found[1].endswith(" 0 differences\n"),
    ), found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("comparisons verdict", "slower"),
        ("comparisons ratios throughput high", 99.0),
        ("comparisons significance p_difference", 0.5),
        ("comparisons significance blocks_needed", 7),
        ("cells throughput_per_s", 1.0),
        ("cells capacity_per_s", 99_999.0),  # which no search found
    ],
)
def test_a_figure_that_is_changed_is_found(tmp_path: Path, path: str, value: object) -> None:
    """It is named, with what the records come to."""
    run = show(tmp_path)
    listed, *keys, last = path.split()
    changed = run[listed][0]
    for key in keys:
        changed = changed[key]
    changed[last] = value
    status, said = recompute(run, tmp_path)
    assert (1, True) == (status, f"{value}, and computed" in said), said


def test_a_gain_that_is_changed_is_found(tmp_path: Path) -> None:
    """Its ratio, and its verdict."""
    run = show(tmp_path, **GAINS)
    (gain,) = run["comparisons"][1]["gains"]
    gain["ratio"]["estimate"], gain["verdict"] = 7.0, "withheld"
    status, said = recompute(run, tmp_path)
    assert (1, True, True) == (status, "7.0, and computed" in said, "withheld, and computed" in said), said


@pytest.mark.parametrize("metric", ["mean", "p50", "p99", "max"])
def test_a_latency_that_isnt_of_the_merged_histograms_is_found(tmp_path: Path, metric: str) -> None:
    """It is read from the files, and not from the records."""
    run = show(tmp_path)
    run["cells"][0][f"{metric}_ms"] *= 1.01
    status, said = recompute(run, tmp_path)
    assert (1, True) == (status, f": {metric}: " in said), said


@pytest.mark.parametrize("df", [1, 2.5, 3, 30])
def test_its_distribution_is_students_t(df: float) -> None:
    """Far into the tail."""
    for x in (-60.0, -3.0, -0.1, 0.5, 4.0):
        assert stats.t.cdf(x, df) == pytest.approx(_script["t_cdf"](x, df), rel=1e-6)
    assert stats.t.ppf(0.999, df) == pytest.approx(_script["t_quantile"](0.999, df), rel=1e-6)


def test_its_adjustment_is_benjaminis_and_hochbergs() -> None:
    """Without one as well."""
    p_values = np.random.default_rng(3).random(20)
    assert list(stats.false_discovery_control(p_values)) == pytest.approx(_script["adjust"](list(p_values)))
    assert [] == _script["adjust"]([])


@pytest.mark.parametrize("of_folder", ["none", "runs"])
def test_what_cannot_be_read_is_an_error_with_its_usage(tmp_path: Path, of_folder: str) -> None:
    """A folder without the run, and JSON that is of no run."""
    run = show(tmp_path) if of_folder == "none" else {"scenario": "quick"}
    status, said = recompute(run, tmp_path / of_folder)
    assert (2, True) == (status, "wirebench results last --json | python docs/recompute.py" in said), said
