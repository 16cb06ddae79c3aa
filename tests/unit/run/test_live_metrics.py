"""Live metrics of a run: where its load tools push, under which labels, and what is said of pushes that failed."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.command_line import reject
from tests.support.jobs import CELL, JOB, cell
from wirebench.drivers import Job
from wirebench.drivers.metrics_push import MetricsPush
from wirebench.errors import WirebenchError
from wirebench.run import execution as execution_module
from wirebench.run.execution import _Execution
from wirebench.run.load_pod import main, pods
from wirebench.run.load_pod.task import MeasureTask
from wirebench.run.target_options import TargetOptions
from wirebench.targets.kubernetes.cluster import Access, Cluster
from wirebench.targets.kubernetes.deployed import find_prometheus
from wirebench.targets.kubernetes.target import KubernetesTarget
from wirebench.targets.target import Endpoint, LoadPods

URL = "http://127.0.0.1:9090"


class Writer:
    """Keeps what a run notes."""

    info = SimpleNamespace(id="20261123T234640Z-Quick_1")

    def __init__(self) -> None:
        """Begin without notes."""
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Add a caveat."""
        self.notes.append(text)


def an_execution(prometheus: str | None) -> tuple[_Execution, Writer]:
    """Return a run on a target with that Prometheus, and what it writes to."""
    writer, target = Writer(), SimpleNamespace(prometheus=prometheus, load_pods=None, cores=None)
    parts = {name: cast("Any", None) for name in ("plan", "progress", "ids", "verifier", "description", "before")}
    return _Execution(**parts, target=cast("Any", target), writer=cast("Any", writer), done=0), writer


def test_series_of_a_run_have_the_labels_of_dashboards() -> None:
    """The namespace is called as the run's in a cluster; cells differ by transport alone, so that series are few."""
    labels = {"namespace": "wirebench-20261123t234640z-quick-1", "pod": "load", "node": platform.node()}
    execution, _ = an_execution(URL)
    for transport in ("rest", "grpc", "socket"):
        push = execution._make_metrics_push(cell(transport, "k6"))
        assert push is not None
        assert (URL, {**labels, "transport": transport}) == (push.url, push.labels)


def test_a_run_without_a_prometheus_pushes_nothing() -> None:
    """Which is so by default, but in a cluster that has one."""
    assert an_execution(None)[0]._make_metrics_push(CELL) is None
    assert TargetOptions().prometheus is None


def test_failed_pushes_are_one_caveat(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the number of windows, and why the last of them failed; windows of a search share a job."""
    execution, writer = an_execution(URL)
    problems = iter(["", "the first", "", "the last", ""])

    def observe(job: Job, *_: object, **__: object) -> SimpleNamespace:
        assert job.metrics_push is not None
        job.metrics_push.problem = next(problems) or job.metrics_push.problem
        return SimpleNamespace(metrics_push_problem=job.metrics_push.problem)

    monkeypatch.setattr(execution_module, "observe", observe)
    job = replace(JOB, metrics_push=MetricsPush(URL, {}))
    for windows, notes in ((1, 0), (4, 1)):
        for _ in range(windows):
            execution._observe(job, Endpoint(CELL.service, JOB.address))
        execution.note_failed_pushes()
        assert notes == len(writer.notes)
    said = "Prometheus lacks live metrics of 2 windows; the figures here have all of them: the last"
    assert [said] == writer.notes


def test_load_pods_push_under_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their task has the address; namespace, pod and node are known where they run."""
    tasks: list[MeasureTask] = []

    class Pods:
        """Keep the task, and measure nothing."""

        def count_cores(self, _load: object) -> float:
            return 1.0

        def measure(self, *arguments: object) -> tuple[str, ...]:
            tasks.append(MeasureTask.model_validate(arguments[3]))
            return ()

    job = replace(JOB, metrics_push=MetricsPush(URL, {}))
    pods.observe(cast("LoadPods", Pods()), job, Endpoint(CELL.service, JOB.address))
    for name, value in {"NAMESPACE": "wirebench-1", "POD": "load-1-0", "NODE": "worker"}.items():
        monkeypatch.setenv(f"WIREBENCH_{name}", value)
    push = main._make_metrics_push(tasks[0])
    assert push is not None
    labels = {"namespace": "wirebench-1", "pod": "load-1-0", "node": "worker", "transport": "grpc"}
    assert (URL, labels) == (push.url, push.labels)


def a_cluster(monkeypatch: pytest.MonkeyPatch, *, ready: bool) -> Access:
    """Return access to a cluster whose Prometheus has started, or has not."""
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-11-23T23:46:40Z"}
    pod = {"metadata": {"name": "p"}, "spec": {}, "status": {"phase": "Running", "conditions": [condition]}}
    service = {"metadata": {"name": "observability-prometheus"}, "spec": {"ports": [{"port": 9090}]}}
    found = {"services": [service], "pods": [pod]}
    monkeypatch.setattr(Cluster, "get", lambda _self, kind, _selector: found[kind])
    return Access("kind", None)


def test_the_prometheus_of_a_cluster_is_found_when_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the address that load pods reach it at."""
    access = a_cluster(monkeypatch, ready=True)
    assert "http://observability-prometheus.wirebench-observability:9090" == find_prometheus(access)
    assert find_prometheus(a_cluster(monkeypatch, ready=False)) is None


def test_a_user_who_may_not_look_for_it_measures_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Namespaces of others may be closed."""

    def forbid(*_: object) -> None:
        raise WirebenchError("services is forbidden", "ask for the right")

    monkeypatch.setattr(Cluster, "get", forbid)
    target = KubernetesTarget.__new__(KubernetesTarget)
    target._access = Access("kind", None)
    assert target._find_prometheus() is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prometheus", "localhost:9090"], "'localhost:9090' is not the URL of a Prometheus"),
        (
            ["--prometheus", URL, "--target", "kubernetes"],
            "--prometheus: load pods push live metrics to the Prometheus",
        ),
    ],
)
def test_a_prometheus_that_can_t_be_used_is_wrong_usage(tmp_path: Path, options: list[str], said: str) -> None:
    """Exit status 2, with what to do, and nothing is written."""
    assert said in reject("run", "quick", "--driver", "wireload", "--out", tmp_path / "results", *options)
    assert not (tmp_path / "results").exists()
