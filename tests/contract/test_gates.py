"""Gates fail for real, where a machine or another client has the fault that they are there to find."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.runs import ONE_CELL, needs_tools, only_run, second_lane, wirebench
from tests.support.services import GRPC_GO, NET_HTTP, started
from wirebench.targets.cores import divide_cores

pytestmark = [second_lane, needs_tools]


@pytest.fixture
def burner() -> Iterator[None]:
    """Keep the cores of the tests busy."""
    burner = multiprocessing.get_context("spawn").Process(target=_burn, args=(os.sched_getaffinity(0),), daemon=True)
    burner.start()
    yield
    burner.kill()
    burner.join()


@pytest.mark.usefixtures("burner")
def test_what_else_runs_on_the_cores_fails_a_gate(tmp_path: Path) -> None:
    """A process that keeps the run's core busy."""
    path = tmp_path / "disturbed.yaml"
    path.write_text(ONE_CELL, encoding="utf-8")
    done = wirebench("run", path, "--no-calibrate", "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    assert "interference" in done.stdout
    (record,) = only_run(tmp_path / "results").records
    assert "interference" in {gate.name for gate in record.gates if not gate.passed}


APPLICATION = """\
operations:
  get:
    rest: {request: GET /api/users/1000001}
    grpc: {call: wirebench.v1.UserService/GetUser, message: {id: 1000001}}
variants:
  rest: {transport: rest, start: "wirebench-go rest --port {port} --admin-port {admin_port}", address: "REST"}
  grpc: {transport: grpc, start: "wirebench-go grpc --port {port} --admin-port {admin_port}", address: "GRPC"}
"""
COMPARED = """\
question: Which?
application: application.yaml
factors: {concurrency: 2}
load: {warmup_s: 0.2, window_s: 1}
blocks: 2
"""


@pytest.mark.usefixtures("burner")
def test_services_that_run_on_this_machine_have_the_gates_of_those_that_are_started(tmp_path: Path) -> None:
    """Their processes are found by their ports: what they use isn't taken for that of other programs, which is seen."""
    application, scenario = tmp_path / "application.yaml", tmp_path / "compared.yaml"
    scenario.write_text(COMPARED, encoding="utf-8")
    found, cores = [], os.sched_getaffinity(0)
    with contextlib.ExitStack() as services:
        os.sched_setaffinity(0, divide_cores().server)  # for what is started from here
        rest, grpc = (services.enter_context(started(kind, tmp_path)) for kind in (NET_HTTP, GRPC_GO))
        os.sched_setaffinity(0, cores)
        text = APPLICATION.replace("REST", str(rest.address)).replace("GRPC", str(grpc.address))
        application.write_text(text, encoding="utf-8")
        for target in ("local", "external"):
            done = wirebench("run", scenario, "--target", target, "--json", "--out", tmp_path / target)
            assert 0 == done.returncode, done.stderr
            (comparison,) = json.loads(done.stdout)["comparisons"]
            assert "withheld" == comparison["verdict"]
            assert "interference" in comparison["failed_gates"]
            records = only_run(tmp_path / target).records
            found.append({gate.name for record in records for gate in record.gates})
            for record in records:
                assert record.generator.cpu_share
                assert record.server.cpu_s
                assert record.server.memory_bytes
    assert found[0] == found[1]


def _burn(cores: set[int]) -> None:
    os.sched_setaffinity(0, cores)
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        pass
