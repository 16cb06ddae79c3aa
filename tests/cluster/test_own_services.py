"""`wirebench run` on services that aren't ours: podinfo, which runs in a namespace of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.cluster import CONTEXT, Cluster, Started, wait_until
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
#: A user who may do all that a run needs, but create no DaemonSets, which agents are.
USER = "wirebench-without-agents"
ROLE = f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {USER}}}
rules:
  - {{apiGroups: ["", batch, policy, networking.k8s.io, autoscaling, events.k8s.io], resources: ["*"], verbs: ["*"]}}
  - {{apiGroups: [apps], resources: [deployments, deployments/scale, statefulsets, replicasets], verbs: ["*"]}}
  - {{apiGroups: [apps], resources: [daemonsets], verbs: [get, list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {USER}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {USER}}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {USER}}}]
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


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIREBENCH_TEST_TOKEN", TOKEN)


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


@pytest.fixture
def without_agents(cluster: Cluster, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """Return the flags of a run as a user who may not install agents."""
    (tmp_path / "role.yaml").write_text(ROLE, encoding="utf-8")
    config = yaml.safe_load(cluster.kubectl("config", "view", "--raw", "--flatten"))
    for each in config["users"]:
        each["user"]["as"] = USER
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config), encoding="utf-8")
    cluster.kubectl("apply", "--filename", str(tmp_path / "role.yaml"))
    try:
        images = ROOT / "build/cluster/images.yaml"
        yield "--context", CONTEXT, "--kubeconfig", str(tmp_path / "kubeconfig"), "--values", str(images)
    finally:
        cluster.kubectl("delete", "--filename", str(tmp_path / "role.yaml"))


def start(
    folder: Path, application: str = APPLICATION, scenario: str = SCENARIO, flags: tuple[str, ...] = ()
) -> Started:
    """Start a run of an application file."""
    (folder / "podinfo.yaml").write_text(application, encoding="utf-8")
    (folder / "echo.proto").write_text(PROTO, encoding="utf-8")
    return Started(folder, scenario, "--no-calibrate", *flags)


@pytest.mark.usefixtures("_running")
def test_a_service_is_measured_and_left(cluster: Cluster, tmp_path: Path) -> None:
    """CPU time and memory are its container's, its pods stay, its limit is kept, and the token is in no file."""
    before = cluster.kubectl("get", "pods,services,deployments", "--namespace", NAMESPACE, "--output=name")
    started = start(tmp_path)
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


@pytest.mark.usefixtures("_running")
def test_metrics_tell_cpu_time_where_agents_are_not_allowed(
    cluster: Cluster, tmp_path: Path, without_agents: tuple[str, ...]
) -> None:
    """They are those of each pod, and the run says how finely."""
    cluster.kubectl("scale", "deployment/podinfo", "--replicas=2", "--namespace", NAMESPACE)
    application = APPLICATION.replace("transport: rest", "transport: rest\n    metrics: http://podinfo:9898/metrics")
    started = start(tmp_path, application, SCENARIO.replace("factors: {", "factors: {variant: rest, "), without_agents)
    assert 0 == started.end(), started.printed
    run = started.run()
    (record,) = run.records
    assert record.server.cpu_s is not None, run.info.notes
    assert 0 < record.server.cpu_s < 0.8 * record.window_s
    assert record.server.memory_bytes is not None
    assert 2 * 2**20 < record.server.memory_bytes < 256 * 2**20
    assert record.server.throttled_periods is None, "it was read by agents"
    assert any("CPU time and memory of rest come from its metrics" in note for note in run.info.notes)


@pytest.mark.usefixtures("_running")
def test_a_service_that_is_not_there_is_named(cluster: Cluster, tmp_path: Path) -> None:
    """With the place in the file, and what there is; one that has no pod is said as well."""
    started = start(tmp_path, APPLICATION.replace("service: podinfo", "service: shop"))
    assert 2 == started.end(), started.printed
    assert "there are podinfo" in started.printed
    cluster.kubectl("scale", "deployment/podinfo", "--replicas=0", "--namespace", NAMESPACE)
    wait_until(lambda: not cluster.get("pods", namespace=NAMESPACE), "its pods have gone")
    started = start(tmp_path)
    assert 2 == started.end(), started.printed
    assert "has no running pod" in started.printed
