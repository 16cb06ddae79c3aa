"""`wirebench run` through a proxy that stands for a network: real services, real toxiproxy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runs import first_lane, only_run, running, wirebench
from tests.support.waiting import TIMEOUT_S
from wirebench.drivers import DRIVERS
from wirebench.measure import toxiproxy

pytestmark = [
    first_lane,
    pytest.mark.skipif(
        toxiproxy.read_version() is None or DRIVERS["wireload"].read_version() is None,
        reason="the tools are not built: make setup",
    ),
]

FAR = """\
question: Does distance reach every request?
factors:
  transport: [rest, grpc, socket]
  implementation: go
  delay_ms: 5
  connection: [keep, reopen]
  concurrency: 4
load: {model: closed, warmup_s: 0.2, window_s: 0.5}
blocks: 1
"""
LONG = """\
question: What becomes of it?
factors: {transport: socket, implementation: go, delay_ms: [1, 2, 3, 4, 5, 6, 7, 8]}
compare: delay_ms
load: {warmup_s: 0.1, window_s: 0.9}
blocks: 20
"""


def write(folder: Path, text: str) -> Path:
    """Write a scenario file."""
    path = folder / "far.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_delay_reaches_every_request(tmp_path: Path) -> None:
    """On all transports, kept connections and reopened ones: none fails, and the counts agree to the request."""
    done = wirebench("run", write(tmp_path, FAR), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert 6 == len(run.records)
    assert toxiproxy.read_version() == run.info.versions["toxiproxy"]
    for record in run.records:
        assert {} == record.errors, record.error_texts
        assert record.server.requests_by_replica is not None
        assert record.requests_total == sum(record.server.requests_by_replica.values()), record.id
        assert record.service is not None
        assert 5 <= record.service.min_ms


@pytest.mark.slow
def test_a_proxy_that_dies_is_named(tmp_path: Path) -> None:
    """Not the load that then fails: one line names the proxy and its log, and nothing is left running."""
    with running(write(tmp_path, LONG), tmp_path / "results", records=1) as (process, family):
        next(each for each in family if each.name().startswith("toxiproxy")).kill()
        _, errors = process.communicate(timeout=TIMEOUT_S)
        assert 1 == process.returncode
    assert "error: toxiproxy was ended by SIGKILL" in errors
    assert ".toxiproxy.log" in errors
    assert "Traceback" not in errors
    assert "incomplete" == only_run(tmp_path / "results").info.status
