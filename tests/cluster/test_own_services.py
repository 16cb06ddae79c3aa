"""`wirebench run` on services that aren't ours: podinfo, installed by the run or running already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.cluster import CONTEXT, Cluster, Started
from wirebench.system.paths import ROOT

EXAMPLES = ROOT / "applications/examples"
MANIFEST = (EXAMPLES / "podinfo-kubernetes.yaml").read_text(encoding="utf-8")
NAMESPACE = "podinfo-of-others"
SCENARIO = """\
question: Is gRPC faster than REST?
application: podinfo.yaml
factors: {operation: echo, concurrency: 4}
load: {warmup_s: 0.5, window_s: 2}
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
    kubernetes: {service: podinfo, port: 9898, manifest: podinfo-kubernetes.yaml}
  grpc:
    transport: grpc
    schema: echo.proto
    kubernetes: {service: podinfo, port: 9999, manifest: podinfo-kubernetes.yaml}
"""
PROTO = """\
syntax = "proto3";
package echo;
message Message { string body = 1; }
service EchoService { rpc Echo(Message) returns (Message) {} }
"""
OUTSIDE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: podinfo-other}\n---\n"
CHART = "apiVersion: v2\nname: podinfo\nversion: 0.1.0\n"
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
def running(cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    """Have podinfo running in a namespace that isn't the run's, and return that."""
    (tmp_path / "running.yaml").write_text(MANIFEST, encoding="utf-8")
    cluster.kubectl("create", "namespace", NAMESPACE)
    try:
        cluster.kubectl("apply", "--namespace", NAMESPACE, "--filename", str(tmp_path / "running.yaml"))
        cluster.kubectl("rollout", "status", "deployment/podinfo", "--namespace", NAMESPACE, "--timeout=120s")
        yield NAMESPACE
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
    folder: Path, application: str = APPLICATION, manifest: str = MANIFEST, scenario: str = SCENARIO, *flags: str
) -> Started:
    """Start a run of an application file with these files beside it."""
    for name, text in (
        ("podinfo.yaml", application),
        ("podinfo-kubernetes.yaml", manifest),
        ("echo.proto", PROTO),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return Started(folder, scenario, "--no-calibrate", *flags)


def test_rest_against_grpc_of_a_manifest(tmp_path: Path) -> None:
    """Each cell has new pods of podinfo; CPU time and memory are its container's, and the token is in no file."""
    started = start(tmp_path)
    assert 0 == started.end(), started.printed
    run = started.run()
    assert {"rest", "grpc"} == {record.factors["variant"] for record in run.records}
    assert run.info.conformance_requests >= 2
    for record in run.records:
        assert {} == record.errors
        assert record.requests > 100
        assert record.server.cpu_s is not None, run.info.notes
        assert 0.02 * record.window_s < record.server.cpu_s < 0.4 * record.window_s, record.id
        assert record.server.memory_bytes is not None
        assert 2**20 < record.server.memory_bytes < 128 * 2**20
        assert record.server.throttled_periods is not None
    assert not [path for path in run.folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert TOKEN not in started.printed


def test_replicas_of_a_deployment_without_a_service(tmp_path: Path) -> None:
    """The run scales what it has installed, and sends to all pods in turn."""
    application = APPLICATION.replace("service: podinfo", "deployment: podinfo")
    scenario = SCENARIO.replace("concurrency: 4", "concurrency: 4, variant: rest, replicas: [1, 2]")
    started = start(tmp_path, application, scenario=f"{scenario}compare: replicas\n")
    assert 0 == started.end(), started.printed
    assert {1, 2} == {record.factors["replicas"] for record in started.run().records}
    assert all({} == record.errors for record in started.run().records)


def test_a_chart_takes_the_levels_of_a_cell(tmp_path: Path) -> None:
    """Its values have them, so that two replicas use more memory than one; both are loaded one by one."""
    (tmp_path / "chart/templates").mkdir(parents=True)
    (tmp_path / "chart/Chart.yaml").write_text(CHART, encoding="utf-8")
    template = MANIFEST.replace("replicas: 1", "replicas: {{ .Values.count }}")
    template = template.replace("limits: {cpu: 250m", "limits: {cpu: {{ .Values.cpu }}")
    (tmp_path / "chart/templates/podinfo.yaml").write_text(template, encoding="utf-8")
    values = 'chart: chart, values: {count: "{replicas}", cpu: "{cpu_limit_millicores}m"}'
    application = APPLICATION.replace("manifest: podinfo-kubernetes.yaml", values)
    factors = "concurrency: 4, variant: rest, replicas: [1, 2], balancing: headless, cpu_limit_millicores: 300"
    started = start(tmp_path, application, scenario=SCENARIO.replace("concurrency: 4", factors) + "compare: replicas\n")
    assert 0 == started.end(), started.printed
    by_replicas = {record.factors["replicas"]: record for record in started.run().records}
    memory = {replicas: record.server.memory_bytes for replicas, record in by_replicas.items()}
    assert memory[1] is not None
    assert memory[2] is not None
    assert 1.4 < memory[2] / memory[1] < 3
    assert all({} == record.errors for record in by_replicas.values())


def test_metrics_tell_cpu_time_where_agents_are_not_allowed(
    cluster: Cluster, tmp_path: Path, without_agents: tuple[str, ...]
) -> None:
    """They are those of each pod of a packaged chart, and the run says how finely."""
    (tmp_path / "chart/templates").mkdir(parents=True)
    (tmp_path / "chart/Chart.yaml").write_text(CHART, encoding="utf-8")
    (tmp_path / "chart/templates/podinfo.yaml").write_text(MANIFEST.replace("replicas: 1", "replicas: 2"))
    cluster.helm("package", str(tmp_path / "chart"), "--destination", str(tmp_path))
    application = APPLICATION.replace("manifest: podinfo-kubernetes.yaml}", "chart: podinfo-0.1.0.tgz}\n    METRICS")
    application = application.replace("METRICS", "metrics: http://podinfo:9898/metrics")
    scenario = SCENARIO.replace("concurrency: 4", "concurrency: 4, variant: rest").replace("window_s: 2", "window_s: 4")
    started = start(tmp_path, application, MANIFEST, scenario, *without_agents)
    assert 0 == started.end(), started.printed
    run = started.run()
    (record,) = run.records
    assert record.server.cpu_s is not None, run.info.notes
    assert 0.02 * record.window_s < record.server.cpu_s < 0.8 * record.window_s
    assert record.server.memory_bytes is not None
    assert 2 * 2**20 < record.server.memory_bytes < 256 * 2**20
    assert record.server.throttled_periods is None, "it was read by agents"
    assert any("CPU time and memory of rest come from its metrics" in note for note in run.info.notes)


def test_what_runs_already_is_measured_and_left(cluster: Cluster, tmp_path: Path, running: str) -> None:
    """Its pods are the same after the run as before; its limit is kept."""
    before = cluster.kubectl("get", "pods,services,deployments", "--namespace", running, "--output=name")
    application = APPLICATION.replace("manifest: podinfo-kubernetes.yaml}", f"namespace: {running}}}\n    limit: LIMIT")
    application = application.replace("LIMIT", "{rate_per_s: 100, connections: 4}")
    scenario = SCENARIO.replace("concurrency: 4", "concurrency: 4, rate_per_s: 100").replace(
        "load: {", "load: {model: open, "
    )
    started = start(tmp_path, application, scenario=scenario)
    assert 0 == started.end(), started.printed
    records = started.run().records
    assert 2 == len(records)
    assert all(record.rate_achieved_per_s / 100 < 1.05 and record.server.cpu_s for record in records)
    assert before == cluster.kubectl("get", "pods,services,deployments", "--namespace", running, "--output=name")


def test_a_load_without_a_limit_is_rejected(tmp_path: Path) -> None:
    """A foreign service needs a limit; nothing was sent."""
    application = APPLICATION.replace("manifest: podinfo-kubernetes.yaml", f"namespace: {NAMESPACE}")
    started = start(tmp_path, application)
    assert 2 == started.end(), started.printed
    assert "limit" in started.printed


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        (
            "image: wirebench/podinfo:",
            "imagePullPolicy: Never\n          image: wirebench/missing:",
            "ErrImageNeverPull",
        ),
        ("--level=warn", "--level=warn, --no-such-flag", "starts and ends again"),
        ("path: /readyz", "path: /nowhere", "was not ready after 10 s"),
        ("runAsNonRoot: true", "runAsNonRoot: false", "runAsNonRoot"),
        ("kind: Service\nmetadata:\n  name: podinfo", "kind: Service\nmetadata:\n  name: other", "there are other"),
        (
            "kind: Service\n",
            "kind: Namespace\nmetadata: {name: podinfo-other}\n---\napiVersion: v1\nkind: Service\n",
            "outside of",
        ),
    ],
    ids=["no image", "ends at once", "not ready", "forbidden", "no service", "outside"],
)
def test_a_service_that_can_not_be_had_says_why(tmp_path: Path, was: str, now: str, expected: str) -> None:
    """With its pods' events and last lines, or the place in the file; nothing is left."""
    assert was in MANIFEST
    application = APPLICATION.replace("transport: rest", "transport: rest\n    ready_timeout_s: 10")
    started = start(tmp_path, application, MANIFEST.replace(was, now))
    assert started.end() in (1, 2), started.printed
    assert expected in started.printed
    assert "next: " in started.printed


def test_a_weaker_security_standard_lets_such_pods_in(tmp_path: Path) -> None:
    """What `restricted` forbids runs where the file says `baseline`."""
    application = APPLICATION.replace("podinfo-kubernetes.yaml}", "podinfo-kubernetes.yaml, security: baseline}")
    manifest = MANIFEST.replace("        runAsNonRoot: true\n", "")
    scenario = SCENARIO.replace("concurrency: 4", "concurrency: 4, variant: rest")
    started = start(tmp_path, application, manifest, scenario)
    assert 0 == started.end(), started.printed
