"""Gates fail for real, where a machine or another client has the fault that they are there to find."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import time
from pathlib import Path

from tests.support.runs import needs_tools, only_run, second_lane, wirebench
from tests.support.services import GRPC_GO, NET_HTTP, started
from wirebench.targets.cores import divide_cores

pytestmark = [second_lane, needs_tools]


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


def test_what_else_runs_on_the_cores_fails_a_gate(tmp_path: Path) -> None:
    """So it does for services that run already: their processes, found by their ports, are no other programs.

    Ticks of 10 ms tell nothing of calls that end sooner.
    """
    application, scenario = tmp_path / "application.yaml", tmp_path / "compared.yaml"
    scenario.write_text(COMPARED, encoding="utf-8")
    found, cores = [], os.sched_getaffinity(0)
    burner = multiprocessing.get_context("spawn").Process(target=_burn, args=(cores,), daemon=True)
    with contextlib.ExitStack() as running:
        burner.start()
        running.callback(burner.kill)
        os.sched_setaffinity(0, divide_cores().server)  # for what is started from here
        rest, grpc = (running.enter_context(started(kind, tmp_path)) for kind in (NET_HTTP, GRPC_GO))
        os.sched_setaffinity(0, cores)
        text = APPLICATION.replace("REST", str(rest.address)).replace("GRPC", str(grpc.address))
        application.write_text(text, encoding="utf-8")
        for target in ("local", "external"):
            done = wirebench("run", scenario, "--target", target, "--json", "--out", tmp_path / target)
            assert 0 == done.returncode, done.stderr
            (comparison,) = json.loads(done.stdout)["comparisons"]
            assert ("withheld", True) == (comparison["verdict"], "interference" in comparison["failed_gates"])
            records = only_run(tmp_path / target).records
            found.append({gate.name for record in records for gate in record.gates})
            for record in records:
                assert all((record.generator.cpu_share, record.server.cpu_s, record.server.memory_bytes))
        calls = ("--set", "load={model: calls, calls: 20}")
        assert 0 == wirebench("run", scenario, *calls, "--out", tmp_path / "short").returncode
        short = {gate.name for record in only_run(tmp_path / "short").records for gate in record.gates}
        assert {"interference", "generator_cpu"} <= found[0] - short
    assert found[0] == found[1]


def _burn(cores: set[int]) -> None:
    os.sched_setaffinity(0, cores)
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        pass
