"""What `wirebench init` writes of a contract runs as it is: our own services, as if they were foreign."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.runs import needs_tools, only_run, second_lane, wirebench
from wirebench.system.paths import ROOT

pytestmark = [second_lane, needs_tools, pytest.mark.slow]
OPTIONS = ("--admin-port", "{admin_port}", "--port", "{port}")


def test_files_that_init_writes_are_measured(tmp_path: Path) -> None:
    """Protos with HTTP rules and an OpenAPI document give both requests, and commands both variants."""
    commands = {
        kind: " ".join((f"{Path(sys.executable).parent}/wirebench-{kind}", *OPTIONS)) for kind in ("rest", "grpc")
    }
    described = ("--proto", ROOT / "proto/wirebench/v1/ledger.proto", "--imports", ROOT / "proto")
    starts = [option for kind, command in commands.items() for option in ("--start", f"{kind}={command}")]
    written = wirebench(
        "init",
        *described,
        "--openapi",
        ROOT / "proto/openapi.yaml",
        "--operation",
        "ledger.*",
        *starts,
        "--out",
        tmp_path,
    )
    assert 0 == written.returncode, written.stderr
    scenario = tmp_path / "ledger-scenario.yaml"
    shorter = (
        scenario.read_text().replace("window_s: 3", "window_s: 0.5").replace("concurrency: [1, 16]", "concurrency: 2")
    )
    scenario.write_text(shorter)
    done = wirebench("run", scenario, "--blocks", "2", "--no-calibrate", "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    records = only_run(tmp_path / "results").records
    assert {("rest", "ledger.get_balance"), ("grpc", "ledger.get_balance")} == {
        (record.factors["variant"], record.factors["operation"]) for record in records
    }
    assert all(record.requests > 0 and not record.errors for record in records)
