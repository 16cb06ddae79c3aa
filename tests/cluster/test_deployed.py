"""What `make deploy` leaves in the cluster: services that answer and scale, with no right that they don't need."""

from __future__ import annotations

import json
import urllib.request

import pytest

from tests.support.cluster import NAMESPACE, OBSERVABILITY, Cluster, is_ready, pods, wait_until
from wirebench.system.paths import ROOT

TRANSPORTS = {"rest", "grpc", "socket"}


@pytest.mark.parametrize(("release", "namespace"), [("wirebench", NAMESPACE), ("observability", OBSERVABILITY)])
def test_the_charts_own_tests_pass(cluster: Cluster, release: str, namespace: str) -> None:
    """`helm test` asks each service for a user by its own protocol, and Prometheus whether it is ready."""
    wait_until(lambda: targets_up() == TRANSPORTS, "Prometheus scrapes all services")
    assert "Succeeded" in cluster.helm("test", release, "--namespace", namespace)


def targets_up() -> set[str]:
    """Return the containers that Prometheus scrapes with success."""
    with urllib.request.urlopen("http://localhost:9090/api/v1/query?query=up", timeout=20) as response:
        results = json.load(response)["data"]["result"]
    return {each["metric"].get("container", "") for each in results if each["value"][1] == "1"} & TRANSPORTS


def test_one_value_scales_a_service(cluster: Cluster) -> None:
    """`helm upgrade --set rest.replicas=2` is all it takes, also where `kubectl scale` has set another, and back."""
    upgrade = ["upgrade", "wirebench", str(ROOT / "charts/wirebench"), "--namespace", NAMESPACE, "--reuse-values"]
    try:
        cluster.kubectl("scale", "deployment/wirebench-rest", "--replicas=3", "--namespace", NAMESPACE)
        cluster.helm(*upgrade, "--set", "rest.replicas=2")
        wait_until(lambda: [True, True] == [is_ready(pod) for pod in pods(cluster, "rest")], "two pods are ready")
        assert 1 == len(pods(cluster, "grpc"))
    finally:
        cluster.helm(*upgrade, "--set", "rest.replicas=1")
    wait_until(lambda: 1 == len(pods(cluster, "rest")), "one pod is left")
