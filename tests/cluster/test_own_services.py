"""`wirebench run` on services that aren't ours: podinfo, which runs in a namespace of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, Started
from wirebench.system.paths import ROOT

NAMESPACE = "podinfo-of-others"
SCENARIO = """\
question: Is gRPC faster than REST?
application: podinfo.yaml
factors: {operation: echo, concurrency: 4, rate_per_s: 100}
load: {model: open, warmup_s: 0.5, window_s: 4}
blocks: 1
"""
APPLICATION = """\
application: podinfo
operations:
  echo:
    inputs: {text: {random_text: 40}}
    rest:
      request: POST /echo
      headers: {X-Token: "${WIREBENCH_TEST_TOKEN}"}
      body: "{text}"
      expect: {status: 202, contains: "{text}"}
    grpc: {call: echo.EchoService/Echo, message: {body: "{text}"}, expect: {body: "{text}"}}
variants:
  rest:
    transport: rest
    kubernetes: {service: podinfo, port: 9898, namespace: podinfo-of-others}
    limit: {rate_per_s: 100, connections: 4}
  grpc:
    transport: grpc
    schema: echo.proto
    kubernetes: {service: podinfo, port: 9999, namespace: podinfo-of-others}
    limit: {rate_per_s: 100, connections: 4}
"""
PROTO = """\
syntax = "proto3";
package echo;
message Message { string body = 1; }
service EchoService { rpc Echo(Message) returns (Message) {} }
"""
#: As long as a secret should be: no text holds it by chance.
TOKEN = "c2f0a7d9-4be1-4c0f-9b57-secret-of-a-test"  # noqa: S105

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("no_namespace_is_left"),
    pytest.mark.skipif(
        not (ROOT / "build" / "cluster" / "podinfo.yaml").exists(),
        reason="podinfo's image is not on the nodes: make cluster-podinfo",
    ),
]


@pytest.fixture
def _running(cluster: Cluster) -> Iterator[None]:
    """Have podinfo running in a namespace that isn't the run's."""
    manifest = ROOT / "tests/cluster/podinfo.yaml"
    cluster.kubectl("create", "namespace", NAMESPACE)
    try:
        cluster.kubectl("apply", "--namespace", NAMESPACE, "--filename", str(manifest))
        cluster.kubectl("rollout", "status", "deployment/podinfo", "--namespace", NAMESPACE, "--timeout=120s")
        yield
    finally:
        cluster.kubectl("delete", "namespace", NAMESPACE)


@pytest.mark.usefixtures("_running")
def test_a_service_is_measured_and_left(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time and memory are its container's, its pods stay, its limit is kept, and the token is in no file."""
    monkeypatch.setenv("WIREBENCH_TEST_TOKEN", TOKEN)
    before = cluster.kubectl("get", "pods,services,deployments", "--namespace", NAMESPACE, "--output=name")
    (tmp_path / "podinfo.yaml").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "echo.proto").write_text(PROTO, encoding="utf-8")
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
        assert 2**20 < record.server.memory_bytes < 128 * 2**20
        assert record.server.throttled_periods is not None
    assert before == cluster.kubectl("get", "pods,services,deployments", "--namespace", NAMESPACE, "--output=name")
    assert not [path for path in run.folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in started.printed
