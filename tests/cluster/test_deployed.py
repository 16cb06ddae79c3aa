"""What `make deploy` leaves in the cluster: services that answer and scale, with no right that they don't need."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tests.cluster.conftest import CONTEXT, KUBECONFIG, NAMESPACE, Cluster, wait_until
from wirebench import clients
from wirebench.model.application import builtin
from wirebench.places import ROOT

#: By transport: the port of this machine that leads to the service.
PORTS = {"rest": 30500, "grpc": 30051, "socket": 30900}
OBSERVABILITY = "wirebench-observability"

every_transport = pytest.mark.parametrize("transport", PORTS)


def pods(cluster: Cluster, transport: str) -> list[dict[str, Any]]:
    """Return the pods of a service that aren't on their way out."""
    selector = f"--selector=app.kubernetes.io/instance=wirebench,app.kubernetes.io/component={transport}"
    return [pod for pod in cluster.get("pods", selector) if "deletionTimestamp" not in pod["metadata"]]


def is_ready(pod: dict[str, Any]) -> bool:
    """Return whether a pod is an endpoint."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


@every_transport
def test_a_service_answers_on_this_machine(cluster: Cluster, transport: str) -> None:
    """Its NodePort is mapped to loopback, and it has the seeded users."""
    assert pods(cluster, transport)
    with clients.connect(transport, f"127.0.0.1:{PORTS[transport]}", timeout_s=20) as client:
        reply = client.call("users.get", {"id": builtin().seeded["users"].first})
    assert reply.ok
    assert builtin().seeded["users"].first == reply.data["id"]  # type: ignore[index]


@pytest.mark.parametrize(("release", "namespace"), [("wirebench", NAMESPACE), ("observability", OBSERVABILITY)])
def test_the_charts_own_tests_pass(cluster: Cluster, release: str, namespace: str) -> None:
    """`helm test` asks each service for a user by its own protocol, and Prometheus for its targets."""
    wait_until(lambda: len(targets_up()) >= len(PORTS), "Prometheus scrapes all services")
    assert "Succeeded" in cluster.helm("test", release, "--namespace", namespace)


def targets_up() -> set[str]:
    """Return the containers that Prometheus scrapes with success."""
    with urllib.request.urlopen("http://127.0.0.1:9090/api/v1/query?query=up", timeout=20) as response:
        results = json.load(response)["data"]["result"]
    return {each["metric"].get("container", "") for each in results if each["value"][1] == "1"} & set(PORTS)


@every_transport
def test_a_pod_has_no_right_that_it_does_not_need(cluster: Cluster, transport: str) -> None:
    """Nobody's user, a root that can't be written, no capability, the default seccomp profile, limits, no token."""
    for pod in pods(cluster, transport):
        spec = pod["spec"]
        (container,) = spec["containers"]
        security = {**spec["securityContext"], **container["securityContext"]}
        assert security["runAsNonRoot"]
        assert security["readOnlyRootFilesystem"]
        assert not security["allowPrivilegeEscalation"]
        assert {"drop": ["ALL"]} == security["capabilities"]
        assert "RuntimeDefault" == security["seccompProfile"]["type"]
        assert {"cpu", "memory"} == set(container["resources"]["limits"])
        assert spec["automountServiceAccountToken"] is False


def test_one_value_scales_a_service(cluster: Cluster) -> None:
    """`helm upgrade --set rest.replicas=2` is all it takes, and back."""
    upgrade = ["upgrade", "wirebench", str(ROOT / "charts/wirebench"), "--namespace", NAMESPACE, "--reuse-values"]
    try:
        cluster.helm(*upgrade, "--set", "rest.replicas=2")
        wait_until(lambda: [True, True] == [is_ready(pod) for pod in pods(cluster, "rest")], "two pods are ready")
        assert 1 == len(pods(cluster, "grpc"))
    finally:
        cluster.helm(*upgrade, "--set", "rest.replicas=1")
    wait_until(lambda: 1 == len(pods(cluster, "rest")), "one pod is left")


def test_usage_is_that_of_the_container(cluster: Cluster) -> None:
    """CPU time, memory and throttling come from the cgroup: memory fits the limit, and not the machine."""
    ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:6000/usage').read().decode())"
    (pod,) = pods(cluster, "rest")
    usage = json.loads(
        cluster.kubectl("exec", pod["metadata"]["name"], "--namespace", NAMESPACE, "--", "python3", "-c", ask)
    )
    assert usage["cpu_s"] > 0
    assert 10 * 2**20 < usage["memory_bytes"] < 512 * 2**20
    assert usage["throttled_periods"] is not None


@pytest.mark.usefixtures("cluster")
def test_the_users_own_contexts_are_left_alone() -> None:
    """The cluster's kubeconfig is a file of the project with one context."""
    text = KUBECONFIG.read_text()
    assert 1 == text.count("- context:")
    assert f"current-context: {CONTEXT}" in text
