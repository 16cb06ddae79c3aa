"""A new operation needs a proto entry, an entry in the application file, and the service's own code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import RUN_TIMEOUT_S, needs_tools, second_lane
from tests.support.waiting import TIMEOUT_S, run_program, wait_until
from wirebench.drivers import DRIVERS
from wirebench.system.paths import ROOT

pytestmark = [second_lane, needs_tools]

#: What a new operation needs in the project.
METHOD = """\
  // Returns the text backwards. INVALID_ARGUMENT.
  rpc Reverse(UpperRequest) returns (UpperResponse) {
    option (google.api.http) = {
      post: "/reverse"
      body: "*"
    };
  }
}
"""
OPERATION = """
  echo.reverse:
    inputs: {text: {value: stressed}}
    rest: {request: POST /reverse, body: {text: "{text}"}, expect: {json: {data.text: desserts}}}
    grpc: {call: wirebench.v1.EchoService/Reverse, message: {text: "{text}"}, expect: {data.text: desserts}}
    socket: {method: echo.reverse, body: {text: "{text}"}, expect: {text: desserts}}
"""
#: What makes it: the rest of the project doesn't matter here.
PARTS = ("applications", "ghz", "k6", "locust", "proto", "scripts", "wirebench")
#: Drives each transport by each of its drivers, in the project's copy, and prints what was answered.
PROGRAM = """
import json, sys
from pathlib import Path
from wirebench.drivers import DRIVERS, Job
from wirebench.model.cell import Cell
from wirebench.model.scenario import Load
from wirebench.model.contract import TRANSPORTS

found = {}
for transport, address in json.loads(sys.argv[1]).items():
    facts = TRANSPORTS[transport]
    for driver in (name for name in facts.drivers if DRIVERS[name].read_version()):
        cell = Cell(
            transport=transport, runtime=facts.runtimes["python"][0], driver=driver, operation="echo.reverse",
            concurrency=2, rate_per_s=None, workers=1, threads=None, store="memory", codec=facts.codecs[0],
            connection="keep",
        )
        load = Load(model="closed", warmup_s=0.1, window_s=0.5)
        folder = Path(sys.argv[2])
        job = Job(cell, load, address, 1, 1, folder / f"{transport}-{driver}.json", folder / "log", None)
        (file,) = DRIVERS[driver].run(job, lambda _: None)
        found[f"{transport}-{driver}"] = (sorted(file.requests_total), file.mismatches)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with a new operation, after `make proto`."""
    copy = tmp_path_factory.mktemp("project")
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "extension"))
    (copy / "services/go").parent.mkdir()
    (copy / "services/go").symlink_to(ROOT / "services/go")
    for folder in (".venv", ".tools"):
        (copy / folder).symlink_to(ROOT / folder)
    proto = copy / "proto/wirebench/v1/echo.proto"
    service, end, messages = proto.read_text().partition("}\n\nmessage Payload")
    proto.write_text(service + METHOD + end.removeprefix("}\n") + messages)
    with (copy / "applications/users.yaml").open("a") as application:
        application.write(OPERATION)
    generated = copy / "generated"
    generated.mkdir()
    subprocess.run([copy / "scripts/generate-proto", generated], check=True, timeout=TIMEOUT_S)
    shutil.rmtree(generated / "services")
    shutil.copytree(generated, copy, dirs_exist_ok=True)
    return copy


def environment(project: Path) -> dict[str, str]:
    """Return ours, with the copy's modules before the project's."""
    return {**os.environ, "PYTHONPATH": f"{project}:{project / 'proto/python'}"}


@pytest.fixture(scope="module")
def addresses(project: Path) -> Iterator[dict[str, str]]:
    """Return where a service of the new operation listens, by transport."""
    file = project / "addresses.json"
    server = ROOT / "tests/support/reverse_service.py"
    process = subprocess.Popen([sys.executable, server, file], env=environment(project))
    try:
        wait_until(file.exists, "the service listens")
        yield json.loads(file.read_text())
    finally:
        process.kill()
        process.wait()


def test_every_driver_sends_it_on_every_transport(project: Path, addresses: dict[str, str], tmp_path: Path) -> None:
    """No request fails, and the replies that drivers look at are as the application file expects them."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(addresses), str(tmp_path)]
    done = run_program(command, cwd=project, env=environment(project), timeout=RUN_TIMEOUT_S)

    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert {"rest-k6", "socket-wireload", "grpc-ghz"} <= found.keys()
    assert {name for name, driver in DRIVERS.items() if driver.read_version()} == {each.split("-")[1] for each in found}
    assert {name: [["ok"], 0] for name in found} == found


def test_the_clients_and_the_description_have_it(project: Path, addresses: dict[str, str]) -> None:
    """They need no change of their own."""
    program = """
import json, sys
from wirebench.drivers.clients import connect
for transport, address in json.loads(sys.argv[1]).items():
    with connect(transport, address) as client:
        print(client.call("echo.reverse", {"text": "drawer"}).data["text"])
"""
    command = [sys.executable, "-c", program, json.dumps(addresses)]
    done = run_program(command, cwd=project, env=environment(project))

    assert ["reward"] * 3 == done.stdout.split(), done.stderr
    assert "operationId: echo.reverse" in (project / "proto/openapi.yaml").read_text()
    assert json.loads((project / "ghz/echo.reverse.json").read_text())["call"].endswith("EchoService/Reverse")
