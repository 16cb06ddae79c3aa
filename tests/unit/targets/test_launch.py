"""Variants on this machine and elsewhere: how their commands are found, and how fast others' services are asked."""

from __future__ import annotations

from collections import defaultdict
from concurrent import futures
from pathlib import Path

import grpc
import pytest

from tests.support.shop import SCENARIO, read
from wirebench.errors import UsageError
from wirebench.measure.answers import Answer
from wirebench.model.application import read_application
from wirebench.model.cell import ServiceSpec
from wirebench.plan.plan import make_plan
from wirebench.run.load_pod import task
from wirebench.run.load_source import LoadSource
from wirebench.run.own_variants import Variants
from wirebench.system.paths import APPLICATIONS
from wirebench.system.ports import is_serving
from wirebench.system.processes import ProcessError
from wirebench.targets.cores import divide_cores
from wirebench.targets.endpoint import Endpoint
from wirebench.targets.launch import find_command, launch_variant
from wirebench.targets.local import LocalTarget

APPLICATION = """\
operations: {item: {rest: {request: GET /item}}}
variants:
  mine:
    transport: rest
    start: "bin/serve --listen '0.0.0.0:{port}' -w {workers}"
    folder: service
    environment: {ADMIN: "{admin_port}", TOKEN: "${SHOP_TOKEN}"}
    ready: GET {admin_port}/ready
  shell: {transport: rest, start: "sh -c 'exec serve {port}'"}
  open: {transport: rest, start: "sh 'never closed {port}"}
  there: {transport: rest, address: "shop.example.com:80", limit: {rate_per_s: 4, connections: 1}}
"""


def test_a_command_gets_what_the_run_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports and workers, in words that are split as a shell does; its program and folder are beside the file."""
    program = tmp_path / "service" / "bin" / "serve"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.setenv("SHOP_TOKEN", "secret")
    launch = launch_variant(read(tmp_path, application=APPLICATION).application, "mine", 81, 82, 3)
    assert [str(program), "--listen", "0.0.0.0:81", "-w", "3"] == launch.arguments
    assert ({"ADMIN": "82", "TOKEN": "secret"}, tmp_path / "service") == (launch.environment, launch.folder)


def test_a_command_that_can_not_be_started_is_named(tmp_path: Path) -> None:
    """Before anything starts, with the line of the application file and what to do."""
    application = read(tmp_path, application=APPLICATION).application
    assert find_command(application, "shell")[1:] == ["-c", "exec serve {port}"]
    with pytest.raises(UsageError, match=r"shop\.yaml:6: variants\.mine\.folder: .* isn't a folder"):
        find_command(application, "mine")
    (tmp_path / "service").mkdir()
    with pytest.raises(UsageError, match=r"shop\.yaml:5: variants\.mine\.start: the command 'bin/serve' is not found"):
        find_command(application, "mine")
    with pytest.raises(UsageError, match=r"shop\.yaml:10: variants\.open\.start: can't be split .* No closing"):
        find_command(application, "open")


def test_an_example_says_how_its_service_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the make target of its name."""
    monkeypatch.setattr("wirebench.targets.launch.shutil.which", lambda *_, **__: None)
    with pytest.raises(UsageError) as error:
        find_command(read_application(APPLICATIONS / "examples" / "podinfo.yaml"), "rest")
    assert "run `make example-podinfo`, which installs it" == error.value.hint


def test_a_message_with_a_service_s_log_has_no_values_of_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service may log what it was started with; messages reach terminals and the logs of builds."""
    monkeypatch.setenv("SHOP_TOKEN", "secret-7f3a")
    command = """sh -c 'echo "token $TOKEN"; exit 3 {port}'"""
    application = APPLICATION.replace("\"bin/serve --listen '0.0.0.0:{port}' -w {workers}\"", f">-\n      {command}")
    (tmp_path / "service").mkdir()
    target = LocalTarget(
        divide_cores(), lambda name: tmp_path / name, read(tmp_path, application=application).application
    )
    service = ServiceSpec(transport="rest", store=None, implementation=None, variant="mine")
    with pytest.raises(ProcessError) as failed:
        target.start([service])
    assert failed.value.details == "token ${SHOP_TOKEN}"


def test_a_foreign_service_is_verified_within_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more requests at once than it may get in a second, and a pause after them."""
    text = SCENARIO.replace("[rest-v1, rest-v2]", "there\n  rate_per_s: 4").replace("load: {", "load: {model: open, ")
    plan = make_plan(read(tmp_path, text, APPLICATION), 1, "external")
    asked: list[int] = []
    pauses_s: list[float] = []

    def send_requests(_: object, requests_each: int) -> list[Answer]:
        asked.append(requests_each)
        return [Answer(operation="item", sent="GET /", status=200)] * requests_each

    monkeypatch.setattr(task, "send_requests", send_requests)
    monkeypatch.setattr("time.sleep", pauses_s.append)
    limit = plan.scenario.variants["there"].limit
    endpoints = {service: Endpoint(service, "shop.example.com:80", limit=limit) for service in plan.services}
    measured = Variants(plan.scenario, tmp_path, LoadSource())
    found = measured.compare(measured.send(plan.cells, endpoints, 1, defaultdict(int)))
    assert ([4], [1.0], 4, ()) == (asked, pauses_s, found.requests, found.mismatches)


def test_health_is_asked_past_the_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As drivers send their load."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    handle = grpc.unary_unary_rpc_method_handler
    check: grpc.RpcMethodHandler[bytes, bytes] = handle(lambda _request, _context: b"\x08\x01")
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": check})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        assert is_serving(f"127.0.0.1:{port}")
    finally:
        server.stop(None)
