"""The chart's own PostgreSQL server: what becomes of its services when its pod is replaced."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.support.cluster import Cluster, is_ready, wait_until
from wirebench.system.paths import CHARTS, ROOT

pytestmark = pytest.mark.timeout(600)

RELEASE = "store"
#: A release of its own: what is deployed keeps its users in memory.
NAMESPACE = "wirebench-test-store"
VALUES = ("socket.enabled=false", "common.store=postgres", "postgres.enabled=true",
          "common.resources.cpuRequest=50m", "postgres.resources.cpuRequest=50m")  # fmt: skip


@pytest.fixture
def release(cluster: Cluster) -> Iterator[str]:
    """Install a REST and a gRPC service on the chart's own PostgreSQL server, and remove them afterwards."""
    flags = [part for value in VALUES for part in ("--set", value)]
    images = ROOT / "build/cluster/images.yaml"
    if "postgres:" not in images.read_text():
        pytest.skip("the cluster has no image of PostgreSQL: make cluster-postgres")
    try:
        cluster.helm(
            "upgrade", "--install", RELEASE, str(CHARTS / "wirebench"), "--namespace", NAMESPACE, "--create-namespace",
            "--values", str(images), *flags, "--wait", "--timeout", "240s",
        )  # fmt: skip
        yield RELEASE
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


def read_pods(cluster: Cluster, component: str) -> dict[str, bool]:
    """Return the pods of a component by their uid, and whether they are ready."""
    selector = f"--selector=app.kubernetes.io/component={component}"
    found = cluster.get("pods", selector, namespace=NAMESPACE)
    return {pod["metadata"]["uid"]: is_ready(pod) for pod in found if "deletionTimestamp" not in pod["metadata"]}


def count_restarts(cluster: Cluster, component: str) -> int:
    """Return how often containers of a component have restarted."""
    pods = cluster.get("pods", f"--selector=app.kubernetes.io/component={component}", namespace=NAMESPACE)
    return sum(status["restartCount"] for pod in pods for status in pod["status"]["containerStatuses"])


def test_a_replaced_database_has_tables_and_no_service_restarts(cluster: Cluster, release: str) -> None:
    """The new pod creates and fills its tables, and the pods of the services answer from them."""
    services = {transport: read_pods(cluster, transport) for transport in ("rest", "grpc")}
    before = set(read_pods(cluster, "postgres"))
    selector = "--selector=app.kubernetes.io/component=postgres"
    cluster.kubectl("delete", "pod", selector, "--namespace", NAMESPACE)

    def answers() -> bool:
        try:  # a connection of the pool that the server has closed fails one request
            return "Succeeded" in cluster.helm("test", release, "--namespace", NAMESPACE)
        except subprocess.CalledProcessError:
            return False

    wait_until(lambda: [True] == list(read_pods(cluster, "postgres").values()), "the new pod is ready")
    wait_until(answers, "the services have users")

    assert before.isdisjoint(read_pods(cluster, "postgres"))
    assert services == {transport: read_pods(cluster, transport) for transport in services}
    assert 0 == sum(count_restarts(cluster, transport) for transport in services)
