"""ghz: its command line, its data, and what its details say."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wirebench.drivers import Ghz, Job
from wirebench.drivers import ghz as ghz_module
from wirebench.drivers.every_call import Part
from wirebench.drivers.ghz import call_data
from wirebench.errors import WirebenchError
from wirebench.model.application import builtin
from wirebench.scenario import Cell, Load
from wirebench.scenario.drivers import has

CELL = Cell(
    transport="grpc",
    runtime="sync",
    driver="ghz",
    operation="users.get",
    concurrency=16,
    rate_per_s=None,
    workers=1,
    threads=None,
    store="memory",
    codec="protobuf",
    connection="keep",
)
JOB = Job(
    cell=CELL,
    load=Load(model="closed", warmup_s=0.5, window_s=1.0),
    address="127.0.0.1:1",
    seed=1,
    id_base=30_000_000,
    output=Path("out.json"),
    log=Path("out.log"),
    cores=None,
)


def detail(end_ms: int, latency_ms: float = 1.0, status: str = "OK", error: str = "") -> dict[str, Any]:
    """Return a call that ended so long after 12:00:00."""
    timestamp = f"2026-01-01T12:00:{end_ms // 1000:02d}.{end_ms % 1000:03d}000000Z"
    return {"timestamp": timestamp, "latency": round(latency_ms * 1e6), "error": error, "status": status}


def test_a_detail_is_a_call() -> None:
    """Ends, latencies and outcomes are those of the details."""
    calls = ghz_module.as_calls([detail(1, 2.5), detail(1700, 9, "Unavailable", "connection refused")])
    assert [2_500_000, 9_000_000] == calls.latencies_ns.tolist()
    assert 1_699_000_000 == calls.ends_unix_ns[1] - calls.ends_unix_ns[0]
    assert (("ok", ""), ("unavailable", "connection refused")) == calls.outcomes


def test_a_load_at_the_limit_of_details_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool drops details silently at its limit; a result that met it is no result."""
    monkeypatch.setattr(ghz_module, "DETAILS_MAX", 3)
    with pytest.raises(WirebenchError, match="kept no more"):
        ghz_module.as_calls([detail(1), detail(2), detail(3)])


def test_connections_equal_concurrency(tmp_path: Path) -> None:
    """The tool's default of one connection for all workers is never used."""
    arguments = Ghz().arguments(JOB, Part(0, 0.5, 1.0, tmp_path))
    assert "16" == arguments[arguments.index("--connections") + 1]
    assert "16" == arguments[arguments.index("--concurrency") + 1]
    assert "wait" == arguments[arguments.index("--duration-stop") + 1]


def test_parts_of_a_creating_load_never_share_an_id() -> None:
    """A load that is split creates users of ids of its own in every part, inside the job's range."""
    job = replace(JOB, cell=replace(CELL, operation="users.create"))
    prefixes = [json.loads(call_data(job, part))["user"]["id"].partition("{{")[0] for part in range(10)]
    assert [f"3{part}" for part in range(10)] == prefixes


@pytest.mark.parametrize("operation", [each for each in builtin().operations if has("ghz", each)])
def test_every_operation_that_ghz_may_send_has_data(operation: str) -> None:
    """What a plan lets ghz drive has call data that fit the request's message."""
    job = replace(JOB, cell=replace(JOB.cell, operation=operation))
    assert json.loads(call_data(job, 0))


def test_payloads_size_what_ghz_sends() -> None:
    """The payload of a cell is what ghz sends, as it is with k6."""
    echo = replace(JOB, cell=replace(JOB.cell, operation="echo.echo", payload=3000))
    profile = replace(JOB, cell=replace(JOB.cell, operation="users.create", payload="profile"))
    assert 3000 == len(base64.b64decode(json.loads(call_data(echo, 0))["payload"]))
    assert 4096 == len(base64.b64decode(json.loads(call_data(profile, 0))["user"]["avatar"]))
