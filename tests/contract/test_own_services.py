"""Foreign services, measured for real: podinfo, which `make example-podinfo` installs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.runs import needs_tools, only_run, second_lane, wirebench
from wirebench.model.run_info import Run
from wirebench.system.paths import TOOLS

pytestmark = [
    second_lane,
    needs_tools,
    pytest.mark.skipif(not (TOOLS / "podinfo").exists(), reason="podinfo is not installed: make example-podinfo"),
]

SECRET = "hunter2-7f3a"  # noqa: S105 - of no use anywhere
APPLICATION = """\
application: greeter
operations:
  info: {rest: {request: GET /api/info, expect: {json: {message: {empty: false}}}}, same: {rest: message}}
  headers: {rest: {request: GET /headers, headers: {X-Token: "${GREETER_TOKEN}"}, expect: {contains: X-Token}}}
  absent: {rest: {request: GET /headers, headers: {X-Token: "${GREETER_TOKEN}"}, expect: {contains: nothing here}}}
variants:
  v1: {transport: rest, start: "podinfo --port {port} --level error", ready: GET /readyz}
  v2: {transport: rest, start: "podinfo --port {port} --level error --h2c", ready: GET /readyz}
  other: {transport: rest, start: "podinfo --port {port} --level error --ui-message=other", ready: GET /readyz}
  told: {transport: rest, start: "podinfo --port {port} --level error", environment: {TOKEN: "${GREETER_TOKEN}"}}
"""
LOAD = "load: {warmup_s: 0.2, window_s: 0.5}\nblocks: 2\n"


def measure(folder: Path, variants: str, operation: str = "info", *options: str) -> subprocess.CompletedProcess[str]:
    """Run a scenario of some variants of the greeter."""
    (folder / "greeter.yaml").write_text(APPLICATION, encoding="utf-8")
    factors = f"factors: {{variant: [{variants}], operation: {operation}}}\n"
    text = f"question: Which?\napplication: greeter.yaml\n{factors}{LOAD}"
    (folder / "greetings.yaml").write_text(text, encoding="utf-8")
    return wirebench("run", folder / "greetings.yaml", "--no-calibrate", "--out", folder / "results", *options)


@pytest.fixture(scope="module")
def echoes(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run podinfo's echo over REST and gRPC once."""
    folder = tmp_path_factory.mktemp("podinfo")
    text = f"question: Which?\napplication: podinfo\nfactors: {{operation: echo, concurrency: 2}}\n{LOAD}"
    (folder / "echo.yaml").write_text(text, encoding="utf-8")
    done = wirebench("run", folder / "echo.yaml", "--no-calibrate", "--out", folder / "results", "--seed", "7")
    assert 0 == done.returncode, done.stderr
    assert "None" not in done.stdout
    assert "• echo, 2 connections: " in done.stdout
    return only_run(folder / "results")


def test_rest_is_compared_with_grpc_on_a_foreign_service(echoes: Run) -> None:
    """Every reply is right, and what the server uses is seen from outside."""
    assert "complete" == echoes.info.status
    assert ["grpc", "rest"] == sorted({str(record.factors["variant"]) for record in echoes.records})
    for record in echoes.records:
        assert record.requests > 0
        assert ({}, 0) == (record.errors, record.mismatches)
        assert record.server.cpu_s
        assert record.server.memory_bytes
    # Before each block: ten requests to each of two variants.
    assert 40 == echoes.info.conformance_requests


@pytest.mark.slow
def test_two_variants_of_one_transport_are_compared_and_resumed(tmp_path: Path) -> None:
    """Each by its name; what is missing is measured on freshly started variants, if the application is the same."""
    done = measure(tmp_path, "v1, v2", "info", "--seed", "3", "--json")
    assert 0 == done.returncode, done.stderr
    (comparison,) = json.loads(done.stdout)["comparisons"]
    assert ["v1-w1", "v2-w1"] == sorted(comparison[side].partition("-json")[0] for side in ("subject", "baseline"))
    folder = only_run(tmp_path / "results").folder
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "status": "incomplete", "reason": "stopped"}))
    gone = max((folder / "records").iterdir())
    gone.unlink()
    (tmp_path / "greeter.yaml").write_text(APPLICATION.replace("--h2c", ""), encoding="utf-8")
    done = wirebench("resume", folder, "--no-calibrate")
    assert 2 == done.returncode
    assert "greeter.yaml has changed since" in done.stderr
    (tmp_path / "greeter.yaml").write_text(APPLICATION, encoding="utf-8")
    resumed = wirebench("resume", folder, "--no-calibrate")
    assert 0 == resumed.returncode, resumed.stderr
    assert gone.is_file()


def test_replies_that_differ_are_both_shown_before_anything_is_measured(tmp_path: Path) -> None:
    """What isn't the same is no fair comparison."""
    done = measure(tmp_path, "v1, other")
    assert 1 == done.returncode
    assert 'v1 has message: "greetings from podinfo' in done.stderr
    assert 'other has message: "other"' in done.stderr
    assert [] == list((tmp_path / "results").iterdir())


@pytest.mark.slow
def test_values_of_the_environment_are_written_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the service repeats them in its replies, and these are wrong."""
    assert 2 == measure(tmp_path, "v1, told", "headers").returncode
    monkeypatch.setenv("GREETER_TOKEN", SECRET)
    done = measure(tmp_path, "v1, told", "headers", "--blocks", "1")
    assert 0 == done.returncode, done.stderr
    wrong = measure(tmp_path, "v1, told", "absent", "--blocks", "1")
    assert 1 == wrong.returncode
    assert "${GREETER_TOKEN}" in wrong.stderr
    assert SECRET not in done.stdout + done.stderr + wrong.stdout + wrong.stderr
    files = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert len(files) > 6
    assert [] == [path for path in files if SECRET.encode() in path.read_bytes()]
