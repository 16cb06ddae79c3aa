"""`make load-rest`, `load-grpc`, `load-socket`: live in Prometheus, told on the terminal, and nothing of it left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.cluster import NAMESPACE, Cluster, pods, wait_until
from tests.support.prometheus import Prometheus
from wirebench.system.paths import CHARTS, ROOT
from wirebench.targets.kubernetes.namespace import LABEL

#: Of a test: a run that is measuring is waited for.
pytestmark = pytest.mark.timeout(400)
LOAD_TIMEOUT_S = 120
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
def _one_replica_afterwards(cluster: Cluster) -> Iterator[None]:
    """Take back what a load has changed of the REST service."""
    yield
    upgrade = ["upgrade", "wirebench", str(CHARTS / "wirebench"), "--namespace", NAMESPACE, "--reuse-values", "--wait"]
    cluster.helm(*upgrade, "--set", "rest.replicas=1", "--set", "rest.workers=1")
    wait_until(lambda: 1 == len(pods(cluster, "rest")), "one pod is left")


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
    results = Prometheus("http://127.0.0.1:9090", frozenset(), time.time(), 60).query(expr)
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
def test_a_load_is_live_while_it_runs(cluster: Cluster, driver: str, transport: str) -> None:
    """Its native histograms are in Prometheus before it ends, with the labels of its pod, and end with it."""
    of_pod = f'namespace="{NAMESPACE}", pod=~"load-{transport}-.+", node=~".+", transport="{transport}"'
    seen = f'sum(histogram_count({HISTOGRAMS[transport]}{{{of_pod}, status=~".+"}}))'
    chosen = [] if driver == "k6" or transport == "socket" else [f"ARGS=--driver {driver}"]
    load = start("make", f"load-{transport}", "RATE=40", "CONCURRENCY=4", "DURATION=15s", *chosen)
    wait_until(lambda: load.poll() is not None or any(value > 0 for value in values(seen)), f"{driver} writes")
    assert load.poll() is None

    status, stdout, stderr = ended(load)
    assert (0, "") == (status, left(cluster, transport)), stderr
    requests = re.search(r"requests +(\d+), .* of 40/s asked for", stdout)
    assert requests is not None, stdout
    assert 300 < int(requests[1]) <= 620
    assert all(word in stdout for word in ("errors", "p50", "p99", "CPU/req", "replicas"))
    assert "Prometheus: http://127.0.0.1:9090" in stdout
    assert re.search(r"\d:\d\d left", stderr)
    assert [] == values(seen)


def test_what_ghz_has_measured_is_in_prometheus_when_it_has_ended(cluster: Cluster) -> None:
    """As many requests as the terminal tells, by outcome, and quantiles."""
    status, stdout, stderr = ended(start("make", "load-grpc", "RATE=40", "CONCURRENCY=4", "DURATION=8s"))
    assert (0, "") == (status, left(cluster, "grpc")), stderr
    assert "grpc users.get by ghz: 40/s on 4 connections for 8 s" in stdout
    match = re.search(r"requests +(\d+)", stdout)
    assert match is not None, stdout

    of_pod = f'namespace="{NAMESPACE}", pod=~"load-grpc-.+", node=~".+", transport="grpc"'
    durations = f'k6_grpc_req_duration_seconds{{{of_pod}, driver="ghz", status="0"}}'
    counted = values(f"histogram_count(last_over_time({durations}[1m]))")
    assert int(match[1]) in counted
    assert values(f"histogram_quantile(0.99, last_over_time({durations}[1m])) > 0")


@pytest.mark.slow  # two minutes
@pytest.mark.usefixtures("cluster")
def test_a_service_that_is_scaled_is_shown_with_the_rates_before_and_after() -> None:
    """Terminal and Prometheus have three replicas within 10 s of helm's end, which share the load in the end."""
    text = (ROOT / "docs/cluster.md").read_text()
    (upgrade,) = re.findall("^.tools/bin/helm .*", text, re.MULTILINE)
    with start("make", "load-rest", "RATE=60", "DURATION=70s", "ARGS=--connection reopen") as load:
        printed: list[tuple[float, str]] = []
        assert load.stderr is not None
        reading = threading.Thread(
            target=lambda: printed.extend((time.monotonic(), line) for line in load.stderr or ())
        )
        reading.start()
        try:
            wait_until(lambda: any("1 replica: " in line for _, line in printed), "rates are shown")
            time.sleep(10)
            subprocess.run([*upgrade.split(), "--wait"], cwd=ROOT, check=True, capture_output=True)
            scaled = time.monotonic()
            rates = f'namespace_transport_pod:wirebench_requests:rate15s{{namespace="{NAMESPACE}", transport="rest"}}'
            wait_until(lambda: 3 == len(values(rates)), "Prometheus has three replicas", timeout_s=10)
            assert load.stdout is not None
            stdout = load.stdout.read()
            assert 0 == load.wait(LOAD_TIMEOUT_S), stdout
            reading.join()
        finally:
            load.terminate()
            subprocess.run([*upgrade.replace("=3", "=1").split(), "--wait"], cwd=ROOT, check=True, capture_output=True)
    seen = next(moment for moment, line in printed if "-> 3" in line)
    assert seen < scaled + 10, printed
    # Replicas become ready one by one.
    before, *_, after = (
        re.findall(r" (\d+)/s", line) for line in stdout.splitlines() if "replica" in line and "/s" in line
    )
    assert 1 == len(before)
    assert 50 < float(before[0]) < 70
    assert 3 == len(after)
    assert all(10 < float(each) < 30 for each in after), stdout


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["rest", "grpc"])
def test_a_rolling_restart_loses_no_call(cluster: Cluster, transport: str) -> None:
    """All replicas are replaced under an open load, one at a time, and every request is answered."""
    deployment = f"deployment/wirebench-{transport}"
    rollout = ("rollout", "--namespace", NAMESPACE)
    upgrade = ["upgrade", "wirebench", str(CHARTS / "wirebench"), "--namespace", NAMESPACE, "--reuse-values", "--wait"]
    cluster.helm(*upgrade, "--set", f"{transport}.replicas=2")
    before = {pod["metadata"]["name"] for pod in pods(cluster, transport)}
    options = ("--driver", "wireload", "--rate", "100", "--concurrency", "32", "--duration", "60s")
    load = start(sys.executable, "-m", "wirebench.cli", "load", transport, *options)
    try:
        wait_until(lambda: load.poll() is not None or f"load-{transport}-1-0" in left(cluster, transport), "it loads")
        time.sleep(5)
        cluster.kubectl(*rollout, "restart", deployment)
        cluster.kubectl(*rollout, "status", deployment, "--timeout=60s")
        assert before.isdisjoint(pod["metadata"]["name"] for pod in pods(cluster, transport))
        assert load.poll() is None, "the restart was over before the load was"
        status, stdout, stderr = ended(load)
        assert 0 == status, stderr
        requests = re.search(r"requests +([\d,]+)", stdout)
        assert requests is not None, stdout
        assert int(requests[1].replace(",", "")) > 5000
        assert re.search(r"errors +0$", stdout, re.MULTILINE), stdout
    finally:
        ended(load)
        cluster.helm(*upgrade, "--set", f"{transport}.replicas=1")


def test_a_load_whose_pod_is_lost_ends_at_once_and_leaves_nothing(cluster: Cluster) -> None:
    """It says why, long before it would have ended."""
    load = start(sys.executable, "-m", "wirebench.cli", "load", "socket", "--duration", "5m")
    wait_until(lambda: load.poll() is not None or "load-socket-1-0" in left(cluster, "socket"), "its pod is there")
    time.sleep(5)
    selector = "--selector=app.kubernetes.io/instance=wirebench-load-socket"
    cluster.kubectl("delete", "pod", selector, "--namespace", NAMESPACE, "--grace-period=0", "--force")
    status, _, stderr = ended(load)  # which waits for less than the five minutes
    assert 1 == status
    assert "the load's Job load-socket-1 has failed" in stderr
    assert not left(cluster, "socket")


@pytest.mark.usefixtures("_one_replica_afterwards")
def test_replicas_and_workers_are_set_one_by_one(cluster: Cluster) -> None:
    """What isn't named stays as it was, and the load is spread over all that is there."""
    command = (sys.executable, "-m", "wirebench.cli", "load", "rest", "--duration", "2s", "--concurrency", "8")
    status, stdout, stderr = ended(start(*command, "--replicas", "2"))
    assert (0, 2) == (status, stdout.count("wirebench-rest-")), stderr
    assert "2 replicas × 1 worker (" in stdout

    status, stdout, stderr = ended(start(*command, "--workers", "2", "--balancing", "headless"))
    assert 0 == status, stderr
    assert "2 replicas × 2 workers (" in stdout
    assert 1 == len(pods(cluster, "grpc"))


def test_an_interrupted_load_leaves_nothing(cluster: Cluster) -> None:
    """Ctrl-C ends it at once, with the exit status that says so."""
    load = start(sys.executable, "-m", "wirebench.cli", "load", "socket", "--duration", "5m")
    wait_until(lambda: load.poll() is not None or "load-socket-1-0" in left(cluster, "socket"), "its pod is there")
    load.send_signal(signal.SIGINT)
    status, _, stderr = ended(load)
    assert 130 == status, stderr
    assert "stopping" in stderr
    assert not left(cluster, "socket")


def test_two_loads_on_a_service_are_not_one(cluster: Cluster) -> None:
    """The second one is rejected, and so is a run, and the first one continues."""
    command = (sys.executable, "-m", "wirebench.cli", "load", "socket", "--duration", "90s")
    first = start(*command)
    wait_until(lambda: first.poll() is not None or "load-socket-1-0" in left(cluster, "socket"), "its pod is there")
    status, _, stderr = ended(start(*command))
    assert 1 == status
    assert "error: another load on socket is running" in stderr
    status, _, stderr = ended(start(sys.executable, "-m", "wirebench.cli", "run", "quick", "--target", "kubernetes"))
    assert 1 == status
    assert "error: a load is running in this cluster: wirebench/load-socket-1" in stderr
    assert first.poll() is None
    first.send_signal(signal.SIGINT)
    assert 130 == ended(first)[0]
