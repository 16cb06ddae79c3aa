"""`wirebench run` on services that aren't ours: those in Go, in a namespace that the run doesn't know of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, Started
from wirebench.system.paths import CHARTS, IMAGES

NAMESPACE = "your-services"  # after `wirebench`, the first that dashboards offer
SCENARIO = """\
question: Is gRPC faster than REST?
application: others.yaml
factors: {operation: get, concurrency: 4, rate_per_s: 100}
load: {model: open, warmup_s: 0.5, window_s: 4}
blocks: 1
"""
APPLICATION = """\
application: others
operations:
  get:
    inputs: {id: {range: [1000001, 1010000]}}
    rest:
      request: "GET /api/users/{id}"
      headers: {X-Token: "${WIREBENCH_TEST_TOKEN}"}
      expect: {json: {data.id: "{id}"}}
    grpc: {call: wirebench.v1.UserService/GetUser, message: {id: "{id}"}, expect: {data.id: "{id}"}}
variants:
  rest:
    transport: rest
    kubernetes: {service: wirebench-rest, port: 5000, namespace: your-services}
    limit: {rate_per_s: 100, connections: 4}
  grpc:
    transport: grpc
    schema: reflection
    kubernetes: {service: wirebench-grpc, port: 50051, namespace: your-services}
    limit: {rate_per_s: 100, connections: 4}
"""
#: As long as a secret should be: no text holds it by chance.
TOKEN = "c2f0a7d9-4be1-4c0f-9b57-secret-of-a-test"  # noqa: S105

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("no_namespace_is_left")]


@pytest.fixture
def _running(cluster: Cluster) -> Iterator[None]:
    """Have the services in Go running in a namespace that isn't the run's, off the node for load."""
    values = ("common.implementation=go", "socket.enabled=false", "common.resources.cpu=250m",
              r"common.nodeSelector.wirebench\.dev/role=server")  # fmt: skip
    flags = [part for value in values for part in ("--set", value)]
    try:
        cluster.helm(
            "upgrade", "--install", "wirebench", str(CHARTS / "wirebench"), "--namespace", NAMESPACE,
            "--create-namespace", "--values", str(IMAGES), *flags, "--wait", "--timeout", "120s",
        )  # fmt: skip
        yield
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


@pytest.mark.usefixtures("_running")
def test_a_service_is_measured_and_left(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time and memory are its container's, its pods stay, its limit is kept, and the token is in no file."""
    monkeypatch.setenv("WIREBENCH_TEST_TOKEN", TOKEN)
    before = cluster.kubectl("get", "pods,services,deployments", "--namespace", NAMESPACE, "--output=name")
    (tmp_path / "others.yaml").write_text(APPLICATION, encoding="utf-8")
    started = Started(tmp_path, SCENARIO, "--no-calibrate")
    assert 0 == started.end(), started.printed
    run = started.run()
    assert {"rest", "grpc"} == {record.factors["variant"] for record in run.records}
    assert run.info.conformance_requests >= 2
    for record in run.records:
        assert {} == record.errors
        assert 0.9 < record.rate_achieved_per_s / 100 < 1.05
        assert record.server.cpu_s is not None, run.info.notes
        assert 0 < record.server.cpu_s < 0.4 * record.window_s, record.id
        assert record.server.memory_bytes is not None
        assert 2**20 < record.server.memory_bytes < 512 * 2**20
        assert record.server.throttled_periods is not None
    assert before == cluster.kubectl("get", "pods,services,deployments", "--namespace", NAMESPACE, "--output=name")
    assert not [path for path in run.folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in started.printed
