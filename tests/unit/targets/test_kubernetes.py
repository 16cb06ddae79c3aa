"""The Kubernetes target: what it reads out of a cluster's answers, and what it tells the chart."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from wirebench.errors import UsageError
from wirebench.model.address import Address, parse_address
from wirebench.model.cell import ServiceSpec
from wirebench.system import processes
from wirebench.system.processes import ProcessError
from wirebench.system.signals import Interrupted
from wirebench.system.tls import ClientTls
from wirebench.targets.cluster import agents, client, namespace, nodes, release
from wirebench.targets.cluster.agents import Agents
from wirebench.targets.cluster.client import Access, Cluster, find_access
from wirebench.targets.cluster.pods import Pod
from wirebench.targets.cluster.release import build_endpoint
from wirebench.targets.kubernetes import KubernetesTarget

SERVICE = ServiceSpec(transport="grpc", runtime="sync", workers=2, replicas=3, cpu_limit_millicores=250)


def a_pod(status: dict[str, Any]) -> Pod:
    """Return a pod that is in that state."""
    return Pod.read({"metadata": {"name": "rest-1"}, "spec": {}, "status": status})


def waiting(reason: str, message: str = "", ended: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the state of a pod whose container waits, maybe after it had ended."""
    state = {"waiting": {"reason": reason, "message": message}}
    container = {"name": "rest", "image": "i", "state": state, "lastState": {"terminated": ended} if ended else {}}
    return {"phase": "Pending", "containerStatuses": [container]}


def unschedulable(seconds: float, message: str = "too small") -> dict[str, Any]:
    """Return the state of a pod that no node has taken for so long."""
    since = (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"phase": "Pending", "conditions": [{**condition, "lastTransitionTime": since}]}


@pytest.mark.parametrize(
    ("status", "expected", "hint"),
    [
        (waiting("ImagePullBackOff", "no such host"), "no such host", "make cluster-up"),
        (
            waiting("CrashLoopBackOff", ended={"reason": "OOMKilled", "exitCode": 137}),
            "starts and ends again: the container rest was OOMKilled",
            "fewer connections or workers",
        ),
        (unschedulable(60), "no node takes it: too small", "lower replicas or limits"),
        (unschedulable(60, "2 didn't match Pod's node affinity"), "affinity", "factors.placement"),
        (
            {
                "phase": "Failed",
                "containerStatuses": [
                    {"name": "load", "state": {"terminated": {"exitCode": 1, "reason": "OOMKilled"}}}
                ],
            },
            "failed: the container load was OOMKilled",
            "use fewer connections",
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "Evicted: low on memory", "log lines"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_pod_that_will_not_become_ready_says_why(status: dict[str, Any], expected: str, hint: str) -> None:
    """What waiting doesn't cure is told from what takes a moment, with a next step."""
    found, next_step = a_pod(status).problem
    assert expected in found
    assert hint in next_step


@pytest.mark.parametrize("make_status", [partial(waiting, "ContainerCreating"), dict, partial(unschedulable, 1)])
def test_a_pod_that_may_become_ready_is_waited_for(make_status: Callable[[], dict[str, Any]]) -> None:
    """A pod that is being made is in no trouble, and another one that ends may have the room of a node still."""
    pod = a_pod(make_status())
    assert (("", ""), False) == (pod.problem, pod.ready)


def test_pods_are_reached_at_their_addresses_of_ipv6() -> None:
    """In brackets, which are what a client and a URL want; names that certificates hold have none."""
    pod = a_pod({"podIP": "fd00:10:244::5"})
    endpoint = build_endpoint(SERVICE, [pod], "it", Agents())
    assert Address("fd00:10:244::5", 50051) == parse_address(endpoint.addresses[0])
    assert "http://[fd00:10:244::5]:51051" == endpoint.replicas[0].admin_url
    assert "fd00-10-244--5.it.pod" == pod.find_host("it")


def a_node(boot_id: str, role: str = "", cpu: str = "2") -> nodes.Node:
    """Return a node."""
    info = {"osImage": "Debian", "kernelVersion": "6", "containerRuntimeVersion": "containerd://2", "bootID": boot_id}
    labels = {"wirebench.dev/role": role}
    status = {"nodeInfo": info, "capacity": {"cpu": cpu, "memory": "8Gi"}}
    return nodes.Node.read({"metadata": {"labels": labels}, "spec": {}, "status": status})


def test_the_namespace_of_agents_goes_also_if_it_came_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come while it is made, and it allows more than others."""
    removed: list[str] = []

    def create(there: Cluster, *_: object) -> None:
        if there.namespace.endswith("-agents"):
            raise Interrupted

    monkeypatch.setattr(namespace, "create", create)
    monkeypatch.setattr(Cluster, "delete_namespaces", lambda _, *names: removed.extend(names))
    target = KubernetesTarget("it", Access("it", None))
    with pytest.raises(Interrupted):
        target.start([SERVICE])
    target.clean_up()
    assert ["wirebench-it", "wirebench-it-agents"] == removed


def test_nodes_of_one_machine_are_known_by_their_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kind's nodes are containers of this machine, which a run has to say; machines of their own share no cores."""
    (tmp_path / "boot_id").write_text("1\n")
    monkeypatch.setattr(nodes, "_BOOT_ID", tmp_path / "boot_id")
    kind = nodes.Nodes((a_node("1"), a_node("1")))
    assert 2 == kind.describe("v1").shared_cores
    assert any("one machine" in note for note in kind.describe("v1").notes)
    machines = nodes.Nodes((a_node("1"), a_node("2", cpu="3900m")))
    assert machines.describe("v1").shared_cores is None
    assert () == machines.describe("v1").notes
    assert "2000m, 3900m" == machines.describe("v1").machine["cores"]
    assert "cores" not in kind.describe("v1").machine
    elsewhere = nodes.Nodes((a_node("2"), a_node("2")))
    assert ("2000m", 2) == (elsewhere.describe("v1").machine["cores"], elsewhere.describe("v1").shared_cores)


def test_only_the_services_of_a_cell_run() -> None:
    """Others are off, pods are new at every upgrade, what a scenario leaves open is the chart's; agents run alone."""
    built = release.build_services_values({"grpc": SERVICE}, "7", {"a": "b"})
    assert {"enabled": False} == built["rest"] == built["socket"]
    assert {"cpu": "250m"} == built["grpc"]["resources"]
    assert (3, 2) == (built["grpc"]["replicas"], built["grpc"]["workers"])
    assert "threads" not in built["grpc"]
    assert {release.UPGRADE_LABEL: "7"} == built["common"]["podLabels"]
    assert 0 == built["common"]["preStopSleepSeconds"] == built["grpc"]["maxConnectionAgeSeconds"]
    of_agents = agents.build_agent_values()
    assert {"enabled": True} == of_agents["agent"]
    assert {"enabled": False} == of_agents["rest"] == of_agents["grpc"] == of_agents["socket"]


@pytest.mark.parametrize("run", ["20261121T110717Z-replicas", f"20261121T110717Z-{'Ünder_score' * 20}"])
def test_a_namespace_has_a_name_that_kubernetes_takes(run: str) -> None:
    """Names of runs come from names of files, and those may be anything."""
    for name in (namespace.name_namespace(run), namespace.name_namespace(run, namespace.OF_AGENTS)):
        assert name.startswith("wirebench-20261121t110717z-")
        assert len(name) <= 63
        assert all(each in "abcdefghijklmnopqrstuvwxyz0123456789-" for each in name)
        assert not name.endswith("-")


def test_no_cluster_is_taken_by_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ours, a context has to be named: the current one may be any cluster."""
    monkeypatch.setattr("wirebench.targets.cluster.client.KUBECONFIG", tmp_path / "none")
    with pytest.raises(UsageError, match="no cluster of ours"):
        find_access(None)
    assert Access("staging", None) == find_access("staging")
    with pytest.raises(UsageError, match="no such file"):
        find_access("staging", [tmp_path / "missing.yaml"])


def test_tls_is_told_to_services_and_to_their_clients() -> None:
    """Services get the run's Secret, load pods the paths of theirs, and pods the names that certificates know."""
    secured = dataclasses.replace(SERVICE, tls="server")
    pod = dataclasses.replace(a_pod({"phase": "Running"}), address="10.0.0.7")

    assert "wirebench-server-tls" == release.build_service_values(secured)["tlsSecret"]
    assert "tlsSecret" not in release.build_service_values(SERVICE)
    there = build_endpoint(secured, [pod], "run", Agents())
    assert ("10-0-0-7.run.pod:50051",) == there.addresses
    assert there.tls == ClientTls(Path("/etc/wirebench-tls/ca.crt"))
    plain = build_endpoint(SERVICE, [pod], "run", Agents())
    assert (("10.0.0.7:50051",), None) == (plain.addresses, plain.tls)


@pytest.mark.parametrize("reason", ["Unable to connect to the server: EOF", 'is forbidden: User "me" cannot list'])
def test_an_api_server_that_was_away_is_asked_again(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """One that has just been started forbids for some seconds what it will allow."""
    errors = [ProcessError("kubectl failed", "", reason)]

    def run(*_: object) -> str:
        if errors:
            raise errors.pop()
        return '{"items": []}'

    monkeypatch.setattr(processes, "run", run)
    monkeypatch.setattr(client, "_RETRY_PAUSE_S", 0)
    assert [] == Cluster(Access("kind", None), "lab").get("pods")
