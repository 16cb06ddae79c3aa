"""A load generator that can't send what it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runs import all_cores, needs_cross_check, only_run, wirebench

pytestmark = [all_cores, needs_cross_check, pytest.mark.slow]

OPEN = """\
question: What does a full generator look like?
factors: {transport: rest, driver: k6, rate_per_s: 100000, concurrency: 64}
load: {model: open, warmup_s: 0.5, window_s: 1}
blocks: 1
"""


def test_an_open_load_that_cannot_be_sent(tmp_path: Path) -> None:
    """The driver drops requests, and is behind its rate; another program may have had a part of its core."""
    (tmp_path / "full.yaml").write_text(OPEN, encoding="utf-8")
    done = wirebench("run", tmp_path / "full.yaml", "--no-calibrate", "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    (record,) = only_run(tmp_path / "results").records
    failed = {gate.name for gate in record.gates if not gate.passed}
    assert {"rate_error", "dropped_iterations"} <= failed
    assert failed & {"generator_cpu", "interference"}
