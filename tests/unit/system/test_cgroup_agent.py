"""The agent of a node: which cgroups it finds, and what it answers."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cgroups import ANOTHER, CGROUPFS, PAUSE, SERVICE, SYSTEMD, UID, write, write_v1, write_v2
from tests.support.http_servers import serving
from tests.support.waiting import TIMEOUT_S
from wirebench.system.cgroup_agent import make_server, read_pod


@pytest.fixture
def v2(tmp_path: Path) -> Path:
    """Return a mounted hierarchy of version 2 without pods."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    write(tmp_path / "system.slice/containerd.service", cpu__stat="usage_usec 5\n")
    return tmp_path


def check(used: dict[str, dict[str, float | None]]) -> None:
    """See that these are the figures that the trees hold."""
    assert {SERVICE, PAUSE} == used.keys()
    assert {"time_unix_ns", "cpu_s", "throttled_periods", "memory_bytes"} == used[SERVICE].keys()
    assert (1.5, 3, 61_000_000) == tuple(used[SERVICE][name] for name in ("cpu_s", "throttled_periods", "memory_bytes"))
    assert 0.25 == used[PAUSE]["cpu_s"]


@pytest.mark.parametrize("place", [*CGROUPFS, *SYSTEMD])
@pytest.mark.parametrize("name", ["{}", "cri-containerd-{}.scope", "crio-{}.scope", "docker-{}.scope"])
def test_containers_are_found_in_version_2(v2: Path, place: str, name: str) -> None:
    """Whatever the kubelet's driver and root are, and whatever runs the containers."""
    write_v2(v2 / place / name.format(SERVICE), 1_500_000)
    write_v2(v2 / place / name.format(PAUSE), 250_000)
    write_v2(v2 / place / f"crio-conmon-{'c' * 64}.scope", 1)
    check(read_pod(v2, UID))


@pytest.mark.parametrize("place", [*CGROUPFS, *SYSTEMD])
def test_containers_are_found_in_version_1(tmp_path: Path, place: str) -> None:
    """CPU, throttling and memory are in hierarchies of their own; symbolic links to them may be there or not."""
    write_v1(tmp_path, f"{place}/{SERVICE}", 1_500_000_000)
    write_v1(tmp_path, f"{place}/{PAUSE}", 250_000_000)
    check(read_pod(tmp_path, UID))
    for link in ("cpu", "cpuacct"):
        (tmp_path / link).symlink_to("cpu,cpuacct")
    check(read_pod(tmp_path, UID))


@pytest.mark.parametrize("empty", ["cpuacct", "memory"])
def test_empty_folders_of_version_1_are_skipped(tmp_path: Path, empty: str) -> None:
    """A folder that is named like a controller, but in which nothing is mounted, hides no container."""
    for number in range(8):  # in whatever order the system lists them
        (tmp_path / f"{empty},{number}").mkdir()
    write_v1(tmp_path, f"{CGROUPFS[0]}/{SERVICE}", 1_500_000_000)
    write_v1(tmp_path, f"{CGROUPFS[0]}/{PAUSE}", 250_000_000)
    check(read_pod(tmp_path, UID))


def test_what_is_not_there_is_null(v2: Path) -> None:
    """A controller that is off has no figure; a pod of another node has no containers."""
    write(v2 / CGROUPFS[0] / SERVICE, cpu__stat="usage_usec 1\n")
    (used,) = read_pod(v2, UID).values()
    assert (1e-6, None, None) == (used["cpu_s"], used["throttled_periods"], used["memory_bytes"])
    assert {} == read_pod(v2, ANOTHER)


def test_a_pod_that_comes_later_or_moves_is_found(v2: Path) -> None:
    """That a pod wasn't there is not remembered, nor where one was that has gone."""
    assert {} == read_pod(v2, UID)
    write_v2(v2 / CGROUPFS[0] / SERVICE, 1)
    assert {SERVICE} == read_pod(v2, UID).keys()
    (v2 / CGROUPFS[0]).rename(v2 / "elsewhere")
    assert {} == read_pod(v2, UID)


@pytest.fixture
def port(v2: Path) -> Iterator[int]:
    """Return the port of an agent on a node with one pod."""
    write_v2(v2 / CGROUPFS[1] / SERVICE, 1_500_000)
    (v2 / "secret").write_text("usage_usec 1\n")
    server = make_server(v2, "::" if socket.has_dualstack_ipv6() else "127.0.0.1", 0)
    with serving(server):
        yield server.server_port


def ask(port: int, path: str) -> tuple[int, Any]:
    """Return what the agent answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body) if response.getheader("Content-Type") == "application/json" else None


def test_a_pod_is_answered_with_its_containers(port: int) -> None:
    """As JSON, by container id."""
    status, used = ask(port, f"/containers/{UID}")
    assert (200, {SERVICE}) == (status, used.keys())
    assert 1.5 == used[SERVICE]["cpu_s"]
    assert 200 == ask(port, "/readyz")[0]


def test_an_agent_without_cgroups_is_not_ready(v2: Path, port: int) -> None:
    """Its node's folder isn't mounted, or has nothing to read."""
    (v2 / "cgroup.controllers").unlink()
    assert (404, {}) == ask(port, "/readyz")


@pytest.mark.parametrize(
    "path",
    [
        f"/containers/{ANOTHER}",
        f"/containers/{UID.upper()}",
        f"/containers/{UID}/..",
        "/containers/../../secret",
        "/containers/%2e%2e",
        "/containers/*",
        "/",
    ],
)
def test_nothing_else_is_answered(port: int, path: str) -> None:
    """Only a whole pod UID names something: no other file can be read."""
    assert (404, {}) == ask(port, path)
