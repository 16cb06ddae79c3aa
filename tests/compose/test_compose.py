"""`make compose-up`: what runs, with which rights, and that nothing is left. Skipped, loudly, without an engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import RUN_TIMEOUT_S
from tests.support.waiting import TIMEOUT_S, run_program, wait_until
from wirebench.store.runs import load_run
from wirebench.system.paths import ROOT

pytestmark = pytest.mark.timeout(600)

VARIABLES = ("REST_PORT", "GRPC_PORT", "SOCKET_PORT", "POSTGRES_PORT", "PROMETHEUS_PORT", "GRAFANA_PORT")
OURS = ("--filter", "label=com.docker.compose.project=wirebench-compose")
STATE = ROOT / "build/compose"
SCENARIO = """\
question: Which of the containers answers fastest?
factors: {transport: [rest, grpc, socket], concurrency: 2}
load: {warmup_s: 0.5, window_s: 1}
blocks: 1
"""


def docker(*arguments: str) -> str:
    """Return what docker prints."""
    return run_program(["docker", *arguments], check=True).stdout


def make(target: str, ports: dict[str, str], *variables: str) -> subprocess.CompletedProcess[str]:
    """Run a make target with these ports."""
    command = ["make", "--no-print-directory", target, *variables]
    environment = {**os.environ, **ports}
    return run_program(command, cwd=ROOT, env=environment, timeout=580)


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, str]]:
    """Start everything on ports that are free; give them by variable; take everything down again."""
    try:
        docker("version")
    except (OSError, subprocess.SubprocessError):
        pytest.skip("no Docker engine answers: make docker-up")
    if STATE.exists():
        pytest.skip("compose.yaml is in use: make compose-down")
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in VARIABLES]
        chosen = {name: str(each.getsockname()[1]) for name, each in zip(VARIABLES, sockets, strict=True)}
    try:
        done = make("compose-up", chosen)
        assert 0 == done.returncode, done.stdout + done.stderr
        yield chosen
    finally:
        make("compose-down", chosen)


@pytest.fixture(scope="module")
def containers(ports: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return what docker knows of each container, by service."""
    assert ports
    ids = docker("ps", "--quiet", *OURS).split()
    inspected = json.loads(docker("inspect", *ids))
    return {each["Config"]["Labels"]["com.docker.compose.service"]: each for each in inspected}


def test_postgres_rejects_clients_without_the_password(ports: dict[str, str], containers: dict[str, Any]) -> None:
    """It is ready to be used, and the password stands in a file that only its user can reach."""
    password = (STATE / "postgres-password").read_text().strip()
    assert 0o700 == STATE.stat().st_mode & 0o777
    name = containers["postgres"]["Name"].removeprefix("/")
    psql = ["exec", "--env", "PGPASSWORD", name, "psql", "--host=127.0.0.1", "--username=wirebench", "wirebench"]

    def ask(secret: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PGPASSWORD": secret}
        command = ["docker", *psql, "--tuples-only", "--no-align", "--command=select current_user"]
        return run_program(command, env=environment)

    assert "wirebench" == ask(password).stdout.strip()
    assert "password authentication failed" in ask("guessed").stderr
    assert ports["POSTGRES_PORT"]
    for container in containers.values():
        assert password not in json.dumps(container["Config"])


def test_prometheus_has_the_services_metrics(ports: dict[str, str]) -> None:
    """All three are scraped, with the labels that dashboards go by; the rules are loaded."""

    def read(path: str) -> dict[str, Any]:
        url = f"http://127.0.0.1:{ports['PROMETHEUS_PORT']}/api/v1/{path}"
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:
            data: dict[str, Any] = json.load(response)["data"]
            return data

    def list_scraped() -> set[tuple[str, str]]:
        results = read("query?query=wirebench_build_info")["result"]
        return {(each["metric"]["transport"], each["metric"]["pod"]) for each in results}

    expected = {("rest", "rest"), ("grpc", "grpc"), ("socket", "socket")}
    wait_until(lambda: list_scraped() == expected, "all are scraped", pause_s=0.5)
    assert read("rules")["groups"]


def test_the_external_target_measures_them(ports: dict[str, str], tmp_path: Path) -> None:
    """A run against them is complete, and no request fails."""
    (tmp_path / "it.yaml").write_text(SCENARIO, encoding="utf-8")
    addresses = {f"--{name}": f"127.0.0.1:{ports[f'{name.upper()}_PORT']}" for name in ("rest", "grpc", "socket")}
    flags = [part for flag, address in addresses.items() for part in (flag, address)]
    arguments = ["run", str(tmp_path / "it.yaml"), "--target", "external", *flags, "--out", str(tmp_path / "results")]
    done = run_program([sys.executable, "-m", "wirebench.cli", *arguments], cwd=ROOT, timeout=RUN_TIMEOUT_S)
    assert 0 == done.returncode, done.stderr
    (info,) = (tmp_path / "results").glob("*/run.json")
    run = load_run(info.parent)
    assert ("complete", 3) == (run.info.status, len(run.records))
    assert all(record.errors == {} for record in run.records)


def test_one_service_alone(ports: dict[str, str], tmp_path: Path) -> None:
    """The page's commands in a fresh checkout: an image, a healthy container, its end; the same by compose.yaml."""
    copy = f"git ls-files -z | tar --create --null --files-from=- | tar --extract --directory={tmp_path}"
    run_program(["bash", "-c", copy], cwd=ROOT, check=True)
    if certificates := os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE"):
        (tmp_path / "build").mkdir()
        shutil.copy(certificates, tmp_path / "build/ca-bundle.pem")
    section = (ROOT / "docs/services.md").read_text("utf-8").partition("one service as a container?")[2]
    build, start, inspect, stop, compose_up, compose_down = re.findall(r"(?m)^(docker .+?)(?:  +#.*)?$", section)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    assert port not in ports.values()
    has_plugin = run_program(["docker", "compose", "version"]).returncode == 0
    # The base image is that of `make compose-up`; the registry of the default may be out of reach.
    replaced = {
        "docker build": "docker build --build-arg BASE", "wirebench/services": "wirebench-test/services",
        "9000:9000": f"{port}:9000", "my-socket": "wirebench-test",
        "docker compose": "docker compose" if has_plugin else "docker-compose",
    }  # fmt: skip
    variables = f"SOCKET_PORT={port} COMPOSE_PROJECT_NAME=wirebench-test WIREBENCH_IMAGE_SERVICES=wirebench/services"

    def run(command: str) -> str:
        script = f"set -a; source {STATE}/images.env; {variables}; {command}"
        for old, new in replaced.items():
            script = script.replace(old, new)
        return run_program(["bash", "-c", script], cwd=tmp_path, timeout=300, check=True).stdout

    def answers() -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", int(port)), TIMEOUT_S) as client:
            client.sendall(b"hello\n")
            return client.recv(100) == b"HELLO\n"
        return False  # the engine's proxy listens before the service does

    try:
        run(f"{build}; {start}")
        wait_until(lambda: run(inspect) == "healthy\n", "the container is healthy", pause_s=0.5)
        assert answers()
        run(f"{stop}; {compose_up}")
        wait_until(answers, "compose's container answers", pause_s=0.5)
    finally:
        run(f"{compose_down} --volumes; docker rm --force my-socket; docker rmi wirebench/services")


def test_what_is_up_stays_up_and_then_nothing_is_left(ports: dict[str, str], containers: dict[str, Any]) -> None:
    """A second compose-up changes nothing; compose-down removes containers, network, volume and secrets."""
    assert 0 == make("compose-up", ports).returncode
    running = docker("ps", "--quiet", "--no-trunc", *OURS).split()
    assert {each["Id"] for each in containers.values()} == set(running)
    done = make("compose-down", ports)
    assert 0 == done.returncode, done.stdout + done.stderr
    for kind in (("ps", "--all"), ("network", "ls"), ("volume", "ls")):
        assert "" == docker(*kind, "--quiet", *OURS)
    assert not STATE.exists()
