"""`wirebench run` by wireload: each load model, on real services that count every request."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.runs import only_run, wirebench
from wirebench.drivers import DRIVERS
from wirebench.store import Run

pytestmark = pytest.mark.skipif(DRIVERS["wireload"].version() is None, reason="wireload is not built: make setup")

ALL = "transport: [rest, grpc, socket]"
#: The rest of a scenario, by what it is about.
SCENARIOS = {
    "closed": f"factors: {{{ALL}, operation: [users.create, users.list], concurrency: 4}}\n"
    "load: {warmup_s: 0.3, window_s: 0.6}",
    "protobuf": "factors: {transport: [rest, socket], codec: protobuf, concurrency: 4, connection: [keep, reopen]}\n"
    "load: {warmup_s: 0.3, window_s: 0.6}",
    "mutual-tls": f"factors: {{{ALL}, tls: mutual, concurrency: 4, connection: [keep, reopen]}}\n"
    "load: {warmup_s: 0.5, window_s: 0.6}",
    "open": f"factors: {{{ALL}, rate_per_s: 200, concurrency: 50}}\n"
    "load: {model: open, warmup_s: 0.3, window_s: 0.7}",
    "ramp": f"factors: {{{ALL}, rate_per_s: 300, concurrency: 50}}\n"
    "load: {model: ramp, from_rate_per_s: 100, warmup_s: 0.3, window_s: 1}",
    "streams": f"factors: {{{ALL}, operation: ledger.stream_transactions, stream_items: 50, concurrency: 2}}\n"
    "load: {warmup_s: 0.3, window_s: 0.6}",
    "mix": f"factors: {{{ALL}, operation: crud, concurrency: 4}}\n"
    "load: {warmup_s: 0.3, window_s: 0.6, workloads: {crud: {mix: {users.create: 2, users.get: 5, users.delete: 1}}}}",
    "calls": f"factors: {{{ALL}, operation: crud, concurrency: 3}}\n"
    "load: {model: calls, calls: 40, warmup_calls: 20, workloads: {crud: {sequence: [users.create, users.get]}}}",
    "phases": f"factors: {{{ALL}, operation: crud, concurrency: 3}}\n"
    "load: {model: calls, calls: 30, workloads: {crud: {phases: [users.create, users.list, users.delete]}}}",
}


def run_by_wireload(text: str, scenario: Callable[[str], Path], folder: Path) -> Run:
    """Run a scenario of one block by wireload; check that all replies were right, and that the services agree."""
    text = f"question: Does wireload send this load?\n{text}\nblocks: 1\n"
    done = wirebench("run", scenario(text), "--out", folder / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(folder / "results")
    for record in run.records:
        assert {} == record.errors, record.error_texts
        assert 0 == record.mismatches
        assert record.requests
        assert [] == [gate for gate in record.gates if gate.name in {"counts", "conformance"} and not gate.passed]
    return run


@pytest.mark.parametrize("about", SCENARIOS)
def test_each_kind_of_load(about: str, scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Server and driver count the same requests, none fails, and each reply that is looked at is right."""
    run = run_by_wireload(SCENARIOS[about], scenario, tmp_path)
    assert len({record.factors["transport"] for record in run.records}) >= 2
    for record in run.records:
        match about:
            case "open" | "ramp":
                assert record.response
                assert record.service
                assert record.response.mean_ms >= record.service.mean_ms * 0.99
            case "streams":
                assert record.streams
                missing = 50 * record.requests_total - record.streams.items_total
                assert 0 <= missing <= 50 * record.streams.cancelled
            case "calls":
                assert (120, 180) == (record.requests, record.requests_total)
            case "phases":
                assert {"users.create": 30, "users.list": 30, "users.delete": 30} == {
                    name: figures.requests for name, figures in record.operations.items()
                }


def test_a_replay_sends_every_recorded_request(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """A burst of more requests than connections is sent late and not left out."""
    (tmp_path / "timing.json").write_text(json.dumps([0, *[0.2] * 60, *(0.3 + each / 100 for each in range(39))]))
    text = f"factors: {{{ALL}, concurrency: 8}}\nload: {{model: replay, timing: timing.json, warmup_s: 0.3}}"
    for record in run_by_wireload(text, scenario, tmp_path).records:
        assert 100 == record.requests
        assert 0 == record.dropped_iterations


def test_a_job_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Wrong input is one line that says what to change, and exit status 2."""
    job = tmp_path / "job.json"
    job.write_text('{"adresses": []}')
    done = subprocess.run(
        [DRIVERS["wireload"].path(), "run", job], capture_output=True, text=True, timeout=60, check=False
    )
    assert 2 == done.returncode
    assert 1 == done.stderr.count("\n")
    assert 'unknown field "adresses"' in done.stderr
