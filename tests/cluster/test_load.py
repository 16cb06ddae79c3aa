"""`make load-rest`, `load-grpc`, `load-socket`: live in Prometheus, kept as runs, and nothing left in the cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tests.support.cluster import NAMESPACE, Cluster, pods, wait_until
from tests.support.prometheus import Prometheus
from tests.support.runs import only_run
from tests.support.waiting import run_program
from wirebench.system.paths import CHARTS, ROOT
from wirebench.targets.cluster.namespace import LABEL

#: Of a test: a run that is measuring is waited for.
pytestmark = pytest.mark.timeout(400)
LOAD_TIMEOUT_S = 120
K6_HISTOGRAM = "k6_http_req_duration_milliseconds"
HISTOGRAMS = {
    "rest": "k6_http_req_duration_seconds",
    "grpc": "k6_grpc_req_duration_seconds",
    "socket": "k6_wirebench_socket_req_duration_seconds",
}


@pytest.fixture(autouse=True)
def _wait_for_idle_cluster(cluster: Cluster) -> None:
    """Wait for the end of a run: a load would disturb it, and is rejected."""
    wait_until(lambda: not cluster.get("namespaces", f"--selector={LABEL}"), "no run is measuring")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return the folder of a load's run."""
    return tmp_path / "results"


def start(*command: object) -> subprocess.Popen[str]:
    """Start a load; the variables that make was given to run the tests with aren't for it."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "ARGS")}
    return subprocess.Popen(
        list(map(str, command)),
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ended(load: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a load's end; return its exit status, and what it wrote to stdout and stderr."""
    try:
        stdout, stderr = load.communicate(timeout=LOAD_TIMEOUT_S)
    finally:
        if load.poll() is None:
            load.terminate()  # it removes what it has created
            load.communicate(timeout=LOAD_TIMEOUT_S)
    return load.returncode, stdout, stderr


def values(expr: str) -> list[float]:
    """Return the values of a query, now, in the cluster's Prometheus."""
    results = Prometheus("http://localhost:9090", time.time(), 60).query(expr)
    return [float(result["value"][1]) for result in results]


def left(cluster: Cluster, transport: str) -> str:
    """Return what is left of a load: objects, and releases."""
    selector = f"--selector=app.kubernetes.io/instance=wirebench-load-{transport}"
    kinds = "pods,jobs,services,configmaps,serviceaccounts"
    objects = cluster.kubectl("get", kinds, "--namespace", NAMESPACE, selector, "--output=name")
    return objects + cluster.helm("list", "--short", "--namespace", NAMESPACE, "--filter", f"load-{transport}")


@pytest.mark.parametrize(
    ("driver", "transport"),
    [("k6", "rest"), ("wireload", "rest"), ("wireload", "grpc"), ("wireload", "socket")],
)
def test_a_load_is_live_while_it_runs(cluster: Cluster, out: Path, driver: str, transport: str) -> None:
    """Its native histograms are in Prometheus before it ends, with the labels of its pod, and end with it."""
    of_pod = f'namespace="{NAMESPACE}", pod=~"load-{transport}-.+", node=~".+", transport="{transport}"'
    histogram = K6_HISTOGRAM if driver == "k6" else HISTOGRAMS[transport]
    seen = f'sum(histogram_count(last_over_time({histogram}{{{of_pod}, status=~".+"}}[15s])))'
    chosen = [] if driver == "k6" or transport == "socket" else [f"DRIVER={driver}"]
    load = start("make", f"load-{transport}", "RATE=40", "CONCURRENCY=4", "DURATION=15s", *chosen, f"ARGS=--out {out}")
    wait_until(lambda: load.poll() is not None or any(value > 0 for value in values(seen)), f"{driver} writes")
    assert load.poll() is None

    status, _, stderr = ended(load)
    assert (0, "") == (status, left(cluster, transport)), stderr
    (record,) = only_run(out).records
    assert 300 < record.requests <= 620
    assert (driver, 40, {}) == (record.factors["driver"], record.rate_asked_per_s, record.errors)
    assert record.server.cpu_us_per_request
    assert stderr.startswith(f"a plain load on {transport} by {driver}\n")
    wait_until(lambda: [] == values(seen), "its lines end")


@pytest.fixture
def previous_chart(tmp_path: Path) -> Path:
    """Return our chart as it was before its templates last changed."""
    changed = run_program(["git", "rev-list", "--max-count=1", "HEAD", "--", "charts/wirebench/templates"], cwd=ROOT)
    archive = ["git", "archive", f"--output={tmp_path}/charts.tar", f"{changed.stdout.strip()}~", "charts/wirebench"]
    if run_program(archive, cwd=ROOT).returncode:
        pytest.skip("no history is here that has the chart's previous state: git fetch --unshallow")
    with tarfile.open(tmp_path / "charts.tar") as charts:
        charts.extractall(tmp_path, filter="data")
    return tmp_path / "charts/wirebench"


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["rest", "grpc"])
def test_an_upgrade_of_the_chart_loses_no_call(
    cluster: Cluster, out: Path, transport: str, previous_chart: Path
) -> None:
    """From its previous state; all replicas are replaced under an open load, and every request is answered."""

    def upgrade(chart: Path, replicas: int, state: str) -> None:
        values = f"{transport}.replicas={replicas},{transport}.podLabels.state={state}"
        options = ("--namespace", NAMESPACE, "--reset-then-reuse-values", "--wait", "--set", values)
        cluster.helm("upgrade", "wirebench", str(chart), *options)

    upgrade(previous_chart, 2, "previous")
    before = {pod["metadata"]["name"] for pod in pods(cluster, transport)}
    options = ("--driver", "wireload", "--rate", "100", "--concurrency", "32", "--duration", "60s", "--out", str(out))
    load = start(sys.executable, "-m", "wirebench.cli", "load", transport, *options)
    try:
        wait_until(lambda: load.poll() is not None or f"load-{transport}-2-" in left(cluster, transport), "it loads")
        time.sleep(5)
        upgrade(CHARTS / "wirebench", 2, "now")
        assert before.isdisjoint(pod["metadata"]["name"] for pod in pods(cluster, transport))
        assert load.poll() is None, "the upgrade was over before the load was"
        status, _, stderr = ended(load)
        assert 0 == status, stderr
        (record,) = only_run(out).records
        assert record.requests > 5000
        assert {} == record.errors
    finally:
        ended(load)
        upgrade(CHARTS / "wirebench", 1, "null")


def test_two_loads_on_a_service_are_not_one(cluster: Cluster) -> None:
    """The second is rejected, and so is a run; the first continues until Ctrl-C, which leaves nothing."""
    command = (sys.executable, "-m", "wirebench.cli", "load", "socket", "--duration", "90s")
    first = start(*command)
    wait_until(lambda: first.poll() is not None or "load-socket-2-" in left(cluster, "socket"), "its pod is there")
    status, _, stderr = ended(start(*command))
    assert 1 == status
    assert "error: another load on socket is running" in stderr
    status, _, stderr = ended(start(sys.executable, "-m", "wirebench.cli", "run", "quick", "--target", "kubernetes"))
    assert 1 == status
    assert "error: a load is running in this cluster: wirebench/load-socket-2" in stderr
    assert first.poll() is None
    first.send_signal(signal.SIGINT)
    status, _, stderr = ended(first)
    assert (130, True) == (status, "stopping" in stderr), stderr
    assert not left(cluster, "socket")
