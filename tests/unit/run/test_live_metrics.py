"""Live metrics of a run: where its load tools push, under which labels, and what is said of pushes that failed."""

from __future__ import annotations

import platform
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from tests.support.command_line import reject
from tests.support.jobs import CELL, JOB, cell
from tests.support.scenario_text import read
from wirebench.errors import WirebenchError
from wirebench.plan.plan import make_plan
from wirebench.run import load_source
from wirebench.run.execution import Execution
from wirebench.run.progress import Progress
from wirebench.run.target_options import TargetOptions
from wirebench.store.runs import RunWriter
from wirebench.targets.cluster.client import Access, Cluster
from wirebench.targets.deployed import find_prometheus
from wirebench.targets.endpoint import Description, Endpoint

URL = "http://127.0.0.1:9090"


SCENARIO = "question: x\nfactors: {transport: [rest, grpc, socket]}\n"


@pytest.fixture
def execution(tmp_path: Path) -> Execution:
    """Return a run on a target with that Prometheus."""
    target = SimpleNamespace(prometheus=URL, load_pods=None, cores=None, restarts_services=True, describe=Description)
    writer = MagicMock(RunWriter, info=SimpleNamespace(id="20261123T234640Z-Quick_1"), folder=tmp_path)
    return Execution(make_plan(read(tmp_path, SCENARIO), 1), cast("Any", target), writer, Progress(), tmp_path)


def test_series_of_a_run_have_the_labels_of_dashboards(execution: Execution) -> None:
    """The namespace is called as the run's in a cluster; cells differ by transport alone, so that series are few."""
    labels = {"namespace": "wirebench-20261123t234640z-quick-1", "pod": "load", "node": platform.node()}
    for transport in ("rest", "grpc", "socket"):
        push = execution.make_metrics_push(cell(transport, "k6"))
        assert push is not None
        assert (URL, {**labels, "transport": transport}) == (push.url, push.labels)


def test_a_run_without_a_prometheus_pushes_nothing(execution: Execution) -> None:
    """Which is so by default, but in a cluster that has one."""
    execution.target.prometheus = TargetOptions().prometheus
    assert execution.make_metrics_push(CELL) is None


def test_a_failed_push_is_a_caveat(execution: Execution, monkeypatch: pytest.MonkeyPatch) -> None:
    """With why it failed."""
    problems = iter(["", "no route", ""])

    def observe(*_: object) -> SimpleNamespace:
        return SimpleNamespace(metrics_push_problem=next(problems))

    monkeypatch.setattr(load_source, "observe", observe)
    for _ in range(3):
        execution.observe(JOB, Endpoint(CELL.service, JOB.address))
    said = "Prometheus lacks live metrics; the figures here have all of them: no route"
    execution.writer.note.assert_called_once_with(said)  # type: ignore[attr-defined]


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
    assert find_prometheus(Access("kind", None)) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--prometheus", "localhost:9090"], "not the URL of a Prometheus"),
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
