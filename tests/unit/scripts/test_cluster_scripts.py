"""What holds the cluster together and can be checked without an engine."""

import itertools
import json
import os
import re
import shutil
from collections.abc import Sequence
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


def test_runtime_takes_the_capability_out_of_a_process(tmp_path: Path, fake_runc: Path) -> None:
    """A process that is to be started in a container has a file of its own; other commands reach runc as they are."""
    process = tmp_path / "process.json"
    process.write_text(json.dumps({"args": ["ls"], "capabilities": {"bounding": [CAPABILITY]}, "rlimits": []}))

    run_runtime(fake_runc, "exec", "--process", str(process), "a-container")
    assert "delete --force a-container" == run_runtime(fake_runc, "delete", "--force", "a-container")

    assert {"args": ["ls"], "capabilities": {"bounding": []}} == json.loads(process.read_text())


def test_published_images_have_digests() -> None:
    """A tag alone may name another image tomorrow."""
    lines = (ROOT / "images/published.txt").read_text().splitlines()
    images = dict(line.split() for line in lines if line and not line.startswith("#"))

    assert {"base", "grafana", "node", "postgres", "prometheus"} == images.keys()
    for name, image in images.items():
        assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image), name


def test_host_ports_are_on_loopback() -> None:
    """Other machines can't reach the services, Prometheus or a Grafana without a login."""
    config = yaml.safe_load((ROOT / "kind-config.yaml").read_text())
    ports = [port for node in config["nodes"] for port in node.get("extraPortMappings", ())]

    assert {9090: 30090, 3000: 30030} == {port["hostPort"]: port["containerPort"] for port in ports}
    assert {"127.0.0.1"} == {port["listenAddress"] for port in ports}


def copy_deploy(folder: Path, images: Sequence[str], **tools: str) -> Path:
    """Return scripts/cluster/deploy in a folder that has these images, and tools that run a line of shell each."""
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    state, programs = folder / "build/cluster", folder / ".tools/bin"
    for each in (state, programs):
        each.mkdir(parents=True)
    (state / "kubeconfig").touch()
    (state / "images.yaml").write_text("image:\n" + "".join(f"  {image}: {{}}\n" for image in images))
    for name, line in tools.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    return folder / "scripts/cluster/deploy"


@pytest.mark.parametrize(("name", "value"), [("REPLICAS", "0"), ("REPLICAS", "-1"), ("WORKERS", "x")])
def test_deploy_rejects_what_is_no_number(tmp_path: Path, name: str, value: str) -> None:
    """Before helm does, whose answer would be blamed on the pods."""
    script = copy_deploy(tmp_path, (), kubectl="", helm=f"touch {tmp_path}/installed")
    result = run_program([script, "up"], env={**os.environ, name: value})
    assert 2 == result.returncode
    assert f"{name}={value} is no number from 1 to 999" in result.stderr
    assert not (tmp_path / "installed").exists()


def test_deploy_leaves_the_node_for_load_free(tmp_path: Path) -> None:
    """All that it installs runs on the node for services of kind-config.yaml, and leaves runs room there."""
    record = f'printf "%s\\n" "$@" END >>{tmp_path}/helm.txt'
    run_program([copy_deploy(tmp_path, ("grafana",), kubectl="", helm=record), "up"], check=True)

    values: dict[str, str] = {}
    for call in (tmp_path / "helm.txt").read_text().split("END\n"):
        values |= dict(value.split("=", 1) for flag, value in itertools.pairwise(call.splitlines()) if flag == "--set")
    nodes = yaml.safe_load((ROOT / "kind-config.yaml").read_text())["nodes"]
    assert [node.get("labels", {}).get("wirebench.dev/role") for node in nodes].count("server") == 1
    key = r"nodeSelector.wirebench\.dev/role"
    assert ["server"] * 3 == [values[f"{name}.{key}"] for name in ("common", "prometheus", "grafana")]
    assert ("250m", "100m") == (values["common.resources.cpu"], values["common.resources.cpuRequest"])


@pytest.mark.parametrize("lives", [True, False])
def test_deploy_waits_for_the_end_of_a_run(tmp_path: Path, *, lives: bool) -> None:
    """What a killed run has left doesn't count: its process has gone."""
    pid = os.getpid() if lives else 999_999_999
    kubectl = f'case "$*" in *"get namespaces"*) echo wirebench-run {pid} ;; esac'
    result = run_program([copy_deploy(tmp_path, (), kubectl=kubectl, helm=f"touch {tmp_path}/installed"), "up"])
    assert lives == result.returncode, result.stderr
    assert lives == ("a run is measuring in this cluster: wirebench-run" in result.stderr)
    assert lives != (tmp_path / "installed").exists()
