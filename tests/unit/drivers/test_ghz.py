"""ghz: its command line, its data, and what its details say."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import CELL, JOB
from wirebench.drivers import Ghz, Job
from wirebench.drivers import ghz as ghz_module
from wirebench.drivers.calls import Call
from wirebench.drivers.replay import render
from wirebench.errors import WirebenchError


def detail(end_ms: int, latency_ms: float = 1.0, status: str = "OK", error: str = "") -> dict[str, Any]:
    """Return a call that ended so long after 12:00:00."""
    timestamp = f"2026-01-01T12:00:{end_ms // 1000:02d}.{end_ms % 1000:03d}000000Z"
    return {"timestamp": timestamp, "latency": round(latency_ms * 1e6), "error": error, "status": status}


def read(folder: Path, *details: dict[str, Any]) -> Sequence[Call]:
    """Return what is read of these details."""
    job = replace(JOB, output=folder / "calls")
    job.output.write_text(json.dumps({"details": details}))
    return Ghz().read(job).calls


def command(job: Job) -> dict[Any, Any]:
    """Return the command line, each argument with the one after it."""
    return dict(itertools.pairwise(Ghz().build_arguments(job, render(job))))


def test_a_detail_is_a_call(tmp_path: Path) -> None:
    """Ends, latencies and outcomes are those of the details; codes that histogram files don't have are unknown."""
    first, second, third = read(
        tmp_path,
        detail(1, 2.5),
        detail(1700, 9, "DeadlineExceeded", "context deadline exceeded"),
        detail(1700, 9, "Unauthenticated", "no token"),
    )
    assert ("ok", "", 2_500_000) == (first.code, first.error, first.latency_ns)
    assert ("deadline_exceeded", "context deadline exceeded") == (second.code, second.error)
    assert 1_699_000_000 == second.end_unix_ns - first.end_unix_ns
    assert "unknown" == third.code


def test_a_load_at_the_limit_of_details_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool drops details silently at its limit; a result that met it is no result."""
    monkeypatch.setattr(ghz_module, "DETAILS_MAX", 3)
    with pytest.raises(WirebenchError, match="kept no more"):
        read(tmp_path, detail(1), detail(2), detail(3))


def test_connections_equal_concurrency(tmp_path: Path) -> None:
    """The tool's default of one connection for all workers is never used; a load without a rate has no limit."""
    job = replace(JOB, output=tmp_path / "calls")
    assert "--rps" not in command(job)
    given = command(replace(job, cell=replace(CELL, rate_per_s=50)))
    assert ("50", "16", "16") == (given["--rps"], given["--connections"], given["--concurrency"])
    assert "wait" == given["--duration-stop"]


def test_what_is_rendered_becomes_call_messages_and_metadata(tmp_path: Path) -> None:
    """What the application says, and no file of ours."""
    (tmp_path / "application.json").write_text(
        json.dumps(
            {
                "operations": {
                    "users.get": {
                        "inputs": {"id": {"list": [7]}},
                        "grpc": {
                            "call": "wirebench.v1.UserService/GetUser",
                            "metadata": {"x-kind": "a"},
                            "message": {"id": "{id}"},
                        },
                    }
                }
            }
        )
    )
    job = replace(JOB, application=tmp_path / "application.json", output=tmp_path / "out.json")
    given = command(job)
    assert "wirebench.v1.UserService/GetUser" == given["--call"]
    assert {"x-kind": "a"} == json.loads(Path(given["--metadata-file"]).read_text())
    assert [{"id": 7}] == json.loads(Path(given["--data-file"]).read_text())
