"""What holds the cluster together and can be checked without an engine."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

RUNTIME = ROOT / "images/offline/runc"
CAPABILITY = "CAP_SYS_RESOURCE"


def without_capability(command: list[str]) -> list[str]:
    """Give the command that runs another one on a machine that lacks the capability."""
    bounding = re.search(r"^CapBnd:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert bounding is not None
    if not int(bounding[1], 16) >> 24 & 1:
        return command
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root, with setpriv, can take a capability out of the bounding set")
    return ["setpriv", "--bounding-set=-sys_resource", *command]


@pytest.fixture
def fake_runc(tmp_path: Path) -> Path:
    """Make a folder for PATH with a runc that prints its arguments."""
    folder = tmp_path / "sbin"
    folder.mkdir()
    program = folder / "runc"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    return folder


def run_runtime(folder: Path, *arguments: str) -> str:
    """Run our OCI runtime in front of the runc in a folder; return what that printed."""
    if not shutil.which("jq"):
        pytest.skip("jq is missing; make docker-up installs it with the engine")
    environment = {**os.environ, "PATH": f"{RUNTIME.parent}:{folder}:{os.environ['PATH']}"}
    command = without_capability([str(RUNTIME), *arguments])
    done = run_program(command, env=environment, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("flag", ["--bundle {}", "--bundle={}", "-b {}"])
def test_runtime_takes_the_capability_out_of_a_container(tmp_path: Path, fake_runc: Path, flag: str) -> None:
    """A container that is to be created asks for what the machine can grant, and else stays as it was."""
    spec = {
        "process": {
            "args": ["sleep", "1"],
            "capabilities": {"bounding": ["CAP_CHOWN", CAPABILITY], "ambient": [CAPABILITY]},
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1048576, "soft": 1048576}],
        },
        "linux": {"resources": {"memory": {"limit": 17179869184}}},
    }
    (tmp_path / "config.json").write_text(json.dumps(spec))
    arguments = ["create", *flag.format(tmp_path).split(), "a-container"]

    assert " ".join(arguments) == run_runtime(fake_runc, *arguments)
    granted = json.loads((tmp_path / "config.json").read_text())
    assert {"args": ["sleep", "1"], "capabilities": {"bounding": ["CAP_CHOWN"], "ambient": []}} == granted["process"]
    assert spec["linux"] == granted["linux"]


def test_published_images_have_digests() -> None:
    """A tag alone may name another image tomorrow. Defaults of charts, compose.yaml and a Dockerfile are the same."""
    lines = (ROOT / "images/published.txt").read_text().splitlines()
    images = dict(line.split() for line in lines if line and not line.startswith("#"))

    assert {"base", "grafana", "node", "postgres", "prometheus"} == images.keys()
    for name, image in images.items():
        assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image), name
    values = yaml.safe_load((ROOT / "charts/observability/values.yaml").read_text())["image"]
    assert [images[name] for name in ("prometheus", "grafana")] == [
        "{repository}:{tag}".format(**values[name]) for name in ("prometheus", "grafana")
    ]
    assert f"ARG BASE={images['base']}\n" in (ROOT / "images/services/Dockerfile").read_text()
    defaults = dict(re.findall(r"\{WIREBENCH_IMAGE_(\w+):-(.+@.+)}", (ROOT / "compose.yaml").read_text()))
    assert defaults == {name.upper(): images[name] for name in ("postgres", "prometheus", "grafana")}


def test_docker_build_gets_what_the_cluster_builds_the_services_of() -> None:
    """By .dockerignore, which keeps all else of the project's folder from being sent."""
    given = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    script = (ROOT / "scripts/cluster/images").read_text()
    files = re.findall(r"{,services/python/}(.+) \"\$", script) + re.findall('build_python services "" (.+)', script)
    assert {*" ".join(files).split(), "build/ca-bundle.pem"} == given


def test_host_ports_are_on_loopback() -> None:
    """Other machines can't reach the services, Prometheus or a Grafana without a login."""
    config = yaml.safe_load((ROOT / "kind-config.yaml").read_text())
    ports = [port for node in config["nodes"] for port in node.get("extraPortMappings", ())]

    assert {9090: 30090, 3000: 30030} == {port["hostPort"]: port["containerPort"] for port in ports}
    assert {"127.0.0.1"} == {port["listenAddress"] for port in ports}


@pytest.mark.parametrize(
    ("script", "command", "program"),
    [("cluster", "answers", "cluster"), ("deploy", "deploy", "deploy"), ("deploy", "grafana", "grafana")],
)
def test_without_a_cluster_a_script_says_so(tmp_path: Path, script: str, command: str, program: str) -> None:
    """Before anything is built or installed, and under the name of the target."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    done = run_program([tmp_path / "scripts/cluster" / script, command])
    expected = f"{program}: no cluster answers\n{' ' * len(program)}  next: make cluster-up makes one\n"
    assert (1, expected) == (done.returncode, done.stderr)


def test_an_ip_family_is_one_that_kind_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is checked before anything else is."""
    monkeypatch.setenv("IP_FAMILY", "ipv5")
    done = run_program([ROOT / "scripts/cluster/cluster", "preflight"])
    assert (2, "cluster: IP_FAMILY is ipv5\n         next: say ipv4, ipv6 or dual\n") == (done.returncode, done.stderr)


@pytest.mark.parametrize("lives", [True, False])
def test_a_run_that_is_measuring_is_waited_for(tmp_path: Path, *, lives: bool) -> None:
    """What a killed run has left doesn't count: its process has gone."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "build/cluster").mkdir(parents=True)
    (tmp_path / "build/cluster/kubeconfig").touch()
    kubectl = tmp_path / ".tools/bin/kubectl"
    kubectl.parent.mkdir(parents=True)
    pid = os.getpid() if lives else 999_999_999
    kubectl.write_text(f'#!/bin/sh\ncase "$*" in *"get namespaces"*) echo wirebench-run {pid} ;; esac\n')
    kubectl.chmod(0o755)
    done = run_program([tmp_path / "scripts/cluster/cluster", "answers"])
    assert lives == done.returncode, done.stderr
    assert lives == ("a run is measuring in this cluster: wirebench-run" in done.stderr)
