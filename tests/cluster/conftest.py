"""Tests of what runs in the cluster of `make cluster-up`; all of them are skipped, loudly, where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from wirebench.places import ROOT, TOOLS

KUBECONFIG = ROOT / "build/cluster/kubeconfig"
CONTEXT = "kind-wirebench"
NAMESPACE = "wirebench"
TIMEOUT_S = 180.0


@dataclass(frozen=True)
class Cluster:
    """The cluster, by its own tools."""

    def kubectl(self, *arguments: str) -> str:
        """Return what kubectl prints."""
        return _run("kubectl", "--kubeconfig", str(KUBECONFIG), "--context", CONTEXT, *arguments)

    def helm(self, *arguments: str) -> str:
        """Return what helm prints."""
        return _run("helm", "--kubeconfig", str(KUBECONFIG), "--kube-context", CONTEXT, *arguments)

    def get(self, *arguments: str, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
        """Return objects."""
        text = self.kubectl("get", *arguments, "--namespace", namespace, "--output=json")
        items: list[dict[str, Any]] = json.loads(text)["items"]
        return items


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """Return the cluster, with our charts in it."""
    if reason := os.environ.get("WIREBENCH_NO_ENGINE"):
        pytest.skip(reason)
    found = Cluster()
    try:
        found.kubectl("get", "--raw", "/readyz", "--request-timeout=10s")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no cluster answers: make cluster-up")
    return found


def wait_until(true: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + TIMEOUT_S
    while not true():
        assert time.monotonic() < deadline, f"{what}: not after {TIMEOUT_S:.0f} s"
        time.sleep(0.5)


def _run(tool: str, *arguments: str) -> str:
    return subprocess.run([TOOLS / tool, *arguments], capture_output=True, text=True, check=True, timeout=300).stdout
