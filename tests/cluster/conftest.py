"""Tests of what runs in the cluster of `make cluster-up`; all of them are skipped, loudly, where there is none."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.support.cluster import Cluster, list_namespaces, started_commands


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """Return the cluster, with our charts in it."""
    found = Cluster()
    try:
        found.kubectl("get", "--raw", "/readyz", "--request-timeout=10s")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no cluster answers: make cluster-up")
    return found


@pytest.fixture
def no_namespace_is_left(cluster: Cluster) -> Iterator[None]:
    """Check that after each test no namespace of a run is left, and that all others are there."""
    before = list_namespaces(cluster)
    yield
    while started_commands:  # of a test that failed
        process = started_commands.pop().process
        process.terminate()
        process.wait(timeout=120)
    assert before == list_namespaces(cluster)
