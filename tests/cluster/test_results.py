"""The results server in the cluster: runs on it get there by themselves, and its API has them."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster import CONTEXT, KUBECONFIG, LONG, OBSERVABILITY, Cluster, Command, Started
from tests.support.waiting import run_program
from wirebench.system.paths import ROOT, TOOLS

#: The image is built and loaded, the first time.
pytestmark = [pytest.mark.timeout(1800), pytest.mark.usefixtures("no_namespace_is_left")]
SELECTOR = "--selector=app.kubernetes.io/name=results"
TINY = """\
question: Does it get there?
factors: {transport: [rest, socket], concurrency: 2, cpu_limit_millicores: 250}
load: {warmup_s: 0.5, window_s: 1}
blocks: 1
compare: transport
"""


def deploy(results: str) -> None:
    """Bring our charts to the cluster with or without a results server: `yes` or `no`."""
    done = run_program(["make", "deploy", f"RESULTS={results}"], cwd=ROOT, timeout=1500)
    assert 0 == done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[str]:
    """Return the address of a results server, through kubectl; remove what wasn't there before."""
    was_there = bool(cluster.get("deployments", SELECTOR, namespace=OBSERVABILITY))
    deploy("yes")
    try:
        with forwarded() as url:
            yield url
    finally:
        if not was_there:
            deploy("no")
            assert [] == cluster.get("deployments,services,secrets,networkpolicies", SELECTOR, namespace=OBSERVABILITY)


@contextlib.contextmanager
def forwarded() -> Iterator[str]:
    """Forward a port of this machine to the server as `make results` says, but one that is free."""
    command: list[str | Path] = [
        *(TOOLS / "kubectl", "--kubeconfig", KUBECONFIG, "--context", CONTEXT, "--namespace", OBSERVABILITY),
        *("port-forward", "service/observability-results", ":8400"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found is not None
            yield f"http://127.0.0.1:{found[1]}"
        finally:
            process.terminate()
            process.wait(timeout=20)


def ask(url: str) -> Any:  # noqa: ANN401 - JSON
    """Return what the API answers."""
    with urllib.request.urlopen(url, timeout=30) as response:  # noqa: S310 - http, by these tests
        return json.load(response)


def test_a_run_gets_there_by_itself(server: str, tmp_path: Path) -> None:
    """It says so, and the API of the server has all of its cells, from its index in PostgreSQL."""
    started = Started(tmp_path, TINY)
    assert 0 == started.end(), started.printed
    assert f"sent to the results of the context {CONTEXT} ({OBSERVABILITY}/observability-results)" in started.printed
    run = started.run()
    (found,) = (each for each in ask(f"{server}/api/v1/runs")["runs"] if each["run_id"] == run.info.id)
    assert ("complete", 2) == (found["status"], found["records"])
    results = ask(f"{server}/api/v1/results?run_id={run.info.id}")["results"]
    assert {"rest", "socket"} == {each["protocol"] for each in results}
    assert sum(record.requests for record in run.records) == sum(each["requests"] for each in results)
    again = Command(tmp_path, "send", "last", "--out", str(started.results))
    assert 0 == again.end(), again.printed
    assert f"{run.info.id} is in the results of the context {CONTEXT}" in again.printed


@pytest.mark.usefixtures("server")
def test_make_results_says_how_to_reach_it() -> None:
    """The command that it prints is the one that these tests use."""
    printed = run_program(["make", "results"], cwd=ROOT, check=True).stdout
    assert f"--namespace {OBSERVABILITY} port-forward service/observability-results 8400" in printed


def test_an_interrupted_run_gets_there_as_far_as_it_came(server: str, tmp_path: Path) -> None:
    """Ctrl-C in the second cell: the first one's record is there, and the run is called incomplete."""
    started = Started(tmp_path, LONG)
    started.wait_for("1/2")
    time.sleep(8)
    started.process.send_signal(signal.SIGINT)
    assert 130 == started.end(), started.printed
    assert "sent to the results of" in started.printed
    found = ask(f"{server}/api/v1/runs/{started.run().info.id}")
    assert ("incomplete", 1) == (found["run"]["status"], len(found["cells"]))


@pytest.mark.usefixtures("server")
def test_what_grafana_asks_is_answered_to_its_role_alone(cluster: Cluster) -> None:
    """The role reads the view by the password of the Secret, and writes nothing."""
    encoded = cluster.kubectl(
        *("get", "secret", "observability-results", "--namespace", OBSERVABILITY),
        '--output=go-template={{index .data "reader-password" | base64decode}}',
    )
    url = f"postgresql://reader:{encoded}@127.0.0.1:5432/wirebench"
    psql = ("exec", "deployment/observability-results", "--namespace", OBSERVABILITY, "--container", "postgres", "--")
    assert 0 <= int(cluster.kubectl(*psql, "psql", url, "--tuples-only", "--command", "SELECT count(*) FROM results"))
    with pytest.raises(subprocess.CalledProcessError) as caught:
        cluster.kubectl(*psql, "psql", url, "--command", "DELETE FROM runs")
    assert "read-only transaction" in caught.value.stderr or "permission denied" in caught.value.stderr


@pytest.mark.usefixtures("server")
def test_its_pod_has_no_right_that_it_does_not_need(cluster: Cluster) -> None:
    """No root, no root file systems to write to, no capability, the default seccomp profile, limits, no token."""
    (pod,) = cluster.get("pods", SELECTOR, namespace=OBSERVABILITY)
    spec = pod["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert ["postgres", "prepare", "serve"] == [each["name"] for each in (*spec["initContainers"], *spec["containers"])]
    for container in (*spec["initContainers"], *spec["containers"]):
        security = {**spec["securityContext"], **container["securityContext"]}
        assert security["runAsNonRoot"]
        assert security["readOnlyRootFilesystem"]
        assert not security["allowPrivilegeEscalation"]
        assert {"drop": ["ALL"]} == security["capabilities"]
        assert "RuntimeDefault" == security["seccompProfile"]["type"]
        assert {"cpu", "memory"} == set(container["resources"]["limits"])


@pytest.mark.usefixtures("server")
def test_the_charts_own_test_reaches_it(cluster: Cluster) -> None:
    """`helm test` asks it from another pod, by the name of its Service, which its NetworkPolicy allows."""
    assert "Succeeded" in cluster.helm("test", "observability", "--namespace", OBSERVABILITY)
