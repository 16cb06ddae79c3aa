"""Runs of REST over HTTP/2 beside HTTP/1.1, on the one service that speaks both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import first_lane, only_run, wirebench
from wirebench.system.paths import TOOLS

pytestmark = [
    first_lane,
    pytest.mark.skipif(not (TOOLS / "wireload").exists(), reason="wireload is not built: make setup"),
]

TEXT = """\
question: What does HTTP/2 bring?
factors:
  transport: rest
  implementation: go
  http: [1, 2]
  codec: protobuf
  operation: [users.get, users.create]
  concurrency: 4
load: {warmup_s: 0.2, window_s: 0.5}
blocks: 2
compare: http
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        pytest.param(
            "protobuf\n  operation: [users.get, users.create]",
            "json\n  operation: ledger.stream_transactions",
            marks=pytest.mark.slow,
        ),
        pytest.param("concurrency: 4", "concurrency: 4\n  connection: reopen", marks=pytest.mark.slow),
    ],
    ids=["requests", "streams", "reopened"],
)
def test_both_versions_are_served_alike(scenario: Callable[[str], Path], tmp_path: Path, old: str, new: str) -> None:
    """No request fails over either version, and they are told apart by name."""
    done = wirebench("run", scenario(TEXT.replace(old, new)), "--no-calibrate", "--out", tmp_path)

    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path)
    assert "complete" == run.info.status
    assert {None, 2} == {record.factors["http"] for record in run.records}
    for record in run.records:
        assert record.requests > 0
        assert ({}, 0) == (record.errors, record.mismatches)
    assert "HTTP/2" in done.stdout
    assert "HTTP/1.1" in done.stdout
